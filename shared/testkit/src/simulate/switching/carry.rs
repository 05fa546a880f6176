//! The functions: batches of records, their tasks, and what can happen to their requests.

use std::rc::Rc;

use keyfold_core::condition::{Comparison, Condition, Path};
use keyfold_core::retrofit::attributes::REMOVING_ATTRIBUTE;
use keyfold_core::retrofit::control::{Direction, PARTITION, Phase};
use keyfold_core::retrofit::fence::SEQUENCE_DIGITS;
use keyfold_core::retrofit::{
    Action, Epoch, Fence, Guard, ItemTask, Job, LedgerRow, Quarantined, Request, Response, SequenceNumber,
    TableRole, TaskResult, TaskStep, Tracking, Write, control,
};
use keyfold_core::value::{AttributeValue, Item};

use super::super::fault::Fault;
use super::super::mutant::Mutant;
use super::super::store::control_partition;
use super::super::work::TaskOrigin;
use super::scene::{Due, Jobs, KEYS, Layout, index, other};
use super::work::{Errand, LOOK_TURNS, Look, Work, Zombie};
use super::world::{LateWrite, PassRun, World, natural, number_of};

/// The turns until a weakened way back notices that writers were moved.
const NOTICE_TURNS: u64 = 40;
/// The turns for which a process sleeps.
const SLEEP_TURNS: (usize, usize) = (30, 400);
/// The most records of one item in a batch.
const BATCH_MAX: usize = 3;
/// The attempts after which a sender gives up.
const ATTEMPTS_MAX: u8 = 4;
/// With this number of tasks under way, no repair begins: those of one colliding item write its row again and again, and each write makes the
/// others begin again.
const REPAIRS_MAX: usize = 16;
/// Where a job keeps versions, if its writes ask for a seal.
fn tracking_of(job: &Job) -> Option<Tracking> {
    job.generation().map(|_| job.tracking())
}

impl World {
    /// Can something still be written as in an earlier phase: without a seal, or with versions kept elsewhere?
    pub(super) fn is_unsealed_under_way(&self) -> bool {
        let now = Some(self.head.tracking());
        let is_former = |job: &Job| tracking_of(job) != now;
        self.late_requests().any(|zombie| zombie.tracking != now)
            || self.awake().any(|work| !work.errand.by_operator && is_former(&work.errand.job))
            || self.passes().any(|run| run.head.generation.map(|_| run.head.tracking()) != now)
    }

    /// Does a function use a cached row of an earlier phase, or may it still?
    pub(super) fn is_former_row_used(&self) -> bool {
        let (now, is_over) = (Some(self.head.tracking()), self.head.phase == Phase::Finalising);
        let is_former = |job: &Job| is_over || tracking_of(job) != now;
        let by_cache = |work: &Work| work.errand.remembered.is_some() && !work.is_asleep(self.turns);
        self.looks.iter().flatten().any(|look| is_former(&look.job) && look.is_remembered(self.turns))
            || self.works.iter().any(|work| by_cache(work) && is_former(&work.errand.job))
            || self.zombies.iter().any(|zombie| zombie.by_cache && (is_over || zombie.tracking != now))
    }

    /// The requests that are waited for.
    fn late_requests(&self) -> impl Iterator<Item = &Zombie> {
        self.zombies.iter().filter(|zombie| !(self.has(Mutant::NoFloor) && zombie.by_cache))
    }

    /// A process that sleeps reads the row again before it writes an item, so nothing has to wait for it.
    fn awake(&self) -> impl Iterator<Item = &Work> {
        let is_ignored = |work: &Work| self.has(Mutant::NoFloor) && work.errand.remembered.is_some();
        self.works.iter().filter(move |work| !work.is_asleep(self.turns) && !is_ignored(work))
    }

    fn passes(&self) -> impl Iterator<Item = &PassRun> {
        self.operators.iter().filter_map(|operator| operator.pass.as_ref())
    }

    /// Is a write of an earlier phase still possible?
    pub(super) fn is_anything_under_way(&self) -> bool {
        self.late_requests().next().is_some()
            || self.awake().next().is_some()
            || self.passes().any(|run| run.head.phase != Phase::Finalising)
    }

    /// Records of a table that are in its stream, of items that no function has at work, and were not dealt with.
    pub(super) fn deliverable(&self, side: Direction) -> Vec<usize> {
        if !self.is_followed(side) {
            return Vec::new();
        }
        let stream = &self.streams[index(side)];
        let of = |place: usize| {
            let first = stream.iter().position(|record| record.place == place && !record.dealt_with)?;
            let open = !self.busy[index(side)][place] && stream[first].visible_at <= self.turns;
            open.then_some(first)
        };
        (0..self.scene.keys(side).len()).filter_map(of).collect()
    }

    /// A function gets a batch that begins with this record.
    pub(super) fn deliver(&mut self, side: Direction, first: usize) {
        let place = self.streams[index(side)][first].place;
        let stream = &self.streams[index(side)];
        let seen = |at: &usize| stream[*at].place == place && stream[*at].visible_at <= self.turns;
        let of_item: Vec<usize> = (first..stream.len()).filter(seen).collect();
        let (due, remembered) = self.remembered_delivery(side);
        match due {
            Due::Carry(job) => {
                let count = self.random.between(1, BATCH_MAX.min(of_item.len()));
                let records = of_item[..count].to_vec();
                let last = Rc::clone(&self.streams[index(side)][records[count - 1]].record);
                let given_up = self.faults.discards && self.random.chance(6);
                let job = self.weakened_job(job, side, &last);
                let task = if given_up { job.discard(&last) } else { job.apply(&last) };
                let forgotten = given_up && self.bites(Mutant::DiscardForgotten);
                if forgotten || self.misses(side, first) {
                    records.iter().for_each(|at| self.streams[index(side)][*at].dealt_with = true);
                    return;
                }
                self.busy[index(side)][place] = true;
                let records = Some((side, records));
                self.start(task, Errand { records, remembered, ..Errand::of(job, side) });
            }
            Due::Late { job, epoch } => {
                self.busy[index(side)][place] = true;
                let task = job.late(&self.streams[index(side)][first].record, epoch);
                let (records, late) = (Some((side, vec![first])), Some((side, first)));
                self.start(task, Errand { records, late, remembered, ..Errand::of(job, other(side)) });
            }
            Due::Nothing => self.streams[index(side)][first].dealt_with = true,
        }
    }

    /// Is this record from before a weakened way back noticed that writers were let in?
    fn misses(&mut self, side: Direction, record: usize) -> bool {
        let early = self.streams[index(side)][record].visible_at < self.let_in_at + NOTICE_TURNS;
        side == Direction::Reverse && early && self.bites(Mutant::ReverseFromLatest)
    }

    /// What becomes of records, by what a function remembers of the row; and the row's version, if it remembers one.
    fn remembered_delivery(&mut self, side: Direction) -> (Due, Option<u64>) {
        if !self.faults.remembered {
            return (self.delivery(side), None);
        }
        let function = self.random.below(self.looks.len());
        let turns = self.turns;
        let known = self.looks[function].clone().filter(|look| look.side == side);
        let mut is_used = |look: &Look| {
            look.is_remembered(turns)
                || (turns <= look.turn + 6 * LOOK_TURNS && self.bites(Mutant::LookTooLong))
        };
        if let Some(look) = known.filter(|look| is_used(look)) {
            return (Due::Carry(look.job), Some(look.version));
        }
        let due = self.delivery(side);
        self.looks[function] = match &due {
            Due::Carry(job) => {
                Some(Look { side, job: Rc::clone(job), version: self.head.version, turn: turns })
            }
            _ => None,
        };
        (due, None)
    }

    /// A remembered look lets nothing be dropped: if the row is another one by now, the records come again.
    fn may_end(&mut self, errand: &Errand, result: &TaskResult) -> bool {
        let Some(version) = errand.remembered.filter(|_| *result != TaskResult::Written) else { return true };
        self.looks.iter_mut().for_each(|look| drop(look.take_if(|look| look.version == version)));
        version == self.head.version
    }

    /// What becomes of records now.
    fn delivery(&mut self, side: Direction) -> Due {
        let jobs = Jobs::of(&self.head);
        let due = jobs.due(side);
        let mutant = match (&due, self.head.phase) {
            (Due::Late { .. }, _) if self.bites(Mutant::LateIgnored) => return Due::Nothing,
            (Due::Late { .. }, _) | (Due::Nothing, Phase::Settled) => Mutant::CarriesOn,
            (Due::Nothing, Phase::Finalising) => Mutant::FinaliseOpen,
            _ => return due,
        };
        match side == Direction::Forward && self.bites(mutant) {
            true => Due::Carry(Rc::clone(&jobs.there)),
            false => due,
        }
    }

    /// A record comes once more.
    pub(super) fn deliver_again(&mut self, side: Direction) {
        let dealt_with = self.told(side).filter(|(_, record)| record.dealt_with);
        let dealt_with: Vec<usize> = dealt_with.map(|(at, _)| at).collect();
        if let Some(&at) = self.random.any(&dealt_with) {
            self.deliver_this_again(side, at);
        }
    }

    /// This record comes once more.
    pub(super) fn deliver_this_again(&mut self, side: Direction, at: usize) {
        self.note(|| format!("record {at} of {side:?} comes again"));
        let record = Rc::clone(&self.streams[index(side)][at].record);
        let (due, remembered) = self.remembered_delivery(side);
        match due {
            Due::Carry(job) => {
                let job = self.weakened_job(job, side, &record);
                let task = job.apply(&record);
                self.start(task, Errand { remembered, ..Errand::of(job, side) });
            }
            Due::Late { job, epoch } => {
                let (task, late) = (job.late(&record, epoch), Some((side, at)));
                self.start(task, Errand { late, remembered, ..Errand::of(job, other(side)) });
            }
            Due::Nothing => {}
        }
    }

    /// A person takes an entry out of the quarantine, or repairs an item, as long as that may be done.
    pub(super) fn repair(&mut self) {
        if self.works.len() >= REPAIRS_MAX {
            return;
        }
        let switched = self.head.phase == Phase::Reversed;
        let forward = switched && self.bites(Mutant::RepairsForward);
        let phase = if forward { Phase::Tidy } else { self.head.phase };
        let (job, lead) = match phase {
            Phase::Running | Phase::Tidying | Phase::Tidy => {
                (Jobs::of(&self.head).leading(Direction::Forward), Direction::Forward)
            }
            Phase::Reversed => (Jobs::of(&self.head).leading(Direction::Reverse), Direction::Reverse),
            _ => return,
        };
        let Some(job) = job else { return };
        self.dismiss(lead);
        let entries = self.quarantine(job.mapping().rows_name());
        let task = match self.random.any(&entries) {
            Some(entry) => job.release(entry),
            None => {
                let (number, again) = (self.random.below(KEYS), self.random.chance(50));
                // Or an item is written once more, so that a stream shows it.
                let there = self.item(other(lead), number).filter(|_| again && self.head.keeps_rows());
                let rewrite = there.and_then(|item| job.rewrite(item));
                rewrite.or_else(|| {
                    // Also a key that has no item now.
                    let keys = self.scene.keys(lead);
                    Some(job.repair(
                        &keys[if keys.len() == KEYS { number } else { self.random.below(keys.len()) }],
                    ))
                })
            }
        };
        let Some(task) = task else { return };
        self.note(|| format!("a repair of {lead:?}"));
        self.start(task, Errand { by_operator: true, ..Errand::of(job, lead) });
    }

    /// Removes an entry of the other direction once both sides agree.
    fn dismiss(&mut self, lead: Direction) {
        let Some(job) = Jobs::of(&self.head).leading(other(lead)) else { return };
        let agrees = |number: usize| {
            let carried = self.carried(lead, self.item(lead, number).map(natural).as_ref());
            carried == self.seen(other(lead), self.item(other(lead), number).map(natural).as_ref())
        };
        if !(0..KEYS).all(agrees) {
            return;
        }
        let Some(entry) = self.quarantine(job.mapping().rows_name()).into_iter().next() else { return };
        // A person saw the entry.
        let side = other(lead);
        let seen = |write: &&mut LateWrite| write.side == side && entry.key.as_ref() == Some(&write.key);
        self.late.iter_mut().filter(seen).for_each(|write| write.said = true);
        self.carry_to_the_end(job.dismiss(&entry), &job, side);
    }

    /// The entries of the quarantine.
    pub(super) fn quarantine(&self, rows_name: &str) -> Vec<Quarantined> {
        let partition = format!("{}|", control::quarantine_partition(rows_name));
        self.control.within(&partition).filter_map(Quarantined::read).collect()
    }

    pub(super) fn start(&mut self, mut task: ItemTask, errand: Errand) {
        self.note(|| {
            let Errand { job, lead, records, late, .. } = &errand;
            format!("work for {lead:?} on {records:?}, late {late:?}, generation {:?}", job.generation())
        });
        let step = task.start(&errand.job);
        self.step(task, errand, step);
    }

    pub(super) fn step(&mut self, mut task: ItemTask, mut errand: Errand, step: TaskStep) {
        match step {
            TaskStep::Send(request) => {
                self.works.push(Work { task, errand, request, attempts: 0 });
            }
            TaskStep::Done(result) if self.is_filling() => self.filled(task, errand, &result),
            // As the functions do: once more, then it is parked.
            TaskStep::Done(TaskResult::Blocked) if errand.blocked < 2 => {
                errand.blocked += 1;
                let first = errand.blocked == 1;
                let step = if first { task.again(&errand.job) } else { task.park(&errand.job) };
                self.step(task, errand, step);
            }
            TaskStep::Done(result) => {
                self.note(|| format!("  {:?} {:?}: {}", errand.lead, errand.records, result.name()));
                let settled = result.is_done() && self.may_end(&errand, &result);
                self.over(errand.records, settled);
            }
        }
    }

    fn over(&mut self, records: Option<(Direction, Vec<usize>)>, settled: bool) {
        let Some((side, records)) = records else { return };
        for at in records {
            let record = &mut self.streams[index(side)][at];
            record.dealt_with |= settled;
            self.busy[index(side)][record.place] = false;
        }
    }

    /// Carries a task to its end at once.
    pub(super) fn carry_to_the_end(&mut self, mut task: ItemTask, job: &Job, lead: Direction) -> TaskResult {
        self.origin = TaskOrigin::Repair;
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

    /// Moves one of the tasks on, if there is any.
    pub(super) fn advance_any(&mut self) {
        if !self.works.is_empty() {
            let at = self.random.below(self.works.len());
            self.advance(at);
        }
    }

    /// Moves a task on by one request.
    pub(super) fn advance(&mut self, at: usize) {
        if self.works[at].is_asleep(self.turns) && !self.ending {
            return;
        }
        let mut work = self.works.swap_remove(at);
        self.origin = work.errand.origin;
        if self.is_throttled(&work) {
            let is_lost = work.request.writes() && self.origin != TaskOrigin::Repair;
            return match is_lost && self.bites(Mutant::ThrottledIsWritten) {
                true => self.respond(work, Response::Written),
                false => self.send_again(work),
            };
        }
        if work.wakes_to_write() {
            work.errand.sleeps_until = 0;
            if self.head.outdates(&work.errand.job) && !self.bites(Mutant::SleeperWrites) {
                self.note(|| format!("  {:?} wakes up in another phase", work.errand.lead));
                return self.respond(work, Response::Outdated);
            }
        }
        if self.faults.sleeps && self.random.chance(4) {
            self.note(|| format!("  {:?} {:?} sleeps", work.errand.lead, work.errand.records));
            work.errand.sleeps_until = self.turns + self.random.between(SLEEP_TURNS.0, SLEEP_TURNS.1) as u64;
            // Another function gets its records.
            self.over(work.errand.records.take(), false);
            return self.works.push(work);
        }
        if self.faults.crashes && self.random.chance(3) {
            self.note(|| format!("  {:?} {:?} dies", work.errand.lead, work.errand.records));
            self.hit(Fault::CrashBefore);
            return self.dies(work.errand);
        }
        // It is carried out when its sender sends it again.
        if self.faults.conflicts && matches!(work.request, Request::Transact(_)) && self.random.chance(15) {
            self.note(|| "  a transaction meets another one".to_owned());
            self.hit(Fault::Conflict);
            return self.send_again(work);
        }
        if self.faults.refusals && puts_an_item(&work.request) && self.random.chance(3) {
            self.note(|| "  the item is refused".to_owned());
            if self.bites(Mutant::RefusalForgotten) {
                return self.over(work.errand.records, true);
            }
            return self.respond(work, Response::Rejected("item-too-large".to_owned()));
        }
        if self.faults.full && marks_a_full_item(&work.request) {
            self.note(|| "  the item has no room for a mark".to_owned());
            return self.respond(work, Response::Rejected("item-too-large".to_owned()));
        }
        // What asks for no seal is all that a tidying has to wait for, and rare: few histories begin before it.
        let share = match work.errand.job.generation() {
            _ if self.is_filling() => 4,
            None => 40,
            Some(_) => 8,
        };
        if self.faults.zombies && work.request.writes() && self.random.chance(share) {
            self.note(|| "  the request is under way for long".to_owned());
            let (lead, request) = (work.errand.lead, work.request.clone());
            let (tracking, until) = (tracking_of(&work.errand.job), self.turns + self.stands_still());
            let by_cache = work.errand.remembered.is_some();
            let (job, origin) = (Rc::clone(&work.errand.job), work.errand.origin);
            self.zombies.push(Zombie { lead, request, job, origin, tracking, by_cache, until });
            self.hit(Fault::Zombie);
            return match self.random.chance(50) {
                true => self.dies(work.errand),
                false => self.works.push(work),
            };
        }
        if let Some(response) = self.skipped(&work) {
            return self.respond(work, response);
        }
        let mut response = self.carry_out(work.errand.lead, &work.request);
        if self.faults.lost && work.request.writes() && self.random.chance(6) {
            self.note(|| "  the response is lost, and it is sent again".to_owned());
            self.hit(Fault::LostResponse);
            response = self.carry_out(work.errand.lead, &work.request);
        }
        if self.faults.crashes && self.random.chance(3) {
            self.note(|| format!("  {:?} {:?} dies after it", work.errand.lead, work.errand.records));
            self.hit(Fault::CrashAfter);
            return self.dies(work.errand);
        }
        self.respond(work, response);
    }

    /// The process of a task dies.
    fn dies(&mut self, errand: Errand) {
        match self.is_filling() {
            true => self.crashed(errand.waiter),
            false => self.over(errand.records, false),
        }
    }

    /// Once more, unless it was throttled too often.
    fn send_again(&mut self, mut work: Work) {
        work.attempts += 1;
        if work.attempts < ATTEMPTS_MAX || !self.is_on(Fault::GiveUp) {
            return self.works.push(work);
        }
        self.hit(Fault::GiveUp);
        self.gives_up(work.errand.waiter);
    }

    fn respond(&mut self, mut work: Work, response: Response) {
        let step = work.task.respond(&work.errand.job, response);
        self.step(work.task, work.errand, step);
    }

    /// A request that is under way for long is carried out.
    pub(super) fn carry_out_late(&mut self) {
        let has_landed = |zombie: &Zombie| self.ending || zombie.until <= self.turns;
        let landed: Vec<usize> =
            (0..self.zombies.len()).filter(|at| has_landed(&self.zombies[*at])).collect();
        let Some(&at) = self.random.any(&landed) else { return };
        let Zombie { lead, request, origin, .. } = self.zombies.swap_remove(at);
        self.origin = origin;
        self.note(|| "a request of long ago:".to_owned());
        self.carry_out(lead, &request);
    }

    /// The reply to a request that a weakened protocol does not send.
    fn skipped(&mut self, work: &Work) -> Option<Response> {
        self.mutant?;
        let is_late = work.errand.late.is_some() && matches!(work.request, Request::Transact(_));
        if is_late && self.bites(Mutant::LateStays) {
            return Some(Response::Written);
        }
        if let Some(item) = self.image_of(work).or_else(|| self.unlike(work)) {
            return Some(Response::Item(item));
        }
        match &work.request {
            Request::Write(write)
                if partition_of(write).starts_with("late#") && self.bites(Mutant::LateNotNoted) =>
            {
                Some(Response::Written)
            }
            Request::Get { key, .. } if control_partition(key).starts_with("ledger#") => {
                self.unread(work, control_partition(key))
            }
            _ => None,
        }
    }

    /// A record's own image in place of what the open table says.
    fn image_of(&mut self, work: &Work) -> Option<Option<Item>> {
        let Request::Get { role: TableRole::Source, key } = &work.request else { return None };
        let (side, records) = work.errand.records.as_ref().filter(|_| work.errand.late.is_none())?;
        if !self.has(Mutant::RecordImage) {
            return None;
        }
        let image = self.streams[index(*side)][*records.last()?].record.new.clone();
        let there = self.at(*side, key).cloned();
        (image != there && self.bites(Mutant::RecordImage)).then_some(image)
    }

    /// Where keys can move: what a weakened protocol reads of an item that has a place, or of the row of a place that is left.
    fn unlike(&mut self, work: &Work) -> Option<Option<Item>> {
        let Request::Get { role, key } = &work.request else { return None };
        let (side, records) = work.errand.records.as_ref().filter(|_| work.errand.late.is_none())?;
        let own = self.streams[index(*side)][*records.last()?].record.key.clone();
        match role {
            TableRole::Source if *key != own && self.has(Mutant::HolderUnread) => {
                self.bites += u64::from(self.at(*side, key).is_some());
                Some(None)
            }
            TableRole::Control if self.has(Mutant::OneSidedCounts) => {
                let place = format!("ledger#{}#", work.errand.job.mapping().other_rows_name());
                let mut row = self.row(key).filter(|_| control_partition(key).starts_with(&place))?.clone();
                let named = self.row_of_key(*side, &own).and_then(LedgerRow::read)?.target?;
                let of_left = match row.get(control::SOURCE_KEY) {
                    Some(AttributeValue::M(left)) => Item::from(left.clone()) == named,
                    _ => false,
                };
                let own = AttributeValue::M(
                    own.iter().map(|(name, value)| (name.to_string(), value.clone())).collect(),
                );
                let other = of_left && row.get(control::TARGET_KEY).is_some_and(|target| *target != own);
                other.then(|| {
                    self.bites += 1;
                    row.insert(control::TARGET_KEY.to_owned(), own);
                    Some(row)
                })
            }
            _ => None,
        }
    }

    /// A row that a weakened protocol does not look at, or reads otherwise.
    fn unread(&mut self, work: &Work, partition: &str) -> Option<Response> {
        let (side, record) = work.errand.late?;
        // A late record's tasks ask for two rows: the other direction's, then their own.
        let former =
            partition.starts_with(&format!("ledger#{}#", work.errand.job.mapping().other_rows_name()));
        if former {
            return self.bites(Mutant::FormerRowIgnored).then_some(Response::Item(None));
        }
        let deleted = self.streams[index(side)][record].record.new.is_none();
        if !deleted || !self.has(Mutant::DeletionIsOwn) {
            return None;
        }
        self.bites += 1;
        // A row that is newer than anything.
        let fence = newest_fence();
        let mut row = Item::default();
        row.insert(control::FENCE.to_owned(), fence.value());
        row.insert(control::REMOVED.to_owned(), fence.value());
        Some(Response::Item(Some(row)))
    }

    /// A transaction as a weakened protocol sends it.
    pub(super) fn weakened(&mut self, lead: Direction, writes: &[Write]) -> Vec<Write> {
        if self.mutant.is_none() {
            return writes.to_vec();
        }
        let is_moving = self.scene.layout != Layout::Fixed;
        let rows_of_places = format!("ledger#{}#", self.scene.mapping_from(lead).other_rows_name());
        let mut sent = Vec::with_capacity(writes.len());
        for write in writes {
            let partition = partition_of(write);
            if partition.starts_with("seal#") && self.forgets_seal(&write.action) {
                self.bites += u64::from(self.row(write.action.key()).is_some());
                continue;
            }
            let is_row = partition.starts_with("ledger#");
            let of_place = is_moving && partition.starts_with(&rows_of_places);
            if (of_place && self.has(Mutant::PlaceRowKept))
                || (is_row && self.is_tidying_weakened(lead, Mutant::NoRow))
            {
                self.bites += 1;
                continue;
            }
            let mut write = write.clone();
            let is_unguarded = match self.mutant {
                Some(Mutant::FreedUnguarded) => is_moving && is_freeing(&write, of_place),
                Some(mutant @ Mutant::ItemUnguarded) => {
                    write.role == TableRole::Target && self.is_tidying_weakened(lead, mutant)
                }
                Some(Mutant::NoRowGuard) => is_row,
                _ => false,
            };
            if is_unguarded {
                self.unguard(lead, &mut write);
            }
            // It is deleted at once.
            if self.gives_fence(lead, &write) && self.bites(Mutant::FenceSkipped) {
                write.action = Action::Delete(write.action.key().clone());
            }
            sent.push(write);
        }
        sent
    }

    /// Takes the guard off a write.
    pub(super) fn unguard(&mut self, lead: Direction, write: &mut Write) {
        self.bites += u64::from(!self.holds(lead, write));
        write.guard = Guard::AbsentOr(Condition::Is(Path::attribute(PARTITION), Comparison::Exists(true)));
    }

    /// Does this only give an item a fence, of which nothing is in the table that leads?
    fn gives_fence(&self, lead: Direction, write: &Write) -> bool {
        match (write.role, &write.action) {
            (TableRole::Target, Action::Put(item)) => {
                self.item(lead, number_of(item)).is_none()
                    && self.at(other(lead), item) == Some(&natural(item))
            }
            _ => false,
        }
    }
}

fn partition_of(write: &Write) -> &str {
    control_partition(write.action.key())
}

/// Does it put an item into a table of the application's?
fn puts_an_item(request: &Request) -> bool {
    let puts = |write: &Write| write.role != TableRole::Control && matches!(write.action, Action::Put(_));
    match request {
        Request::Get { .. } => false,
        Request::Write(write) => puts(write),
        Request::Transact(writes) => writes.iter().any(puts),
    }
}

/// Does it put a mark on an item that is as large as an item can be, before that is deleted?
fn marks_a_full_item(request: &Request) -> bool {
    let is_full = |write: &Write| match &write.action {
        Action::Put(item) => item.contains_key(REMOVING_ATTRIBUTE) && item.contains_key("extra"),
        _ => false,
    };
    matches!(request, Request::Transact(writes) if writes.iter().any(is_full))
}

/// Does it empty a place of the table that follows, or is it the row of such a place?
fn is_freeing(write: &Write, of_place: bool) -> bool {
    match (&write.action, write.role) {
        (Action::Put(row), TableRole::Control) => of_place && !row.contains_key(control::TARGET_KEY),
        (Action::Delete(_), TableRole::Target) => true,
        _ => false,
    }
}

/// A fence that is newer than any.
pub(super) fn newest_fence() -> Fence {
    let digits = "9".repeat(SEQUENCE_DIGITS);
    let (Some(epoch), Ok(sequence)) = (Epoch::new(Epoch::MAX), SequenceNumber::parse(&digits)) else {
        unreachable!("both are the last that there can be")
    };
    Fence::of_record(epoch, sequence)
}
