//! The audit trail's journal: the audit writer's record of each event, to prove later that no event was changed,
//! removed, inserted or back-dated.
//!
//! | part | contents |
//! |---|---|
//! | [`event_digest`] | an event's natural attributes in one hash, whatever table it is in |
//! | [`Row`] | a row of the journal: intended writes, or their outcomes |
//! | [`Chain`] | rows of one process and one UTC day, each with the hash of the previous row |
//! | [`ChainCheck`] | the verification of a chain |
//! | [`Anchor`] | the ends of all chains of a day, stored where its writers cannot change them |
//! | [`judge`] | compares the journal's records of one event id with the stored items |
//!
//! Nothing here reads or writes. Digests, rows and anchors have one version, [`FORMAT`]. The reasons are in `docs/adr/0018`.

mod anchor;
mod chain;
mod check;
mod digest;
mod finding;
mod judge;
mod row;

use crate::format::StoredFormat;
use crate::model::Table;
use crate::retrofit::control;

pub use anchor::{Anchor, AnchoredChain, links};
pub use chain::{Chain, SealedRow};
pub use check::{ChainCheck, Mark};
pub use digest::{Hash, event_digest, left_out};
pub use finding::{Finding, FindingKind};
pub use judge::{Counts, Group, Intent, Seen, Stored, Verdict, Weight, judge};
pub use row::{
    Content, Entry, Found, JOURNAL_SHARDS, Key, OutcomeLetter, Row, StoredRow, day_of, milliseconds_of,
    partition, since_item, since_key, since_of,
};

/// The version of digests, rows and anchors: they depend on each other, so they have one version.
pub const FORMAT: StoredFormat = StoredFormat { name: "the journal", version: 1 };

/// The journal's table of this name: a partition for each day and shard, with the rows of each chain in their order.
pub fn journal_table(name: &str) -> Table {
    control::table(name)
}

#[cfg(test)]
mod tests;
