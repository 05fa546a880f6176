//! Every order of a few things, for one item, through a switch and a return: the world of the histories, whose choices are
//! taken one after the other in place of drawn.
//!
//! The walk goes depth first. A state that was met before is not walked again. Wherever nothing is under way, the checks of a
//! history's end run; those of every turn run after each step.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use keyfold_core::retrofit::control::Direction;
use keyfold_core::value::Item;

use super::super::Violation;
use super::super::exhaustive::hash::{mix, of_item};
use super::choices::{Choices, Told};
use super::mutant::SwitchMutant;
use super::scene::{index, text};
use super::world::World;

/// The most of everything on one way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct WalkBounds {
    /// Changes on the source, on the target after the switch, and on the source after the return.
    pub changes: [u8; 3],
    /// How often writers are moved.
    pub moves: u8,
    /// Records that come again.
    pub duplicates: u8,
    /// Requests that are carried out long after.
    pub zombies: u8,
    /// Late writes on the closed table.
    pub late: u8,
    /// Operators who die.
    pub deaths: u8,
    /// Stops that are taken back.
    pub taken_back: u8,
    /// States; beyond them the walk ends and says so.
    pub states: usize,
}

/// What was walked.
#[derive(Debug, Default)]
pub struct WalkEnd {
    /// States that differ.
    pub states: usize,
    /// Of them, those in which nothing was under way.
    pub ends: usize,
    /// How many of these had writers moved as often as they may be.
    pub moved: usize,
    /// The bound on states was reached.
    pub cut_short: bool,
    /// What is wrong, and the steps to it.
    pub wrong: Option<(Violation, Vec<String>)>,
}

/// What can happen next.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// A writer of the open table writes.
    Write,
    /// A writer of this closed table writes.
    Late(Direction),
    /// A function gets the oldest record of this table that was not dealt with.
    Deliver(Direction),
    /// A record comes again.
    Again(Direction, usize),
    /// A task goes on by one request.
    Work(usize),
    /// A request of long ago is carried out.
    Zombie(usize),
    /// The operator goes on.
    Operate,
}

/// The stack of a walk.
const STACK_BYTES: usize = 1 << 30;
const SIDES: [Direction; 2] = [Direction::Forward, Direction::Reverse];

struct Walk {
    met: HashSet<u64>,
    end: WalkEnd,
    most: usize,
    path: Vec<String>,
}

/// Walks every order, from an item that is the same on both sides. On a stack of its own: a walk goes as deep as a way is long.
pub fn walk(bounds: WalkBounds, mutant: Option<SwitchMutant>) -> WalkEnd {
    let walking = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(move || walked(bounds, mutant));
    match walking.map(std::thread::JoinHandle::join) {
        Ok(Ok(end)) => end,
        Ok(Err(panic)) => std::panic::resume_unwind(panic),
        Err(error) => WalkEnd {
            wrong: Some((Violation::new(format!("no thread for the walk: {error}")), Vec::new())),
            ..WalkEnd::default()
        },
    }
}

fn walked(bounds: WalkBounds, mutant: Option<SwitchMutant>) -> WalkEnd {
    let mut walk =
        Walk { met: HashSet::new(), end: WalkEnd::default(), most: bounds.states, path: Vec::new() };
    let world = World::walked(mutant);
    walk.met.insert(walk_hash(&world, &bounds));
    if let Err(Some(wrong)) = walk.from(&world, bounds) {
        walk.end.wrong = Some((wrong, walk.path));
    }
    walk.end.states = walk.met.len();
    walk.end
}

impl Walk {
    /// `Err(None)` where the bound on states ends the walk.
    fn from(&mut self, world: &World, left: WalkBounds) -> Result<(), Option<Violation>> {
        if world.is_at_rest() {
            self.end.ends += 1;
            self.end.moved += usize::from(left.moves == 0);
            world.clone().conclude().map_err(Some)?;
        }
        for step in steps(world, &left) {
            let mut next = Some(Told::default());
            while let Some(told) = next {
                let mut after = world.clone();
                after.random = Choices::Told(told);
                let left = take(&mut after, step, left);
                let Choices::Told(told) = &after.random else { unreachable!("it is told") };
                next = told.next();
                self.path.push(format!("{step:?} {:?}", told.taken()));
                after.check().map_err(Some)?;
                if self.met.insert(walk_hash(&after, &left)) {
                    if self.met.len() >= self.most {
                        self.end.cut_short = true;
                        return Err(None);
                    }
                    self.from(&after, left)?;
                }
                self.path.pop();
            }
        }
        Ok(())
    }
}

/// Everything that can happen now.
fn steps(world: &World, left: &WalkBounds) -> Vec<Step> {
    let mut steps = Vec::new();
    if world.open.is_some() && left.changes.get(world.moves as usize).is_some_and(|left| *left > 0) {
        steps.push(Step::Write);
    }
    for side in SIDES {
        if left.late > 0 && world.open != Some(side) && world.may_leak(side) {
            steps.push(Step::Late(side));
        }
        if !world.deliverable(side).is_empty() {
            steps.push(Step::Deliver(side));
        }
        if left.duplicates > 0 {
            let records = world.streams[index(side)].iter().enumerate();
            steps
                .extend(records.filter(|(_, record)| record.dealt_with).map(|(at, _)| Step::Again(side, at)));
        }
    }
    steps.extend((0..world.works.len()).map(Step::Work));
    steps.extend((0..world.zombies.len()).map(Step::Zombie));
    let stopped = world.open.is_none();
    if left.moves > 0 || stopped {
        steps.push(Step::Operate);
    }
    steps
}

/// Takes a step; says what is left of the bounds.
fn take(world: &mut World, step: Step, mut left: WalkBounds) -> WalkBounds {
    world.faults.zombies = left.zombies > 0;
    world.faults.operators = left.deaths > 0;
    world.doubts = if left.taken_back > 0 { 50 } else { 0 };
    world.moves_most = world.moves + u64::from(left.moves);
    let (zombies, moves) = (world.zombies.len(), world.moves);
    match step {
        Step::Write => {
            if let Some(side) = world.open {
                let era = world.moves as usize;
                left.changes[era] -= 1;
                world.turns += 1;
                change(world, side);
            }
        }
        Step::Late(side) => {
            left.late -= 1;
            world.turns += 1;
            change(world, side);
        }
        Step::Deliver(side) => {
            let first = world.deliverable(side).first().copied();
            first.into_iter().for_each(|first| world.deliver(side, first));
        }
        Step::Again(side, at) => {
            left.duplicates -= 1;
            world.deliver_this_again(side, at);
        }
        Step::Work(at) => {
            world.advance(at);
            left.zombies -= u8::from(world.zombies.len() > zombies);
        }
        Step::Zombie(at) => world.carry_out_late(at),
        Step::Operate => {
            let (died, taken_back) = (world.died, world.taken_back);
            world.operate(0);
            left.deaths -= u8::from(world.died > died);
            left.moves -= u8::from(world.moves > moves);
            // One that must be taken back, as something came in between, is the last if no more may be.
            match (world.taken_back > taken_back, left.taken_back) {
                (true, 0) => left.moves = 0,
                (true, _) => left.taken_back -= 1,
                (false, _) => {}
            }
        }
    }
    left
}

/// A writer deletes the item, puts another one, or changes one attribute and keeps what else is there.
fn change(world: &mut World, side: Direction) {
    let there = world.item(side, 0).cloned();
    let value = text(&format!("w{}", world.turns));
    let name = if side == Direction::Forward { "a" } else { "b" };
    let new = match (world.random.below(if there.is_some() { 3 } else { 1 }), there) {
        (1, _) => None,
        (2, Some(mut there)) => {
            there.insert(name.to_owned(), value);
            Some(world.keyed(side, 0, there))
        }
        _ => {
            let mut item = Item::default();
            item.insert(name.to_owned(), value);
            item.insert("kind".to_owned(), text("in"));
            if side == Direction::Reverse {
                item.insert("made".to_owned(), text("old"));
            }
            Some(world.keyed(side, 0, item))
        }
    };
    world.application_writes_this(side, 0, new.as_ref());
}

/// Of everything that decides what can come.
fn walk_hash(world: &World, left: &WalkBounds) -> u64 {
    let item = |item: &Option<Item>| item.as_ref().map(of_item);
    let mut hasher = DefaultHasher::new();
    let mut hash = |part: &dyn Fn(&mut DefaultHasher)| part(&mut hasher);
    for side in SIDES {
        let at = index(side);
        let there = world.item(side, 0).map(of_item);
        hash(&|hasher| (there, world.busy[at], world.sequences[at][0]).hash(hasher));
        for published in &world.streams[at] {
            let record = &published.record;
            let images = (item(&record.old), item(&record.new));
            hash(&|hasher| (record.sequence.padded(), images, published.dealt_with).hash(hasher));
        }
    }
    let rows =
        world.control.iter().fold(0, |sum: u64, (place, row)| sum.wrapping_add(mix(of_item(row), place)));
    let head = (world.head.version, world.head.phase.name(), world.head.generation);
    let open = (world.open, world.truth_of, world.moves, world.turns, item(&world.expected[0]));
    hash(&|hasher| (rows, head, open, left.changes, left.moves).hash(hasher));
    hash(&|hasher| {
        let WalkBounds { duplicates, zombies, late, deaths, taken_back, .. } = *left;
        (duplicates, zombies, late, deaths, taken_back).hash(hasher);
    });
    for write in &world.written[0] {
        hash(&|hasher| (write.at, item(&write.new), write.leaked, write.as_retrofit).hash(hasher));
    }
    for write in &world.late {
        let of = (index(write.side), write.sequence.padded(), item(&write.new));
        hash(&|hasher| (of, write.visible_at, write.turn, write.said).hash(hasher));
    }
    let mut under_way: Vec<u64> = world.works.iter().map(super::work::Work::hash).collect();
    under_way.sort_unstable();
    let mut zombies: Vec<u64> = world.zombies.iter().map(|zombie| zombie.sent).collect();
    zombies.sort_unstable();
    hash(&|hasher| (&under_way, &zombies, &world.leaked).hash(hasher));
    hash(&|hasher| world.operators[0].hash(hasher));
    hasher.finish()
}
