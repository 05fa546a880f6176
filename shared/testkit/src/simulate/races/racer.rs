//! The write of each protocol for a record and for a scanned item.

use keyfold_core::condition::{Comparison, Condition, Path};
use keyfold_core::retrofit::attributes::{OWN_ATTRIBUTES, TOMBSTONE_ATTRIBUTE};
use keyfold_core::retrofit::{Action, ChangeRecord, Guard, Job, TableRole, Write};
use keyfold_core::value::{AttributeValue, Item};

use super::super::fault::named;

/// Where the second of a change is kept, by the protocol that compares seconds, and its mark of a deleted item.
const SECOND: &str = "_migration_ts";
const DELETED: &str = "_tombstone";

named! {
/// A protocol. All copy what exists where the target has nothing, and differ in what they do with the stream.
Racer {
    /// Changes update the item if the target has it, new items are put, deletes delete; the scan puts what the target lacks.
    Plain = "update if it exists",
    /// Changes are put whatever is there, and deletes delete; the scan puts what the target lacks.
    PutIfAbsent = "put if absent, and the stream",
    /// Every item carries the second of its change, and only a later second is written over it. Deletes leave a tombstone.
    Seconds = "newer second wins, tombstones",
    /// Keyfold's: a fence made of the record's sequence number, and tombstones.
    Fences = "Keyfold: fences",
}
}

impl Racer {
    /// The target after a record; its change was made in this second. Not for Keyfold, whose core decides that.
    pub(super) fn record(self, job: &Job, record: &ChangeRecord, second: u64) -> Option<Write> {
        let mapping = job.mapping();
        let new = record.new.as_ref().and_then(|item| mapping.target_item(item).ok()?);
        let key = mapping.target_key(&record.key).ok()??;
        match (self, new) {
            (Racer::Fences, _) => None,
            (Racer::Plain, Some(item)) if record.old.is_some() => {
                let there = Guard::Present(Condition::All(Vec::new()));
                Some(write(Action::Put(item), there))
            }
            (Racer::Plain | Racer::PutIfAbsent, Some(item)) => Some(write(Action::Put(item), anything())),
            (Racer::Plain | Racer::PutIfAbsent, None) => Some(write(Action::Delete(key), anything())),
            (Racer::Seconds, new) => {
                let mut item = new.unwrap_or_else(|| buried(key));
                item.insert(SECOND.to_owned(), seconds(second));
                let older = Condition::Is(Path::attribute(SECOND), Comparison::Less(seconds(second)));
                Some(write(Action::Put(item), Guard::AbsentOr(older)))
            }
        }
    }

    /// The target after a scanned item.
    pub(super) fn scanned(self, job: &Job, item: &Item) -> Option<Write> {
        let mut item = job.mapping().target_item(item).ok()??;
        match self {
            Racer::Fences => return None,
            Racer::Seconds => {
                item.insert(SECOND.to_owned(), seconds(0));
            }
            Racer::Plain | Racer::PutIfAbsent => {}
        }
        Some(write(Action::Put(item), Guard::Absent))
    }
}

/// The target as readers see it: no marks, and nothing where an item is deleted.
pub(super) fn read(item: &Item) -> Option<Item> {
    if item.contains_key(DELETED) || item.contains_key(TOMBSTONE_ATTRIBUTE) {
        return None;
    }
    let mut item = item.clone();
    item.retain(|name, _| name != SECOND && !OWN_ATTRIBUTES.contains(&name.as_str()));
    Some(item)
}

fn write(action: Action, guard: Guard) -> Write {
    Write { role: TableRole::Target, action, guard }
}

fn anything() -> Guard {
    Guard::AbsentOr(Condition::All(Vec::new()))
}

fn buried(mut key: Item) -> Item {
    key.insert(DELETED.to_owned(), AttributeValue::Bool(true));
    key
}

fn seconds(second: u64) -> AttributeValue {
    AttributeValue::N(second.to_string())
}
