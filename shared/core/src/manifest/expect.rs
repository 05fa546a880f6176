//! `expect`: how many items you expect in a table or an index, and how large they are.

use super::diagnostic::Findings;
use super::fields::Fields;
use super::grammar;
use crate::model::Expect;

/// The `expect` of a table or an index.
pub(super) fn expect(fields: &Fields<'_>, findings: &mut Findings<'_>) -> Expect {
    let Some(entry) = fields.entry("expect") else { return Expect::default() };
    let expect = Fields::read(entry, fields.what("expect"), grammar::EXPECT, findings);
    let mut count = |field: &str, max: u64| expect.node(field)?.whole(findings, &expect.what(field), 1..=max);
    const ITEMS_MAX: u64 = 1_000_000_000_000_000;
    const ITEM_BYTES_MAX: u64 = 400 * 1024;
    Expect {
        items: count("items", ITEMS_MAX),
        item_bytes: count("item-bytes", ITEM_BYTES_MAX),
        items_per_partition: count("items-per-partition", ITEMS_MAX),
    }
}
