//! Disturbances: repeated records, pauses, other programs.

use keyfold_core::retrofit::control::Phase;
use keyfold_core::retrofit::{Quarantined, TableRole, control};
use keyfold_core::value::Item;

use super::fault::Fault;
use super::mutant::Mutant;
use super::scenario::{EPOCHS, Flaw, item, key, text};
use super::state::{SimulationState, stream_name};
use super::work::{TaskOrigin, Version, Waiter};

/// The most turns that a shard stands still.
const LAG_TURNS: usize = 40;

impl SimulationState<'_> {
    /// Something that can happen only while writers write, or anything else.
    pub(super) fn disturb(&mut self) {
        match self.random.below(12) {
            0 if self.faults.is_on(Fault::Split) && self.stream.on => {
                if self.stream.split(&mut self.random) {
                    self.faults.hit(Fault::Split);
                    self.note(|| "a shard splits".to_owned());
                }
            }
            1 if self.stream.is_off() => self.reenable(),
            0..6 if self.head.phase == Phase::Abandoned => self.restart(),
            4 if self.faults.is_on(Fault::Restart) && self.may_restart() => self.abandon(),
            1 if self.stream.on && self.faults.is_on(Fault::Reenable) && self.epoch + 1 < EPOCHS.into() => {
                self.faults.hit(Fault::Reenable);
                self.note(|| "the stream is switched off".to_owned());
                self.stream.on = false;
            }
            2 if self.faults.is_on(Fault::Foreign) && !self.scenario.is_in_place() => self.foreign_item(),
            3 if self.faults.is_on(Fault::Lag) && !self.stream.shards.is_empty() => {
                self.faults.hit(Fault::Lag);
                let shard = self.random.below(self.stream.shards.len());
                let until = self.turns + self.random.between(5, LAG_TURNS) as u64;
                self.note(|| format!("shard {shard} stands still"));
                self.stream.shards[shard].lags_until = until;
            }
            _ => self.disturb_quietly(),
        }
    }

    /// Something that can happen at any time.
    pub(super) fn disturb_quietly(&mut self) {
        match self.random.below(10) {
            0..3 if self.faults.is_on(Fault::Duplicate) => self.duplicate(),
            // A limit: what was given up for good while the retrofit was abandoned must not come again.
            3 if self.faults.is_on(Fault::Redrive) && !self.stream.shards.is_empty() && !self.restarted => {
                self.redrive();
            }
            4 | 5 if self.faults.is_on(Fault::Repair) => {
                self.faults.hit(Fault::Repair);
                // Of an item that changes just now, or of any.
                let newest = self.stream.records.last().filter(|_| self.random.chance(70));
                let number = newest.map(|newest| newest.number);
                let number = number.unwrap_or_else(|| self.random.below(self.keys));
                let other = self.faults.strikes(Fault::Versions, &mut self.random, 20);
                self.repair_one(&key(number), self.version_of(self.epoch, other));
            }
            6 if self.faults.is_on(Fault::Release) => self.release_one(),
            7 if self.faults.is_on(Fault::Verify) => self.verify_under_way(),
            8 => self.begin_throttling(),
            _ => {}
        }
    }

    /// An old record comes once more: only one that was handed out before.
    pub(super) fn duplicate(&mut self) {
        let record = self.random.below(self.stream.records.len());
        if self.stream.records.get(record).is_none_or(|record| !record.dealt_with) {
            return;
        }
        self.faults.hit(Fault::Duplicate);
        let epoch = self.stream.records[record].epoch;
        self.invoke(None, vec![record], self.version_of(epoch, false));
    }

    fn redrive(&mut self) {
        let shard = self.random.below(self.stream.shards.len());
        let back = self.random.below(self.stream.shards[shard].at + 1);
        if !self.stream.shards[shard].busy {
            self.faults.hit(Fault::Redrive);
            self.note(|| format!("shard {shard} is read again from {back}"));
            self.stream.shards[shard].at = back;
        }
    }

    /// Repairs an item, if this version of the job may.
    pub(super) fn repair_one(&mut self, key: &Item, version: Version) {
        if self.is_open(version) {
            self.start(self.job_of(version).repair(key), TaskOrigin::Repair, Waiter::Nobody, version);
        }
    }

    fn release_one(&mut self) {
        let Some(entry) = self.quarantine().into_iter().next() else { return };
        self.faults.hit(Fault::Release);
        if let Some(task) = self.job().release(&entry) {
            self.start(task, TaskOrigin::Repair, Waiter::Nobody, self.version());
        }
    }

    /// The entries of the quarantine.
    pub(super) fn quarantine(&self) -> Vec<Quarantined> {
        let prefix = control::quarantine_partition(self.mapping().name());
        let rows = self.control.iter().filter(|(place, _)| place.starts_with(&prefix));
        rows.filter_map(|(_, row)| Quarantined::read(row)).collect()
    }

    /// Another program puts an item at a possible target key, or deletes it again.
    pub(super) fn foreign_item(&mut self) {
        if !self.foreign.is_empty() && self.random.chance(60) {
            let gone = self.foreign.remove(0);
            self.note(|| "somebody else's item goes".to_owned());
            return self.set(TableRole::Target, &gone, None, false);
        }
        let number = self.random.below(self.keys);
        let made = item(&mut self.random, number, Flaw::None, self.faults.is_on(Fault::Collision));
        let Ok(Some(mut mapped)) = self.mapping().target_item(&made) else { return };
        if self.get(TableRole::Target, &mapped).is_some() {
            return;
        }
        mapped.insert("foreign".to_owned(), text("yes"));
        self.faults.hit(Fault::Foreign);
        self.obstructed[number] = true;
        self.note(|| format!("another program's item is at a target place of k{number}"));
        self.foreign.push(mapped.clone());
        self.set(TableRole::Target, &mapped, Some(mapped.clone()), false);
    }

    /// A new stream, with a new epoch and a new backfill. Records that the old one had not delivered are lost.
    pub(super) fn reenable(&mut self) {
        self.note(|| "a new stream begins".to_owned());
        for record in self.stream.shards.iter().flat_map(|shard| &shard.records[shard.at..]) {
            self.unseen[self.stream.records[*record].number] = true;
        }
        self.epoch += 1;
        self.bites(Mutant::EpochIgnored);
        match self.head.restarted(self.mapping(), Some(&stream_name(self.epoch))) {
            Ok(head) => self.head = head,
            Err(error) => unreachable!("{error}"),
        }
        for invocation in self.invocations.values_mut() {
            invocation.shard = None;
        }
        // The old backfill's tasks may still write; there is no wait for them.
        for work in &mut self.works {
            if matches!(work.pending.owner, Waiter::SegmentRun(..)) {
                work.pending.owner = Waiter::Nobody;
            }
        }
        self.runs.clear();
        self.stream.begin(&mut self.random, self.epoch);
        if !self.bites(Mutant::NoRescan) {
            self.begin_backfill();
        }
    }

    /// Once: a second restart is as the first.
    fn may_restart(&self) -> bool {
        !self.scenario.is_in_place() && self.stream.on && !self.restarted && self.head.phase == Phase::Running
    }

    fn abandon(&mut self) {
        self.faults.hit(Fault::Restart);
        self.note(|| "the retrofit is abandoned".to_owned());
        match self.head.to(Phase::Abandoned) {
            Ok(head) => self.head = head,
            Err(error) => unreachable!("{error}"),
        }
        self.runs.clear();
    }

    /// The retrofit is started again, with the stream that it followed.
    pub(super) fn restart(&mut self) {
        self.note(|| "the retrofit is started again".to_owned());
        self.restarted = true;
        let mapping = self.mapping();
        let anew = self.has(Mutant::RestartAnew) && self.epoch + 1 < EPOCHS.into();
        match self.head.restarted(mapping, Some(&stream_name(self.epoch))) {
            Ok(head) => self.head = head,
            Err(error) => unreachable!("{error}"),
        }
        if anew && self.bites(Mutant::RestartAnew) {
            let before = self.epoch;
            self.epoch += 1;
            self.stream.goes_on_in(before, self.epoch);
        }
        self.begin_backfill();
    }
}
