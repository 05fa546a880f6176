//! What could not be written is kept by its key, never skipped in silence.

use std::collections::HashMap;

use super::control;
use super::fence::Fence;
use super::mapping::Mapping;
use super::request::{Action, Guard, Response, TableRole, Write, is};
use super::result::TaskResult;
use super::source_key::SourceKey;
use crate::condition::Comparison;
use crate::value::{AttributeValue, Item};

/// What the row of an entry begins with that names no item.
const RECORD_PREFIX: &str = "record:";

/// Why an item is in quarantine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QuarantineReason {
    /// It cannot be mapped: with the item error's code.
    Unmappable(String),
    /// DynamoDB does not accept what it was mapped to: with the code.
    Rejected(String),
    /// Another source item has its target key.
    Collision,
    /// At its target key there is an item that this retrofit did not write.
    Foreign,
    /// A record of the stream that cannot be read.
    Unreadable,
    /// The stream's records of it were given up.
    Discarded,
    /// A late change of the closed table that is too large to be kept in a row. The item was left as it is.
    Late,
}

impl QuarantineReason {
    /// As it is stored.
    pub fn code(&self) -> &str {
        match self {
            QuarantineReason::Unmappable(code) | QuarantineReason::Rejected(code) => code,
            QuarantineReason::Collision => "target-key-collision",
            QuarantineReason::Foreign => "target-item-foreign",
            QuarantineReason::Unreadable => "record-unreadable",
            QuarantineReason::Discarded => "record-discarded",
            QuarantineReason::Late => "late-change",
        }
    }

    /// Do two source items, or an item of somebody else, stand in one place?
    pub fn is_collision(code: &str) -> bool {
        code == QuarantineReason::Collision.code() || code == QuarantineReason::Foreign.code()
    }
}

/// An entry of the quarantine.
#[derive(Debug, Clone, PartialEq)]
pub struct Quarantined {
    /// The source item's key; `None` if a record did not even tell that.
    pub key: Option<Item>,
    /// The row's key: the source key's text, or what there is.
    pub row: String,
    /// Why, by its code.
    pub code: String,
    /// How new the change was that failed.
    pub fence: Fence,
}

impl Quarantined {
    /// The entry for a source item.
    pub fn item(key: &Item, source_key: &SourceKey, reason: &QuarantineReason, fence: Fence) -> Quarantined {
        Quarantined {
            key: Some(key.clone()),
            row: source_key.row_key(),
            code: reason.code().to_owned(),
            fence,
        }
    }

    /// The entry for a record that does not tell its item.
    pub fn record(fence: Fence) -> Quarantined {
        Quarantined::named(&fence.to_string(), fence)
    }

    /// The same for a record that does not even tell its sequence number, under a name of its own.
    pub fn named(name: &str, fence: Fence) -> Quarantined {
        let code = QuarantineReason::Unreadable.code().to_owned();
        Quarantined { key: None, row: format!("{RECORD_PREFIX}{name}"), code, fence }
    }

    /// The entry for a batch of records that was given up, by the place where it was set aside.
    pub fn set_aside(place: &str, fence: Fence) -> Quarantined {
        let code = QuarantineReason::Discarded.code().to_owned();
        Quarantined { code, ..Quarantined::named(place, fence) }
    }

    /// Where the batch was set aside that this entry stands for, if it stands for one.
    pub fn place(&self) -> Option<&str> {
        let discarded = self.key.is_none() && self.code == QuarantineReason::Discarded.code();
        self.row.strip_prefix(RECORD_PREFIX).filter(|_| discarded)
    }

    /// The write that enters it, unless there is a newer one.
    pub fn enter(&self, mapping: &Mapping) -> Write {
        let newer = is(control::FENCE, Comparison::LessOrEqual(self.fence.value()));
        Write {
            place: TableRole::Control,
            action: Action::Put(self.row(mapping)),
            guard: Guard::AbsentOr(newer),
        }
    }

    /// The write that takes it out, if it is still the same.
    pub fn leave(&self, mapping: &Mapping) -> Write {
        Write {
            place: TableRole::Control,
            action: Action::Delete(control::key(
                &control::quarantine_partition(mapping.rows_name()),
                &self.row,
            )),
            guard: Guard::equals(control::FENCE, self.fence.value()),
        }
    }

    fn row(&self, mapping: &Mapping) -> Item {
        let mut row = control::key(&control::quarantine_partition(mapping.rows_name()), &self.row);
        row.insert(control::FENCE.to_owned(), self.fence.value());
        row.insert(control::CODE.to_owned(), AttributeValue::S(self.code.clone()));
        if let Some(key) = &self.key {
            row.insert(control::SOURCE_KEY.to_owned(), AttributeValue::M(map_of(key)));
        }
        row
    }

    /// Reads a row of the quarantine; `None` if it is none.
    pub fn read(row: &Item) -> Option<Quarantined> {
        let text = |name: &str| match row.get(name) {
            Some(AttributeValue::S(text)) => Some(text.clone()),
            _ => None,
        };
        Some(Quarantined {
            key: match row.get(control::SOURCE_KEY) {
                Some(AttributeValue::M(key)) => Some(Item::from(key.clone())),
                _ => None,
            },
            row: text(control::SORT)?,
            code: text(control::CODE)?,
            fence: Fence::read(row.get(control::FENCE)?)?,
        })
    }
}

/// The attributes of an item as a map's members.
pub(super) fn map_of(item: &Item) -> HashMap<String, AttributeValue> {
    item.iter().map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// How a task ends that entered this. A refusal means that a newer failure of the same item is there.
pub(super) fn entered(entry: &Quarantined, outcome: Response) -> TaskResult {
    match outcome {
        Response::Rejected(code) => TaskResult::Unrecorded(code),
        _ => TaskResult::Quarantined(entry.code.clone()),
    }
}
