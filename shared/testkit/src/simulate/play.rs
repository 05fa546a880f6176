//! One history: writers, stream, replicator and segments take turns as the seed says, then everything drains.

use keyfold_core::retrofit::Quarantined;
use keyfold_core::retrofit::control::Phase;

use super::fault::Fault;
use super::mutant::Mutant;
use super::state::SimulationState;
use super::truth::Violation;
use super::work::{TaskOrigin, Waiter};

/// Turns with writers.
const TURNS_MAX: usize = 90;
/// Turns before a stream that begins too late.
const EARLY_TURNS: usize = 20;
/// Turns until everything must have drained.
const DRAIN_TURNS_MAX: usize = 6_000;

impl SimulationState<'_> {
    /// Plays the history to its end.
    pub(super) fn play(&mut self) -> Result<(), Violation> {
        for _ in 0..self.random.between(0, 6) {
            self.write_something();
        }
        self.unfollowed =
            self.scenario.is_in_place() && self.faults.strikes(Fault::NoStream, &mut self.random, 50);
        if self.faults.is_on(Fault::Foreign) && !self.scenario.is_in_place() && self.random.chance(50) {
            self.foreign_item();
        }
        self.open();
        for _ in 0..self.random.between(20, TURNS_MAX) {
            self.turn();
        }
        if self.stream.is_off() {
            self.reenable();
        }
        if self.head.phase == Phase::Abandoned {
            self.restart();
        }
        self.drain()?;
        self.conclude()
    }

    /// The stream begins, then the backfill: never the other way round.
    fn open(&mut self) {
        let mut before = self.random.below(3);
        if self.bites(Mutant::ScanFirst) {
            self.begin_backfill();
            before += EARLY_TURNS;
        }
        for _ in 0..before {
            self.turn();
        }
        if !self.unfollowed {
            self.stream.begin(&mut self.random, 0);
        }
        for _ in 0..self.random.below(4) {
            self.turn();
        }
        if !self.has(Mutant::ScanFirst) {
            self.begin_backfill();
        }
        if self.has(Mutant::Latest) {
            self.follow_from_latest();
        }
    }

    /// The stream is followed from its end, some time after the start of the scan.
    fn follow_from_latest(&mut self) {
        for shard in &mut self.stream.shards {
            shard.lags_until = u64::MAX;
        }
        for _ in 0..EARLY_TURNS {
            self.turn();
        }
        for shard in 0..self.stream.shards.len() {
            let left = self.stream.shards[shard].records.len() - self.stream.shards[shard].at;
            self.stream.shards[shard].lags_until = 0;
            if left > 0 {
                self.bitten();
                self.stream.pass(shard, left);
            }
        }
    }

    /// One turn while writers write.
    fn turn(&mut self) {
        let can_mend = self.head.phase == Phase::Running && !self.revised && !self.unfollowed;
        if can_mend && self.faults.strikes(Fault::Revision, &mut self.random, 1) {
            self.revise();
        }
        match self.random.below(100) {
            0..18 => self.write_something(),
            18..23 => self.disturb(),
            _ => {
                self.take_turn();
            }
        }
    }

    /// One turn of the retrofit. False if there was nothing to do.
    pub(super) fn take_turn(&mut self) -> bool {
        self.turns += 1;
        let (works, runs, verifications) = (self.works.len(), self.runs.len(), self.ready_verifications());
        let ready = self.stream.ready(self.turns).count();
        // Work under way is likelier than new work, or nothing would ever be finished.
        let weights = [works * 3, ready * 2, runs * 2, self.late.len(), self.notes.len(), verifications * 2];
        let total: usize = weights.iter().sum();
        if total == 0 {
            return self.wake();
        }
        let mut drawn = self.random.below(total);
        let mut chosen = 0;
        while drawn >= weights[chosen] {
            drawn -= weights[chosen];
            chosen += 1;
        }
        match chosen {
            0 => self.advance(drawn / 3),
            1 => {
                let shard = self.stream.ready(self.turns).nth(drawn / 2);
                shard.into_iter().for_each(|shard| self.poll(shard));
            }
            2 => {
                let run = self.runs.keys().nth(drawn / 2).copied();
                run.into_iter().for_each(|run| self.advance_run(run));
            }
            3 => self.send_late(drawn),
            4 => self.note_discarded(drawn),
            _ => self.advance_verification(drawn / 2),
        }
        true
    }

    /// A record was given up: the place where it was set aside goes into quarantine. It is not read before it is redriven.
    fn note_discarded(&mut self, at: usize) {
        let record = self.notes.swap_remove(at);
        let delivered = &self.stream.records[record];
        let (epoch, number) = (delivered.epoch, delivered.number);
        let place = format!("set-aside-{record}");
        let fence = keyfold_core::retrofit::Fence::of_scan(self.job().epoch());
        self.unreadable.push((number, Quarantined::set_aside(&place, fence).row));
        let version = self.version_of(epoch, false);
        let task = self.job_of(version).set_aside(&place);
        self.start(task, TaskOrigin::Discard, Waiter::Note(record), version);
    }

    /// The record that was set aside at this place.
    pub(super) fn set_aside_at(place: &str) -> Option<usize> {
        place.strip_prefix("set-aside-")?.parse().ok()
    }

    /// Nothing can be done now. Is there anything that only waits?
    fn wake(&mut self) -> bool {
        let lags = self.stream.shards.iter_mut().filter(|shard| shard.lags_until > self.turns);
        let lagging = lags.map(|shard| shard.lags_until = 0).count() > 0;
        let paused = !self.verifications.is_empty();
        if paused && !lagging {
            self.end_pauses();
        }
        (lagging && self.stream.ready(self.turns).next().is_some()) || paused
    }

    /// Goes on until nothing is left to do.
    pub(super) fn drain(&mut self) -> Result<(), Violation> {
        self.note(|| "writers stop".to_owned());
        for turn in 0..DRAIN_TURNS_MAX {
            if turn == DRAIN_TURNS_MAX / 2 {
                self.faults.end();
            }
            let went_on = self.take_turn();
            if let Some(wrong) = self.wrong.take() {
                return Err(wrong);
            }
            if !went_on {
                let drained = self.stream.is_drained();
                return if drained { Ok(()) } else { Err(Violation::new("the stream is stuck")) };
            }
        }
        Err(Violation::new("it never drains"))
    }
}
