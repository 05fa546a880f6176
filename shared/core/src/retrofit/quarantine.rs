//! What could not be written is kept by its key, never skipped in silence.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::control;
use super::fence::Fence;
use super::mapping::Mapping;
use super::misfit::{Misfit, MisfitKind, Misfits, keys};
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
/// The attribute with the misfit's name.
const KIND: &str = "misfit";

/// The attributes of an acceptance: the misfit, the reason, the person, the second since 1970.
const ACCEPTED: &str = "accepted";
const BECAUSE: &str = "because";
const BY: &str = "by";
const AT: &str = "at";

/// The beginning of the row of an entry that names no item.
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

    /// The misfit.
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

    /// Do two source items, or an item of another program, claim one key?
    pub fn is_collision(code: &str) -> bool {
        code == QuarantineReason::Collision.code() || code == QuarantineReason::Foreign.code()
    }
}

/// That an item is known not to fit, and stays out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Acceptance {
    /// Why.
    pub because: String,
    /// The person who accepted it.
    pub by: String,
    /// The second since 1970.
    pub at: u64,
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
    /// The misfit.
    pub misfit: Misfit,
    /// How new the change was that failed.
    pub fence: Fence,
    /// Whether the item is accepted, for this misfit.
    pub accepted: Option<Acceptance>,
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
            accepted: None,
        }
    }

    /// The entry for a record that does not tell its item.
    pub fn record(fence: Fence) -> Quarantined {
        Quarantined::named(&fence.to_string(), fence)
    }

    /// The same for a record without a sequence number, under its event id.
    pub fn named(name: &str, fence: Fence) -> Quarantined {
        let reason = QuarantineReason::Unreadable;
        let row = format!("{RECORD_PREFIX}{name}");
        let code = reason.code().to_owned();
        Quarantined { key: None, row, code, misfit: reason.misfit(), fence, accepted: None }
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
            role: TableRole::Control,
            action: Action::Put(self.row(mapping)),
            guard: Guard::AbsentOr(newer),
        }
    }

    /// The write that takes it out, if it is still the same.
    pub fn leave(&self, mapping: &Mapping) -> Write {
        Write {
            role: TableRole::Control,
            action: Action::Delete(control::key(
                &control::quarantine_partition(mapping.rows_name()),
                &self.row,
            )),
            guard: Guard::equals(control::FENCE, self.fence.value()),
        }
    }

    /// The write that accepts the item, or without an acceptance, takes that back. The note is a row of its
    /// own: the item may fail again at any time, and as long as it does so for the same reason, it stays accepted.
    pub fn accept(&self, mapping: &Mapping, acceptance: Option<&Acceptance>) -> Write {
        let key = accepted_key(mapping, &self.row);
        let text = |text: &str| AttributeValue::S(text.to_owned());
        let row = |acceptance: &Acceptance| {
            let mut row = control::row(key.clone());
            row.insert(ACCEPTED, text(&self.misfit.text()));
            row.insert(BECAUSE, text(&acceptance.because));
            row.insert(BY, text(&acceptance.by));
            row.insert(AT, control::number(acceptance.at));
            row
        };
        let any = is(control::PARTITION, Comparison::Exists(true));
        Write {
            role: TableRole::Control,
            action: match acceptance.map(row) {
                Some(row) => Action::Put(row),
                None => Action::Delete(key),
            },
            guard: Guard::AbsentOr(any),
        }
    }

    /// The same entry with what this row of [`accepted_key`] says of it. An item that was accepted for another reason is not
    /// accepted.
    #[must_use]
    pub fn noted(mut self, row: Option<&Item>) -> Quarantined {
        let read = |row: &Item| {
            let is_this = control::text(row, ACCEPTED)? == self.misfit.text();
            let text = |name: &str| control::text(row, name).map(str::to_owned);
            let acceptance =
                Acceptance { because: text(BECAUSE)?, by: text(BY)?, at: control::whole(row, AT)? };
            is_this.then_some(acceptance)
        };
        self.accepted = row.and_then(read);
        self
    }

    /// Can the item be accepted? Only if it is known not to fit. Items that were given up or could not be read
    /// may fit.
    pub fn is_acceptable(&self) -> bool {
        let unknown = [&QuarantineReason::Unreadable, &QuarantineReason::Discarded, &QuarantineReason::Late];
        self.key.is_some() && !unknown.iter().any(|reason| reason.code() == self.code)
    }

    fn row(&self, mapping: &Mapping) -> Item {
        let key = control::key(&control::quarantine_partition(mapping.rows_name()), &self.row);
        let mut row = control::row(key);
        row.insert(control::FENCE, self.fence.value());
        row.insert(control::CODE, AttributeValue::S(self.code.clone()));
        let Misfit { attribute, index, kind, .. } = &self.misfit;
        let named = [(ATTRIBUTE, attribute.as_deref()), (INDEX, index.as_deref()), (KIND, Some(kind.name()))];
        for (name, text) in named {
            row.extend(text.map(|text| (name, AttributeValue::S(text.to_owned()))));
        }
        if let Some(key) = &self.key {
            row.insert(control::SOURCE_KEY, AttributeValue::M(map_of(key)));
        }
        row
    }

    /// As a document.
    pub fn json(&self) -> Value {
        let mut value = self.misfit.json();
        value["row"] = json!(self.row);
        value["key"] = json!(self.key);
        if let Some(Acceptance { because, by, at }) = &self.accepted {
            value["accepted"] = json!({ "because": because, "by": by, "at": at });
        }
        value
    }

    /// Reads a row of the quarantine; `None` if it is invalid.
    pub fn read(row: &Item) -> Option<Quarantined> {
        let text = |name: &str| match row.get(name) {
            Some(AttributeValue::S(text)) => Some(text.clone()),
            _ => None,
        };
        let code = text(control::CODE)?;
        let kind = MisfitKind::named(&text(KIND)?)?;
        let misfit = Misfit { attribute: text(ATTRIBUTE), index: text(INDEX), kind, code: code.clone() };
        Some(Quarantined {
            accepted: None,
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

/// Where it stands whether the item of this row of the quarantine was accepted.
pub fn accepted_key(mapping: &Mapping, row: &str) -> Item {
    control::key(&control::accepted_partition(mapping.rows_name()), row)
}

/// The entries of these rows of the quarantine, with the notes that there are on them.
pub fn entries(rows: &[Item], notes: &[Item]) -> Vec<Quarantined> {
    let by_row: HashMap<&str, &Item> =
        notes.iter().filter_map(|note| Some((control::text(note, control::SORT)?, note))).collect();
    let noted = |entry: Quarantined| {
        let note = by_row.get(entry.row.as_str()).copied();
        entry.noted(note)
    };
    rows.iter().filter_map(Quarantined::read).map(noted).collect()
}

/// The entries as a table for people.
pub fn table(entries: &[Quarantined]) -> Vec<Vec<String>> {
    let row = |entry: &Quarantined| {
        let key = match &entry.key {
            Some(key) => keys(std::slice::from_ref(key)),
            None => format!("{} (names no item)", entry.row),
        };
        let note = entry.accepted.as_ref().map(|note| format!("stays out: {} ({})", note.because, note.by));
        vec![entry.code.clone(), key, note.unwrap_or_default()]
    };
    entries.iter().map(row).collect()
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
    item.iter().map(|(name, value)| (name.to_string(), value.clone())).collect()
}

/// How a task ends that entered this. A refusal means that a newer failure of the same item is there.
pub(super) fn entered(entry: &Quarantined, outcome: Response) -> TaskResult {
    match outcome {
        Response::Rejected(code) => TaskResult::Unrecorded(code),
        _ => TaskResult::Quarantined(entry.code.clone()),
    }
}
