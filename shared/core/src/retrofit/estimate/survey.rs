//! The result of a backfill for each item, without a write: the backfill's tasks are started, and their first requests are counted.
//!
//! A survey of a whole table also notes each target key, where two source items can claim one. It judges as if nothing had been carried
//! over yet: what the target holds already, it does not know.

use std::collections::HashSet;

use sha2::{Digest, Sha256};

use super::{RetrofitEstimate, Scale, Sums};
use crate::cost::WriteUnits;
use crate::retrofit::job::Job;
use crate::retrofit::mapping::Mapping;
use crate::retrofit::misfit::Misfit;
use crate::retrofit::protocol_choice::Protocol;
use crate::retrofit::quarantine::{QuarantineReason, Quarantined};
use crate::retrofit::request::{Action, Request, TableRole};
use crate::retrofit::result::TaskResult;
use crate::retrofit::source_key::SourceKey;
use crate::retrofit::task::TaskStep;
use crate::retrofit::there_and_back::ThereAndBack;
use crate::value::Item;

/// The items of a source, one after the other.
#[derive(Debug)]
pub struct Survey<'j> {
    job: &'j Job,
    sums: Sums,
    items: u64,
    /// Digests of the target keys, where two items can claim one. A set holds 17 bytes for each, and up to twice that
    /// while it grows.
    claimed: Option<HashSet<[u8; 16]>>,
}

impl RetrofitEstimate {
    /// An estimate from a sample, with all that it selects, renames, sets, drops, refuses and keeps on the target's items.
    pub fn of_sample(job: &Job, items: u64, sample: &[Item]) -> Option<RetrofitEstimate> {
        let mut survey = Survey::of_sample(job);
        for item in sample {
            survey.add(item);
        }
        survey.of_items(items)
    }
}

impl<'j> Survey<'j> {
    /// Of a sample. Who claims which key is not asked: most of a table's collisions are not within a sample.
    pub fn of_sample(job: &'j Job) -> Survey<'j> {
        let mapping = job.mapping();
        let sums = Sums {
            indexes: vec![(0, WriteUnits::ZERO); mapping.target().indexes.len()],
            there_and_back: ThereAndBack::of(mapping),
            ..Sums::default()
        };
        Survey { job, sums, items: 0, claimed: None }
    }

    /// Of all items.
    pub fn of_all(job: &'j Job) -> Survey<'j> {
        let claimed = (job.mapping().protocol() == Protocol::Ledger).then(HashSet::new);
        Survey { claimed, ..Survey::of_sample(job) }
    }

    /// The result of the backfill for this item.
    pub fn add(&mut self, item: &Item) -> TaskResult {
        self.items += 1;
        self.sums.scan_bytes += crate::index::item_bytes(item);
        match self.job.backfill(item.clone(), false).start(self.job) {
            TaskStep::Done(result) => result,
            TaskStep::Send(request) => match entry_of(&request) {
                Some(entry) => self.refused(entry.misfit, entry.key.as_ref()),
                None => self.written(item),
            },
        }
    }

    /// Scaled up to a source of that many items; `None` for an empty sample.
    pub fn of_items(self, items: u64) -> Option<RetrofitEstimate> {
        let scale = Scale { items, sampled: self.items };
        let judged = self.items > 0 || items == 0;
        judged.then(|| self.sums.scaled(self.job.mapping().target(), scale))
    }

    /// The same, where the items that were added are all there are.
    pub fn of_these(self) -> RetrofitEstimate {
        let scale = Scale { items: self.items, sampled: self.items };
        self.sums.scaled(self.job.mapping().target(), scale)
    }

    fn refused(&mut self, misfit: Misfit, key: Option<&Item>) -> TaskResult {
        let code = misfit.code.clone();
        self.sums.refused += 1;
        self.sums.misfits.add(misfit, key);
        TaskResult::Quarantined(code)
    }

    fn written(&mut self, item: &Item) -> TaskResult {
        let mapping = self.job.mapping();
        let Ok(Some(mapped)) = mapping.target_item(item) else { return TaskResult::NotSelected };
        if !self.claim(mapping, &mapped) {
            let code = QuarantineReason::Collision.code().to_owned();
            return self.refused(Misfit::of_code(&code), mapping.source().key_of(item).as_ref());
        }
        self.sums.diff.add(mapping, item, &mapped);
        if let Some(there_and_back) = &mut self.sums.there_and_back {
            there_and_back.add(item, &mapped);
        }
        for (attribute, remedy) in mapping.mended(item) {
            *self.sums.mended.entry((attribute.to_owned(), remedy.word())).or_default() += 1;
        }
        self.sums.mapped(mapping, item, mapped);
        TaskResult::Written
    }

    /// Is the item the first that claims its target key?
    fn claim(&mut self, mapping: &Mapping, mapped: &Item) -> bool {
        let Some(claimed) = &mut self.claimed else { return true };
        let Some(key) = SourceKey::of(mapping.target(), mapped) else { return true };
        let mut digest = [0; 16];
        digest.copy_from_slice(&Sha256::digest(key.to_string())[..16]);
        claimed.insert(digest)
    }
}

/// The entry of the quarantine that a request makes.
fn entry_of(request: &Request) -> Option<Quarantined> {
    match request {
        Request::Write(write) if write.role == TableRole::Control => match &write.action {
            Action::Put(row) => Quarantined::read(row),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests;
