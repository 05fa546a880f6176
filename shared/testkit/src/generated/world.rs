//! The tables of a history in memory, with their streams, and the tasks that work on them.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use keyfold_core::model::Table;
use keyfold_core::retrofit::{
    Action, ChangeKind, ChangeRecord, ItemSeen, ItemTask, Job, Mapping, Request, Response, SequenceNumber,
    SourceKey, TableRole, TaskResult, TaskStep, Write, control,
};
use keyfold_core::value::Item;

use super::mutant::Mutant;
use crate::generate::Random;

/// How often a blocked task is tried again before it is parked.
const BLOCKED_MAX: u32 = 3;
/// The most requests of one history. More are a loop.
const REQUESTS_MAX: u32 = 20_000;
/// The last digits of the first sequence number.
const SEQUENCE_FIRST: u64 = 10_000_000_000_000_000;

/// Items by their keys.
pub type Items = BTreeMap<String, Item>;

/// A task with the request that it waits for.
struct OpenTask {
    task: ItemTask,
    request: Request,
    blocked: u32,
    /// The item whose record it carries.
    record: Option<String>,
    /// The item as the task saw it last.
    seen: Option<Item>,
}

/// The tables, and what is under way. In place, the source is the target.
pub struct World<'w> {
    in_place: bool,
    control: &'w Table,
    mutant: Option<Mutant>,
    source: Items,
    target: Items,
    rows: Items,
    records: VecDeque<ChangeRecord>,
    open: Vec<OpenTask>,
    sequence: u64,
    requests: u32,
}

impl<'w> World<'w> {
    /// A world with these items in the source.
    pub fn new(mapping: &Mapping, control: &'w Table, mutant: Option<Mutant>, items: Vec<Item>) -> World<'w> {
        let source = items.into_iter().filter_map(|item| Some((key_text(mapping.source(), &item)?, item)));
        World {
            in_place: mapping.source().id == mapping.target().id,
            control,
            mutant,
            source: source.collect(),
            target: Items::new(),
            rows: Items::new(),
            records: VecDeque::new(),
            open: Vec::new(),
            sequence: SEQUENCE_FIRST,
            requests: 0,
        }
    }

    /// The items of a table.
    pub fn items(&self, role: TableRole) -> &Items {
        match role {
            TableRole::Target if !self.in_place => &self.target,
            TableRole::Source | TableRole::Target => &self.source,
            TableRole::Control => &self.rows,
        }
    }

    fn items_mut(&mut self, role: TableRole) -> &mut Items {
        match role {
            TableRole::Target if !self.in_place => &mut self.target,
            TableRole::Source | TableRole::Target => &mut self.source,
            TableRole::Control => &mut self.rows,
        }
    }

    /// Source and target change places: records of the target lead back from now on.
    pub fn turn(&mut self) {
        std::mem::swap(&mut self.source, &mut self.target);
    }

    /// An application's write of the table that is followed.
    pub fn write(&mut self, table: &Table, key: &Item, new: Option<Item>) {
        self.store(TableRole::Source, table, key, new);
    }

    /// Puts an item into the target without a guard and without a record.
    pub fn plant(&mut self, table: &Table, item: Item) {
        let Some(text) = key_text(table, &item) else { unreachable!("an item has a key") };
        self.items_mut(TableRole::Target).insert(text, item);
    }

    /// Changes an item, and leaves a record where the source's stream has one.
    fn store(&mut self, role: TableRole, table: &Table, key: &Item, new: Option<Item>) {
        let Some(text) = key_text(table, key) else { unreachable!("a key is whole") };
        let items = self.items_mut(role);
        let old = match new.clone() {
            Some(item) => items.insert(text, item),
            None => items.remove(&text),
        };
        let streams = role == TableRole::Source || (role == TableRole::Target && self.in_place);
        if !streams || old == new {
            return;
        }
        let kind = match (&old, &new) {
            (None, _) => ChangeKind::Insert,
            (_, Some(_)) => ChangeKind::Modify,
            (_, None) => ChangeKind::Remove { expired: false },
        };
        self.sequence += 1;
        let Ok(sequence) = SequenceNumber::parse(&format!("10000{}", self.sequence)) else {
            unreachable!("it has 21 digits")
        };
        self.records.push_back(ChangeRecord { sequence, key: key.clone(), kind, old, new });
    }

    /// Starts a task; `record` is the item whose record it carries.
    pub fn start(&mut self, job: &Job, mut task: ItemTask, seen: Option<Item>, record: Option<String>) {
        let step = task.start(job);
        let open = OpenTask { task, request: Request::Transact(Vec::new()), blocked: 0, record, seen };
        self.stepped(job, open, step);
    }

    /// Starts the task of the next record whose item has no record in flight; false if there is no such record.
    pub fn next_record(&mut self, job: &Job) -> bool {
        let busy = |key: &str| self.open.iter().any(|open| open.record.as_deref() == Some(key));
        let mut seen: Vec<String> = Vec::new();
        for at in 0..self.records.len() {
            let Some(key) = key_text(job.mapping().source(), &self.records[at].key) else { continue };
            if !busy(&key) && !seen.contains(&key) {
                let Some(record) = self.records.remove(at) else { return false };
                let task = job.apply(&record);
                self.start(job, task, record.new, Some(key));
                return true;
            }
            seen.push(key);
        }
        false
    }

    /// Carries out one request; false if no task is open.
    pub fn step(&mut self, job: &Job, random: &mut Random) -> bool {
        if self.open.is_empty() {
            return false;
        }
        self.requests += 1;
        assert!(self.requests < REQUESTS_MAX, "a history has no end");
        let at = random.below(self.open.len());
        let mut open = self.open.swap_remove(at);
        let mut request = open.request.clone();
        if let (Some(Mutant::WholeItem), Request::Write(write), Some(seen)) =
            (self.mutant, &mut request, &open.seen)
        {
            put_whole(write, seen);
        }
        let response = self.response(job.mapping(), request, random);
        match &response {
            Response::Item(item) => open.seen.clone_from(item),
            Response::Refused(ItemSeen::Item(item)) => open.seen = Some((**item).clone()),
            _ => {}
        }
        let step = open.task.respond(job, response);
        self.stepped(job, open, step);
        true
    }

    /// Goes on until no task is open and no record is left.
    pub fn drain(&mut self, job: &Job, random: &mut Random) {
        while self.next_record(job) || self.step(job, random) {}
    }

    fn stepped(&mut self, job: &Job, mut open: OpenTask, step: TaskStep) {
        match step {
            TaskStep::Send(request) => self.open.push(OpenTask { request, ..open }),
            TaskStep::Done(TaskResult::Busy) => {
                let again = job.repair(open.task.key());
                self.start(job, again, None, open.record);
            }
            TaskStep::Done(TaskResult::Blocked) => {
                open.blocked += 1;
                let step =
                    if open.blocked <= BLOCKED_MAX { open.task.again(job) } else { open.task.park(job) };
                self.stepped(job, open, step);
            }
            TaskStep::Done(_) => {}
        }
    }

    /// The response to a request.
    pub fn response(&mut self, mapping: &Mapping, request: Request, random: &mut Random) -> Response {
        match request {
            Request::Get { role, key } => {
                let text = key_text(self.table(mapping, role), &key);
                Response::Item(text.and_then(|text| self.items(role).get(&text).cloned()))
            }
            Request::Write(write) => {
                let there = self.there(mapping, &write).cloned();
                if write.guard.holds(there.as_ref()) {
                    self.carry_out(mapping, write, there);
                    return Response::Written;
                }
                Response::Refused(match there {
                    _ if random.chance(30) => ItemSeen::Unknown,
                    Some(item) => ItemSeen::Item(Box::new(item)),
                    None => ItemSeen::Nothing,
                })
            }
            Request::Transact(writes) => {
                let held: Vec<bool> =
                    writes.iter().map(|write| write.guard.holds(self.there(mapping, write))).collect();
                if held.contains(&false) {
                    return Response::Cancelled(held);
                }
                for write in writes {
                    let there = self.there(mapping, &write).cloned();
                    self.carry_out(mapping, write, there);
                }
                Response::Written
            }
        }
    }

    fn table<'t>(&'t self, mapping: &'t Mapping, role: TableRole) -> &'t Table {
        match role {
            TableRole::Source => mapping.source(),
            TableRole::Target => mapping.target(),
            TableRole::Control => self.control,
        }
    }

    fn there(&self, mapping: &Mapping, write: &Write) -> Option<&Item> {
        let key = match &write.action {
            Action::Put(key) | Action::Delete(key) => key,
            Action::Update { key, .. } => key,
        };
        self.items(write.role).get(&key_text(self.table(mapping, write.role), key)?)
    }

    fn carry_out(&mut self, mapping: &Mapping, mut write: Write, there: Option<Item>) {
        if let Some(mutant) = self.mutant {
            mutant.write(mapping, &mut write, there.as_ref());
        }
        let table = self.table(mapping, write.role).clone();
        let (key, new) = match write.action {
            Action::Put(item) => (table.key_of(&item), Some(item)),
            Action::Delete(key) => (Some(key), None),
            Action::Update { key, set, remove } => {
                let mut item = there.unwrap_or_else(|| Item::clone(&key));
                item.extend(set);
                remove.iter().for_each(|name| drop(item.remove(name)));
                (Some(Arc::unwrap_or_clone(key)), Some(item))
            }
        };
        let Some(key) = key else { unreachable!("what is written has a key") };
        self.store(write.role, &table, &key, new);
    }
}

/// The fault of a write in place that puts the whole item as it was read.
fn put_whole(write: &mut Write, seen: &Item) {
    if let Action::Update { set, remove, .. } = &write.action {
        let mut item = seen.clone();
        item.extend(set.iter().cloned());
        remove.iter().for_each(|name| drop(item.remove(name)));
        write.action = Action::Put(item);
    }
}

/// An item's key as a text.
pub fn key_text(table: &Table, item: &Item) -> Option<String> {
    SourceKey::of(table, item).map(|key| key.to_string())
}

/// The control table.
pub fn control_table() -> Table {
    control::table("control")
}
