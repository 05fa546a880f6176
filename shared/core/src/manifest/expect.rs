//! `expect`: how many items you expect in a table or an index, how large they are, and how often they are written.

use super::diagnostic::Findings;
use super::fields::Fields;
use super::rate::rate;
use crate::model::Expect;

/// The `expect` of a table, an entity or an index, which has some of the fields (`known`).
pub(super) fn expect(
    fields: &Fields<'_>,
    known: &'static [&'static str],
    findings: &mut Findings<'_>,
) -> Expect {
    let Some(entry) = fields.entry("expect") else { return Expect::default() };
    let expect = Fields::read(entry, fields.what("expect"), known, findings);
    let writes = rate(&expect, "writes", findings);
    let mut count = |field: &str, max: u64| expect.node(field)?.whole(findings, &expect.what(field), 1..=max);
    const ITEMS_MAX: u64 = 1_000_000_000_000_000;
    const ITEM_BYTES_MAX: u64 = 400 * 1024;
    Expect {
        items: count("items", ITEMS_MAX),
        item_bytes: count("item-bytes", ITEM_BYTES_MAX),
        items_per_partition: count("items-per-partition", ITEMS_MAX),
        writes,
    }
}
