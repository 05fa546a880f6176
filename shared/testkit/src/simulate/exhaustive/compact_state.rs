//! A small state: what the tables hold, what the stream has, and the core's tasks that are under way.

use std::hash::{DefaultHasher, Hash, Hasher};

use keyfold_core::retrofit::{ChangeKind, ChangeRecord, ItemTask, Job, Protocol, SequenceNumber};
use keyfold_core::value::Item;

use super::super::outcome::Violation;
use super::super::scenario::key;
use super::super::switching;
use super::hash::mix;
use super::open_task::Role;
use super::tables::{ItemId, Rows};
use super::task_table::{After, OpenTaskId, Orders, TaskTable};

/// Sequence numbers begin here: they get longer on the way.
const SEQUENCE_FIRST: usize = 8;

/// The most of everything in one interleaving.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Changes by writers.
    pub changes: u8,
    /// Crashes, before or after a request was carried out.
    pub crashes: u8,
    /// Records that come once more, late.
    pub duplicates: u8,
    /// Records that are given up.
    pub discards: u8,
    /// States; beyond them the walk ends and says so.
    pub states: usize,
}

/// How far the scan of a key is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum ScanState {
    Unread,
    Working,
    Done,
}

/// One state.
#[derive(Clone)]
pub(super) struct CompactState {
    pub(super) left: Bounds,
    /// What writers last wrote.
    pub(super) truth: [usize; 2],
    pub(super) rows: Rows,
    /// The images of each key's records.
    pub(super) records: [Vec<ItemId>; 2],
    /// Up to where they were dealt with.
    pub(super) at: [usize; 2],
    pub(super) busy: [bool; 2],
    pub(super) scans: [ScanState; 2],
    /// This key is finished.
    pub(super) stopped: [bool; 2],
    /// In the order of their numbers.
    pub(super) open_tasks: Vec<OpenTaskId>,
}

impl CompactState {
    /// Both source items exist before the stream begins, with two target keys.
    pub(super) fn new(tasks: &TaskTable, bounds: Bounds) -> CompactState {
        let truth = [1, 2];
        let mut rows = Rows::default();
        (0..2).for_each(|number| rows[number] = tasks.tables.value(number, truth[number]));
        CompactState {
            left: bounds,
            truth,
            rows,
            records: [Vec::new(), Vec::new()],
            at: [0; 2],
            busy: [false; 2],
            scans: [ScanState::Unread; 2],
            stopped: [false; 2],
            open_tasks: Vec::new(),
        }
    }

    /// Is there nothing that must still be done for this key?
    pub(super) fn is_still(&self, key: usize, tasks: &TaskTable) -> bool {
        let idle = self.open_tasks.iter().all(|id| tasks.open_task(*id).role.key() != key);
        idle && self.scans[key] == ScanState::Done && self.at[key] == self.records[key].len()
    }

    /// Can something happen to this key now that touches what the other key's tasks may touch?
    pub(super) fn meets_other(&self, key: usize, tasks: &TaskTable) -> bool {
        let of_key = |id: &&OpenTaskId| tasks.open_task(**id).role.key() == key;
        let mut touched = self.open_tasks.iter().filter(of_key).flat_map(|id| &tasks.open_task(*id).touches);
        tasks.tables.protocol() == Protocol::Ledger && touched.any(|row| tasks.tables.is_target(*row))
    }

    /// Of everything that decides what can come.
    pub(super) fn hash(&self, walked: Orders) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.rows.hash(&mut hasher);
        // Handled records count again only if they are repeated.
        let over = self.left.duplicates == 0 && walked == Orders::Distinct;
        for key in 0..2 {
            let first = if over { self.at[key] } else { 0 };
            self.records[key][first..].hash(&mut hasher);
        }
        self.open_tasks.hash(&mut hasher);
        let Bounds { changes, crashes, duplicates, discards, .. } = self.left;
        let compact_state = |key: usize| {
            let flags =
                u8::from(self.busy[key]) + 2 * u8::from(self.stopped[key]) + 4 * self.scans[key] as u8;
            [self.truth[key] as u8, self.at[key] as u8, flags]
        };
        (compact_state(0), compact_state(1), [changes, crashes, duplicates, discards]).hash(&mut hasher);
        hasher.finish()
    }

    /// Of what the tables hold.
    pub(super) fn tables_hash(&self, tasks: &TaskTable) -> u64 {
        let rows =
            tasks.tables.all(&self.rows).map(|(place, name, held)| mix(held.hash, (place as u8, name)));
        mix(0, (rows.fold(0, u64::wrapping_add), self.truth))
    }

    /// The simulator's own checks: drained, repaired.
    pub(super) fn check(&self, tasks: &TaskTable) -> Result<(), Violation> {
        let truth: Vec<Option<Item>> = (0..2)
            .map(|number| tasks.tables.item(tasks.tables.value(number, self.truth[number])).cloned())
            .collect();
        let held = tasks.tables.all(&self.rows).map(|(place, _, held)| (place, &held.item));
        switching::end(tasks.tables.protocol(), &truth, held)
    }

    /// A writer writes. Writers do not know the retrofit and its folded keys.
    pub(super) fn write(&mut self, number: usize, value: usize, tasks: &TaskTable) {
        self.left.changes -= 1;
        self.truth[number] = value;
        self.set(number, tasks.tables.value(number, value));
    }

    /// The scan reads an item; one key is looked up before it is written, the other is not.
    pub(super) fn scan(&mut self, number: usize, tasks: &mut TaskTable) {
        let there = self.rows[number];
        let Some(held) = tasks.tables.held(there) else {
            self.scans[number] = ScanState::Done;
            return;
        };
        self.scans[number] = ScanState::Working;
        let role = Role::Scan { key: number };
        let after = tasks.started(role, held.hash, |tables| {
            let item = tables.item(there).cloned().unwrap_or_default();
            tables.job.backfill(item, number == 0)
        });
        self.stepped(role, after, tasks);
    }

    /// Starts the task of a record, and lets it read what it reads first: before that, it has touched nothing.
    pub(super) fn apply(&mut self, role: Role, record: usize, tasks: &mut TaskTable) {
        match self.begin(role, record, tasks, Job::apply) {
            After::Goes(id) if tasks.walked == Orders::Distinct && tasks.open_task(id).reads() => {
                self.go(id, tasks);
            }
            after => self.stepped(role, after, tasks),
        }
    }

    /// Starts the task that notes that a record was given up.
    pub(super) fn note(&mut self, key: usize, record: usize, tasks: &mut TaskTable) {
        let role = Role::Note { key, record };
        let after = self.begin(role, record, tasks, Job::discard);
        self.stepped(role, after, tasks);
    }

    /// The task that the core makes of a record.
    fn begin(
        &self,
        role: Role,
        record: usize,
        tasks: &mut TaskTable,
        task: fn(&Job, &ChangeRecord) -> ItemTask,
    ) -> After {
        let image = self.records[role.key()][record];
        let hash = mix(record as u64, tasks.tables.held(image).map(|held| held.hash));
        tasks.started(role, hash, |tables| {
            task(&tables.job, &change_record(role.key(), record, tables.item(image).cloned()))
        })
    }

    fn stepped(&mut self, role: Role, after: After, tasks: &mut TaskTable) {
        match after {
            After::Goes(id) => {
                let at = self.open_tasks.partition_point(|other| *other < id);
                self.open_tasks.insert(at, id);
            }
            After::Ended { settled } => self.ended(role, settled, tasks),
        }
    }

    fn ended(&mut self, role: Role, settled: bool, tasks: &mut TaskTable) {
        match role {
            Role::Record { key, count } => {
                self.busy[key] = false;
                self.at[key] += if settled { count } else { 0 };
            }
            Role::Scan { key } => self.scans[key] = if settled { ScanState::Done } else { ScanState::Unread },
            Role::Duplicate { .. } => {}
            Role::Note { key, record } if !settled => self.note(key, record, tasks),
            Role::Note { .. } => {}
        }
    }

    /// Carries the request of a task out; a blocked one is tried again or parked.
    pub(super) fn advance(&mut self, at: usize, tasks: &mut TaskTable) {
        let id = self.open_tasks.remove(at);
        self.go(id, tasks);
    }

    fn go(&mut self, id: OpenTaskId, tasks: &mut TaskTable) {
        let after = self.carry_out(id, tasks);
        self.stepped(tasks.open_task(id).role, after, tasks);
    }

    /// The process that ran the task ends, before or after its request was carried out.
    pub(super) fn crash(&mut self, at: usize, after: bool, tasks: &mut TaskTable) {
        let id = self.open_tasks.remove(at);
        if after {
            self.carry_out(id, tasks);
        }
        self.ended(tasks.open_task(id).role, false, tasks);
    }

    /// Writes what the next step of this task leaves, and says what comes after it.
    fn carry_out(&mut self, id: OpenTaskId, tasks: &mut TaskTable) -> After {
        let effect = tasks.effect(id, &self.rows);
        effect.sets.iter().for_each(|(row, item)| self.set(*row, *item));
        effect.after
    }

    /// Changes a row; a change of the source leaves a record.
    fn set(&mut self, row: usize, item: ItemId) {
        if self.rows[row] == item {
            return;
        }
        self.rows[row] = item;
        if let Some(records) = self.records.get_mut(row) {
            records.push(item);
        }
    }
}

/// The record at this place with this image.
fn change_record(number: usize, record: usize, new: Option<Item>) -> ChangeRecord {
    let Ok(sequence) = SequenceNumber::parse(&(SEQUENCE_FIRST + record).to_string()) else {
        unreachable!("these are digits")
    };
    let kind = if new.is_some() { ChangeKind::Modify } else { ChangeKind::Remove { expired: false } };
    ChangeRecord { sequence, key: key(number), kind, old: None, new }
}
