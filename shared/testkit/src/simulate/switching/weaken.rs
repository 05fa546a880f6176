//! Effects as a weakened operator performs them, and the consequences of a new row for the writers.

use std::rc::Rc;

use keyfold_core::retrofit::control::{self, Direction, Phase, RetrofitState};
use keyfold_core::retrofit::{Action, ChangeRecord, Generation, Job, Pass, TableRole, Tracking, Write, seal};
use keyfold_core::value::{AttributeValue, Item};

use super::super::mutant::Mutant;
use super::super::store::{control_partition, outcome};
use super::carry::newest_fence;
use super::scene::{Layout, index, other};
use super::world::{World, natural, number_of};

impl World {
    /// The row is another one now: a stop begins, or the direction was turned.
    pub(super) fn turned(&mut self, at: usize, before: &RetrofitState) {
        let phase = self.head.phase;
        if phase.is_stop() && !before.phase.is_stop() {
            self.stop_begun = self.turns;
            self.described = false;
            self.stopping_stream = Some(self.stream_name(Direction::Reverse));
            if !self.by_policy {
                self.open = None;
            }
            self.stopped_at = [0, 1].map(|at| self.streams[at].len());
            if self.bites(Mutant::PauseUncounted) {
                self.operators[at].frozen_ms = Some(self.now_ms(at));
            }
        }
        if !phase.is_stop() && before.phase.is_stop() {
            self.stopping_stream = None;
        }
        if phase == Phase::Reversed && self.head.reverse_stream.is_none() {
            self.fail("the target has writers, and nothing carries back what they write");
        }
        if phase == Phase::Reversed && before.phase == Phase::Closing {
            let sides = [Direction::Forward, Direction::Reverse];
            if let Some(side) = sides.into_iter().find(|side| !self.is_followed(*side)) {
                self.fail(format!("writers were moved, and the stream of {side:?} is no longer followed"));
            }
        }
        let side = match phase {
            Phase::Settled | Phase::Finalising | Phase::Finalised => Some(Direction::Reverse),
            _ => phase.direction(),
        };
        if let Some(side) = side.filter(|side| *side != self.truth_of) {
            self.moves += 1;
            // The exact comparison has seen all items.
            let looked = match phase {
                Phase::Settled => u64::MAX,
                _ => self.operators[at].reads.values().copied().min().unwrap_or(self.turns),
            };
            self.bites += u64::from(self.is_weakly_sealed(before) && self.is_something_under_way(at));
            self.let_in(side, looked);
        }
    }

    fn is_weakly_sealed(&self, before: &RetrofitState) -> bool {
        match self.mutant {
            Some(Mutant::OpenBeforeSeals | Mutant::HalfSealed | Mutant::TakenBackUnsealed) => true,
            Some(Mutant::ReturnUnsealed) => before.phase == Phase::Returning,
            _ => false,
        }
    }

    /// Can something of this generation still be written, but for what this operator does?
    fn is_something_under_way(&self, at: usize) -> bool {
        // Another operator carries over by what it read before.
        let mut others = self.operators.iter().enumerate().filter(|(other, _)| *other != at);
        others.any(|(_, operator)| operator.operation.is_some())
            || !self.works.is_empty()
            || !self.zombies.is_empty()
    }

    /// The row that a weakened operator stores.
    pub(super) fn weaken_head(&mut self, next: &mut RetrofitState) {
        let asked = next.reverse_stream.clone();
        match (self.mutant, next.phase) {
            (Some(Mutant::ReverseUnusable), Phase::Reversed) => next.reverse_stream = None,
            (Some(Mutant::ReturnForgets), Phase::Reversed) if self.head.phase == Phase::Returning => {
                next.reverse_stream = None;
            }
            _ => return,
        }
        self.bites += u64::from(next.reverse_stream != asked);
    }

    /// Is this a seal that a weakened operator leaves out?
    pub(super) fn is_forgotten_seal(&mut self, at: usize, key: &Item) -> bool {
        if self.mutant.is_none() {
            return false;
        }
        let partition = control_partition(key);
        let Some(number) = partition.strip_prefix("seal#") else { return false };
        let number: u16 = number.rsplit('#').next().and_then(|text| text.parse().ok()).unwrap_or(0);
        if number == 0 && self.head.phase.is_stop() && self.has(Mutant::SecondLookSkipped) {
            // From here on it goes by what it saw before.
            let stale = Box::new(self.clone());
            self.operators[at].stale = Some(stale);
        }
        // Those of a tidying have a mutant of their own.
        let is_stop = self.head.phase.is_stop();
        match self.mutant {
            Some(Mutant::OpenBeforeSeals) => is_stop,
            Some(Mutant::HalfSealed) => is_stop && number >= seal::SEALS / 2,
            Some(Mutant::ReturnUnsealed) => self.head.phase == Phase::Returning,
            Some(Mutant::TakenBackUnsealed) => self.operators[at].gives_back,
            _ => false,
        }
    }

    /// Does a weakened protocol not ask for this seal?
    pub(super) fn forgets_seal(&self, seal: &Action) -> bool {
        let generation = match seal.key().get(control::SORT) {
            Some(AttributeValue::S(number)) => number.parse().ok(),
            _ => None,
        };
        match self.mutant {
            Some(Mutant::NoSeal) => true,
            Some(Mutant::RepairsUnsealed) => generation == Some(Generation::UNTIDIED.number()),
            // With a ledger, the target is tidy in the first generation.
            Some(Mutant::TidyingUnsealed) => {
                self.scene.layout == Layout::Fixed && generation == Some(Generation::FIRST.number())
            }
            _ => false,
        }
    }

    /// A row of an item as a weakened operator reads it.
    pub(super) fn weaken_row(&mut self, key: &Item, row: &mut Option<Item>) {
        let partition = control_partition(key);
        let drains = self.head.phase.is_stop() && self.has(Mutant::DrainByPresence);
        if !partition.starts_with("ledger#") || !drains {
            return;
        }
        if let Some(row) = row {
            self.bites += 1;
            row.insert(control::FENCE.to_owned(), newest_fence().value());
        }
    }

    /// Is this way of a tidying weakened so? Only before writers move: afterwards other mutants weaken the same guards.
    pub(super) fn is_tidying_weakened(&self, lead: Direction, mutant: Mutant) -> bool {
        let is_tidying = lead == Direction::Forward && !self.head.was_reversed();
        self.has(mutant) && is_tidying && self.scene.layout == Layout::Fixed
    }

    /// The job by which a weakened function applies this record once deletes leave nothing in the target.
    pub(super) fn weakened_job(&mut self, job: Rc<Job>, lead: Direction, record: &ChangeRecord) -> Rc<Job> {
        let tracking = match self.mutant {
            Some(Mutant::TombstonesStay) => Tracking::TombstonesAndRows,
            Some(Mutant::PlainPuts) if self.seen(lead, record.new.as_ref()).is_some() => Tracking::Tombstones,
            _ => return job,
        };
        let mutant = self.mutant.filter(|mutant| self.is_tidying_weakened(lead, *mutant));
        match mutant.filter(|mutant| job.tracking() == Tracking::Rows && self.bites(*mutant)) {
            Some(_) => Rc::new(Job::clone(&job).tracked_by(tracking)),
            None => job,
        }
    }

    /// Is this a change of nothing but fences, which a weakened protocol leaves out?
    pub(super) fn is_skipped(&mut self, lead: Direction, writes: &[Write]) -> bool {
        let is_same = |write: &Write| {
            // An item that gets a fence before it is deleted is not as it should be.
            let is_wanted = |item: &Item| self.seen(lead, self.item(lead, number_of(item))).is_some();
            if matches!(&write.action, Action::Put(item) if !is_wanted(item)) {
                return false;
            }
            let there = self.at(other(lead), write.action.key());
            outcome(there, &write.action).as_ref().map(natural) == there.map(natural)
        };
        self.is_tidying_weakened(lead, Mutant::EqualIsSkipped)
            && writes.iter().filter(|write| write.role == TableRole::Target).all(is_same)
            && self.bites(Mutant::EqualIsSkipped)
    }

    /// A write of a sweep or of the end of a retrofit as a weakened protocol sends it.
    pub(super) fn weakened_cleaning(&mut self, pass: Pass, mut write: Write) -> Write {
        let mutant = match pass {
            Pass::Tidy => Mutant::SweepUnguarded,
            Pass::Finalise => Mutant::CleanUnguarded,
            _ => return write,
        };
        if self.has(mutant) {
            self.unguard(Direction::Forward, &mut write);
        }
        write
    }

    /// Is this record too young for an operator that does not wait for what was written after the stop?
    pub(super) fn is_too_young(&self, side: Direction, record: usize) -> bool {
        self.has(Mutant::EarlyLook) && record >= self.stopped_at[index(side)]
    }
}
