//! Tables, streams, and what writers wrote.

use std::collections::BTreeMap;
use std::rc::Rc;

use keyfold_core::model::Table;
use keyfold_core::retrofit::attributes::{OWN_ATTRIBUTES, OWNER_ATTRIBUTE, TOMBSTONE_ATTRIBUTE};
use keyfold_core::retrofit::control::{Direction, RetrofitState};
use keyfold_core::retrofit::operate::{Failure, FailureKind, Operation};
use keyfold_core::retrofit::progress::ComparisonStart;
use keyfold_core::retrofit::{
    ChangeKind, ChangeRecord, Fence, LedgerRow, Pass, Protocol, Quarantined, Request, Response,
    SequenceNumber, SourceKey, TableRole, Write,
};
use keyfold_core::value::{AttributeValue, Item};

use super::super::Violation;
use super::super::fault::{Fault, Faults, Hits, WriterActions};
use super::super::mutant::Mutant;
use super::super::scenario::text;
use super::super::store::{self, ItemStore, outcome};
use super::super::work::{TaskOrigin, line, short};
use super::fill::Fill;
use super::scene::{Jobs, KEYS, Layout, PLACES_MAX, Scene, VALUES, index, other};
use super::work::{Look, Work, Zombie};
use crate::generate::Random;

/// Draws the histories with full items, apart from all else.
const FULL: u64 = 1 << 40;
/// The second since 1970 at which a history begins.
const BASE_SECONDS: u64 = 1_000_000_000;
/// The largest number of moves of writers.
pub(super) const MOVES_MAX: u64 = 4;
/// The largest delay of a record that is published late, in turns.
const HIDDEN_TURNS_MAX: usize = 120;

/// What goes wrong in this history.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct SwitchFaults {
    /// Records come again.
    pub(super) duplicates: bool,
    /// Functions die.
    pub(super) crashes: bool,
    /// Requests are carried out long after.
    pub(super) zombies: bool,
    /// Responses are lost.
    pub(super) lost: bool,
    /// Writers go on where they should have stopped.
    pub(super) leaks: bool,
    /// Records are published late.
    pub(super) hidden: bool,
    /// A door that never learns of a stop: much is written to the closed table, and little to the open one.
    pub(super) flood: bool,
    /// Operators die.
    pub(super) operators: bool,
    /// Writers of the target write what has no way back.
    pub(super) no_inverse: bool,
    /// Stops are often taken back, and much is repaired in between.
    pub(super) hesitant: bool,
    /// Items expire, on the closed table too: a stop does not keep DynamoDB from that.
    pub(super) expiry: bool,
    /// Applications put old copies of items back, with what the retrofit kept on them.
    pub(super) old_copies: bool,
    /// Records are given up.
    pub(super) discards: bool,
    /// Transactions meet each other.
    pub(super) conflicts: bool,
    /// Functions remember for a while that the row said yes.
    pub(super) remembered: bool,
    /// Processes sleep in the middle of a task, and go on long after.
    pub(super) sleeps: bool,
    /// DynamoDB refuses items: they are too large for the other table, or a value does not fit there.
    pub(super) refusals: bool,
    /// Some items have no room for the mark that they get before they are deleted.
    pub(super) full: bool,
    /// The target gets another stream before its writers are let in once more: its numbers start again.
    pub(super) streams: bool,
    /// Requests of operators are throttled.
    pub(super) throttles: bool,
    /// Operators sometimes may not change a policy or a tag.
    pub(super) rights: bool,
    /// The clocks of operators are off.
    pub(super) clocks: bool,
    /// Pages of a stream are empty although more is there.
    pub(super) empty_pages: bool,
    /// Shards split.
    pub(super) splits: bool,
    /// The control table is restored to an earlier time.
    pub(super) restores: bool,
}

/// A record of a stream.
#[derive(Debug, Clone)]
pub(super) struct Published {
    pub(super) record: Rc<ChangeRecord>,
    pub(super) number: usize,
    /// Which of the table's keys it is of: records of one key have an order.
    pub(super) place: usize,
    /// The turn from which on it is in the stream.
    pub(super) visible_at: u64,
    pub(super) dealt_with: bool,
    /// Its shard.
    pub(super) shard: usize,
    /// The second in which it was written.
    pub(super) written_at: u64,
}

/// A write that may come too late.
#[derive(Debug, Clone)]
pub(super) struct LateWrite {
    pub(super) side: Direction,
    /// Its record, in the stream of that side.
    pub(super) at: usize,
    pub(super) number: usize,
    /// The key that was written.
    pub(super) key: Item,
    pub(super) sequence: SequenceNumber,
    pub(super) new: Option<Item>,
    /// The turn from which on its record is in the stream.
    pub(super) visible_at: u64,
    pub(super) turn: u64,
    /// The open table said the same at some time since.
    pub(super) said: bool,
}

/// A write of the table that is the truth.
#[derive(Debug, Clone)]
pub(super) struct TrueWrite {
    pub(super) at: usize,
    pub(super) new: Option<Item>,
    /// By a writer who should have stopped.
    pub(super) leaked: bool,
    /// It looks as a deletion of the retrofit's own.
    pub(super) as_retrofit: bool,
}

/// One history under way.
#[derive(Clone)]
pub(super) struct World {
    pub(super) random: Random,
    pub(super) faults: SwitchFaults,
    pub(super) mutant: Option<Mutant>,
    pub(super) bites: u64,
    pub(super) moves: u64,
    pub(super) trace: Option<Vec<String>>,
    pub(super) turns: u64,
    /// Seconds of long waits. Otherwise a turn is a second.
    pub(super) waited_seconds: u64,
    pub(super) scene: &'static Scene,
    tables: [ItemStore; 2],
    pub(super) control: ItemStore,
    pub(super) head: RetrofitState,
    pub(super) streams: [Vec<Published>; 2],
    /// Where the stream that a table has now begins.
    stream_begins: [usize; 2],
    /// The shards of both streams, those of the target's former ones too.
    pub(super) shards: [Vec<SimulatedShard>; 2],
    /// The first shard of each stream that a table had.
    pub(super) shard_begins: [Vec<usize>; 2],
    /// Are writers stopped by policies?
    pub(super) by_policy: bool,
    /// The table that the applications write to.
    pub(super) apps_at: Direction,
    pub(super) doors: WritePolicies,
    /// The turn in which the last stop began.
    pub(super) stop_begun: u64,
    /// Has an operator looked in this stop whether the tables still have their streams?
    pub(super) described: bool,
    /// The target's stream when it did.
    pub(super) stopping_stream: Option<String>,
    /// The control table, the row and its version of an earlier time.
    pub(super) backup: Option<(ItemStore, RetrofitState)>,
    /// The numbers of the tables' streams, as their names have them.
    stream_numbers: [usize; 2],
    /// The turn in which changes were last lost with a stream of the source.
    pub(super) lost_at: Option<u64>,
    /// The newest sequence number of each key: only those of one key have an order.
    pub(super) sequences: [[u64; PLACES_MAX]; 2],
    /// Whose writers may write.
    pub(super) open: Option<Direction>,
    /// Whose writers wrote last.
    pub(super) truth_of: Direction,
    /// What that table must hold, by what they wrote.
    pub(super) expected: [Option<Item>; KEYS],
    /// Their writes since they were let in, for each item.
    pub(super) written: [Vec<TrueWrite>; KEYS],
    pub(super) late: Vec<LateWrite>,
    pub(super) works: Vec<Work>,
    pub(super) zombies: Vec<Zombie>,
    /// Records of writers who should have stopped, by their stream.
    pub(super) leaked: Vec<(usize, usize)>,
    /// Keys of a stream that a function has at work.
    pub(super) busy: [[bool; PLACES_MAX]; 2],
    pub(super) operators: Vec<Operator>,
    /// What two functions remember of the row.
    pub(super) looks: [Option<Look>; 2],
    pub(super) wrong: Option<Violation>,
    /// A time to live is over: deletions are now by DynamoDB.
    pub(super) expiring: bool,
    /// Items that were put back with a former fence.
    pub(super) copied: [[bool; KEYS]; 2],
    /// An old copy of this item came to a closed table: its fence can pass for the retrofit's own, which is a limit.
    pub(super) copied_late: [bool; KEYS],
    /// How many records of each stream there were when the writers of its table were stopped last.
    pub(super) stopped_at: [usize; 2],
    /// The turn in which writers were let in last.
    pub(super) let_in_at: u64,
    /// How many of ten thousand effects of a stop are interrupted.
    pub(super) doubts: usize,
    /// The last stop has started.
    pub(super) ending: bool,
    /// The retrofit ended, and its marks were to stay.
    pub(super) keeps_marks: bool,
    /// Something changed since it was last looked whether all is right.
    pub(super) changed: bool,
    /// Whose request is carried out now.
    pub(super) origin: TaskOrigin,
    /// A history that fills, and moves no writers.
    pub(super) fill: Option<Box<Fill>>,
}

impl World {
    /// A target that is tidy, and as the source says.
    pub(super) fn new(seed: u64, mutant: Option<Mutant>, trace: bool) -> World {
        let mut random = Random::new(seed);
        let mut fault = |percent| random.chance(percent);
        let faults = SwitchFaults {
            duplicates: fault(50),
            crashes: fault(50),
            zombies: fault(50),
            lost: fault(30),
            leaks: fault(40),
            hidden: fault(25),
            flood: fault(15),
            operators: fault(50),
            no_inverse: fault(20),
            hesitant: fault(30),
            expiry: fault(25),
            old_copies: fault(25),
            discards: fault(25),
            conflicts: fault(25),
            remembered: fault(40),
            sleeps: fault(30),
            refusals: fault(20),
            full: Random::new(seed ^ FULL).chance(20),
            streams: fault(30),
            throttles: fault(40),
            rights: fault(15),
            clocks: fault(30),
            empty_pages: fault(40),
            splits: fault(40),
            restores: fault(20),
        };
        let (by_policy, whole_way) = (fault(50), fault(60));
        let mut world = World::with(Layout::of(seed), random, faults, mutant, trace);
        world.by_policy = by_policy;
        if whole_way {
            world.head = RetrofitState::started(&world.scene.mapping, Some("s1"));
        }
        world.sequences = [Direction::Forward, Direction::Reverse].map(|side| world.first_numbers(side));
        world.begin();
        world
    }

    /// A retrofit that begins, by this protocol.
    pub(super) fn filling(protocol: Protocol, seed: u64, mutant: Option<Mutant>, trace: bool) -> World {
        let mut random = Random::new(seed);
        let fill = Fill::new(&mut random);
        let is_on = |fault| fill.faults.is_on(fault);
        let crashes = is_on(Fault::CrashBefore) || is_on(Fault::CrashAfter);
        let faults = SwitchFaults {
            crashes,
            zombies: is_on(Fault::Zombie),
            lost: is_on(Fault::LostResponse),
            operators: crashes,
            conflicts: is_on(Fault::Conflict) && protocol == Protocol::Ledger,
            throttles: is_on(Fault::ThrottleTable),
            ..SwitchFaults::default()
        };
        let mut world = World::with(Layout::Fill(protocol), random, faults, mutant, trace);
        world.sequences[0] = world.first_numbers(Direction::Forward);
        world.fill = Some(Box::new(fill));
        world
    }

    /// Tables with these items, where nothing is under way and nothing goes wrong.
    pub(super) fn drained<'i>(
        protocol: Protocol,
        truth: &[Option<Item>],
        held: impl Iterator<Item = (TableRole, &'i Item)>,
    ) -> World {
        let mut world = World::filling(protocol, 0, None, false);
        world.faults = SwitchFaults::default();
        world.fill_mut().faults.on = 0;
        truth.iter().zip(&mut world.expected).for_each(|(item, expected)| expected.clone_from(item));
        for (role, item) in held {
            match world.place(Direction::Forward, role) {
                Some(side) => drop(world.set(side, item, Some(item.clone()))),
                None => world.control.set(&world.scene.control_table, item, Some(item.clone())),
            }
        }
        world.fill_mut().off = false;
        world
    }

    /// How often each fault was hit, and each action of writers was done.
    pub(super) fn hits(&self) -> (Hits, WriterActions) {
        let faults = self.fill.as_ref().map_or_else(Faults::default, |fill| fill.faults.clone());
        (faults.hits, faults.writer_actions)
    }

    /// Nothing has happened yet, and there is no item.
    fn with(
        layout: Layout,
        mut random: Random,
        faults: SwitchFaults,
        mutant: Option<Mutant>,
        trace: bool,
    ) -> World {
        let scene = Scene::of(layout);
        let shards = [Direction::Forward, Direction::Reverse]
            .map(|side| SimulatedShard::first(&mut random, scene.keys(side).len(), 0));
        World {
            random,
            faults,
            mutant,
            bites: 0,
            moves: 0,
            trace: trace.then(Vec::new),
            turns: 0,
            waited_seconds: 0,
            scene,
            tables: Default::default(),
            control: ItemStore::default(),
            head: scene.started(),
            streams: Default::default(),
            stream_begins: [0; 2],
            shards,
            shard_begins: [vec![0], vec![0]],
            by_policy: false,
            apps_at: Direction::Forward,
            doors: WritePolicies::default(),
            stop_begun: 0,
            described: false,
            stopping_stream: None,
            backup: None,
            stream_numbers: [1; 2],
            lost_at: None,
            sequences: [[0; PLACES_MAX]; 2],
            open: Some(Direction::Forward),
            truth_of: Direction::Forward,
            expected: Default::default(),
            written: Default::default(),
            late: Vec::new(),
            works: Vec::new(),
            zombies: Vec::new(),
            leaked: Vec::new(),
            busy: Default::default(),
            operators: vec![Operator::default(), Operator::default()],
            looks: [None, None],
            wrong: None,
            expiring: false,
            copied: Default::default(),
            copied_late: Default::default(),
            stopped_at: [0; 2],
            let_in_at: 0,
            doubts: if faults.hesitant { 70 } else { 5 },
            ending: false,
            keeps_marks: false,
            changed: true,
            origin: TaskOrigin::Record,
            fill: None,
        }
    }

    /// They have nothing to do with each other across items, as those of different shards.
    fn first_numbers(&mut self, side: Direction) -> [u64; PLACES_MAX] {
        let mut numbers = [0; PLACES_MAX];
        for number in numbers.iter_mut().take(self.scene.keys(side).len()) {
            *number = self.random.below(3) as u64 * 45 + 3;
        }
        numbers
    }

    /// Disables a table's stream and enables it again. The target's records are processed before that; lost records of the
    /// source are found by the next backfill and comparison.
    pub(super) fn replace_stream(&mut self, side: Direction) {
        let at = index(side);
        if side == Direction::Reverse && self.streams[at].iter().any(|record| !record.dealt_with) {
            return;
        }
        if let Some(fill) = &mut self.fill {
            let left = self.streams[at].iter().enumerate();
            let left = left.filter(|(at, record)| !record.dealt_with && !fill.read_again.contains(at));
            left.for_each(|(_, record)| fill.unseen[record.number] = true);
        }
        self.streams[at].iter_mut().for_each(|record| record.dealt_with = true);
        self.end_stream(at);
        self.stream_begins[at] = self.streams[at].len();
        self.shard_begins[at].push(self.shards[at].len());
        let first = SimulatedShard::first(&mut self.random, self.scene.keys(side).len(), self.turns);
        self.shards[at].extend(first);
        self.sequences[at] = self.first_numbers(side);
        if side == Direction::Forward {
            self.lost_at = Some(self.turns);
        }
        if side == Direction::Forward || !self.bites(Mutant::EpochStays) {
            self.stream_numbers[at] += 1;
        }
        self.note(|| format!("the table of {side:?} gets another stream"));
    }

    /// Does the retrofit follow the stream that this table has now?
    pub(super) fn is_followed(&self, side: Direction) -> bool {
        let stream = self.stream_name(side);
        match side {
            Direction::Forward => self.head.check_stream(&stream).is_ok(),
            Direction::Reverse => {
                !self.head.was_reversed() || self.head.check_reverse_stream(&stream).is_ok()
            }
        }
    }

    /// How many streams this table had.
    pub(super) fn stream_count(&self, at: usize) -> usize {
        self.shard_begins[at].len()
    }

    /// The name of this table's stream.
    pub(super) fn stream_name(&self, side: Direction) -> String {
        format!("{}{}", if side == Direction::Forward { "s" } else { "t" }, self.stream_numbers[index(side)])
    }

    /// The records that the stream of this table has shown so far, with their places.
    pub(super) fn told(&self, side: Direction) -> impl Iterator<Item = (usize, &Published)> {
        let all = self.streams[index(side)].iter().enumerate();
        all.skip(self.stream_begins[index(side)]).filter(|(_, record)| record.visible_at <= self.turns)
    }

    /// The items that a backfill carried over, with the fence of a scan.
    fn begin(&mut self) {
        for number in 0..KEYS {
            if self.random.chance(30) {
                continue;
            }
            let item = self.made(Direction::Forward);
            let item = self.keyed(Direction::Forward, number, item);
            self.tables[0].set(self.scene.mapping.source(), &item, Some(item.clone()));
            self.expected[number] = Some(item.clone());
            // Else the backfill is still to come.
            if self.head.generation.is_some() || self.scene.layout != Layout::Fixed {
                self.carried_over(item);
            }
        }
    }

    fn carried_over(&mut self, item: Item) {
        if self.scene.layout != Layout::Fixed {
            let job = Jobs::of(&self.head).there.clone();
            self.carry_to_the_end(job.backfill(item, false), &job, Direction::Forward);
            self.streams[1].clear();
            return;
        }
        if let Ok(Some(mut carried)) = self.scene.mapping.target_item(&item) {
            let fence = Fence::of_scan(self.head.epoch);
            carried.insert(OWN_ATTRIBUTES[0].to_owned(), fence.value());
            self.tables[1].set(self.scene.mapping.target(), &carried.clone(), Some(carried));
        }
    }

    /// The second since 1970.
    pub(super) fn seconds(&self) -> u64 {
        BASE_SECONDS + self.turns + self.waited_seconds
    }

    pub(super) fn has(&self, mutant: Mutant) -> bool {
        self.mutant == Some(mutant)
    }

    /// The same; and then it makes a difference now.
    pub(super) fn bites(&mut self, mutant: Mutant) -> bool {
        let bites = self.has(mutant);
        self.bites += u64::from(bites);
        if bites {
            self.note(|| format!("  !! {}", mutant.name()));
        }
        bites
    }

    pub(super) fn note(&mut self, line: impl FnOnce() -> String) {
        if let Some(trace) = &mut self.trace {
            trace.push(format!("{:5} {}", self.turns, line()));
        }
    }

    pub(super) fn fail(&mut self, what: impl Into<String>) {
        let what = what.into();
        self.note(|| format!("WRONG: {what}"));
        self.wrong.get_or_insert(Violation::new(what));
    }

    /// The state of a history that fills.
    pub(super) fn fill(&self) -> &Fill {
        self.fill.as_deref().unwrap_or_else(|| unreachable!("only histories that fill come here"))
    }

    /// The same, to change it.
    pub(super) fn fill_mut(&mut self) -> &mut Fill {
        self.fill.as_deref_mut().unwrap_or_else(|| unreachable!("only histories that fill come here"))
    }

    pub(super) fn is_filling(&self) -> bool {
        self.fill.is_some()
    }

    pub(super) fn is_in_place(&self) -> bool {
        self.scene.mapping.protocol() == Protocol::InPlace
    }

    pub(super) fn is_on(&self, fault: Fault) -> bool {
        self.fill.as_ref().is_some_and(|fill| fill.faults.is_on(fault))
    }

    /// Notes that a fault was hit.
    pub(super) fn hit(&mut self, fault: Fault) {
        self.fill.iter_mut().for_each(|fill| fill.faults.hit(fault));
    }

    /// Does it happen now, with this probability in percent?
    pub(super) fn strikes(&mut self, fault: Fault, percent: usize) -> bool {
        let random = &mut self.random;
        self.fill.as_mut().is_some_and(|fill| fill.faults.strikes(fault, random, percent))
    }

    /// The table at this place: in place, the target is the source.
    pub(super) fn side(&self, role: TableRole) -> Direction {
        if role == TableRole::Target && !self.is_in_place() { Direction::Reverse } else { Direction::Forward }
    }

    /// The items of a table.
    pub(super) fn table(&self, side: Direction) -> &ItemStore {
        &self.tables[index(side)]
    }

    /// The table of this side, in the manifest.
    pub(super) fn model(&self, side: Direction) -> &'static Table {
        match side {
            Direction::Forward => self.scene.mapping.source(),
            Direction::Reverse => self.scene.mapping.target(),
        }
    }

    /// The key of an item in the table of this side; of one that is not there, in a table where it can move, no key.
    pub(super) fn key(&self, side: Direction, number: usize) -> Item {
        match (side, self.scene.target_key(number)) {
            (Direction::Forward, _) => self.scene.source_key(number).clone(),
            (Direction::Reverse, Some(key)) => key.clone(),
            (Direction::Reverse, None) => {
                let there = self.places(number).next();
                there.and_then(|item| self.model(side).key_of(item)).unwrap_or_default()
            }
        }
    }

    /// Everything in the target that is of this item.
    pub(super) fn places(&self, number: usize) -> impl Iterator<Item = &Item> {
        let own = move |item: &&Item| number_of(item) == number && !is_foreign(item);
        self.tables[1].iter().map(|(_, item)| item).filter(own)
    }

    /// The item with its key, as a writer of this side stores it.
    pub(super) fn keyed(&self, side: Direction, number: usize, mut item: Item) -> Item {
        item.insert("id".to_owned(), text(&format!("k{number}")));
        match self.model(side).with_keys(item) {
            Ok(item) => item,
            Err(error) => unreachable!("{error}"),
        }
    }

    /// An item as a writer of this side makes it, without its key.
    pub(super) fn made(&mut self, side: Direction) -> Item {
        let value = text(VALUES[self.random.below(VALUES.len())]);
        let mut item = Item::default();
        match side {
            Direction::Forward => {
                let kind = if self.random.chance(85) { "in" } else { "out" };
                item.insert("a".to_owned(), value);
                item.insert("kind".to_owned(), text(kind));
            }
            Direction::Reverse => {
                let kind = if self.faults.no_inverse && self.random.chance(12) { "out" } else { "in" };
                item.insert("b".to_owned(), value);
                item.insert("kind".to_owned(), text(kind));
                item.insert("made".to_owned(), text("old"));
            }
        }
        if self.random.chance(20) {
            item.insert("extra".to_owned(), text("e"));
        }
        item
    }

    /// The item of a table.
    pub(super) fn item(&self, side: Direction, number: usize) -> Option<&Item> {
        match side {
            Direction::Forward => self.tables[0].get(self.model(side), self.scene.source_key(number)),
            Direction::Reverse => self.places(number).next(),
        }
    }

    /// The item at this place of a table.
    pub(super) fn at(&self, side: Direction, key: &Item) -> Option<&Item> {
        self.tables[index(side)].get(self.model(side), key)
    }

    /// Changes a table; its stream takes it down. Gives the record's place back, if there is one.
    pub(super) fn set(&mut self, side: Direction, key: &Item, item: Option<Item>) -> Option<usize> {
        let table = self.model(side);
        let at = index(side);
        let old = self.tables[at].get(table, key).cloned();
        if old == item {
            return None;
        }
        self.changed = true;
        let Some(key) = table.key_of(key) else { unreachable!("every write has a key") };
        let number = item.as_ref().or(old.as_ref()).map(number_of)?;
        if self.is_filling() && !self.is_recorded(side, number, old.as_ref()) {
            self.tables[at].set(table, &key, item);
            return None;
        }
        let place = self.scene.place(side, &key);
        self.sequences[at][place] += self.random.between(1, 4) as u64;
        let sequence = self.sequences[at][place];
        // Numbers that only a comparison of texts would order so.
        let as_text = self.has(Mutant::TextSequence);
        let digits = if as_text { format!("{sequence:0<40}") } else { sequence.to_string() };
        let Ok(sequence) = SequenceNumber::parse(&digits) else { unreachable!("these are digits") };
        if as_text {
            let of_place = self.streams[at].iter().rfind(|record| record.place == place);
            self.bites += u64::from(of_place.is_some_and(|before| sequence < before.record.sequence));
        }
        let kind = match (&old, &item) {
            (None, _) => ChangeKind::Insert,
            (_, None) => ChangeKind::Remove { expired: self.expiring },
            _ => ChangeKind::Modify,
        };
        let hidden = self.faults.hidden && self.random.chance(if self.faults.flood { 50 } else { 20 });
        let delay = if hidden { self.random.between(20, HIDDEN_TURNS_MAX) as u64 } else { 0 };
        // Records of one shard come in their order, and those of its children after them.
        let (shard, written_at) = (self.shard_of(at, place), self.seconds());
        let lineage = self.lineage(at, shard);
        let before = self.streams[at].iter().filter(|record| lineage.contains(&record.shard));
        let visible_at = before.map(|record| record.visible_at).chain([self.turns + delay]).max();
        let record = Rc::new(ChangeRecord { sequence, key: key.clone(), kind, old, new: item.clone() });
        let visible_at = visible_at.unwrap_or_default();
        let dealt_with = false;
        self.streams[at].push(Published { record, number, place, visible_at, dealt_with, shard, written_at });
        self.tables[at].set(table, &key, item);
        if self.is_filling() {
            self.blot();
        }
        Some(self.streams[at].len() - 1)
    }

    /// Does this change of a history that fills leave a record?
    fn is_recorded(&mut self, side: Direction, number: usize, old: Option<&Item>) -> bool {
        let (turns, weakened) = (self.turns, self.mutant.is_some());
        let fill = self.fill_mut();
        fill.changes += 1;
        if side == Direction::Reverse {
            return false;
        }
        if weakened {
            fill.replaced(number, turns, old);
        }
        let is_late = fill.off && turns > 0;
        // Before the first stream there is no record either, but the backfill comes after it.
        fill.unseen[number] |= is_late && !fill.unfollowed;
        let is_on = !fill.off;
        self.bites += u64::from(is_late && self.has(Mutant::ScanFirst));
        is_on
    }

    /// The newest record does not tell its item.
    fn blot(&mut self) {
        if !self.strikes(Fault::Unreadable, 4) {
            return;
        }
        // A stream that is new is followed in the next epoch.
        let epoch = match self.is_followed(Direction::Forward) {
            true => Some(self.head.epoch),
            false => self.head.epoch.next(),
        };
        let (Some(epoch), Some(last)) = (epoch, self.streams[0].last_mut()) else { return };
        let (number, sequence) = (last.number, last.record.sequence.clone());
        last.record = Rc::new(ChangeRecord {
            sequence: sequence.clone(),
            key: Item::default(),
            kind: last.record.kind,
            old: None,
            new: None,
        });
        let row = Quarantined::record(Fence::of_record(epoch, sequence)).row;
        self.note(|| format!("a record of k{number} cannot be read"));
        self.fill_mut().unreadable.push((number, row));
    }

    /// Carries a request out for a job of this direction.
    pub(super) fn carry_out(&mut self, lead: Direction, request: &Request) -> Response {
        if let Request::Transact(writes) = request {
            self.check_transaction(lead, writes);
        }
        let response = match request {
            Request::Get { role, key } => {
                if let Some(stale) = self.stale(*role, key) {
                    return Response::Item(stale);
                }
                Response::Item(self.there(lead, *role, key).cloned())
            }
            Request::Write(write) if self.is_filling() => {
                self.write_filling(std::slice::from_ref(write), false)
            }
            Request::Transact(writes) if self.is_filling() => self.write_filling(writes, true),
            Request::Write(write) => match self.write_all(lead, std::slice::from_ref(write)) {
                None => Response::Written,
                Some(_) => Response::Refused(keyfold_core::retrofit::ItemSeen::Unknown),
            },
            Request::Transact(writes) if self.is_skipped(lead, writes) => Response::Written,
            Request::Transact(writes) => {
                let sent = self.weakened(lead, writes);
                match self.write_all(lead, &sent) {
                    None => Response::Written,
                    // A guard that was not asked held.
                    Some(mut held) => {
                        held.resize(writes.len(), true);
                        Response::Cancelled(held)
                    }
                }
            }
        };
        self.note(|| {
            format!("  {lead:?} {}: {}", line(request), super::super::work::outcome_name(&response))
        });
        response
    }

    /// DynamoDB refuses a transaction with two writes of one item.
    fn check_transaction(&mut self, lead: Direction, writes: &[Write]) {
        let mut items = Vec::new();
        for write in writes {
            let side = self.place(lead, write.role);
            let table = side.map_or(&self.scene.control_table, |side| self.model(side));
            let item = (side, store::place(table, write.action.key()));
            if items.contains(&item) {
                return self.fail(format!("a transaction writes one item twice: {item:?}"));
            }
            items.push(item);
        }
    }

    /// Which table this place is, for a job of this direction.
    fn place(&self, lead: Direction, place: TableRole) -> Option<Direction> {
        match place {
            TableRole::Control => None,
            TableRole::Source => Some(lead),
            TableRole::Target if self.is_in_place() => Some(lead),
            TableRole::Target => Some(other(lead)),
        }
    }

    /// The item or row with this key at this place, for a job of this direction.
    pub(super) fn there(&self, lead: Direction, role: TableRole, key: &Item) -> Option<&Item> {
        match self.place(lead, role) {
            Some(side) => self.at(side, key),
            None => self.row(key),
        }
    }

    /// Does the guard of this write hold?
    pub(super) fn holds(&self, lead: Direction, write: &Write) -> bool {
        write.guard.holds(self.there(lead, write.role, write.action.key()))
    }

    /// Makes a write, whatever its guard says.
    pub(super) fn make(&mut self, lead: Direction, write: &Write) {
        let key = write.action.key().clone();
        let item = outcome(self.there(lead, write.role, &key), &write.action);
        match self.place(lead, write.role) {
            Some(side) => {
                self.set(side, &key, item);
            }
            None => self.control.set(&self.scene.control_table, &key, item),
        }
    }

    /// All or none; if none, whose guards held.
    fn write_all(&mut self, lead: Direction, writes: &[Write]) -> Option<Vec<bool>> {
        let held: Vec<bool> = writes.iter().map(|write| self.holds(lead, write)).collect();
        if held.contains(&false) {
            return Some(held);
        }
        writes.iter().for_each(|write| self.make(lead, write));
        None
    }

    /// A row of the control table.
    pub(super) fn row(&self, key: &Item) -> Option<&Item> {
        self.control.get(&self.scene.control_table, key)
    }

    /// The row of the item with this key, for the direction that leads from this side.
    pub(super) fn row_of_key(&self, side: Direction, key: &Item) -> Option<&Item> {
        let mapping = self.scene.mapping_from(side);
        let source = SourceKey::of(mapping.source(), key)?;
        self.row(&LedgerRow::key(mapping, &source))
    }

    /// Was an old copy put back whose fence can pass for the retrofit's own, where this item is concerned?
    pub(super) fn is_copied(&self, side: Direction, number: usize) -> bool {
        // Where two items can want one place, the next record of the place can be the other one's.
        let any = side == Direction::Reverse && self.scene.layout == Layout::Crowded;
        self.copied[index(side)][number] || (any && self.copied[index(side)].contains(&true))
    }

    /// A writer of this table writes; does it go against the stop?
    pub(super) fn application_writes(&mut self, side: Direction) {
        let number = self.random.below(KEYS);
        let there = self.item(side, number).cloned();
        let new = match (self.random.below(10), there) {
            (0..2, _) => None,
            // Part of an item: what the retrofit keeps on it stays.
            (2..6, Some(mut there)) => {
                let made = self.made(side);
                let name = if side == Direction::Forward { "a" } else { "b" };
                there.insert(name.to_owned(), made[name].clone());
                Some(self.keyed(side, number, there))
            }
            _ => {
                let made = self.made(side);
                Some(self.keyed(side, number, made))
            }
        };
        self.application_writes_this(side, number, new.as_ref());
    }

    /// A time to live is over. That needs no note.
    pub(super) fn expire(&mut self, side: Direction) {
        let number = self.random.below(KEYS);
        self.note(|| format!("k{number} of {side:?} expires"));
        self.expiring = true;
        self.application_writes_this(side, number, None);
        self.expiring = false;
    }

    /// A writer puts an item as it was at some time, with all that was on it.
    pub(super) fn put_old_copy(&mut self, side: Direction) {
        let images = self.streams[index(side)].iter().filter_map(|record| record.record.new.as_ref());
        // Readers never get a tombstone.
        let images = images.filter(|image| !image.contains_key(TOMBSTONE_ATTRIBUTE));
        let images: Vec<Item> = images.cloned().collect();
        let Some(copy) = self.random.any(&images).cloned() else { return };
        let number = number_of(&copy);
        let copy = self.keyed(side, number, copy);
        self.copied[index(side)][number] = true;
        let before = self.model(side).key_of(&copy).and_then(|key| self.at(side, &key).cloned());
        self.copied_late[number] |= self.open != Some(side) && looks_newer(before.as_ref(), &copy);
        self.application_writes_this(side, number, Some(&copy));
    }

    /// The same of this item; `None` deletes it.
    pub(super) fn application_writes_this(&mut self, side: Direction, number: usize, new: Option<&Item>) {
        let leaked = self.open != Some(side);
        self.note(|| {
            let said = new.map_or("nothing".to_owned(), short);
            format!("{}writer of {side:?}: k{number} is {said}", if leaked { "LATE " } else { "" })
        });
        for at in self.store_item(side, number, new) {
            self.written(side, number, at, leaked);
        }
    }

    /// An application made this change.
    fn written(&mut self, side: Direction, number: usize, at: usize, leaked: bool) {
        let Published { record, visible_at, .. } = &self.streams[index(side)][at];
        let (record, visible_at) = (Rc::clone(record), *visible_at);
        if leaked || visible_at > self.turns {
            self.leaked.push((index(side), at));
        }
        let new = record.new.as_ref().map(natural);
        let as_retrofit = match (&record.new, &record.old) {
            (None, old) => {
                self.expiring || old.as_ref().is_some_and(|item| self.looks_removed(side, number, item))
            }
            (Some(stored), old) => looks_newer(old.as_ref(), stored),
        };
        if self.truth_of == side {
            self.expected[number].clone_from(&new);
            self.written[number].push(TrueWrite { at, new, leaked, as_retrofit });
        } else {
            let ChangeRecord { sequence, key, .. } = (*record).clone();
            let (turn, said) = (self.turns, as_retrofit);
            self.late.push(LateWrite { side, at, number, key, sequence, new, visible_at, turn, said });
        }
    }

    /// Stores the item at its place, if no other item is there; where it was before, nothing stays. Gives the records' places back.
    fn store_item(&mut self, side: Direction, number: usize, new: Option<&Item>) -> Vec<usize> {
        let before = self.item(side, number).and_then(|item| self.model(side).key_of(item));
        let key = new.and_then(|new| self.model(side).key_of(new));
        if key.as_ref().and_then(|key| self.at(side, key)).is_some_and(|there| number_of(there) != number) {
            return Vec::new();
        }
        let left = before.filter(|before| Some(before) != key.as_ref());
        let left = left.and_then(|left| self.set(side, &left, None));
        let put = key.and_then(|key| self.set(side, &key, new.cloned()));
        left.into_iter().chain(put).collect()
    }

    /// A limit of the protocol: the deletion of an old copy, whose fence the retrofit deleted before, is taken for its own.
    pub(super) fn looks_removed(&self, side: Direction, number: usize, item: &Item) -> bool {
        let row = match self.scene.layout {
            Layout::Fixed => self.row_of_key(other(side), &self.key(other(side), number)),
            _ => self.row_of_key(side, item),
        };
        let fence = Fence::on(item);
        let removed = row.and_then(LedgerRow::read).is_some_and(|row| fence <= row.removed);
        self.is_copied(side, number) && fence.is_some() && removed
    }
}

/// A limit of the protocol: an old copy with a fence that is newer than what was there is taken for the retrofit's own.
fn looks_newer(before: Option<&Item>, stored: &Item) -> bool {
    Fence::on(stored) > before.and_then(Fence::on)
}

/// Which item it is, by the attribute that both tables have; of one without room for a mark, by whose it is; of a tombstone, by its key.
pub(super) fn number_of(item: &Item) -> usize {
    match ["id", OWNER_ATTRIBUTE, "pk"].iter().find_map(|name| item.get(*name)) {
        Some(AttributeValue::S(name)) => {
            name.rsplit_once('k').and_then(|(_, digits)| digits.parse().ok()).unwrap_or(0)
        }
        _ => 0,
    }
}

/// An item without what the retrofit keeps on it.
pub(super) fn natural(item: &Item) -> Item {
    let mut item = item.clone();
    item.retain(|name, _| !OWN_ATTRIBUTES.contains(&name.as_str()));
    item
}

/// The driver of an operation.
#[derive(Clone, Default)]
pub(super) struct Operator {
    pub(super) operation: Option<Box<Operation>>,
    /// Does it move writers?
    pub(super) switches: bool,
    /// When each shard was last read to its end: the operator does not know records that were published later.
    pub(super) reads: BTreeMap<String, u64>,
    /// It stands still until this turn; at most once.
    pub(super) sleeps_until: u64,
    /// The pass that it runs.
    pub(super) pass: Option<PassRun>,
    /// The state that a weakened operator still sees after the seals.
    pub(super) stale: Option<Box<World>>,
    /// The turn in which it began to stop writers.
    pub(super) started: u64,
    /// How far its clock is ahead.
    pub(super) skew_seconds: u64,
    /// The clock of a weakened operator, which stands still during a stop.
    pub(super) frozen_ms: Option<u64>,
    /// Is it taking a stop back?
    pub(super) gives_back: bool,
}

/// Policies of the two tables, and when they are applied.
#[derive(Clone, Default)]
pub(super) struct WritePolicies {
    /// The document with its revision.
    pub(super) policies: [Option<(String, u64)>; 2],
    pub(super) revision: u64,
    /// Is this table closed for its writers, and from which turn on is it so?
    pub(super) closed: [(bool, u64); 2],
    /// The same before.
    pub(super) before: [bool; 2],
    pub(super) tags: [Option<String>; 2],
}

impl WritePolicies {
    pub(super) fn is_closed(&self, side: Direction, turns: u64) -> bool {
        let (closed, since) = self.closed[index(side)];
        if turns >= since { closed } else { self.before[index(side)] }
    }
}

/// A pass that an operator runs.
#[derive(Clone)]
pub(super) struct PassRun {
    pub(super) pass: Pass,
    /// The row when it began. All its writes belong to that generation.
    pub(super) head: RetrofitState,
    pub(super) started: ComparisonStart,
    /// The next item.
    pub(super) at: usize,
    /// The writes that clean it as it was read.
    pub(super) cleaning: Vec<Write>,
    pub(super) counts: BTreeMap<String, u64>,
    /// Its segments, in a history that fills.
    pub(super) segments: Vec<u64>,
}

/// A shard.
#[derive(Debug, Clone)]
pub(super) struct SimulatedShard {
    pub(super) parent: Option<usize>,
    /// The keys that it has records of.
    pub(super) numbers: Vec<usize>,
    pub(super) closed: bool,
    /// The turn from which on readers see that it has ended.
    pub(super) ended_at: u64,
    /// The turn from which on it is listed.
    pub(super) listed_at: u64,
}

impl SimulatedShard {
    /// The shards of a stream that begins: one for all keys, or one for each.
    pub(super) fn first(random: &mut Random, keys: usize, turns: u64) -> Vec<SimulatedShard> {
        let shard =
            |numbers| SimulatedShard { parent: None, numbers, closed: false, ended_at: 0, listed_at: turns };
        match random.chance(50) {
            true => vec![shard((0..keys).collect())],
            false => (0..keys).map(|number| shard(vec![number])).collect(),
        }
    }
}

/// Is it another program's item?
pub(super) fn is_foreign(item: &Item) -> bool {
    item.contains_key("foreign")
}

pub(super) fn failure(kind: FailureKind, code: &str) -> Failure {
    Failure { kind, code: code.to_owned(), message: format!("the world says `{code}`"), hint: None }
}
