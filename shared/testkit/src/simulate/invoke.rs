//! Invocations of the replicator: batches from a shard, and what their ends mean for it.

use keyfold_core::retrofit::control::Phase;
use keyfold_core::retrofit::{Batch, ChangeKind, Disposition, Received, TaskResult};

use super::fault::Fault;
use super::mutant::Mutant;
use super::state::SimulationState;
use super::tasks::BLOCKED_MAX;
use super::work::{BlockedTask, Invocation, PendingTask, TaskOrigin, Version, Waiter};

/// The most records of a batch.
const BATCH_MAX: usize = 4;
/// A batch that fails so often has its blocked items parked.
const ATTEMPTS_MAX: usize = 2;

impl<'s> SimulationState<'s> {
    /// Takes a batch from a shard.
    pub(super) fn poll(&mut self, shard: usize) {
        let of = &self.stream.shards[shard];
        let most = of.halved.map_or(BATCH_MAX, |(half, _)| half);
        let count = self.random.between(1, most).min(of.records.len() - of.at);
        let records = of.records[of.at..of.at + count].to_vec();
        if self.head.phase == Phase::Abandoned {
            // They come again, until they are given up for good: that cannot be noted.
            if self.random.chance(30) {
                self.note(|| format!("records {records:?} are refused and given up"));
                self.stream.shards[shard].at += records.len();
            }
            return;
        }
        if self.faults.strikes(Fault::Discard, &mut self.random, 6) {
            return self.discard(shard, records);
        }
        let other = self.faults.strikes(Fault::Versions, &mut self.random, 8);
        self.invoke(Some(shard), records, self.version_of(self.epoch, other));
    }

    /// The event source gives records up. An invocation may still have them.
    fn discard(&mut self, shard: usize, records: Vec<usize>) {
        self.note(|| format!("records {records:?} are given up"));
        self.stream.pass(shard, records.len());
        (self.stream.shards[shard].attempts, self.stream.shards[shard].halved) = (0, None);
        if self.bites(Mutant::DiscardForgotten) {
        } else if self.bites(Mutant::DiscardReplayed) {
            self.given_up.extend(&records);
        } else {
            self.notes.extend(&records);
        }
        if self.random.chance(50) {
            self.invoke(None, records, self.version());
        }
    }

    /// May this version of the job write anything now?
    pub(super) fn is_open(&mut self, version: Version) -> bool {
        let Err(error) = self.head.check_open(self.job_of(version).mapping()) else { return true };
        self.note(|| format!("  refused: {}", error.code()));
        version.other != self.revised && self.bites(Mutant::VersionsMixed)
    }

    /// Starts a batch of these records.
    pub(super) fn invoke(&mut self, shard: Option<usize>, records: Vec<usize>, version: Version) {
        let Some((version, remembered)) = self.allowed(version) else { return };
        let (job, id) = (self.job_of(version), self.id());
        self.note(|| format!("invocation {id} of shard {shard:?}: records {records:?}"));
        let of = |at: &usize| Received::Change(self.stream.records[*at].record.clone());
        let mut received: Vec<Received> = records.iter().map(of).collect();
        let mut batch = Batch::of(job, &mut received);
        let open = batch.open();
        let mut tasks: Vec<_> = open.into_iter().map(|at| (at, job.receive(&received[at]))).collect();
        if self.mutant.is_some() {
            let last = tasks.last().map_or(0, |(at, _)| *at);
            let first = tasks.first().map_or(0, |(at, _)| *at);
            tasks.retain(|(at, _)| {
                let skips = self.skips(records[*at], *at == first, *at == last);
                if skips {
                    batch.ended(*at, Disposition::Done(TaskResult::Unchanged));
                }
                !skips
            });
        }
        if let Some(shard) = shard {
            self.stream.shards[shard].busy = true;
        }
        let open = tasks.len() + 1;
        let blocked = Vec::new();
        self.invocations.insert(
            id,
            Invocation { id, shard, batch, records, open, blocked, version, remembered, drops: false },
        );
        for (at, task) in tasks {
            self.start(task, TaskOrigin::Record, Waiter::Invocation(id, at), version);
        }
        if let Some(invocation) = self.invocations.get_mut(&id) {
            invocation.open -= 1;
        }
        self.invocation_over(id);
    }

    /// Does a weakened protocol skip this record?
    fn skips(&mut self, record: usize, first: bool, last: bool) -> bool {
        let record = &self.stream.records[record].record;
        let Some(mutant) = self.mutant else { return false };
        let skips = match mutant {
            Mutant::FirstOnly => !first,
            Mutant::LastOnly => !last,
            Mutant::NoEcho => true,
            Mutant::RemoveSkipped => matches!(record.kind, ChangeKind::Remove { .. }),
            Mutant::ExpirySkipped => record.kind == ChangeKind::Remove { expired: true },
            Mutant::PoisonSkipped => {
                record.new.as_ref().is_some_and(|item| self.mapping().target_item(item).is_err())
            }
            Mutant::UnreadableSkipped => !record.key.contains_key("id"),
            _ => false,
        };
        skips && self.bites(mutant)
    }

    /// When a batch's tasks have all ended: blocked ones go on, or the checkpoint moves.
    pub(super) fn invocation_over(&mut self, id: u64) {
        let Some(invocation) = self.invocations.get_mut(&id) else { return };
        if invocation.open > 0 {
            return;
        }
        let waiting = std::mem::take(&mut invocation.blocked);
        let version = invocation.version;
        let attempts = invocation.shard.map_or(ATTEMPTS_MAX, |shard| self.stream.shards[shard].attempts);
        let fails = |waiting: &BlockedTask<usize>| waiting.blocked >= BLOCKED_MAX && attempts < ATTEMPTS_MAX;
        let (failed, again): (Vec<_>, Vec<_>) = waiting.into_iter().partition(fails);
        for waiting in failed {
            invocation.batch.ended(waiting.at, Disposition::Failed);
        }
        invocation.open += again.len();
        if again.is_empty() {
            let Some(invocation) = self.invocations.remove(&id) else { return };
            return self.report(&invocation);
        }
        for BlockedTask { at, task, blocked } in again {
            let owner = Waiter::Invocation(id, at);
            self.try_again(PendingTask { task, kind: TaskOrigin::Record, owner, version, blocked });
        }
    }

    /// Moves the shard's checkpoint to the first failure.
    fn report(&mut self, invocation: &Invocation) {
        let sequence = |at: usize| &self.stream.records[invocation.records[at]].record.sequence;
        let failed = invocation.batch.failed().into_iter().min_by_key(|&at| sequence(at));
        let hidden = failed.is_some() && self.bites(Mutant::FailuresHidden);
        let place = self.doubted(invocation, failed).filter(|_| !hidden);
        self.note(|| format!("  invocation {} over, failed from {place:?}", invocation.id));
        let Some(shard) = invocation.shard else { return };
        let mut passed = place.unwrap_or(invocation.records.len());
        let halved = self.stream.shards[shard].halved.take();
        if let Some((_, whole)) = halved.filter(|(half, whole)| place.is_none() && half < whole)
            && self.bites(Mutant::HalfLost)
        {
            passed = whole;
        }
        self.stream.pass(shard, passed);
        self.stream.shards[shard].busy = false;
        match place {
            Some(_) => self.failed(shard, invocation.records.len()),
            None => self.stream.shards[shard].attempts = 0,
        }
    }

    /// A remembered look lets nothing be dropped: if the row is another one by now, the whole batch comes again.
    fn doubted(&mut self, invocation: &Invocation, failed: Option<usize>) -> Option<usize> {
        let Some(row) = invocation.remembered else { return failed };
        if failed.is_none() && !invocation.drops {
            return None;
        }
        self.forget_looks_at(row);
        if invocation.drops && self.head.version != row { Some(0) } else { failed }
    }

    /// A batch of a shard has failed: it may be split.
    fn failed(&mut self, shard: usize, records: usize) {
        let splits = records > 1 && self.faults.strikes(Fault::Resplit, &mut self.random, 70);
        let shard = &mut self.stream.shards[shard];
        shard.attempts += 1;
        shard.halved = splits.then_some((records.div_ceil(2), records));
    }

    pub(super) fn crash_invocation(&mut self, id: u64) {
        self.works.retain(|work| !matches!(work.pending.owner, Waiter::Invocation(same, _) if same == id));
        let Some(invocation) = self.invocations.remove(&id) else { return };
        let Some(shard) = invocation.shard else { return };
        self.stream.shards[shard].busy = false;
        if self.bites(Mutant::CrashForgotten) {
            self.stream.pass(shard, invocation.records.len());
        } else {
            let attempts = self.stream.shards[shard].attempts;
            self.failed(shard, invocation.records.len());
            // A crash says nothing of blocked items.
            self.stream.shards[shard].attempts = attempts;
        }
    }
}
