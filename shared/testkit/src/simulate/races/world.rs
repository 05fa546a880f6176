//! Where the protocols race: two tables, a stream, one scan, and carriers of items, one request at a time.

use keyfold_core::retrofit::{ItemSeen, ItemTask, Job, Request, Response, TableRole, TaskStep, Write};
use keyfold_core::value::{AttributeValue, Item};

use super::super::fault::named;
use super::super::scenario::{Flaw, KEYS_MAX, NAMES, Scenario, item, key};
use super::super::store::{ItemStore, key_in, outcome};
use super::super::stream::{SimulatedStream, SourceChange};
use super::super::work::writes;
use super::racer::{Racer, read};
use crate::generate::Random;

/// Turns with writers, and until everything must have drained.
const TURNS: u64 = 120;
const DRAIN_TURNS_MAX: u64 = 20_000;
/// Maximum milliseconds of a turn. With every fifth turn a write of one of four items, an item changes about every four seconds.
const TURN_MILLIS_MAX: usize = 400;
const WRITES_PERCENT: usize = 20;
/// The first turn in which the scan reads.
const SCAN_TURNS_MAX: usize = 40;
/// Items of a page.
const PAGE_MAX: usize = 3;

named! {
/// The faults around a protocol; each has what those before it have.
Conditions {
    /// Records come once and in their order, no request is lost, and an item changes at most once in a second.
    Calm = "one change of an item a second",
    /// An item may change several times in a second.
    Busy = "several changes in a second",
    /// Records come once more, also late: Lambda delivers at least once.
    Again = "and records come twice",
    /// Functions and the scan die and restart, responses are lost, and requests are carried out after their senders are gone.
    Harsh = "and processes die, requests come late",
}
}

/// How the target differs from what writers wrote, once everything has drained.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RaceEnd {
    /// Items that the target lacks.
    pub lost: u64,
    /// Items that were deleted, and are in the target.
    pub resurrected: u64,
    /// Items of the target that say something older.
    pub stale: u64,
    /// A count of the items says that both tables are the same.
    pub counts_agree: bool,
}

impl RaceEnd {
    /// Is the target what writers wrote?
    pub fn is_right(&self) -> bool {
        self.lost + self.resurrected + self.stale == 0
    }
}

/// A writer's action, and its turn.
struct Change {
    turn: u64,
    number: usize,
    new: Option<Item>,
}

/// A carrier of an item.
struct Carrier {
    /// The core's task; other protocols send one write.
    task: Option<ItemTask>,
    request: Request,
    errand: Errand,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Errand {
    /// The next record of this shard.
    Shard(usize),
    /// A record that comes once more: without a wait.
    Again,
    /// An item of the scan's page.
    Page,
}

/// One history under way.
pub(super) struct RaceWorld<'s> {
    scenario: &'s Scenario,
    racer: Racer,
    conditions: Conditions,
    random: Random,
    changes: Vec<Change>,
    truth: [Option<Item>; KEYS_MAX],
    source: ItemStore,
    target: ItemStore,
    control: ItemStore,
    stream: SimulatedStream,
    /// The second of each record.
    seconds: Vec<u64>,
    turn: u64,
    millis: u64,
    /// The second in which each item changed last.
    changed: [Option<u64>; KEYS_MAX],
    carriers: Vec<Carrier>,
    late: Vec<Request>,
    scan: Scan,
}

/// The copy of what exists.
#[derive(Default)]
struct Scan {
    from_turn: u64,
    /// The page begins here; a scan that dies starts it again.
    page_from: usize,
    /// The next item that is read.
    at: usize,
    read: Vec<Item>,
    /// The page's items are being written.
    writing: bool,
    open: usize,
}

impl<'s> RaceWorld<'s> {
    pub(super) fn new(
        scenario: &'s Scenario,
        racer: Racer,
        conditions: Conditions,
        seed: u64,
    ) -> RaceWorld<'s> {
        let mut random = Random::new(seed);
        // What writers do depends on the seed alone, not on what a protocol does.
        let mut writers = random.fork();
        let changes: Vec<Change> = (0..TURNS).filter_map(|turn| change(&mut writers, turn)).collect();
        let mut world = RaceWorld {
            scenario,
            racer,
            conditions,
            random,
            changes,
            truth: Default::default(),
            source: ItemStore::default(),
            target: ItemStore::default(),
            control: ItemStore::default(),
            stream: SimulatedStream::new(),
            seconds: Vec::new(),
            turn: 0,
            millis: 0,
            changed: [None; KEYS_MAX],
            carriers: Vec::new(),
            late: Vec::new(),
            scan: Scan { from_turn: writers.below(SCAN_TURNS_MAX) as u64, ..Scan::default() },
        };
        for number in 0..KEYS_MAX {
            if writers.chance(70) {
                let item = made(&mut writers, number);
                world.truth[number] = Some(item.clone());
                world.source.set(world.job().mapping().source(), &item.clone(), Some(item));
            }
        }
        // The stream begins before the scan: every protocol gets this right.
        world.stream.begin(&mut world.random, 0);
        world
    }

    fn job(&self) -> &'s Job {
        &self.scenario.jobs[0]
    }

    /// Plays it to its end.
    pub(super) fn play(mut self) -> Option<RaceEnd> {
        let mut changes = std::mem::take(&mut self.changes).into_iter().peekable();
        let mut clock = self.random.fork();
        while self.turn < TURNS + DRAIN_TURNS_MAX {
            self.millis += clock.between(1, TURN_MILLIS_MAX) as u64;
            while let Some(change) = changes.next_if(|change| change.turn <= self.turn) {
                self.writer(change);
            }
            if self.turn == TURNS / 2 {
                self.stream.split(&mut self.random);
            }
            self.take_turn();
            self.turn += 1;
            if self.turn >= TURNS && self.is_over() {
                return Some(self.judge());
            }
        }
        None
    }

    fn has(&self, conditions: Conditions) -> bool {
        self.conditions >= conditions && self.turn < TURNS * 2
    }

    fn writer(&mut self, Change { number, new, .. }: Change) {
        let second = self.millis / 1_000;
        if self.conditions < Conditions::Busy && self.changed[number] == Some(second) {
            // The next second has started by then.
            self.millis = (second + 1) * 1_000;
        }
        let second = self.millis / 1_000;
        let table = self.job().mapping().source();
        let old = self.source.at(NAMES[number]).cloned();
        let change =
            SourceChange { number, turn: self.turn, old: old.as_ref(), new: new.as_ref(), expired: false };
        if self.stream.push(&mut self.random, &change, false) {
            self.seconds.push(second);
            self.changed[number] = Some(second);
        }
        self.source.set(table, &key(number), new.clone());
        self.truth[number] = new;
    }

    fn take_turn(&mut self) {
        match self.random.below(10) {
            0..2 => self.poll(),
            2..4 => self.scan_on(),
            4 if self.has(Conditions::Again) && self.random.chance(25) => self.deliver_again(),
            5 if !self.late.is_empty() => {
                let at = self.random.below(self.late.len());
                let request = self.late.swap_remove(at);
                self.send(&request);
            }
            _ if !self.carriers.is_empty() => {
                let at = self.random.below(self.carriers.len());
                self.advance(at);
            }
            _ => {}
        }
    }

    /// A function gets the next record of a shard; it deals with one after the other.
    fn poll(&mut self) {
        let ready: Vec<usize> = self.stream.ready(self.turn).collect();
        let Some(&shard) = self.random.any(&ready) else { return };
        let record = self.stream.shards[shard].records[self.stream.shards[shard].at];
        self.stream.shards[shard].busy = true;
        self.carry(record, Errand::Shard(shard));
    }

    fn deliver_again(&mut self) {
        let records = 0..self.stream.records.len();
        let dealt_with: Vec<usize> = records.filter(|at| self.stream.records[*at].dealt_with).collect();
        if let Some(&record) = self.random.any(&dealt_with) {
            self.carry(record, Errand::Again);
        }
    }

    fn carry(&mut self, at: usize, errand: Errand) {
        let record = &self.stream.records[at].record;
        match self.racer {
            Racer::Fences => self.start(self.job().apply(record), errand),
            racer => self.write_once(racer.record(self.job(), record, self.seconds[at]), errand),
        }
    }

    fn start(&mut self, mut task: ItemTask, errand: Errand) {
        let step = task.start(self.job());
        self.step(task, step, errand);
    }

    fn step(&mut self, task: ItemTask, step: TaskStep, errand: Errand) {
        match step {
            TaskStep::Send(request) => self.carriers.push(Carrier { task: Some(task), request, errand }),
            TaskStep::Done(result) => self.over(errand, result.is_done()),
        }
    }

    fn write_once(&mut self, write: Option<Write>, errand: Errand) {
        match write {
            Some(write) => {
                self.carriers.push(Carrier { task: None, request: Request::Write(write), errand });
            }
            None => self.over(errand, true),
        }
    }

    /// One request of a carrier, with the faults around it.
    fn advance(&mut self, at: usize) {
        let Carrier { task, request, errand } = self.carriers.swap_remove(at);
        let harsh = self.has(Conditions::Harsh) && writes(&request);
        if harsh && self.random.chance(4) {
            return self.dies(errand);
        }
        if harsh && self.random.chance(4) {
            // Its sender hears nothing: it is carried out long after, and sent again.
            self.late.push(request.clone());
            return match self.random.chance(50) {
                true => self.dies(errand),
                false => self.carriers.push(Carrier { task, request, errand }),
            };
        }
        let mut response = self.send(&request);
        if harsh && self.random.chance(6) {
            response = self.send(&request);
        }
        if harsh && self.random.chance(4) {
            return self.dies(errand);
        }
        match task {
            // A write that is refused has met something newer, by the protocol's own rule.
            None => self.over(errand, true),
            Some(mut task) => {
                let step = task.respond(self.job(), response);
                self.step(task, step, errand);
            }
        }
    }

    fn over(&mut self, errand: Errand, settled: bool) {
        match errand {
            Errand::Again => {}
            Errand::Shard(shard) => {
                self.stream.shards[shard].busy = false;
                if settled {
                    self.stream.pass(shard, 1);
                }
            }
            Errand::Page => {
                self.scan.open -= 1;
                if !settled {
                    return self.begin_page_anew();
                }
                if self.scan.open == 0 {
                    self.scan = Scan { page_from: self.scan.at, at: self.scan.at, ..Scan::default() };
                }
            }
        }
    }

    /// Its record is delivered again, its page is read again.
    fn dies(&mut self, errand: Errand) {
        match errand {
            Errand::Page => self.begin_page_anew(),
            errand => self.over(errand, false),
        }
    }

    fn begin_page_anew(&mut self) {
        self.carriers.retain(|carrier| carrier.errand != Errand::Page);
        let from = self.scan.page_from;
        self.scan = Scan { page_from: from, at: from, ..Scan::default() };
    }

    /// The scan reads one more item of its page, or writes what it has read.
    fn scan_on(&mut self) {
        if self.turn < self.scan.from_turn || self.scan.writing {
            return;
        }
        let full = self.scan.read.len() >= PAGE_MAX || self.scan.at >= KEYS_MAX;
        if !full {
            self.scan.read.extend(self.source.at(NAMES[self.scan.at]).cloned());
            self.scan.at += 1;
            return;
        }
        let page = std::mem::take(&mut self.scan.read);
        if page.is_empty() {
            return;
        }
        self.scan.writing = true;
        self.scan.open = page.len();
        for item in page {
            match self.racer {
                Racer::Fences => self.start(self.job().backfill(item, false), Errand::Page),
                racer => self.write_once(racer.scanned(self.job(), &item), Errand::Page),
            }
        }
    }

    fn send(&mut self, request: &Request) -> Response {
        let write = match request {
            Request::Get { role, key } => return Response::Item(self.at(*role, key).cloned()),
            Request::Write(write) => write,
            Request::Transact(_) => unreachable!("no protocol here has transactions"),
        };
        let key = key_in(&write.action).clone();
        let there = self.at(write.role, &key);
        if !write.guard.holds(there) {
            let seen = there.cloned().map_or(ItemSeen::Nothing, |item| ItemSeen::Item(Box::new(item)));
            return Response::Refused(seen);
        }
        let item = outcome(there, &write.action);
        let (_, table) = self.scenario.table(write.role);
        match write.role {
            TableRole::Source => self.source.set(table, &key, item),
            TableRole::Target => self.target.set(table, &key, item),
            TableRole::Control => self.control.set(table, &key, item),
        }
        Response::Written
    }

    fn at(&self, place: TableRole, key: &Item) -> Option<&Item> {
        let (_, table) = self.scenario.table(place);
        match place {
            TableRole::Source => self.source.get(table, key),
            TableRole::Target => self.target.get(table, key),
            TableRole::Control => self.control.get(table, key),
        }
    }

    fn is_over(&self) -> bool {
        let scanned = self.scan.at >= KEYS_MAX && self.scan.read.is_empty() && !self.scan.writing;
        scanned && self.carriers.is_empty() && self.late.is_empty() && self.stream.is_drained()
    }

    /// Compares the target with what writers wrote.
    fn judge(&self) -> RaceEnd {
        let mapping = self.job().mapping();
        let mut end = RaceEnd::default();
        let (mut wanted_count, mut there_count) = (0, 0);
        for number in 0..KEYS_MAX {
            let wanted = self.truth[number].as_ref().and_then(|item| mapping.target_item(item).ok()?);
            let place = mapping.target_key(&key(number)).ok().flatten();
            let there = place.and_then(|place| read(self.at(TableRole::Target, &place)?));
            wanted_count += u64::from(wanted.is_some());
            there_count += u64::from(there.is_some());
            match (wanted, there) {
                (Some(_), None) => end.lost += 1,
                (None, Some(_)) => end.resurrected += 1,
                (Some(wanted), Some(there)) if wanted != there => end.stale += 1,
                _ => {}
            }
        }
        end.counts_agree = wanted_count == there_count;
        end
    }
}

/// The writer's action in this turn, if any.
fn change(writers: &mut Random, turn: u64) -> Option<Change> {
    let writes = writers.chance(WRITES_PERCENT);
    let number = writers.below(KEYS_MAX);
    let deletes = writers.chance(25);
    let item = made(writers, number);
    writes.then(|| Change { turn, number, new: (!deletes).then_some(item) })
}

/// An item that every protocol takes; each one is another.
fn made(writers: &mut Random, number: usize) -> Item {
    let mut item = item(writers, number, Flaw::None, false);
    item.insert("kind".to_owned(), AttributeValue::S("in".to_owned()));
    item.insert("v".to_owned(), AttributeValue::N(writers.below(1_000_000).to_string()));
    item
}
