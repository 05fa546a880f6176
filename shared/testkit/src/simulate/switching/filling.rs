//! Histories that fill a target, or fold keys in place: writers, functions and operators take turns, then everything drains.

use keyfold_core::retrofit::Job;
use keyfold_core::retrofit::control::{Direction, Phase, RetrofitState};
use keyfold_core::retrofit::operate::{Command, Finish, Operation, Outcome, Revise, Run, RunStage, Switch};

use super::super::Violation;
use super::super::fault::Fault;
use super::super::mutant::Mutant;
use super::fill::Stage;
use super::world::{Operator, World};

/// Turns with writers.
const TURNS_MAX: usize = 400;
/// Turns before a stream that begins too late.
const EARLY_TURNS: u64 = 60;
/// Turns until everything must have drained.
const DRAIN_TURNS_MAX: usize = 20_000;
/// How long the operator of a history that fills takes a request to be in flight, in milliseconds.
pub(super) const IN_FLIGHT_MS: u64 = 60_000;

impl World {
    /// Plays the history to its end.
    pub(super) fn play_filling(&mut self) -> Result<(), Violation> {
        self.open();
        for _ in 0..self.random.between(80, TURNS_MAX) {
            self.turn_filling();
            self.check()?;
        }
        if self.fill().off && !self.fill().unfollowed {
            self.enable_stream();
        }
        self.note(|| "writers stop".to_owned());
        self.drain(Stage::Draining)?;
        self.conclude_filling()
    }

    /// The stream begins, then the backfill: never the other way round.
    fn open(&mut self) {
        for _ in 0..self.random.below(6) {
            self.write_something();
        }
        let unfollowed = self.is_in_place() && self.strikes(Fault::NoStream, 50);
        if unfollowed {
            self.fill_mut().unfollowed = true;
            self.head = RetrofitState::started(&self.scene.mapping, None);
        }
        self.fill_mut().off = unfollowed || self.has(Mutant::ScanFirst);
        if self.is_on(Fault::Foreign) && !self.is_in_place() && self.random.chance(50) {
            self.foreign_item();
        }
    }

    /// A stream that begins too late, or is followed from its end.
    fn begin_late(&mut self) {
        if self.turns != EARLY_TURNS {
            return;
        }
        if self.has(Mutant::ScanFirst) && !self.fill().unfollowed {
            self.fill_mut().off = false;
        }
        if self.has(Mutant::Latest) {
            let left = self.streams[0].iter_mut().filter(|record| !record.dealt_with);
            self.bites += left.map(|record| record.dealt_with = true).count() as u64;
        }
    }

    /// One turn while writers write.
    fn turn_filling(&mut self) {
        self.begin_late();
        match self.random.below(100) {
            0..10 => self.write_something(),
            10..13 => self.disturb(),
            _ => self.take_turn(),
        }
    }

    /// One turn of the retrofit.
    fn take_turn(&mut self) {
        self.turns += 1;
        let (blocked, notes) = (self.fill().blocked.len(), self.fill().notes.len());
        match self.random.below(100) {
            0..30 => {
                let twice = self.is_on(Fault::SegmentTwice) && !self.fill().is_quiet;
                let at = if twice { self.random.below(2) } else { 0 };
                if at == 1 {
                    self.hit(Fault::SegmentTwice);
                }
                self.operate(at);
            }
            30..50 if self.turns >= EARLY_TURNS || !self.has(Mutant::Latest) => {
                let ready = self.ready_shards();
                if let Some(&shard) = self.random.any(&ready) {
                    self.poll(shard);
                }
            }
            50..55 => self.carry_out_late(),
            55..58 if notes > 0 => {
                let at = self.random.below(notes);
                self.note_discarded(at);
            }
            58..63 if blocked > 0 => {
                let at = self.random.below(blocked);
                self.unblock(at);
            }
            _ => self.advance_any(),
        }
    }

    /// Goes on until nothing is left to do.
    pub(super) fn drain(&mut self, stage: Stage) -> Result<(), Violation> {
        let fill = self.fill_mut();
        (fill.stage, fill.ended) = (stage, None);
        for turn in 0..DRAIN_TURNS_MAX {
            if turn == DRAIN_TURNS_MAX / 2 {
                self.fill_mut().faults.on = 0;
                self.faults = super::world::SwitchFaults::default();
            }
            self.begin_late();
            self.take_turn();
            self.check()?;
            if self.is_drained() {
                return Ok(());
            }
        }
        Err(Violation::new("it never drains"))
    }

    fn is_drained(&self) -> bool {
        let fill = self.fill();
        self.operators.iter().all(|operator| operator.operation.is_none())
            && (fill.ended.is_some() || (fill.stage == Stage::Draining && self.head.phase != Phase::CutOver))
            && self.works.is_empty()
            && self.zombies.is_empty()
            && fill.blocked.is_empty()
            && fill.notes.is_empty()
            && fill.invocations.is_empty()
            && self.streams[0].iter().all(|record| record.dealt_with)
            && !self.must_run()
    }

    /// Is the backfill not complete, or not of this stream?
    fn must_run(&self) -> bool {
        let stream = if self.fill().unfollowed { None } else { Some(self.stream_name(Direction::Forward)) };
        !self.is_for_good()
            && (self.head.phase == Phase::Abandoned
                || self.head.stream != stream
                || self.head.revising
                || !self.is_backfilled())
    }

    /// An operator's next command, and whether it goes by the mended manifest.
    fn command_filling(&mut self, at: usize) -> Option<(Command, bool)> {
        if self.fill().stage == Stage::Open && !self.random.chance(40) {
            return None;
        }
        let (limits, is_mended) = (self.limits(), self.is_mended());
        let no_stream = self.fill().unfollowed;
        let run = |until, repair| Command::Run(Run { until, repair, no_stream, limits, ..Run::default() });
        if self.head.revising {
            return Some((Command::Revise(Revise { limits }), is_mended));
        }
        match self.fill().stage {
            Stage::Open => {}
            // In this phase no other stream is followed.
            Stage::Draining if self.head.phase == Phase::CutOver => {
                return Some((self.switch_in_place(), is_mended));
            }
            Stage::Draining if self.must_run() => return Some((run(RunStage::Backfill, false), is_mended)),
            Stage::Draining => return None,
            _ if self.fill().ended.is_some() || at > 0 => return None,
            Stage::Comparing { repair } => return Some((run(RunStage::Compare, repair), is_mended)),
            Stage::Last if self.head.phase == Phase::Running => {
                return Some((self.switch_in_place(), is_mended));
            }
            Stage::Last => return Some((Command::Finish(Finish { leave_marks: false, limits }), is_mended)),
        }
        if self.fill().off && !no_stream && !self.has(Mutant::ScanFirst) {
            return None;
        }
        let others_work = self.operators.iter().any(|operator| operator.pass.is_some());
        let can_mend = self.head.phase == Phase::Running && !is_mended && !no_stream && !others_work;
        if can_mend && self.strikes(Fault::Revision, 8) {
            return Some((Command::Revise(Revise { limits }), true));
        }
        if self.may_abandon() && self.strikes(Fault::Restart, 4) {
            return Some((Command::Abandon, is_mended));
        }
        let must_run = self.must_run();
        let is_open = self.head.phase == Phase::CutOver;
        if self.is_in_place() && (is_open || !must_run) && self.random.chance(if is_open { 20 } else { 5 }) {
            return Some((self.switch_in_place(), is_mended));
        }
        if !must_run && !self.random.chance(if self.is_on(Fault::Verify) { 50 } else { 5 }) {
            return None;
        }
        let repair = self.random.chance(50) && self.is_on(Fault::Verify);
        Some((run(if must_run { RunStage::Backfill } else { RunStage::Compare }, repair), is_mended))
    }

    /// The indexes in place are opened for queries, or closed again.
    fn switch_in_place(&self) -> Command {
        Command::Switch(Switch {
            back: self.head.phase == Phase::CutOver,
            for_good: false,
            writers: None,
            unproven: true,
            check: false,
            take_back: false,
            limits: self.limits(),
        })
    }

    pub(super) fn begin_filling(&mut self, at: usize) -> bool {
        let Some((command, is_mended)) = self.command_filling(at) else { return false };
        self.note(|| format!("operator {at} begins {command:?}"));
        let (nonce, mapping) = (format!("n{}", self.turns), self.mapping(is_mended).clone());
        let operation = Operation::new(mapping, command, nonce, self.now_ms(at));
        self.operators[at] =
            Operator { operation: Some(Box::new(operation)), started: self.turns, ..Operator::default() };
        true
    }

    pub(super) fn ended_filling(&mut self, at: usize, outcome: &Outcome) {
        let run = std::mem::take(&mut self.operators[at]).pass;
        run.into_iter().for_each(|run| self.forget_runs(&run.segments));
        self.fill_mut().ended = Some(outcome.end);
    }

    /// A history that fills has another row.
    pub(super) fn stored(&mut self, before: &RetrofitState) {
        self.fill_mut().restarted |= before.phase == Phase::Abandoned;
        let same = before.epoch == self.head.epoch && before.mapping == self.head.mapping;
        let was_waiting = before.revising || before.restreaming;
        if same && was_waiting && !self.head.revising && !self.head.restreaming && self.is_former_under_way()
        {
            self.fail(
                "a request of the former manifest or stream is in flight, and the row says that none is",
            );
        }
    }

    /// Can a request still be carried out that was made by another mapping or for another stream than the row's?
    pub(super) fn is_former_under_way(&self) -> bool {
        let is_former = |job: &Job| {
            *job.mapping().hash() != self.head.mapping
                || (job.epoch() != self.head.epoch && !self.has(Mutant::EpochIgnored))
        };
        self.works.iter().any(|work| is_former(&work.errand.job))
            || self.zombies.iter().any(|zombie| is_former(&zombie.job))
            || self.fill().blocked.iter().any(|(_, errand)| is_former(&errand.job))
            || self.looks.iter().flatten().any(|look| is_former(&look.job) && look.is_remembered(self.turns))
    }
}
