//! `expect`: how many items you expect in a table or an index, how large they are, and how often they are written.

use std::collections::BTreeMap;

use super::attributes::Attributes;
use super::code::Code;
use super::diagnostic::Findings;
use super::fields::Fields;
use super::node::TomlEntry;
use super::rate::rate;
use crate::model::{Expect, listed_text};
use crate::value::AttributeValue;

const ITEMS_MAX: u64 = 1_000_000_000_000_000;
const ITEM_BYTES_MAX: u64 = 400 * 1024;

/// The `expect` of a table, an entity or an index, which has some of the fields (`known`). `attributes`: those of a table, with its id.
pub(super) fn expect(
    fields: &Fields<'_>,
    known: &'static [&'static str],
    attributes: Option<(&str, &Attributes)>,
    findings: &mut Findings<'_>,
) -> Expect {
    let Some(entry) = fields.entry("expect") else { return Expect::default() };
    let expect = Fields::read(entry, fields.what("expect"), known, findings);
    let writes = rate(&expect, "writes", findings);
    let values = attributes.map(|(table, attributes)| expected_values(&expect, table, attributes, findings));
    let mut count = |field: &str, max: u64| expect.node(field)?.whole(findings, &expect.what(field), 1..=max);
    Expect {
        items: count("items", ITEMS_MAX),
        item_bytes: count("item-bytes", ITEM_BYTES_MAX),
        items_per_partition: count("items-per-partition", ITEMS_MAX),
        writes,
        values: values.unwrap_or_default(),
    }
}

/// `values` of a table's `expect`: how many items have each listed value of an attribute.
fn expected_values(
    expect: &Fields<'_>,
    table: &str,
    attributes: &Attributes,
    findings: &mut Findings<'_>,
) -> BTreeMap<String, BTreeMap<String, u64>> {
    let entries = expect.entries("values", findings);
    let of_attribute = |entry: TomlEntry<'_>| {
        let listed = attributes.find_any(&entry.name, table, findings)?.values.clone().unwrap_or_default();
        let what = format!("`expect.values` of `{}`", entry.name.value);
        let mut counts = BTreeMap::new();
        for TomlEntry { name, node } in entry.node.entries(findings, &what) {
            let is_it = |value: &AttributeValue| listed_text(value) == Some(name.value);
            if !listed.iter().any(is_it) {
                let message = format!("{what} names a value that the attribute does not list");
                findings.report(Code::BadValue, name.span.clone(), message);
            }
            counts.insert(name.value.to_owned(), node.whole(findings, &what, 0..=ITEMS_MAX)?);
        }
        Some((entry.name.value.to_owned(), counts))
    };
    entries.into_iter().filter_map(of_attribute).collect()
}
