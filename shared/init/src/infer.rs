//! Findings from sampled items: entities, key templates, types, attributes of every item, sparse attributes.
//!
//! [`groups`] separates the entities, [`columns`] finds the template of one key of one group, [`attributes`] the types.
//! Each finding has its evidence: the number of items. A finding that one item contradicts is dropped; the proof folds
//! every item again.

mod attributes;
mod columns;
mod groups;
mod keys;
mod naming;
mod remainders;
mod split;

use crate::draft::{Draft, TableDraft};
use crate::tell;

/// Adds the findings from its items to each table, and the conditions that identify its entities.
pub(crate) fn infer(draft: &mut Draft, examples: bool) {
    for table in &mut draft.tables {
        of_table(table, examples);
    }
}

fn of_table(table: &mut TableDraft, examples: bool) {
    if table.items.is_empty() {
        tell::apart(table);
        return;
    }
    attributes::types(table);
    groups::find(table);
    keys::find(table);
    // Before entities are split: both halves share the condition that identifies them.
    tell::apart(table);
    split::by_condition(table);
    attributes::promises(table, examples);
}
