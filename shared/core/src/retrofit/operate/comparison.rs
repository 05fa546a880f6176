//! The exact comparison of both sides while nobody writes and nothing of the generation can be written any more: it finds what the
//! streams have not shown. Both tables are scanned; each item is compared with its counterpart.

use std::sync::Arc;

use super::arrivals::{entry, entry_keys};
use super::effect::{Effect, PageSource, Reply};
use super::known::Known;
use super::parts::Turn;
use crate::retrofit::drain::Sides;
use crate::retrofit::job::Job;
use crate::retrofit::protocol::LedgerRow;
use crate::retrofit::request::TableRole;
use crate::retrofit::source_key::SourceKey;
use crate::value::Item;

/// An item that does not agree takes two more keys.
const PAGE_ITEMS: u32 = 500;

/// What it found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Compared {
    pub(super) items: u64,
    pub(super) differing: u64,
    /// The first of them, by their keys in the table that items are carried from.
    pub(super) first: Vec<SourceKey>,
}

/// A comparison under way.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Comparing {
    job: Arc<Job>,
    roles: [TableRole; 2],
    /// Is the table scanned that items are carried to?
    second: bool,
    after: Option<Item>,
    step: CompareStep,
    found: Compared,
}

#[derive(Debug, Clone, PartialEq)]
enum CompareStep {
    Scanning,
    /// The items' keys in the table that items are carried from; scanned items of the one that is scanned.
    Rows {
        scanned: Vec<Item>,
        keys: Vec<Item>,
    },
    Others {
        scanned: Vec<Item>,
        keys: Vec<Item>,
        rows: Vec<Option<Item>>,
    },
    /// Items that do not agree: did somebody accept that?
    Acceptances(Vec<SourceKey>),
    Over,
}

impl Comparing {
    pub(super) fn of(job: Arc<Job>, roles: [TableRole; 2]) -> Comparing {
        let found = Compared::default();
        Comparing { job, roles, second: false, after: None, step: CompareStep::Scanning, found }
    }

    pub(super) fn next(&self) -> Turn<Compared> {
        let mapping = self.job.mapping();
        Turn::Ask(match &self.step {
            CompareStep::Scanning => Effect::Page {
                of: PageSource::Scan(self.roles[usize::from(self.second)]),
                after: self.after.clone(),
                limit: PAGE_ITEMS,
            },
            CompareStep::Rows { keys, .. } => {
                let row = |key: &Item| {
                    let key = SourceKey::of(mapping.source(), key);
                    LedgerRow::key(
                        mapping,
                        &key.unwrap_or_else(|| unreachable!("a key of the table is whole")),
                    )
                };
                Effect::Read { table: TableRole::Control, keys: keys.iter().map(row).collect() }
            }
            CompareStep::Others { keys, rows, .. } if !self.second => {
                let places = keys.iter().zip(rows).filter_map(|(key, row)| self.job.place(key, row.as_ref()));
                Effect::Read { table: self.roles[1], keys: places.collect() }
            }
            CompareStep::Others { keys, .. } => Effect::Read { table: self.roles[0], keys: keys.clone() },
            CompareStep::Acceptances(keys) => Effect::Read {
                table: TableRole::Control,
                keys: keys.iter().flat_map(|key| entry_keys(mapping, key)).collect(),
            },
            CompareStep::Over => return Turn::Over(self.found.clone()),
        })
    }

    pub(super) fn take(&mut self, known: &Known, reply: Reply) {
        self.step = match (std::mem::replace(&mut self.step, CompareStep::Over), reply) {
            (CompareStep::Scanning, Reply::Page { items, last }) => self.scanned(items, last),
            (CompareStep::Rows { scanned, keys }, Reply::Items(rows)) => {
                CompareStep::Others { scanned, keys, rows }
            }
            (CompareStep::Others { scanned, keys, rows }, Reply::Items(others)) => {
                let doubtful = self.compare(known, &scanned, &keys, &rows, &others);
                if doubtful.is_empty() { self.go_on() } else { CompareStep::Acceptances(doubtful) }
            }
            (CompareStep::Acceptances(keys), Reply::Items(rows)) => {
                for (key, pair) in keys.into_iter().zip(rows.chunks(2)) {
                    if entry(pair).is_none_or(|entry| !self.job.is_accepted(&entry, None)) {
                        self.differs(key);
                    }
                }
                self.go_on()
            }
            (_, reply) => unreachable!("{reply:?} does not answer a comparison"),
        };
    }

    fn scanned(&mut self, items: Vec<Item>, last: Option<Item>) -> CompareStep {
        self.after = last;
        let mapping = self.job.mapping();
        let mut kept = (Vec::new(), Vec::new());
        for item in items {
            let key = match self.second {
                false => mapping.source().key_of(&item),
                // What cannot be of this retrofit is somebody else's.
                true if !mapping.may_own(&item) => None,
                true => self.origin(&item),
            };
            if let Some(key) = key {
                kept.0.push(item);
                kept.1.push(key);
            }
        }
        self.found.items += if self.second { 0 } else { kept.0.len() as u64 };
        match kept.0.is_empty() {
            true => self.go_on(),
            false => CompareStep::Rows { scanned: kept.0, keys: kept.1 },
        }
    }

    /// The key of the item that this one was made of.
    fn origin(&self, item: &Item) -> Option<Item> {
        let mapping = self.job.mapping();
        // Until the target had writers of its own, an item without marks is somebody else's.
        match self.job.rows_decide() {
            true => mapping.origin(&mapping.target().key_of(item)?),
            false => mapping.owner(item)?.item(mapping.source()),
        }
    }

    fn go_on(&mut self) -> CompareStep {
        match (&self.after, self.second) {
            (Some(_), _) => CompareStep::Scanning,
            (None, false) => {
                self.second = true;
                CompareStep::Scanning
            }
            (None, true) => CompareStep::Over,
        }
    }

    /// The items that do not agree. One that does not fit is among them: its record may be late, and then no entry names it.
    fn compare(
        &self,
        known: &Known,
        scanned: &[Item],
        keys: &[Item],
        rows: &[Option<Item>],
        others: &[Option<Item>],
    ) -> Vec<SourceKey> {
        let expires = self.roles.map(|role| known.table(role).expires);
        let mut others = others.iter();
        let mut doubtful = Vec::new();
        for ((item, key), row) in scanned.iter().zip(keys).zip(rows) {
            let place = self.job.place(key, row.as_ref());
            let is_asked = self.second || place.is_some();
            let other = if is_asked { others.next().and_then(Option::as_ref) } else { None };
            let (source, target) = if self.second { (other, Some(item)) } else { (Some(item), other) };
            let sides = Sides { row: row.as_ref(), source, target };
            if !self.job.agrees(sides) && !self.job.is_expired(sides, expires, known.seconds()) {
                doubtful.extend(SourceKey::of(self.job.mapping().source(), key));
            }
        }
        doubtful
    }

    fn differs(&mut self, key: SourceKey) {
        self.found.differing += 1;
        if self.found.first.len() < 5 {
            self.found.first.push(key);
        }
    }
}
