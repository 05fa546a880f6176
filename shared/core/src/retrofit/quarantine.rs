//! What could not be written is kept by its key, never skipped in silence.

use std::collections::HashMap;

use super::control;
use super::fence::Fence;
use super::mapping::Mapping;
use super::misfit::{Misfit, MisfitKind, Misfits};
use super::request::{Action, Guard, Response, TableRole, Write, is};
use super::result::TaskResult;
use super::source_key::SourceKey;
use crate::condition::Comparison;
use crate::index::ItemError;
use crate::value::{AttributeValue, Item};

/// In an entry: the attribute that does not fit.
const ATTRIBUTE: &str = "attribute";
/// The index whose key cannot be made.
const INDEX: &str = "index";
/// What is wrong, by its name.
const KIND: &str = "misfit";

/// What the row of an entry begins with that names no item.
const RECORD_PREFIX: &str = "record:";

/// Why an item is in quarantine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QuarantineReason {
    /// It cannot be mapped: with what does not fit.
    Unmappable(Misfit),
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
    /// The reason for an item that cannot be mapped.
    pub(super) fn unmappable(error: &ItemError) -> QuarantineReason {
        QuarantineReason::Unmappable(Misfit::of(error))
    }

    /// What does not fit.
    fn misfit(&self) -> Misfit {
        match self {
            QuarantineReason::Unmappable(misfit) => misfit.clone(),
            reason => Misfit::of_code(reason.code()),
        }
    }

    /// As it is stored.
    pub fn code(&self) -> &str {
        match self {
            QuarantineReason::Unmappable(misfit) => &misfit.code,
            QuarantineReason::Rejected(code) => code,
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
    /// What does not fit. An entry of an earlier release knows the code alone.
    pub misfit: Misfit,
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
            misfit: reason.misfit(),
            fence,
        }
    }

    /// The entry for a record that does not tell its item.
    pub fn record(fence: Fence) -> Quarantined {
        Quarantined::named(&fence.to_string(), fence)
    }

    /// The same for a record that does not even tell its sequence number, under a name of its own.
    pub fn named(name: &str, fence: Fence) -> Quarantined {
        let reason = QuarantineReason::Unreadable;
        let row = format!("{RECORD_PREFIX}{name}");
        Quarantined { key: None, row, code: reason.code().to_owned(), misfit: reason.misfit(), fence }
    }

    /// The entry for a batch of records that was given up, by the place where it was set aside.
    pub fn set_aside(place: &str, fence: Fence) -> Quarantined {
        let reason = QuarantineReason::Discarded;
        Quarantined {
            code: reason.code().to_owned(),
            misfit: reason.misfit(),
            ..Quarantined::named(place, fence)
        }
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
        let Misfit { attribute, index, kind, .. } = &self.misfit;
        let named = [(ATTRIBUTE, attribute.as_deref()), (INDEX, index.as_deref()), (KIND, Some(kind.name()))];
        for (name, text) in named {
            row.extend(text.map(|text| (name.to_owned(), AttributeValue::S(text.to_owned()))));
        }
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
        let code = text(control::CODE)?;
        let kind = text(KIND).and_then(|name| MisfitKind::named(&name));
        let misfit = match kind {
            Some(kind) => Misfit { attribute: text(ATTRIBUTE), index: text(INDEX), kind, code: code.clone() },
            None => Misfit::of_code(&code),
        };
        Some(Quarantined {
            key: match row.get(control::SOURCE_KEY) {
                Some(AttributeValue::M(key)) => Some(Item::from(key.clone())),
                _ => None,
            },
            row: text(control::SORT)?,
            code,
            misfit,
            fence: Fence::read(row.get(control::FENCE)?)?,
        })
    }
}

/// How many entries there are of each reason.
pub fn misfits<'q>(entries: impl IntoIterator<Item = &'q Quarantined>) -> Misfits {
    let mut misfits = Misfits::default();
    for entry in entries {
        misfits.add(entry.misfit.clone(), entry.key.as_ref());
    }
    misfits
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
