//! A small state: what the tables hold, what the stream has, and the core's tasks that are under way.

use std::collections::BTreeMap;
use std::rc::Rc;

use keyfold_core::retrofit::{
    Action, ChangeKind, ChangeRecord, Outcome, Place, Protocol, Request, Seen, SequenceNumber, Step as Next,
    Task, Verdict, Write,
};
use keyfold_core::value::Item;

use super::super::check::Wrong;
use super::super::mutant::{Weak, weakened};
use super::super::scene::{NAMES, key, number_of, text};
use super::super::store::{key_in, place};
use super::super::work::Kind;
use super::super::world::World;
use super::super::{Mutant, Scene};
use super::hash::{mix, of_item, of_outcome};
use super::{Bounds, Orders};

/// What a source item can be: not there, or one of two items, which want two target keys that both keys share.
pub(super) const VALUES: usize = 3;
/// A blocked task is tried again so often before it is parked.
const BLOCKED_MAX: u8 = 2;
/// Sequence numbers begin here: they get longer on the way.
const SEQUENCE_FIRST: usize = 8;

/// An item, and its hash.
pub(super) struct Held {
    pub(super) item: Item,
    hash: u64,
}

type Shared = Rc<Held>;
type Rows = BTreeMap<Rc<str>, Shared>;

/// Whose task it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Role {
    /// A batch of a key's shard.
    Record { key: usize, count: usize },
    /// A record that came once more.
    Duplicate { key: usize },
    /// The backfill's.
    Scan { key: usize },
    /// A note that this record was given up.
    Note { key: usize, record: usize },
}

/// How far the scan of a key is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Scan {
    Unread,
    Working,
    Done,
}

/// A task under way.
pub(super) struct Errand {
    role: Role,
    task: Task,
    /// `None`: it is blocked.
    request: Option<Request>,
    blocked: u8,
    /// Something that it sent was written.
    wrote: bool,
    /// Of what it began with.
    began: u64,
    /// Of that and of all that it was told since it last began anew: that decides what it does.
    hash: u64,
}

impl Errand {
    /// The source key that it is of.
    pub(super) fn key(&self) -> usize {
        match self.role {
            Role::Record { key, .. }
            | Role::Duplicate { key }
            | Role::Scan { key }
            | Role::Note { key, .. } => key,
        }
    }

    /// Does it read its row of the ledger? Then it has forgotten what it was told before. How often it may still begin anew
    /// is left out: a task that must not any more ends unsettled, and is handed out again.
    fn begins_anew(&self) -> bool {
        matches!(self.request, Some(Request::Get { place: Place::Control, .. }))
            && self.blocked <= BLOCKED_MAX
    }

    /// Does it matter if its process crashes before its request is carried out? A task that has written nothing yet could as
    /// well not have begun.
    pub(super) fn crashes_before(&self) -> bool {
        self.wrote
    }

    /// Does it matter if its process crashes after its request was carried out?
    pub(super) fn crashes_after(&self) -> bool {
        matches!(self.request, Some(Request::Write(_) | Request::Transact(_)))
    }

    fn reaches_target(&self) -> bool {
        match &self.request {
            None => false,
            Some(Request::Get { place, .. }) => *place == Place::Target,
            Some(Request::Write(write)) => write.place == Place::Target,
            Some(Request::Transact(writes)) => writes.iter().any(|write| write.place == Place::Target),
        }
    }
}

/// One state.
#[derive(Clone)]
pub(super) struct Small<'s> {
    scene: &'s Scene,
    mutant: Option<Mutant>,
    pub(super) walked: Orders,
    pub(super) left: Bounds,
    /// What writers last wrote.
    pub(super) truth: [usize; 2],
    source: Rows,
    target: Rows,
    control: Rows,
    /// The images of each key's records.
    pub(super) records: [Vec<Option<Shared>>; 2],
    /// Up to where they were dealt with.
    pub(super) at: [usize; 2],
    pub(super) busy: [bool; 2],
    pub(super) scans: [Scan; 2],
    /// Nothing happens to this key any more.
    pub(super) stopped: [bool; 2],
    pub(super) errands: Vec<Rc<Errand>>,
}

fn held(item: Item) -> Shared {
    let hash = of_item(&item);
    Rc::new(Held { item, hash })
}

/// The source item with this value.
fn valued(number: usize, value: usize) -> Option<Item> {
    let a = *["x", "y"].get(value.checked_sub(1)?)?;
    let mut item = key(number);
    item.extend([("a", a), ("b", "x"), ("kind", "in")].map(|(name, value)| (name.to_owned(), text(value))));
    Some(item)
}

impl<'s> Small<'s> {
    /// Both source items exist before the stream begins, with two target keys.
    pub(super) fn new(scene: &'s Scene, bounds: Bounds, mutant: Option<Mutant>, walked: Orders) -> Small<'s> {
        let truth = [1, 2];
        let source =
            (0..2).filter_map(|number| Some((NAMES[number].into(), held(valued(number, truth[number])?))));
        Small {
            scene,
            mutant,
            walked,
            left: bounds,
            truth,
            source: source.collect(),
            target: Rows::new(),
            control: Rows::new(),
            records: [Vec::new(), Vec::new()],
            at: [0; 2],
            busy: [false; 2],
            scans: [Scan::Unread; 2],
            stopped: [false; 2],
            errands: Vec::new(),
        }
    }

    /// Is there nothing that must still be done for this key?
    pub(super) fn is_still(&self, key: usize) -> bool {
        let idle = self.errands.iter().all(|errand| errand.key() != key);
        idle && self.scans[key] == Scan::Done && self.at[key] == self.records[key].len()
    }

    /// Can something happen to this key now that touches what the other key's tasks may touch?
    pub(super) fn meets_other(&self, key: usize) -> bool {
        let meets = |errand: &Rc<Errand>| errand.key() == key && errand.reaches_target();
        self.scene.protocol == Protocol::Ledger && self.errands.iter().any(meets)
    }

    /// Of everything that decides what can come.
    pub(super) fn hash(&self) -> u64 {
        let of = |image: &Option<Shared>| image.as_ref().map_or(0, |held| held.hash);
        // What was dealt with is looked at again only if it comes once more.
        let over = self.left.duplicates == 0 && self.walked == Orders::Distinct;
        let first = |key: usize| if over { self.at[key] } else { 0 };
        let records = (0..2).map(|key| self.records[key][first(key)..].iter().map(of).collect::<Vec<_>>());
        let mut errands: Vec<u64> = self.errands.iter().map(|errand| errand.hash).collect();
        errands.sort_unstable();
        let left = (self.left.changes, self.left.crashes, self.left.duplicates, self.left.discards);
        let progress = (self.at, self.busy, self.scans, self.stopped, left);
        mix(mix(self.tables_hash(), errands), (records.collect::<Vec<_>>(), progress))
    }

    /// Of what the tables hold.
    pub(super) fn tables_hash(&self) -> u64 {
        let of = |rows: &Rows| {
            rows.iter().fold(0_u64, |sum, (place, held)| sum.wrapping_add(mix(held.hash, &**place)))
        };
        mix(0, (of(&self.source), of(&self.target), of(&self.control), self.truth))
    }

    /// The simulator's own checks: drained, repaired, finalised.
    pub(super) fn check(&self) -> Result<(), Wrong> {
        let mut world = World::new(self.scene, 0, None, false);
        world.faults.end();
        world.keys = 2;
        for number in 0..2 {
            let item = valued(number, self.truth[number]);
            let wanted = item.as_ref().map(|item| world.wanted(item)).unwrap_or_default();
            world.truth.wrote(number, item, wanted);
        }
        for (place, rows) in
            [(Place::Source, &self.source), (Place::Target, &self.target), (Place::Control, &self.control)]
        {
            for held in rows.values() {
                world.set(place, &held.item, Some(held.item.clone()), false);
            }
        }
        world.conclude()
    }

    /// A writer writes: whoever has nothing to do with the retrofit knows nothing of folded keys.
    pub(super) fn write(&mut self, number: usize, value: usize) {
        self.left.changes -= 1;
        self.truth[number] = value;
        self.set(Place::Source, &key(number), valued(number, value));
    }

    /// The scan reads an item; one key is looked up before it is written, the other is not.
    pub(super) fn scan(&mut self, number: usize) {
        let Some(there) = self.source.get(NAMES[number]).cloned() else {
            self.scans[number] = Scan::Done;
            return;
        };
        self.scans[number] = Scan::Working;
        let task = self.scene.jobs[0].backfill(&there.item, number == 0);
        self.start(task, Role::Scan { key: number }, there.hash);
    }

    /// Starts the task of a record, and lets it read what it reads first: before that, it has touched nothing.
    pub(super) fn apply(&mut self, role: Role, record: usize) {
        let (Role::Record { key, .. } | Role::Duplicate { key }) = role else { return };
        let (told, hash) = self.record(key, record);
        let before = self.errands.len();
        self.start(self.scene.jobs[0].apply(&told), role, hash);
        let reads = |errand: &Rc<Errand>| matches!(errand.request, Some(Request::Get { .. }));
        if self.walked == Orders::Distinct && self.errands.get(before).is_some_and(reads) {
            self.advance(before);
        }
    }

    /// Starts the task that notes that a record was given up.
    pub(super) fn note(&mut self, key: usize, record: usize) {
        let (told, hash) = self.record(key, record);
        self.start(self.scene.jobs[0].discard(&told), Role::Note { key, record }, hash);
    }

    fn record(&self, number: usize, at: usize) -> (ChangeRecord, u64) {
        let image = |at: usize| self.records[number][at].as_ref();
        let Ok(sequence) = SequenceNumber::parse(&(SEQUENCE_FIRST + at).to_string()) else {
            unreachable!("these are digits")
        };
        let new = image(at).map(|held| held.item.clone());
        let kind = if new.is_some() { ChangeKind::Modify } else { ChangeKind::Remove { expired: false } };
        let hash = mix(at as u64, image(at).map(|held| held.hash));
        (ChangeRecord { sequence, key: key(number), kind, old: None, new }, hash)
    }

    fn start(&mut self, mut task: Task, role: Role, hash: u64) {
        let next = task.start(&self.scene.jobs[0]);
        let began = mix(hash, role);
        let errand = Errand { role, task, request: None, blocked: 0, wrote: false, began, hash: began };
        self.stepped(errand, next);
    }

    fn stepped(&mut self, mut errand: Errand, next: Next) {
        match next {
            Next::Send(request) => errand.request = Some(request),
            Next::Done(Verdict::Blocked) => errand.request = None,
            Next::Done(verdict) => return self.ended(errand.role, verdict.is_settled()),
        }
        if self.walked == Orders::Distinct && errand.begins_anew() {
            errand.hash = mix(errand.began, (errand.blocked, errand.wrote));
        }
        self.errands.push(Rc::new(errand));
    }

    fn ended(&mut self, role: Role, settled: bool) {
        match role {
            Role::Record { key, count } => {
                self.busy[key] = false;
                self.at[key] += if settled { count } else { 0 };
            }
            Role::Scan { key } => self.scans[key] = if settled { Scan::Done } else { Scan::Unread },
            Role::Duplicate { .. } => {}
            Role::Note { key, record } if !settled => self.note(key, record),
            Role::Note { .. } => {}
        }
    }

    /// Carries the request of a task out; a blocked one is tried again or parked.
    pub(super) fn advance(&mut self, at: usize) {
        let errand = self.errands.swap_remove(at);
        let job = &self.scene.jobs[0];
        let (mut task, mut blocked) = (errand.task.clone(), errand.blocked);
        let mut wrote = errand.wrote;
        let (next, told) = match &errand.request {
            Some(request) => {
                let outcome = self.send(request, errand.role);
                wrote |= outcome == Outcome::Written;
                let told = of_outcome(&outcome);
                (task.told(job, outcome), told)
            }
            None => {
                let again = blocked < BLOCKED_MAX;
                blocked += 1;
                (if again { task.again(job) } else { task.park(job) }, 8)
            }
        };
        let hash = mix(errand.hash, told);
        let Errand { role, began, .. } = *errand;
        self.stepped(Errand { role, task, request: None, blocked, wrote, began, hash }, next);
    }

    /// Whoever ran the task is gone, before or after its request was carried out.
    pub(super) fn crash(&mut self, at: usize, after: bool) {
        let errand = self.errands.swap_remove(at);
        if let Some(request) = errand.request.as_ref().filter(|_| after) {
            self.send(request, errand.role);
        }
        self.ended(errand.role, false);
    }

    fn send(&mut self, request: &Request, role: Role) -> Outcome {
        match request {
            Request::Get { place, key } => Outcome::Got(self.get(*place, key).map(|held| held.item.clone())),
            Request::Write(write) => {
                let Some(write) = self.weak(write, role) else { return Outcome::Written };
                if self.holds(&write) {
                    self.carry(&write);
                    return Outcome::Written;
                }
                // Some responses carry the item that was met.
                let there = self.get(write.place, key_in(&write.action));
                Outcome::Refused(match (role, there) {
                    (Role::Record { .. } | Role::Note { .. }, _) => Seen::Unknown,
                    (_, None) => Seen::Nothing,
                    (_, Some(held)) => Seen::Item(Box::new(held.item.clone())),
                })
            }
            Request::Transact(writes) => {
                let weak: Vec<Option<Write>> = writes.iter().map(|write| self.weak(write, role)).collect();
                let holds = |write: &Option<Write>| write.as_ref().is_none_or(|write| self.holds(write));
                let held: Vec<bool> = weak.iter().map(holds).collect();
                if held.contains(&false) {
                    return Outcome::Cancelled(held);
                }
                weak.iter().flatten().for_each(|write| self.carry(write));
                Outcome::Written
            }
        }
    }

    /// What is sent in place of a write; `None` if nothing is.
    fn weak(&self, write: &Write, role: Role) -> Option<Write> {
        let kind = match role {
            Role::Record { .. } | Role::Duplicate { .. } => Kind::Record,
            Role::Scan { .. } => Kind::Scan,
            Role::Note { .. } => Kind::Discard,
        };
        match self.mutant.and_then(|mutant| weakened(mutant, write, kind)) {
            None => Some(write.clone()),
            Some(Weak::Write(other)) => Some(other),
            Some(Weak::Nothing) => None,
        }
    }

    fn holds(&self, write: &Write) -> bool {
        write.guard.holds(self.get(write.place, key_in(&write.action)).map(|held| &held.item))
    }

    fn carry(&mut self, write: &Write) {
        let key = key_in(&write.action);
        let item = match &write.action {
            Action::Put(item) => Some(item.clone()),
            Action::Delete(_) => None,
            Action::Update { set, remove, .. } => {
                let mut item =
                    self.get(write.place, key).map_or_else(|| key.clone(), |held| held.item.clone());
                remove.iter().for_each(|name| {
                    item.remove(name);
                });
                item.extend(set.iter().cloned());
                Some(item)
            }
        };
        self.set(write.place, key, item);
    }

    fn rows(&self, place: Place) -> (&keyfold_core::model::Table, &Rows) {
        let mapping = self.scene.mapping();
        match place {
            Place::Control => (&self.scene.control, &self.control),
            Place::Target if !self.scene.is_in_place() => (mapping.target(), &self.target),
            Place::Source | Place::Target => (mapping.source(), &self.source),
        }
    }

    fn get(&self, at: Place, key: &Item) -> Option<&Shared> {
        let (table, rows) = self.rows(at);
        rows.get(&*place(table, key))
    }

    /// Changes a table; a change of the source leaves a record.
    fn set(&mut self, at: Place, key: &Item, item: Option<Item>) {
        let (table, rows) = self.rows(at);
        let name: Rc<str> = place(table, key).into();
        let is_source = at == Place::Source || (at == Place::Target && self.scene.is_in_place());
        let new = item.map(held);
        if rows.get(&name).map(|held| held.hash) == new.as_ref().map(|held| held.hash) {
            return;
        }
        if is_source {
            self.records[number_of(key)].push(new.clone());
        }
        let rows = match at {
            Place::Control => &mut self.control,
            _ if is_source => &mut self.source,
            _ => &mut self.target,
        };
        match new {
            Some(new) => rows.insert(name, new),
            None => rows.remove(&name),
        };
    }
}
