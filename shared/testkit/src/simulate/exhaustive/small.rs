//! A small state: what the tables hold, what the stream has, and the core's tasks that are under way.

use std::hash::{DefaultHasher, Hash, Hasher};

use keyfold_core::retrofit::{ChangeKind, ChangeRecord, Job, Protocol, SequenceNumber, Task};
use keyfold_core::value::Item;

use super::super::check::Wrong;
use super::super::scene::key;
use super::super::world::World;
use super::book::{After, Book, ErrandId};
use super::errand::Role;
use super::hash::mix;
use super::tables::{ItemId, Rows};
use super::{Bounds, Orders};

/// Sequence numbers begin here: they get longer on the way.
const SEQUENCE_FIRST: usize = 8;

/// How far the scan of a key is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Scan {
    Unread,
    Working,
    Done,
}

/// One state.
#[derive(Clone)]
pub(super) struct Small {
    pub(super) left: Bounds,
    /// What writers last wrote.
    pub(super) truth: [usize; 2],
    pub(super) rows: Rows,
    /// The images of each key's records.
    pub(super) records: [Vec<ItemId>; 2],
    /// Up to where they were dealt with.
    pub(super) at: [usize; 2],
    pub(super) busy: [bool; 2],
    pub(super) scans: [Scan; 2],
    /// Nothing happens to this key any more.
    pub(super) stopped: [bool; 2],
    /// In the order of their numbers.
    pub(super) errands: Vec<ErrandId>,
}

impl Small {
    /// Both source items exist before the stream begins, with two target keys.
    pub(super) fn new(book: &Book<'_>, bounds: Bounds) -> Small {
        let truth = [1, 2];
        let mut rows = Rows::default();
        (0..2).for_each(|number| rows[number] = book.tables.value(number, truth[number]));
        Small {
            left: bounds,
            truth,
            rows,
            records: [Vec::new(), Vec::new()],
            at: [0; 2],
            busy: [false; 2],
            scans: [Scan::Unread; 2],
            stopped: [false; 2],
            errands: Vec::new(),
        }
    }

    /// Is there nothing that must still be done for this key?
    pub(super) fn is_still(&self, key: usize, book: &Book<'_>) -> bool {
        let idle = self.errands.iter().all(|id| book.errand(*id).role.key() != key);
        idle && self.scans[key] == Scan::Done && self.at[key] == self.records[key].len()
    }

    /// Can something happen to this key now that touches what the other key's tasks may touch?
    pub(super) fn meets_other(&self, key: usize, book: &Book<'_>) -> bool {
        let of_key = |id: &&ErrandId| book.errand(**id).role.key() == key;
        let mut touched = self.errands.iter().filter(of_key).flat_map(|id| &book.errand(*id).touches);
        book.tables.scene.protocol == Protocol::Ledger && touched.any(|row| book.tables.is_target(*row))
    }

    /// Of everything that decides what can come.
    pub(super) fn hash(&self, walked: Orders) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.rows.hash(&mut hasher);
        // What was dealt with is looked at again only if it comes once more.
        let over = self.left.duplicates == 0 && walked == Orders::Distinct;
        for key in 0..2 {
            let first = if over { self.at[key] } else { 0 };
            self.records[key][first..].hash(&mut hasher);
        }
        self.errands.hash(&mut hasher);
        let Bounds { changes, crashes, duplicates, discards, .. } = self.left;
        let small = |key: usize| {
            let flags =
                u8::from(self.busy[key]) + 2 * u8::from(self.stopped[key]) + 4 * self.scans[key] as u8;
            [self.truth[key] as u8, self.at[key] as u8, flags]
        };
        (small(0), small(1), [changes, crashes, duplicates, discards]).hash(&mut hasher);
        hasher.finish()
    }

    /// Of what the tables hold.
    pub(super) fn tables_hash(&self, book: &Book<'_>) -> u64 {
        let rows = book.tables.all(&self.rows).map(|(place, name, held)| mix(held.hash, (place as u8, name)));
        mix(0, (rows.fold(0, u64::wrapping_add), self.truth))
    }

    /// The simulator's own checks: drained, repaired, finalised.
    pub(super) fn check(&self, book: &Book<'_>) -> Result<(), Wrong> {
        let mut world = World::new(book.tables.scene, 0, None, false);
        world.faults.end();
        world.keys = 2;
        for number in 0..2 {
            let item = book.tables.item(book.tables.value(number, self.truth[number])).cloned();
            let wanted = item.as_ref().map(|item| world.wanted(item)).unwrap_or_default();
            world.truth.wrote(number, item, wanted);
        }
        for (place, _, held) in book.tables.all(&self.rows) {
            world.set(place, &held.item, Some(held.item.clone()), false);
        }
        world.conclude()
    }

    /// A writer writes: whoever has nothing to do with the retrofit knows nothing of folded keys.
    pub(super) fn write(&mut self, number: usize, value: usize, book: &Book<'_>) {
        self.left.changes -= 1;
        self.truth[number] = value;
        self.set(number, book.tables.value(number, value));
    }

    /// The scan reads an item; one key is looked up before it is written, the other is not.
    pub(super) fn scan(&mut self, number: usize, book: &mut Book<'_>) {
        let there = self.rows[number];
        let Some(held) = book.tables.held(there) else {
            self.scans[number] = Scan::Done;
            return;
        };
        self.scans[number] = Scan::Working;
        let role = Role::Scan { key: number };
        let after = book.begun(role, held.hash, |tables| {
            let item = tables.item(there).cloned().unwrap_or_default();
            tables.scene.jobs[0].backfill(&item, number == 0)
        });
        self.stepped(role, after, book);
    }

    /// Starts the task of a record, and lets it read what it reads first: before that, it has touched nothing.
    pub(super) fn apply(&mut self, role: Role, record: usize, book: &mut Book<'_>) {
        match self.begin(role, record, book, Job::apply) {
            After::Goes(id) if book.walked == Orders::Distinct && book.errand(id).reads() => {
                self.go(id, book);
            }
            after => self.stepped(role, after, book),
        }
    }

    /// Starts the task that notes that a record was given up.
    pub(super) fn note(&mut self, key: usize, record: usize, book: &mut Book<'_>) {
        let role = Role::Note { key, record };
        let after = self.begin(role, record, book, Job::discard);
        self.stepped(role, after, book);
    }

    /// The task that the core makes of a record.
    fn begin(
        &self,
        role: Role,
        record: usize,
        book: &mut Book<'_>,
        task: fn(&Job, &ChangeRecord) -> Task,
    ) -> After {
        let image = self.records[role.key()][record];
        let hash = mix(record as u64, book.tables.held(image).map(|held| held.hash));
        book.begun(role, hash, |tables| {
            task(&tables.scene.jobs[0], &told(role.key(), record, tables.item(image).cloned()))
        })
    }

    fn stepped(&mut self, role: Role, after: After, book: &mut Book<'_>) {
        match after {
            After::Goes(id) => {
                let at = self.errands.partition_point(|other| *other < id);
                self.errands.insert(at, id);
            }
            After::Ended { settled } => self.ended(role, settled, book),
        }
    }

    fn ended(&mut self, role: Role, settled: bool, book: &mut Book<'_>) {
        match role {
            Role::Record { key, count } => {
                self.busy[key] = false;
                self.at[key] += if settled { count } else { 0 };
            }
            Role::Scan { key } => self.scans[key] = if settled { Scan::Done } else { Scan::Unread },
            Role::Duplicate { .. } => {}
            Role::Note { key, record } if !settled => self.note(key, record, book),
            Role::Note { .. } => {}
        }
    }

    /// Carries the request of a task out; a blocked one is tried again or parked.
    pub(super) fn advance(&mut self, at: usize, book: &mut Book<'_>) {
        let id = self.errands.remove(at);
        self.go(id, book);
    }

    fn go(&mut self, id: ErrandId, book: &mut Book<'_>) {
        let after = self.carry_out(id, book);
        self.stepped(book.errand(id).role, after, book);
    }

    /// Whoever ran the task is gone, before or after its request was carried out.
    pub(super) fn crash(&mut self, at: usize, after: bool, book: &mut Book<'_>) {
        let id = self.errands.remove(at);
        if after {
            self.carry_out(id, book);
        }
        self.ended(book.errand(id).role, false, book);
    }

    /// Writes what the next step of this task leaves, and says what comes after it.
    fn carry_out(&mut self, id: ErrandId, book: &mut Book<'_>) -> After {
        let deed = book.deed(id, &self.rows);
        deed.sets.iter().for_each(|(row, item)| self.set(*row, *item));
        deed.after
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
fn told(number: usize, record: usize, new: Option<Item>) -> ChangeRecord {
    let Ok(sequence) = SequenceNumber::parse(&(SEQUENCE_FIRST + record).to_string()) else {
        unreachable!("these are digits")
    };
    let kind = if new.is_some() { ChangeKind::Modify } else { ChangeKind::Remove { expired: false } };
    ChangeRecord { sequence, key: key(number), kind, old: None, new }
}
