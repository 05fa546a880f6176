//! One history: writers, stream, replicator and segments take turns as the seed says, then everything drains.

use keyfold_core::retrofit::{Action, Place, Quarantined, SegmentId, control, finalise};
use keyfold_core::value::Item;

use super::check::Wrong;
use super::fault::Fault;
use super::mutant::Mutant;
use super::scene::{EPOCHS, Flaw, item, key, text};
use super::stream::number_of;
use super::work::{Kind, Owner};
use super::world::World;

/// Turns with writers.
const TURNS_MAX: usize = 90;
/// Turns until everything must have drained.
const DRAIN_TURNS_MAX: usize = 6_000;
/// The most records of a batch.
const BATCH_MAX: usize = 4;

impl World<'_> {
    /// Plays the history to its end.
    pub(super) fn play(&mut self) -> Result<(), Wrong> {
        for _ in 0..self.random.between(0, 6) {
            self.write_something();
        }
        if self.faults.is_on(Fault::Foreign) && !self.scene.is_in_place() && self.random.chance(50) {
            self.faults.hit(Fault::Foreign);
            self.put_foreign();
        }
        if self.has(Mutant::ScanFirst) {
            self.begin_backfill();
        }
        for _ in 0..self.random.below(3) {
            self.turn();
        }
        self.stream.begin(&mut self.random, 0);
        for _ in 0..self.random.below(4) {
            self.turn();
        }
        if self.has(Mutant::Latest) {
            for shard in &mut self.stream.shards {
                shard.at = shard.records.len();
            }
        }
        if !self.has(Mutant::ScanFirst) {
            self.begin_backfill();
        }
        for _ in 0..self.random.between(20, TURNS_MAX) {
            self.turn();
        }
        if !self.stream.on {
            self.reenable();
        }
        self.drain()?;
        self.conclude()
    }

    fn begin_backfill(&mut self) {
        let total = self.random.between(1, 2) as u32;
        let twice = self.faults.strikes(Fault::SegmentTwice, &mut self.random, 50);
        for number in 0..total {
            let Ok(segment) = SegmentId::new(number, total) else { continue };
            for _ in 0..if twice { 2 } else { 1 } {
                self.begin_run(segment);
            }
        }
    }

    /// One turn while writers write.
    fn turn(&mut self) {
        match self.random.below(100) {
            0..18 => self.write_something(),
            18..21 => self.disturb(),
            _ => {
                self.go_on();
            }
        }
    }

    /// One turn of the retrofit. False if there was nothing to do.
    fn go_on(&mut self) -> bool {
        let ready = self.stream.ready();
        let runs: Vec<u64> = self.runs.keys().copied().collect();
        let works = self.works.len();
        // Work under way is likelier than new work, or nothing would ever be finished.
        let weights = [works * 3, ready.len() * 2, runs.len() * 2, self.late.len(), self.notes.len()];
        let total: usize = weights.iter().sum();
        if total == 0 {
            return false;
        }
        let mut drawn = self.random.below(total);
        let mut chosen = weights.len();
        for (at, weight) in weights.iter().enumerate() {
            if drawn < *weight {
                chosen = at;
                break;
            }
            drawn -= weight;
        }
        match chosen {
            0 => {
                let at = self.random.below(works);
                self.advance(at);
            }
            1 => {
                let shard = *self.random.pick(&ready);
                self.poll(shard);
            }
            2 => {
                let run = *self.random.pick(&runs);
                self.go_on_with_run(run);
            }
            3 => {
                let at = self.random.below(self.late.len());
                self.send_late(at);
            }
            _ => {
                let record = self.notes.swap_remove(0);
                let (record_of, epoch) =
                    (&self.stream.records[record].record, self.stream.records[record].epoch);
                let task = self.job_of(epoch).discard(record_of);
                self.start(task, Kind::Discard, Owner::Note(record), epoch);
            }
        }
        true
    }

    /// Takes a batch from a shard.
    fn poll(&mut self, shard: usize) {
        let from = self.stream.shards[shard].at;
        let left = self.stream.shards[shard].records.len() - from;
        let count = self.random.between(1, BATCH_MAX).min(left);
        let records = self.stream.shards[shard].records[from..from + count].to_vec();
        if self.faults.strikes(Fault::Discard, &mut self.random, 6) {
            self.note(|| format!("records {records:?} are given up"));
            self.stream.shards[shard].at += count;
            self.stream.shards[shard].attempts = 0;
            match self.mutant {
                Some(Mutant::DiscardForgotten) => {}
                Some(Mutant::DiscardReplayed) => self.given_up.extend(&records),
                _ => self.notes.extend(&records),
            }
            if self.random.chance(50) {
                self.invoke(None, records, self.epoch);
            }
            return;
        }
        self.invoke(Some(shard), records, self.epoch);
    }

    fn go_on_with_run(&mut self, id: u64) {
        let Some(run) = self.runs.get_mut(&id) else { return };
        if self.random.chance(40) {
            run.returned = run.slice.checkpoint().clone();
        }
        if run.slice.checkpoint().is_done() {
            if run.open == 0 {
                self.runs.remove(&id);
            }
            return;
        }
        let next = run.slice.next().map(Option::<&_>::cloned);
        match next {
            Some(after) if run.slice.pages_open() < 2 => self.read_page(id, after.as_ref()),
            _ if run.open == 0 && !run.blocked.is_empty() => self.unblock_run(id),
            _ => {}
        }
    }

    fn read_page(&mut self, id: u64, after: Option<&Item>) {
        let Some(run) = self.runs.get(&id) else { return };
        let segment = run.returned.segment();
        let stale = self.has(Mutant::EventualScan).then(|| self.stale.first()).flatten();
        let shown = stale.unwrap_or(&self.source);
        let after = after.map(number_of);
        let here = |item: &&Item| {
            let number = number_of(item);
            number as u32 % segment.total() == segment.number() && after.is_none_or(|after| number > after)
        };
        let mut items: Vec<Item> = shown.iter().map(|(_, item)| item).filter(here).take(2).cloned().collect();
        // A page may be full, or end early, or be empty.
        items.truncate(self.random.between(usize::from(items.len() == 2), 2));
        let end = items.last().map(|item| key(number_of(item)));
        if self.faults.strikes(Fault::Throttle, &mut self.random, 8) {
            if self.mutant == Some(Mutant::ErrorIsEnd) {
                self.begin_page(id, &[], None);
            }
            return;
        }
        let more = items
            .last()
            .map(number_of)
            .is_some_and(|last| self.source.iter().any(|(_, item)| number_of(item) > last));
        if items.is_empty() && self.rest_of(segment, after) {
            return;
        }
        let more = more || self.random.chance(30);
        self.begin_page(id, &items, end.filter(|_| more));
    }

    /// Is there anything left of this segment?
    fn rest_of(&self, segment: SegmentId, after: Option<usize>) -> bool {
        self.source.iter().any(|(_, item)| {
            let number = number_of(item);
            number as u32 % segment.total() == segment.number() && after.is_none_or(|after| number > after)
        })
    }

    /// A writer does something.
    fn write_something(&mut self) {
        let number = self.random.below(self.keys);
        let there = self.get(Place::Source, &key(number)).cloned();
        let flaw = self.flaw();
        match (self.random.below(10), there) {
            (0..2, Some(_)) => {
                self.note(|| format!("writer deletes k{number}"));
                self.set(Place::Source, &key(number), None, false);
            }
            (2, Some(_)) if self.faults.strikes(Fault::Expiry, &mut self.random, 100) => {
                self.note(|| format!("k{number} expires"));
                self.set(Place::Source, &key(number), None, true);
            }
            (3, Some(there)) if self.faults.strikes(Fault::Swap, &mut self.random, 100) => {
                self.swap(number, &there);
            }
            (3..7, Some(mut there)) => {
                let new = item(&mut self.random, number, flaw);
                let name = *self.random.pick(&["a", "b", "v", "kind"]);
                if let Some(value) = new.get(name) {
                    there.insert(name.to_owned(), value.clone());
                }
                self.note(|| format!("writer sets {name} of k{number} to {:?}", there.get(name).map(short)));
                self.set(Place::Source, &key(number), Some(there), false);
            }
            _ => {
                let new = item(&mut self.random, number, flaw);
                self.note(|| {
                    let shown = |name: &str| new.get(name).map(short);
                    format!("writer puts k{number} {:?}", ["a", "b", "kind", "v"].map(shown))
                });
                self.set(Place::Source, &key(number), Some(new), false);
            }
        }
    }

    fn flaw(&mut self) -> Flaw {
        if self.faults.strikes(Fault::Poison, &mut self.random, 5) {
            Flaw::Poison
        } else if self.faults.strikes(Fault::Oversize, &mut self.random, 5) {
            Flaw::Long
        } else if !self.scene.is_in_place() && self.faults.strikes(Fault::Refused, &mut self.random, 5) {
            Flaw::Refused
        } else {
            Flaw::None
        }
    }

    /// Two items exchange what their target keys are made of.
    fn swap(&mut self, number: usize, one: &Item) {
        let other_number = (number + 1) % self.keys;
        let Some(other) = self.get(Place::Source, &key(other_number)).cloned() else { return };
        self.note(|| format!("writer swaps k{number} and k{other_number}"));
        let (mut first, mut second) = (one.clone(), other.clone());
        for name in ["a", "b"] {
            if let (Some(a), Some(b)) = (one.get(name), other.get(name)) {
                first.insert(name.to_owned(), b.clone());
                second.insert(name.to_owned(), a.clone());
            }
        }
        self.set(Place::Source, &key(number), Some(first), false);
        self.set(Place::Source, &key(other_number), Some(second), false);
    }

    /// An item of somebody else in the target.
    fn put_foreign(&mut self) {
        let number = self.random.below(self.keys);
        let made = item(&mut self.random, number, Flaw::None);
        let Ok(Some(mut mapped)) = self.scene.mapping().target_item(&made) else { return };
        mapped.insert("foreign".to_owned(), text("yes"));
        self.note(|| format!("somebody else's item is at a target place of k{number}"));
        self.set(Place::Target, &mapped, Some(mapped.clone()), false);
    }

    /// Something unusual happens.
    fn disturb(&mut self) {
        match self.random.below(9) {
            0 if self.faults.is_on(Fault::Split) => self.split(),
            1 | 2 if self.faults.is_on(Fault::Duplicate) && !self.stream.records.is_empty() => {
                self.faults.hit(Fault::Duplicate);
                let record = self.random.below(self.stream.records.len());
                if self.was_polled(record) {
                    self.invoke(None, vec![record], self.stream.records[record].epoch);
                }
            }
            3 if self.faults.is_on(Fault::Redrive) && !self.stream.shards.is_empty() => {
                let shard = self.random.below(self.stream.shards.len());
                let back = self.random.below(self.stream.shards[shard].at + 1);
                if !self.stream.shards[shard].busy {
                    self.faults.hit(Fault::Redrive);
                    self.note(|| format!("shard {shard} is read again from {back}"));
                    self.stream.shards[shard].at = back;
                }
            }
            4 if self.stream.on && self.faults.is_on(Fault::Reenable) && self.epoch + 1 < EPOCHS.into() => {
                self.faults.hit(Fault::Reenable);
                self.note(|| "the stream is switched off".to_owned());
                self.stream.on = false;
            }
            4 if !self.stream.on && !self.stream.records.is_empty() => self.reenable(),
            5 if self.faults.is_on(Fault::Repair) && self.stream.on => {
                self.faults.hit(Fault::Repair);
                let number = self.random.below(self.keys);
                self.start(self.job().repair(&key(number)), Kind::Repair, Owner::Nobody, self.epoch);
            }
            6 | 7 if self.faults.is_on(Fault::Release) => self.release_one(),
            8 if self.has(Mutant::TombstonesEarly) || self.has(Mutant::FinaliseEarly) => {
                self.finalise_early();
            }
            _ => {}
        }
    }

    fn split(&mut self) {
        if self.stream.split(&mut self.random) {
            self.faults.hit(Fault::Split);
            self.note(|| "a shard splits".to_owned());
        }
    }

    /// Was the record handed out before? Only then can it come again.
    fn was_polled(&self, record: usize) -> bool {
        let pending = |shard: &super::stream::Shard| shard.records[shard.at..].contains(&record);
        !self.stream.shards.iter().any(pending)
    }

    fn release_one(&mut self) {
        let Some(entry) = self.quarantine().into_iter().next() else { return };
        self.faults.hit(Fault::Release);
        if let Some(task) = self.job().release(&entry) {
            self.start(task, Kind::Repair, Owner::Nobody, self.epoch);
        }
    }

    /// The entries of the quarantine.
    pub(super) fn quarantine(&self) -> Vec<Quarantined> {
        let of = |row: &Item| {
            row.get(control::PARTITION).is_some_and(|partition| {
                *partition == text(&control::quarantine_partition(self.scene.mapping().name()))
            })
        };
        self.control.iter().filter(|(_, row)| of(row)).filter_map(|(_, row)| Quarantined::read(row)).collect()
    }

    /// A new stream, with a new epoch and a new backfill. What the old one had not handed out is lost.
    fn reenable(&mut self) {
        self.note(|| "a new stream begins".to_owned());
        self.epoch += 1;
        for invocation in self.invocations.values_mut() {
            invocation.shard = None;
        }
        // The old backfill's tasks may still write; nobody waits for them.
        for work in &mut self.works {
            if matches!(work.owner, Owner::Run(..)) {
                work.owner = Owner::Nobody;
            }
        }
        self.runs.clear();
        self.stream.begin(&mut self.random, self.epoch);
        if !self.has(Mutant::NoRescan) {
            self.begin_backfill();
        }
    }

    fn finalise_early(&mut self) {
        for item in self.target.items() {
            let write = finalise::clean(self.scene.mapping().target(), &item);
            let all = self.has(Mutant::FinaliseEarly);
            if let Some(write) = write.filter(|write| all || matches!(write.action, Action::Delete(_))) {
                self.send(&keyfold_core::retrofit::Request::Write(write), Kind::Scan);
            }
        }
        if self.has(Mutant::FinaliseEarly) {
            self.forget_ledger();
        }
    }

    /// Empties the ledger.
    pub(super) fn forget_ledger(&mut self) {
        for row in self.control.items() {
            if let Some(write) = finalise::forget(self.scene.mapping().name(), &row) {
                self.send(&keyfold_core::retrofit::Request::Write(write), Kind::Scan);
            }
        }
    }

    /// Goes on until nothing is left to do.
    pub(super) fn drain(&mut self) -> Result<(), Wrong> {
        self.note(|| "writers stop".to_owned());
        for turn in 0..DRAIN_TURNS_MAX {
            if turn == DRAIN_TURNS_MAX / 2 {
                self.faults.end();
            }
            if !self.go_on() {
                return if self.stream.is_drained() {
                    Ok(())
                } else {
                    Err(Wrong::new("the stream is stuck"))
                };
            }
        }
        Err(Wrong::new("it never drains"))
    }
}

fn short(value: &keyfold_core::value::AttributeValue) -> String {
    format!("{value:?}").chars().take(40).collect()
}
