//! Which items go together.

use std::collections::BTreeSet;

use keyfold_core::index::item_bytes;
use keyfold_core::model::Table;
use keyfold_core::value::Item;
use keyfold_core::write::{PrimaryKey, canonical_key};

use crate::guarded::{STATEMENT_CHARS_MAX, STATEMENTS_MAX, insert_chars};

/// Maximum bytes of items in one request of several. A request may have 16 MB, and its JSON is longer than its items.
pub const BATCH_INSERT_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// One request.
#[derive(Debug)]
pub(super) enum Batch<'j> {
    /// INSERT statements.
    Insert(Vec<&'j NewItem>),
    /// A PutItem.
    Put(&'j NewItem),
}

/// Divides items into requests.
pub(super) fn batches<'j>(table: &Table, jobs: impl Iterator<Item = &'j NewItem>) -> Vec<Batch<'j>> {
    let has_local = table.local_indexes().next().is_some();
    // The item collections whose size is requested.
    let mut measured = BTreeSet::new();
    let mut batches = Vec::new();
    let (mut batch, mut bytes) = (Vec::new(), 0);
    for job in jobs {
        let collection = || job.item.get(&table.partition.name).map(canonical_key).unwrap_or_default();
        let alone = insert_chars(&table.name, &job.item) > STATEMENT_CHARS_MAX;
        if alone || (has_local && measured.insert(collection())) {
            batches.push(Batch::Put(job));
            continue;
        }
        let size = item_bytes(&job.item);
        if batch.len() == STATEMENTS_MAX || (!batch.is_empty() && bytes + size > BATCH_INSERT_BYTES_MAX) {
            batches.push(together(std::mem::take(&mut batch), has_local));
            bytes = 0;
        }
        batch.push(job);
        bytes += size;
    }
    if !batch.is_empty() {
        batches.push(together(batch, has_local));
    }
    batches
}

/// One request for all of these. For one item a PutItem takes less of the machine than a statement does; where there are
/// local indexes it would ask for the size of a collection once more.
fn together(jobs: Vec<&NewItem>, has_local: bool) -> Batch<'_> {
    match jobs.as_slice() {
        [job] if !has_local => Batch::Put(job),
        _ => Batch::Insert(jobs),
    }
}

/// An item to insert.
#[derive(Debug, Clone)]
pub(super) struct NewItem {
    /// Its place among the items given.
    pub(super) at: usize,
    pub(super) key: PrimaryKey,
    /// With its folded keys.
    pub(super) item: Item,
}
