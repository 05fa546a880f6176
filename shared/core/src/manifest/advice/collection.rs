//! Item collections of tables with local indexes: they end at 10 GB, and then writes fail.

use crate::manifest::code::Code;
use crate::manifest::diagnostic::Findings;
use crate::manifest::table_text::TableText;
use crate::model::{Index, Projection, Table};

/// The bytes that DynamoDB adds to each index entry.
const ENTRY_OVERHEAD_BYTES: u64 = 100;
/// The assumed bytes of an entry's keys: the manifest does not know their length.
const ENTRY_KEYS_BYTES: u64 = 100;

pub(in crate::manifest) fn check(text: &TableText<'_>, table: &Table, findings: &mut Findings<'_>) {
    if table.local_indexes().next().is_none() {
        return;
    }
    let id = &table.id;
    let Some((items, item_bytes)) = table.expect.items_per_partition.zip(table.expect.item_bytes) else {
        if text.allows(Code::CollectionMayPass, None) {
            return;
        }
        let message = format!("item collections of table `{id}` end at 10 GB, as it has local indexes");
        findings.report(Code::CollectionMayPass, text.id.span.clone(), message).hint(
            "say what you expect, as `expect = { items-per-partition = 1000, item-bytes = 300 }`, and this is computed",
        );
        return;
    };
    let bytes = items.saturating_mul(item_bytes.saturating_add(entries_bytes(table, item_bytes)));
    if bytes >= table.collection_bytes_warn && !text.allows(Code::CollectionMayPass, None) {
        let (expected, warn) = (gigabytes(bytes), gigabytes(table.collection_bytes_warn));
        let message = format!(
            "item collections of table `{id}` may grow to {expected} GB, over the {warn} GB of the warning"
        );
        findings.report(Code::CollectionMayPass, text.id.span.clone(), message).hint(
            "at 10 GB writes fail: spread the partition key, project less, or make local indexes global",
        );
    }
}

/// The maximum bytes of one item's entries in all local indexes.
fn entries_bytes(table: &Table, item_bytes: u64) -> u64 {
    let entry = |index: &Index| match index.projection {
        Projection::KeysOnly => item_bytes.min(ENTRY_KEYS_BYTES),
        Projection::All | Projection::Include(_) => item_bytes,
    };
    table.local_indexes().map(|index| entry(index) + ENTRY_OVERHEAD_BYTES).sum()
}

fn gigabytes(bytes: u64) -> String {
    format!("{:.1}", bytes as f64 / (1u64 << 30) as f64)
}
