//! Items with their rows on both sides. The row is read first: one that has risen stays risen.

use super::effect::Effect;
use crate::retrofit::drain::Sides;
use crate::retrofit::job::Job;
use crate::retrofit::protocol::LedgerRow;
use crate::retrofit::request::TableRole;
use crate::retrofit::source_key::SourceKey;
use crate::value::Item;

/// A lookup of some items.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SidesLookup {
    /// Their keys in the table that items are carried from.
    keys: Vec<Item>,
    rows: Option<Vec<Option<Item>>>,
    sources: Option<Vec<Option<Item>>>,
    targets: Option<Vec<Option<Item>>>,
}

impl SidesLookup {
    pub(super) fn of(keys: Vec<Item>) -> SidesLookup {
        SidesLookup { keys, rows: None, sources: None, targets: None }
    }

    /// With the items themselves in the table that items are carried from.
    pub(super) fn of_sources(keys: Vec<Item>, items: Vec<Item>) -> SidesLookup {
        SidesLookup { sources: Some(items.into_iter().map(Some).collect()), ..SidesLookup::of(keys) }
    }

    /// With those in the other table.
    pub(super) fn of_targets(keys: Vec<Item>, items: Vec<Item>) -> SidesLookup {
        SidesLookup { targets: Some(items.into_iter().map(Some).collect()), ..SidesLookup::of(keys) }
    }

    /// The next read, of the tables in these roles; `None` if all was read.
    pub(super) fn next(&self, job: &Job, roles: [TableRole; 2]) -> Option<Effect> {
        // Read after the target, a row could already name a write that the target's read did not see: the item would count as arrived.
        let (table, keys) = if self.rows.is_none() {
            (TableRole::Control, self.keys.iter().map(|key| row_key(job, key)).collect())
        } else if self.sources.is_none() {
            (roles[0], self.keys.clone())
        } else if self.targets.is_none() {
            (roles[1], self.places(job).into_iter().flatten().collect())
        } else {
            return None;
        };
        Some(Effect::Read { table, keys })
    }

    pub(super) fn take(&mut self, job: &Job, items: Vec<Option<Item>>) {
        if self.rows.is_none() {
            self.rows = Some(items);
        } else if self.sources.is_none() {
            self.sources = Some(items);
        } else {
            let (places, mut items) = (self.places(job), items.into_iter());
            // Only keys with a place were read: each of the others would take the item of the next one.
            let target = |place: Option<Item>| place.and_then(|_| items.next().flatten());
            self.targets = Some(places.into_iter().map(target).collect());
        }
    }

    /// An item without a place in the other table has none that could be read.
    fn places(&self, job: &Job) -> Vec<Option<Item>> {
        let rows = self.rows.iter().flatten();
        self.keys.iter().zip(rows).map(|(key, row)| job.place(key, row.as_ref())).collect()
    }

    /// The items in the order of their keys, once all was read.
    pub(super) fn sides(&self) -> impl Iterator<Item = (&Item, Sides<'_>)> {
        let (rows, sources) = (self.rows.iter().flatten(), self.sources.iter().flatten());
        let read = rows.zip(sources).zip(self.targets.iter().flatten());
        self.keys.iter().zip(read).map(|(key, ((row, source), target))| {
            (key, Sides { row: row.as_ref(), source: source.as_ref(), target: target.as_ref() })
        })
    }
}

fn row_key(job: &Job, key: &Item) -> Item {
    match SourceKey::of(job.mapping().source(), key) {
        Some(source) => LedgerRow::key(job.mapping(), &source),
        None => unreachable!("a key of the table is whole"),
    }
}
