//! A candidate: reads that answer the whole request, with their price; and the order of candidates.

use std::cmp::Ordering;

use super::access::Access;
use super::context::PlanContext;
use super::delivery::{self, Delivery};
use super::estimate::{self, Estimate};
use super::join::{join_neighbours, join_overlapping};
use super::path::AccessPath;
use super::planned_read::PlannedRead;
use super::reject::{RejectReason, RejectedPath};
use crate::cost::ReadUnits;
use crate::query::limits::FAN_OUT_MAX;

/// Reads that answer the whole request.
#[derive(Debug, Clone)]
pub(super) struct Candidate<'a> {
    pub(super) reads: Vec<PlannedRead<'a>>,
    delivery: Delivery,
    units: ReadUnits,
    /// Is one item read that could be outside the caller's scope?
    hides_cost: bool,
    /// The estimated number of entries, which rounding to units would hide.
    entries: u64,
}

/// The reads that were chosen.
#[derive(Debug)]
pub(super) struct ChosenPlan {
    pub(super) accesses: Vec<Access>,
    pub(super) delivery: Delivery,
    pub(super) units: ReadUnits,
    pub(super) hides_cost: bool,
}

impl<'a> Candidate<'a> {
    /// Reads as a candidate, if they can yield the order.
    pub(super) fn of(
        context: &PlanContext<'a>,
        reads: Vec<PlannedRead<'a>>,
    ) -> Result<Candidate<'a>, RejectReason> {
        // Only the cost of a single item can be hidden. Of several reads, one could use up the budget of the next.
        if reads.len() > 1
            && let Some(attribute) = reads.iter().find_map(|read| read.unscoped)
        {
            return Err(RejectReason::Scope { attribute: attribute.into() });
        }
        match reads.len() {
            1 => Candidate::priced(context, reads),
            _ => Candidate::joined(context, reads),
        }
    }

    /// Reads as a candidate, joined where that is cheaper. Not inlined: WebAssembly compiles a function when it is first called,
    /// and most requests have one read.
    #[inline(never)]
    fn joined(context: &PlanContext<'a>, reads: Vec<PlannedRead<'a>>) -> Result<Candidate<'a>, RejectReason> {
        let apart = join_neighbours(context, one_request_each(reads));
        match join_overlapping(context, &apart) {
            None => Candidate::priced(context, apart),
            // If reads are joined, a filter can hide when enough items are found, so the price decides.
            Some(joined) => match (Candidate::priced(context, joined), Candidate::priced(context, apart)) {
                (Ok(joined), Ok(apart)) if apart.is_better_than(Some(&joined)) => Ok(apart),
                (Ok(joined), _) => Ok(joined),
                (Err(_), apart) => apart,
            },
        }
    }

    fn priced(
        context: &PlanContext<'a>,
        mut reads: Vec<PlannedRead<'a>>,
    ) -> Result<Candidate<'a>, RejectReason> {
        let request = context.request;
        if count(&reads) > FAN_OUT_MAX {
            return Err(RejectReason::FanOut);
        }
        let delivery = delivery::decide(request, &mut reads).ok_or(RejectReason::Order)?;
        let Estimate { units, entries } = estimate::of_all(context, &reads, delivery);
        let hides_cost = reads.iter().any(|read| read.unscoped.is_some());
        Ok(Candidate { reads, delivery, units, hides_cost, entries })
    }

    /// Cheaper first; then no sorting in memory, fewer requests, the narrower range, fewer remaining conditions, the
    /// table before local before global indexes. The order is total, so the same request always has the same plan.
    ///
    /// The narrower range matters because the price is rounded up to half units: a whole partition that is expected to
    /// be small has the price of one item until it grows.
    fn rank(&self, other: &Candidate<'a>) -> Ordering {
        self.figures()
            .cmp(&other.figures())
            .then_with(|| self.conditions_left().cmp(&other.conditions_left()))
            .then_with(|| self.preferences().cmp(other.preferences()))
    }

    fn figures(&self) -> (ReadUnits, bool, usize, u64) {
        let is_sorted_here = matches!(self.delivery, Delivery::SortedInMemory { .. });
        (self.units, is_sorted_here, count(&self.reads), self.entries)
    }

    fn conditions_left(&self) -> usize {
        self.reads.iter().map(|read| read.left().count() * read.count()).sum()
    }

    fn preferences(&self) -> impl Iterator<Item = impl Ord> {
        self.reads.iter().map(|read| (read.path.preference(), read.descending))
    }

    pub(super) fn is_better_than(&self, other: Option<&Candidate<'a>>) -> bool {
        other.is_none_or(|other| self.rank(other).is_lt())
    }

    pub(super) fn into_plan(self) -> ChosenPlan {
        ChosenPlan {
            accesses: one_request_each(self.reads).into_iter().map(PlannedRead::into_access).collect(),
            delivery: self.delivery,
            units: self.units,
            hides_cost: self.hides_cost,
        }
    }
}

/// The number of requests.
fn count(reads: &[PlannedRead<'_>]) -> usize {
    reads.iter().map(PlannedRead::count).sum()
}

/// The reads, each for one request.
fn one_request_each(reads: Vec<PlannedRead<'_>>) -> Vec<PlannedRead<'_>> {
    if reads.iter().all(|read| read.count() == 1) {
        return reads;
    }
    reads.into_iter().flat_map(PlannedRead::apart).collect()
}

/// The best candidate so far, and the paths it was preferred to.
#[derive(Debug, Default)]
pub(super) struct Candidates<'a> {
    pub(super) best: Option<Candidate<'a>>,
    pub(super) rejected: Vec<RejectedPath>,
}

impl<'a> Candidates<'a> {
    /// Keeps the candidate if it is better, and records the path of the other one.
    pub(super) fn offer(&mut self, found: Candidate<'a>) {
        let Some(best) = self.best.take() else {
            self.best = Some(found);
            return;
        };
        let (winner, loser) = if found.is_better_than(Some(&best)) { (found, best) } else { (best, found) };
        if let Some(read) = loser.reads.first() {
            let reason = match loser.units == winner.units {
                true => RejectReason::Equal,
                false => RejectReason::Costlier { units: loser.units.as_f64() },
            };
            self.reject(read.path, read.range.is_none(), reason);
        }
        self.best = Some(winner);
    }

    /// Keeps the candidate if it is better. The path of the other one is recorded already.
    pub(super) fn offer_silently(&mut self, found: Candidate<'a>) {
        if found.is_better_than(self.best.as_ref()) {
            self.best = Some(found);
        }
    }

    pub(super) fn reject(&mut self, path: AccessPath<'_>, scan: bool, reason: RejectReason) {
        self.rejected.push(RejectedPath { index: path.facts.index.clone(), scan, reason });
    }
}
