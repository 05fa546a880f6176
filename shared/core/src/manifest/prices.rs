//! `[prices]`: overrides of the built-in price table.

use jiff::civil::Date;
use toml::de::DeValue;

use super::code::Code;
use super::diagnostic::Findings;
use super::fields::Fields;
use super::grammar;
use super::node::TomlEntry;
use crate::model::{PriceOverrides, Prices};

pub(super) fn prices(entry: Option<&TomlEntry<'_>>, findings: &mut Findings<'_>) -> Prices {
    let overrides = entry.map(|entry| overrides(entry, findings)).unwrap_or_default();
    Prices::default().with(overrides)
}

fn overrides(entry: &TomlEntry<'_>, findings: &mut Findings<'_>) -> PriceOverrides {
    let fields = Fields::read(entry, "`prices`", grammar::PRICES, findings);
    PriceOverrides {
        region: fields.text("region", findings).map(|region| region.value.to_owned()),
        as_of: as_of(&fields, findings),
        read_million: amount(&fields, "read-million", findings),
        write_million: amount(&fields, "write-million", findings),
        storage_gb_month: amount(&fields, "storage-gb-month", findings),
    }
}

fn amount(fields: &Fields<'_>, field: &str, findings: &mut Findings<'_>) -> Option<f64> {
    fields.node(field)?.amount(findings, &fields.what(field))
}

/// Accepts `"2026-11-01"` and TOML's own date.
fn as_of(fields: &Fields<'_>, findings: &mut Findings<'_>) -> Option<String> {
    let node = fields.node("as-of")?;
    let text = match node.value {
        DeValue::Datetime(datetime) => datetime.to_string(),
        _ => node.text(findings, &fields.what("as-of"))?.value.to_owned(),
    };
    // Ten characters: longer forms of dates are not accepted.
    if text.len() == 10 && text.parse::<Date>().is_ok() {
        return Some(text);
    }
    findings
        .report(Code::BadValue, node.span.clone(), format!("`{text}` is not a date"))
        .hint("write dates like `2026-11-01`");
    None
}
