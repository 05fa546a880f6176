//! What sampled items show: entities, the templates of their keys, types, what every item has, what is sparse.
//!
//! [`groups`] tells the entities apart, [`columns`] finds the template of one key of one group, [`attributes`] the types. Each
//! finding carries its evidence: in how many of how many items. Nothing is taken for sure that one item contradicts; the
//! proof folds every item again.

mod attributes;
mod columns;
mod groups;
mod keys;
mod naming;
mod remainders;
mod split;

use crate::draft::{Draft, TableDraft};
use crate::tell;

/// Adds to each table what its items show, and what tells its entities apart.
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
    // Before an entity is split: its halves share what tells it from the others.
    tell::apart(table);
    split::by_condition(table);
    attributes::promises(table, examples);
}
