//! The exact comparison of both sides while writers are stopped and the generation's writes are refused: it finds what the
//! streams have not shown. Both tables are scanned; each item is compared with its counterpart.

use std::sync::Arc;

use super::arrivals::{entry, entry_keys};
use super::context::OperationContext;
use super::effect::{Effect, PageSource, Reply};
use super::parts::{Part, PartStep};
use super::sides::SidesLookup;
use crate::retrofit::job::Job;
use crate::retrofit::request::TableRole;
use crate::retrofit::source_key::SourceKey;
use crate::value::Item;

/// An item that does not agree takes two more keys.
const PAGE_ITEMS: u32 = 500;

/// The differences that it found.
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
    /// Scanned items, with their counterparts.
    Sides(SidesLookup),
    /// Items that do not agree: was that accepted?
    Acceptances(Vec<SourceKey>),
    Over,
}

impl Comparing {
    pub(super) fn of(job: Arc<Job>, roles: [TableRole; 2]) -> Comparing {
        let found = Compared::default();
        Comparing { job, roles, second: false, after: None, step: CompareStep::Scanning, found }
    }
}

impl Part for Comparing {
    type End = Compared;

    fn next(&self, _context: &OperationContext) -> PartStep<Compared> {
        PartStep::Ask(match &self.step {
            CompareStep::Scanning => Effect::Page {
                of: PageSource::Scan(self.roles[usize::from(self.second)]),
                after: self.after.clone(),
                limit: PAGE_ITEMS,
            },
            CompareStep::Sides(sides) => match sides.next(&self.job, self.roles) {
                Some(effect) => effect,
                None => unreachable!("it is compared at once"),
            },
            CompareStep::Acceptances(keys) => Effect::Read {
                table: TableRole::Control,
                keys: keys.iter().flat_map(|key| entry_keys(self.job.mapping(), key)).collect(),
            },
            CompareStep::Over => return PartStep::Over(self.found.clone()),
        })
    }

    fn take(&mut self, context: &mut OperationContext, reply: Reply) {
        self.step = match (std::mem::replace(&mut self.step, CompareStep::Over), reply) {
            (CompareStep::Scanning, Reply::Page { items, last }) => self.scanned(items, last),
            (CompareStep::Sides(mut sides), Reply::Items(items)) => {
                sides.take(&self.job, items);
                match sides.next(&self.job, self.roles) {
                    Some(_) => CompareStep::Sides(sides),
                    None => match self.doubtful(context, &sides) {
                        doubtful if doubtful.is_empty() => self.go_on(),
                        doubtful => CompareStep::Acceptances(doubtful),
                    },
                }
            }
            (CompareStep::Acceptances(keys), Reply::Items(rows)) => {
                for (key, pair) in keys.into_iter().zip(rows.chunks(2)) {
                    // A difference that was accepted is one that an operator has read: it would keep every switch for good from ending.
                    if entry(pair).is_none_or(|entry| !self.job.is_accepted(&entry, None)) {
                        self.differs(key);
                    }
                }
                self.go_on()
            }
            (_, reply) => unreachable!("{reply:?} does not answer a comparison"),
        };
    }
}

impl Comparing {
    fn scanned(&mut self, items: Vec<Item>, last: Option<Item>) -> CompareStep {
        self.after = last;
        let mapping = self.job.mapping();
        // Once both tables had writers, an item without a counterpart was not written by the retrofit.
        let (first, unnamed) = (!self.second, self.second && self.job.rows_decide());
        let (mut keyed, mut without) = (Vec::new(), Vec::new());
        for item in items {
            let key = match first {
                true => mapping.source().key_of(&item),
                // Items that cannot belong to this retrofit are skipped.
                false if !mapping.may_own(&item) => continue,
                false => self.job.owner(&item).and_then(|of| of.item(mapping.source())),
            };
            match key {
                Some(key) => keyed.push((key, item)),
                None if unnamed => without.extend(SourceKey::of(mapping.target(), &item)),
                None => {}
            }
        }
        without.into_iter().for_each(|key| self.differs(key));
        let (keys, items): (Vec<Item>, Vec<Item>) = keyed.into_iter().unzip();
        self.found.items += if self.second { 0 } else { keys.len() as u64 };
        match (keys.is_empty(), self.second) {
            (true, _) => self.go_on(),
            (false, false) => CompareStep::Sides(SidesLookup::of_sources(keys, items)),
            (false, true) => CompareStep::Sides(SidesLookup::of_targets(keys, items)),
        }
    }

    fn go_on(&mut self) -> CompareStep {
        match (&self.after, self.second) {
            (Some(_), _) => CompareStep::Scanning,
            (None, false) => {
                // Items that only the target has are met in its own scan: the source's never comes to them.
                self.second = true;
                CompareStep::Scanning
            }
            (None, true) => CompareStep::Over,
        }
    }

    /// The items that do not agree. One that does not fit is among them: its record may be late, and then no entry names it.
    fn doubtful(&self, context: &OperationContext, lookup: &SidesLookup) -> Vec<SourceKey> {
        let expires = self.roles.map(|role| context.table(role).expires);
        // Time to live deletes an item in each table at another time: one that is left on one side is no lost change.
        let differ = lookup.sides().filter(|(_, sides)| {
            !self.job.agrees(*sides) && !self.job.is_expired(*sides, expires, context.seconds())
        });
        differ.filter_map(|(key, _)| SourceKey::of(self.job.mapping().source(), key)).collect()
    }

    fn differs(&mut self, key: SourceKey) {
        self.found.differing += 1;
        if self.found.first.len() < 5 {
            self.found.first.push(key);
        }
    }
}
