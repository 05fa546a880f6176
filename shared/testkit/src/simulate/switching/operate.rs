//! Operators: they stop the writers of one table, wait until all has arrived, turn the direction round, seal what was before,
//! and let the writers of the other table in. Any of them may die; another one goes on.

use std::rc::Rc;

use keyfold_core::retrofit::control::{Direction, Phase, RetrofitState};
use keyfold_core::retrofit::drain::{Newest, Sides, Sign};
use keyfold_core::retrofit::seal;
use keyfold_core::retrofit::{Generation, ItemTask, Job, Request, TaskResult, TaskStep};
use keyfold_core::value::Item;

use super::mutant::SwitchMutant;
use super::scene::{self, Due, Jobs, KEYS, index, other};
use super::work::Operator;
use super::world::{LateWrite, Published, TrueWrite, World, natural};

/// How many seals are written in one turn.
const SEALS_AT_ONCE: usize = 256;
/// Turns after which a stop that does not end is taken back.
const STOP_TURNS_MAX: u64 = 160;

impl World {
    /// One step of this operator.
    pub(super) fn operate(&mut self, at: usize) {
        if self.faults.operators && self.random.chance(4) {
            self.died += 1;
            self.note(|| format!("operator {at} dies"));
            self.operators[at] = Operator::new();
            return;
        }
        let Some(known) = self.operators[at].known.clone() else {
            self.operators[at].known = Some(self.head.clone());
            return;
        };
        match known.phase {
            Phase::Running => self.tidy(at, &known),
            Phase::Tidy if !known.swept => self.end_tidying(at, &known),
            Phase::Tidy => self.stop(at, &known, Direction::Forward, Phase::Closing),
            Phase::Closing => self.end_stop(at, &known, Direction::Forward),
            Phase::Reversed => self.stop(at, &known, Direction::Reverse, Phase::Returning),
            Phase::Returning => self.end_stop(at, &known, Direction::Reverse),
            _ => {}
        }
    }

    /// From here on each write asks for its seal, sooner or later.
    fn tidy(&mut self, at: usize, known: &RetrofitState) {
        self.operators[at] = Operator::new();
        if self.random.chance(25) {
            self.replace(known, scene::tidied(known));
        }
    }

    /// Waits until nothing is under way that does not ask for one.
    fn end_tidying(&mut self, at: usize, known: &RetrofitState) {
        self.operators[at] = Operator::new();
        if !self.is_unsealed_under_way() || self.bites(SwitchMutant::NoWait) {
            self.replace(known, known.swept());
        }
    }

    /// Stops the writers, sooner or later.
    fn stop(&mut self, at: usize, known: &RetrofitState, side: Direction, next: Phase) {
        self.operators[at] = Operator::new();
        // What could not be carried before the writers moved last counts too.
        let (there, back) = (self.scene.mapping.rows_name(), self.scene.mapping.other_rows_name());
        let clean = self.quarantine(there).is_empty() && self.quarantine(&back).is_empty();
        if self.moves_left() == 0 || !clean || !self.random.chance(25) {
            return;
        }
        // Before the stop: a stream that is replaced during one keeps it from ending.
        let is_before = side == Direction::Forward && known.was_reversed() && same_version(known, &self.head);
        if is_before && self.faults.streams && self.random.chance(50) {
            self.replace_target_stream();
        }
        if self.store(known, next) {
            self.stopped_at = [0, 1].map(|at| self.streams[at].len());
            self.note(|| format!("writers of {side:?} are stopped"));
            self.open = None;
        }
    }

    /// Waits until all has arrived, seals, looks once more, and turns the direction round. After too long a time, or if something
    /// came in between, all is as it was.
    fn end_stop(&mut self, at: usize, known: &RetrofitState, side: Direction) {
        if self.operators[at].since == 0 {
            self.operators[at].since = self.turns.max(1);
        }
        let tired = self.turns > self.operators[at].since + STOP_TURNS_MAX;
        if tired || self.random.chance(self.doubts) {
            return self.take_back(at, known, side);
        }
        if !self.operators[at].drained {
            self.operators[at].drained = self.has_drained(at, known, side);
            // A replicator that is behind holds nobody up; and nobody else carries what the other direction wrote before.
            if !self.operators[at].drained && self.random.chance(30) {
                self.carry_what_lacks(at, known, side);
            }
            return;
        }
        if self.operators[at].sealed < self.seals_enough(side) {
            return self.seal(at, known);
        }
        let Some(looked) = self.operators[at].settled else {
            // Between this look and the change of the phase anything may happen.
            if self.has_drained(at, known, side) {
                self.operators[at].settled = Some(self.turns);
            } else {
                self.take_back(at, known, side);
            }
            return;
        };
        // A weakened protocol goes on with writes that nothing ends.
        self.bites +=
            u64::from(self.seals_enough(side) < usize::from(seal::SEALS) && self.is_something_under_way(at));
        self.operators[at] = Operator::new();
        let next = if side == Direction::Forward { self.scene.switched() } else { Phase::Tidy };
        if self.store(known, next) {
            self.moves += 1;
            self.let_in(other(side), looked);
        }
    }

    /// Can something of this generation still be written, but for what this operator does?
    fn is_something_under_way(&self, at: usize) -> bool {
        // Another operator carries over by what it read before.
        let mut others = self.operators.iter().enumerate().filter(|(other, _)| *other != at);
        others.any(|(_, operator)| operator.known.is_some())
            || !self.works.is_empty()
            || !self.zombies.is_empty()
    }

    fn take_back(&mut self, at: usize, known: &RetrofitState, side: Direction) {
        // No generation ends unsealed.
        while self.operators[at].sealed < usize::from(seal::SEALS)
            && !self.has(SwitchMutant::TakenBackUnsealed)
        {
            self.seal(at, known);
        }
        self.bites += u64::from(self.has(SwitchMutant::TakenBackUnsealed) && self.is_something_under_way(at));
        self.operators[at] = Operator::new();
        let next = if side == Direction::Forward { Phase::Tidy } else { Phase::Reversed };
        if self.store(known, next) {
            if side == Direction::Reverse && self.bites(SwitchMutant::ReturnForgets) {
                self.head.reverse_stream = None;
            }
            self.taken_back += 1;
            self.note(|| format!("the stop is taken back: writers of {side:?} go on"));
            self.open = Some(side);
        }
    }

    fn seals_enough(&mut self, side: Direction) -> usize {
        let all = usize::from(seal::SEALS);
        match self.mutant {
            Some(SwitchMutant::OpenBeforeSeals) => 0,
            Some(SwitchMutant::HalfSealed) => all / 2,
            Some(SwitchMutant::ReturnUnsealed) if side == Direction::Reverse => 0,
            _ => all,
        }
    }

    /// Writes some seals of the generation that ends.
    fn seal(&mut self, at: usize, known: &RetrofitState) {
        let begun = self.operators[at].sealed;
        let Some(generation) = known.generation else { return };
        let end = (begun + SEALS_AT_ONCE).min(usize::from(seal::SEALS));
        self.operators[at].sealed = end;
        let trace = self.trace.take();
        for (_, write) in
            scene::seals(self.scene, generation).iter().filter(|(place, _)| (begun..end).contains(place))
        {
            self.carry_out(Direction::Forward, &Request::Write(write.clone()));
        }
        self.trace = trace;
    }

    fn store(&mut self, known: &RetrofitState, next: Phase) -> bool {
        let next = match next {
            Phase::Reversed if self.bites(SwitchMutant::ReverseUnusable) => known.to(next),
            Phase::Reversed => {
                known.with_reverse_stream(&self.target_stream()).and_then(|head| head.to(next))
            }
            Phase::Closing if self.has(SwitchMutant::ClosedEpoch) => {
                let followed = known.reverse_stream.as_ref().map(|back| &back.stream);
                self.bites += u64::from(followed.is_some_and(|stream| *stream != self.target_stream()));
                known.to(next)
            }
            Phase::Closing => known.closing(&self.target_stream()),
            Phase::Settled => known.switched_for_good(),
            next => known.to(next),
        };
        let Ok(next) = next else { unreachable!("one follows the other") };
        self.replace(known, next)
    }

    /// Stores the row over the one that is known, if that is still there.
    fn replace(&mut self, known: &RetrofitState, next: RetrofitState) -> bool {
        if !same_version(known, &self.head) && !self.bites(SwitchMutant::HeadUnguarded) {
            return false;
        }
        self.note(|| {
            format!(
                "the retrofit is {}, generation {}",
                next.phase.name(),
                next.generation.map_or(0, Generation::number)
            )
        });
        self.head = next;
        true
    }

    /// As far as the streams tell: has every change of this table arrived at the other one, do they agree, and was everything
    /// that came to the other one looked at?
    fn has_drained(&mut self, at: usize, known: &RetrofitState, side: Direction) -> bool {
        let Some(job) = Jobs::of(known).leading(side) else { return false };
        let clean = self.quarantine(job.mapping().rows_name()).is_empty();
        let examined = clean && self.examine(at, known, side);
        let drained = examined && (0..KEYS).all(|number| self.item_has_drained(at, &job, side, number));
        drained || self.bites(SwitchMutant::NotDrained)
    }

    /// Carries over the newest change of each item that has not arrived, as the functions do.
    fn carry_what_lacks(&mut self, at: usize, known: &RetrofitState, side: Direction) {
        let Some(job) = Jobs::of(known).leading(side) else { return };
        for number in 0..KEYS {
            let of_item = self.told(side).filter(|(_, record)| record.number == number);
            let records = of_item.map(|(_, record)| Rc::clone(&record.record));
            let Some(record) = records.max_by(|a, b| a.sequence.cmp(&b.sequence)) else {
                continue;
            };
            if !self.item_has_drained(at, &job, side, number) {
                let task = job.carry_now(&record.key, record.sequence.clone());
                self.carry_to_the_end(task, &job, side);
            }
        }
    }

    /// Looks at what came to the closed table, as the functions do.
    fn examine(&mut self, at: usize, known: &RetrofitState, side: Direction) -> bool {
        let closed = other(side);
        let Due::Late { job, epoch } = Jobs::of(known).due(closed) else { return true };
        if self.bites(SwitchMutant::ClosedUnseen) {
            return true;
        }
        // The records are known; the row is read after them. What came while the table was open is not late.
        if !same_version(known, &self.head) && !self.bites(SwitchMutant::StaleLook) {
            return false;
        }
        let examined = &self.operators[at].examined;
        let fresh: Vec<usize> =
            self.told(closed).map(|(record, _)| record).filter(|record| !examined.contains(record)).collect();
        for record in fresh {
            let published = &self.streams[index(closed)][record];
            let (task, number) = (job.late(&published.record, epoch), published.number);
            let result = self.carry_to_the_end(task, &job, side);
            if !result.is_done() {
                return false;
            }
            self.operators[at].examined.insert(record);
            if result.is_late() {
                self.operators[at].late.insert(number);
            }
        }
        true
    }

    pub(super) fn carry_to_the_end(&mut self, mut task: ItemTask, job: &Job, lead: Direction) -> TaskResult {
        let mut step = task.start(job);
        let mut blocked = 0;
        loop {
            match step {
                TaskStep::Done(TaskResult::Blocked) if blocked < 2 => {
                    blocked += 1;
                    step = if blocked == 1 { task.again(job) } else { task.park(job) };
                }
                TaskStep::Send(request) => {
                    let response = self.carry_out(lead, &request);
                    step = task.respond(job, response);
                }
                TaskStep::Done(result) => return result,
            }
        }
    }

    fn item_has_drained(&mut self, at: usize, job: &Job, side: Direction, number: usize) -> bool {
        let seen = |of: Direction| {
            let upto =
                if self.has(SwitchMutant::EarlyLook) { self.stopped_at[index(of)] } else { usize::MAX };
            let of_item = self.told(of).filter(move |(at, record)| *at < upto && record.number == number);
            of_item.map(|(_, record)| &record.record)
        };
        let sequence = seen(side).map(|record| record.sequence.clone()).max();
        // Of an item that nobody wrote to in the open table, what came late to the closed one still counts.
        let late = self.operators[at].late.contains(&number);
        if sequence.is_none() && (!late || self.has(SwitchMutant::LateUnseen)) {
            return !late || self.bites(SwitchMutant::LateUnseen);
        }
        let newest = sequence.map(|sequence| Newest { sequence, may_lack_row: false });
        let row = self.row_of(side, number);
        let place = job.place(&self.key(side, number), row);
        let target = place.and_then(|place| self.at(other(side), &place));
        let sides = Sides { row, source: self.item(side, number), target };
        let arrived = newest.as_ref().is_none_or(|newest| job.has_arrived(newest, sides));
        let (present, agrees) = (target.is_some(), job.agrees(sides));
        let shown = !self.head.was_reversed()
            || job.shows_last_write(
                sides,
                &seen(other(side)).map(|record| Sign::of(record)).collect::<Vec<_>>(),
            );
        if self.has(SwitchMutant::EarlyLook) && arrived {
            self.bites += u64::from(!(agrees && shown));
            return true;
        }
        if !arrived && present && self.bites(SwitchMutant::DrainByPresence) {
            return true;
        }
        if !shown && self.bites(SwitchMutant::OwnUnseen) {
            return arrived && agrees;
        }
        arrived && agrees && shown
    }

    /// The writers of this table may write from now on; it was looked last at this turn whether all had arrived.
    pub(super) fn let_in(&mut self, side: Direction, looked: u64) {
        self.open = Some(side);
        self.let_in_at = self.turns;
        if self.truth_of == side {
            return;
        }
        self.note(|| format!("writers of {side:?} may write"));
        let former = self.truth_of;
        for number in 0..KEYS {
            self.take_over(former, side, number, looked);
        }
        self.truth_of = side;
        self.changed = true;
    }

    /// What the former table's writers wrote must be in this one now, but for what came too late.
    fn take_over(&mut self, former: Direction, side: Direction, number: usize, looked: u64) {
        let there = self.item(side, number).map(natural);
        let written = std::mem::take(&mut self.written[number]);
        let stream = &self.streams[index(former)];
        // What was not in the stream by then, or came after the stop, may be too late.
        let on_time = |write: &TrueWrite| !write.leaked && stream[write.at].visible_at <= looked;
        let from = written.iter().rposition(on_time);
        let before = match from {
            Some(at) => written[at].new.clone(),
            None => self.begun(former, number, &written),
        };
        let late = written[from.map_or(0, |at| at + 1)..].to_vec();
        let states = std::iter::once(before).chain(late.iter().map(|write| write.new.clone()));
        let agrees =
            |state: &Option<Item>| self.carried(former, state.as_ref()) == self.seen(side, there.as_ref());
        let arrived = states.collect::<Vec<_>>().iter().rposition(agrees);
        // What came to this table after the last look is an ordinary write of it from now on; and what was not in its stream by
        // then, unless the former table's writers wrote the item too: then both sides were compared. It is all the same where nobody but
        // late writers wrote the item here since.
        let of_item = self.streams[index(side)].iter().filter(|record| record.number == number);
        let newest = of_item.map(|record| record.record.sequence.clone()).max();
        let of_late = self.late.iter().filter(|write| write.side == side && write.number == number);
        let intact = of_late.map(|write| write.sequence.clone()).max() == newest;
        let early: Vec<&mut LateWrite> = self
            .late
            .iter_mut()
            .filter(|write| write.side == side && write.number == number)
            .filter(|write| write.turn > looked || (write.visible_at > looked && (from.is_none() || intact)))
            .collect();
        if early.last().is_some_and(|write| write.new == there) {
            early.into_iter().for_each(|write| write.said = true);
            self.expected[number] = there;
            return;
        }
        let Some(arrived) = arrived else {
            return self
                .fail(format!("writers of {side:?} are let in, and k{number} is not what was written"));
        };
        for write in late.into_iter().skip(arrived) {
            let Published { record, visible_at, .. } = &self.streams[index(former)][write.at];
            let (sequence, visible_at) = (record.sequence.clone(), *visible_at);
            self.late.push(LateWrite {
                side: former,
                number,
                sequence,
                new: write.new,
                visible_at,
                turn: self.turns,
                said: write.as_retrofit,
            });
        }
        self.expected[number] = there;
    }

    /// What was there before the first of these writes.
    fn begun(&self, side: Direction, number: usize, written: &[TrueWrite]) -> Option<Item> {
        match written.first() {
            Some(first) => self.streams[index(side)][first.at].record.old.as_ref().map(natural),
            None => self.expected[number].clone(),
        }
    }

    /// What a state of a table is in the other one; the same for all that has no place there.
    pub(super) fn carried(&self, side: Direction, state: Option<&Item>) -> Option<Item> {
        self.mapping_from(side)?.target_item(state?).ok().flatten()
    }

    /// An item of a table as far as the other one concerns it: items of the source that are not selected do not.
    pub(super) fn seen(&self, side: Direction, item: Option<&Item>) -> Option<Item> {
        item.filter(|item| side == Direction::Reverse || self.scene.mapping.selects(item)).cloned()
    }
}

fn same_version(a: &RetrofitState, b: &RetrofitState) -> bool {
    a.version == b.version
}
