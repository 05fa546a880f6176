//! The functions: batches of records, their tasks, and what can happen to their requests.

use keyfold_core::retrofit::control::{Delivery, Direction, Head, Phase};
use keyfold_core::retrofit::fence::SEQUENCE_DIGITS;
use keyfold_core::retrofit::{
    Epoch, Fence, ItemTask, Job, Quarantined, Request, Response, SequenceNumber, TaskStep, Write, control,
};
use keyfold_core::value::Item;

use super::super::work::writes;
use super::mutant::SwitchMutant;
use super::world::{KEYS, World, index};

/// The most records of one item in a batch.
const BATCH_MAX: usize = 3;

/// A task that has a request to send.
pub(super) struct Work {
    task: ItemTask,
    errand: Errand,
    request: Request,
}

/// On whose behalf a task runs.
struct Errand {
    job: Job,
    /// Which way the job carries.
    lead: Direction,
    /// The records that it deals with; none if they were dealt with before.
    records: Option<(Direction, Vec<usize>)>,
    /// The record of the closed table that it looks at.
    late: Option<(Direction, usize)>,
    /// The version of the retrofit's row, if it is remembered and was not looked at.
    remembered: Option<u64>,
}

impl World {
    /// Records of a table that are in its stream, of items that nobody has at work, and were not dealt with.
    pub(super) fn deliverable(&self, side: Direction) -> Vec<usize> {
        let stream = &self.streams[index(side)];
        let of = |number: usize| {
            let first = stream.iter().position(|record| record.number == number && !record.dealt_with)?;
            let open = !self.busy[index(side)][number] && stream[first].visible_at <= self.turns;
            open.then_some(first)
        };
        (0..KEYS).filter_map(of).collect()
    }

    /// A function gets a batch that begins with this record.
    pub(super) fn deliver(&mut self, side: Direction, first: usize) {
        let number = self.streams[index(side)][first].number;
        let stream = &self.streams[index(side)];
        let seen = |at: &usize| stream[*at].number == number && stream[*at].visible_at <= self.turns;
        let of_item: Vec<usize> = (first..stream.len()).filter(seen).collect();
        let (delivery, remembered) = self.looked(side);
        match delivery {
            Delivery::Carry(job) => {
                let count = self.random.between(1, BATCH_MAX).min(of_item.len());
                let records = of_item[..count].to_vec();
                let task = job.apply(&self.streams[index(side)][records[count - 1]].record);
                self.busy[index(side)][number] = true;
                let records = Some((side, records));
                self.start(task, Errand { job, lead: side, records, late: None, remembered });
            }
            Delivery::Late { job, epoch } => {
                self.busy[index(side)][number] = true;
                let task = job.late(&self.streams[index(side)][first].record, epoch);
                let (records, late) = (Some((side, vec![first])), Some((side, first)));
                let lead = super::world::other(side);
                self.start(task, Errand { job, lead, records, late, remembered });
            }
            Delivery::Nothing => self.streams[index(side)][first].dealt_with = true,
        }
    }

    /// What becomes of records now.
    pub(super) fn delivery(&mut self, side: Direction) -> Delivery {
        let delivery = self.head.delivery(&self.mapping, side);
        match delivery {
            Delivery::Late { .. } if self.bites(SwitchMutant::LateIgnored) => Delivery::Nothing,
            Delivery::Late { .. } if side == Direction::There && self.bites(SwitchMutant::CarriesOn) => {
                Delivery::Carry(self.head.job(self.mapping.clone()))
            }
            delivery => delivery,
        }
    }

    /// A record comes once more.
    pub(super) fn deliver_again(&mut self, side: Direction) {
        let stream = &self.streams[index(side)];
        let dealt_with: Vec<usize> = (0..stream.len()).filter(|at| stream[*at].dealt_with).collect();
        let Some(&at) = self.random.any(&dealt_with) else { return };
        self.note(|| format!("record {at} of {side:?} comes again"));
        let record = self.streams[index(side)][at].record.clone();
        match self.looked(side).0 {
            Delivery::Carry(job) => {
                let task = job.apply(&record);
                self.start(task, Errand { job, lead: side, records: None, late: None, remembered: None });
            }
            Delivery::Late { job, epoch } => {
                let (task, late) = (job.late(&record, epoch), Some((side, at)));
                let lead = super::world::other(side);
                self.start(task, Errand { job, lead, records: None, late, remembered: None });
            }
            Delivery::Nothing => {}
        }
    }

    /// Somebody takes an entry out of the quarantine, or repairs an item, as long as that may be done.
    pub(super) fn repair(&mut self) {
        let (job, lead) = match self.head.phase {
            Phase::Tidy => (self.head.job(self.mapping.clone()), Direction::There),
            Phase::Reversed => match self.head.back_job(&self.mapping) {
                Some(job) => (job, Direction::Back),
                None => return,
            },
            _ => return,
        };
        let entries = self.quarantine(job.mapping().rows_name());
        let task = match self.random.any(&entries) {
            Some(entry) => job.release(entry),
            None => {
                let number = self.random.below(KEYS);
                Some(job.repair(&self.key(lead, number)))
            }
        };
        let Some(task) = task else { return };
        self.note(|| format!("a repair of {lead:?}"));
        self.start(task, Errand { job, lead, records: None, late: None, remembered: None });
    }

    /// What is in quarantine.
    pub(super) fn quarantine(&self, rows_name: &str) -> Vec<Quarantined> {
        let partition = format!("{}|", control::quarantine_partition(rows_name));
        let rows = self.control.iter().filter(|(place, _)| place.starts_with(&partition));
        rows.filter_map(|(_, row)| Quarantined::read(row)).collect()
    }

    fn start(&mut self, mut task: ItemTask, errand: Errand) {
        self.note(|| {
            let Errand { job, lead, records, late, .. } = &errand;
            format!("work for {lead:?} on {records:?}, late {late:?}, generation {:?}", job.generation())
        });
        let step = task.start(&errand.job);
        self.step(task, errand, step);
    }

    fn step(&mut self, task: ItemTask, errand: Errand, step: TaskStep) {
        match step {
            TaskStep::Send(request) => self.works.push(Work { task, errand, request }),
            TaskStep::Done(result) => {
                self.note(|| format!("  {:?} {:?}: {}", errand.lead, errand.records, result.name()));
                let Some((side, _)) = &errand.records else { return };
                let settled = self.is_dealt_with(*side, &result, errand.remembered);
                self.over(errand.records, settled);
            }
        }
    }

    fn over(&mut self, records: Option<(Direction, Vec<usize>)>, settled: bool) {
        let Some((side, records)) = records else { return };
        for at in records {
            let record = &mut self.streams[index(side)][at];
            record.dealt_with |= settled;
            self.busy[index(side)][record.number] = false;
        }
    }

    /// Moves a task on by one request.
    pub(super) fn advance(&mut self, at: usize) {
        let mut work = self.works.swap_remove(at);
        if self.faults.crashes && self.random.chance(3) {
            self.note(|| format!("  {:?} {:?} dies", work.errand.lead, work.errand.records));
            return self.over(work.errand.records, false);
        }
        if self.faults.zombies && writes(&work.request) && self.random.chance(8) {
            self.note(|| "  the request is under way for long".to_owned());
            self.zombies.push((work.errand.lead, work.request.clone()));
            return match self.random.chance(50) {
                true => self.over(work.errand.records, false),
                false => self.works.push(work),
            };
        }
        if let Some(response) = self.skipped(&work) {
            let step = work.task.respond(&work.errand.job, response);
            return self.step(work.task, work.errand, step);
        }
        let mut response = self.carry_out(work.errand.lead, &work.request);
        if self.faults.lost && writes(&work.request) && self.random.chance(6) {
            self.note(|| "  the response is lost, and it is sent again".to_owned());
            response = self.carry_out(work.errand.lead, &work.request);
        }
        if self.faults.crashes && self.random.chance(3) {
            self.note(|| format!("  {:?} {:?} dies after it", work.errand.lead, work.errand.records));
            return self.over(work.errand.records, false);
        }
        let step = work.task.respond(&work.errand.job, response);
        self.step(work.task, work.errand, step);
    }

    /// A request that is under way for long is carried out.
    pub(super) fn carry_out_late(&mut self, at: usize) {
        let (lead, request) = self.zombies.swap_remove(at);
        self.note(|| "a request of long ago:".to_owned());
        self.carry_out(lead, &request);
    }

    /// What a weakened protocol does not send.
    fn skipped(&mut self, work: &Work) -> Option<Response> {
        if work.errand.late.is_some()
            && matches!(work.request, Request::Transact(_))
            && self.bites(SwitchMutant::LateStays)
        {
            return Some(Response::Written);
        }
        let partition = |request: &Request| match request {
            Request::Write(write) => Some(partition_of(write)),
            Request::Get { key, .. } => Some(text_of(key)),
            Request::Transact(_) => None,
        };
        let partition = partition(&work.request)?;
        match &work.request {
            Request::Write(_) if partition.starts_with("late#") && self.bites(SwitchMutant::LateNotNoted) => {
                Some(Response::Written)
            }
            Request::Get { .. } if partition.starts_with("ledger#") => self.unread(work, &partition),
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
            return self.bites(SwitchMutant::FormerRowIgnored).then_some(Response::Got(None));
        }
        let deleted = self.streams[index(side)][record].record.new.is_none();
        if !deleted || !self.has(SwitchMutant::DeletionIsOwn) {
            return None;
        }
        self.bites += 1;
        // A row that is newer than anything.
        let digits = "9".repeat(SEQUENCE_DIGITS);
        let (Some(epoch), Ok(sequence)) = (Epoch::new(Epoch::MAX), SequenceNumber::parse(&digits)) else {
            unreachable!("both are the last that there can be")
        };
        let fence = Fence::of_record(epoch, sequence);
        let mut row = Item::default();
        row.insert(control::FENCE.to_owned(), fence.value());
        row.insert(control::REMOVED_FENCE.to_owned(), fence.value());
        Some(Response::Got(Some(row)))
    }

    /// A transaction as a weakened protocol sends it.
    pub(super) fn weakened(&mut self, writes: &[Write]) -> Vec<Write> {
        let mut sent = Vec::with_capacity(writes.len());
        for write in writes {
            let partition = partition_of(write);
            if partition.starts_with("seal#") && self.has(SwitchMutant::NoSeal) {
                self.bites += u64::from(self.row(super::super::store::key_in(&write.action)).is_some());
                continue;
            }
            let mut write = write.clone();
            if partition.starts_with("ledger#") && self.has(SwitchMutant::NoRowGuard) {
                let holds = write.guard.holds(self.row(super::super::store::key_in(&write.action)));
                self.bites += u64::from(!holds);
                write.guard = super::operate::anything();
            }
            sent.push(write);
        }
        sent
    }
}

fn partition_of(write: &Write) -> String {
    text_of(super::super::store::key_in(&write.action))
}

fn text_of(key: &Item) -> String {
    match key.get(control::PARTITION) {
        Some(keyfold_core::value::AttributeValue::S(text)) => text.clone(),
        _ => String::new(),
    }
}

/// The row of the retrofit, stored.
pub(super) fn same_version(a: &Head, b: &Head) -> bool {
    a.version == b.version
}
