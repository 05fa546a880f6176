//! What every history has in common: the retrofit, and what the core makes of its row. Made once for each thread, because making it
//! costs more than a turn.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;
use std::sync::OnceLock;

use keyfold_core::model::Table;
use keyfold_core::retrofit::control::{self, Delivery, Direction, Phase, RetrofitState};
use keyfold_core::retrofit::{
    ChangeKind, ChangeRecord, Epoch, Generation, Job, Mapping, Protocol, Request, Response, SequenceNumber,
    TaskStep,
};
use keyfold_core::value::Item;

use super::super::scenario;
use super::super::store::control_partition;

const TABLES: &str = r#"
[tables.old]
name = "old"
partition = "id"
attributes = { id = "string", a = "string", kind = "string" }

[tables.new]
name = "new"
partition = "item:{id}"
attributes = { id = "string", b = "string", kind = "string", made = "string" }
[tables.new.indexes.byB]
partition = "{b}"

[tables.moving]
name = "moving"
partition = "{b}.{id}"
attributes = { id = "string", b = "string", kind = "string", made = "string" }

[tables.crowded]
name = "crowded"
partition = "at:{b}"
attributes = { id = "string", b = "string", kind = "string", made = "string" }

[retrofits.moved]
from = "old"
to = "new"
only = { kind = "in" }
rename = { a = "b" }
set = { made = "old" }

[retrofits.moving]
from = "old"
to = "moving"
only = { kind = "in" }
rename = { a = "b" }
set = { made = "old" }

[retrofits.crowded]
from = "old"
to = "crowded"
only = { kind = "in" }
rename = { a = "b" }
set = { made = "old" }
"#;
/// In `MOVING_OF` histories, from `MOVING` on the target's key can move: in the first of them without collisions.
const MOVING_OF: u64 = 8;
const MOVING: u64 = 6;
/// How many scenes there are.
const SCENES_MAX: usize = 6;

/// What items say.
pub(super) const VALUES: [&str; 6] = ["x", "y", "z", "u", "v", "w"];
/// How many items there can be.
pub(super) const KEYS: usize = 3;
/// The most keys that a table can have.
pub(super) const PLACES_MAX: usize = KEYS * VALUES.len();

/// A table that has writers: the source, whose records lead there, or the target, whose records lead back.
pub(super) fn index(side: Direction) -> usize {
    match side {
        Direction::Forward => 0,
        Direction::Reverse => 1,
    }
}

/// The other one.
pub(super) fn other(side: Direction) -> Direction {
    match side {
        Direction::Forward => Direction::Reverse,
        Direction::Reverse => Direction::Forward,
    }
}

/// The parts of the target's key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::simulate) enum Layout {
    /// The source's key.
    Fixed,
    /// The source's key and an attribute that changes.
    Moving,
    /// An attribute that changes: two items can want one place.
    Crowded,
    /// Of a history that fills by this protocol.
    Fill(Protocol),
}

impl Layout {
    /// That of this seed's history.
    pub(super) fn of(seed: u64) -> Layout {
        match seed % MOVING_OF {
            0..MOVING => Layout::Fixed,
            MOVING => Layout::Moving,
            _ => Layout::Crowded,
        }
    }

    /// Its number among the scenes.
    fn number(self) -> usize {
        match self {
            Layout::Fixed => 0,
            Layout::Moving => 1,
            Layout::Crowded => 2,
            Layout::Fill(Protocol::InPlace) => 3,
            Layout::Fill(Protocol::Fenced) => 4,
            Layout::Fill(Protocol::Ledger) => 5,
        }
    }

    fn retrofit(self) -> &'static str {
        match self {
            Layout::Fixed => "moved",
            Layout::Moving => "moving",
            Layout::Crowded => "crowded",
            Layout::Fill(_) => unreachable!("only histories with a switch make jobs of a row alone"),
        }
    }
}

/// The retrofit.
pub(in crate::simulate) struct Scene {
    pub(super) layout: Layout,
    pub(in crate::simulate) mapping: Mapping,
    /// That of the mended manifest, in histories that fill.
    pub(super) mended: Option<Mapping>,
    back: Mapping,
    pub(in crate::simulate) control_table: Table,
    source_keys: Vec<Item>,
    /// All that items can have there.
    target_keys: Vec<Item>,
}

impl Scene {
    /// The one with this layout.
    pub(in crate::simulate) fn of(layout: Layout) -> &'static Scene {
        static SCENES: [OnceLock<Scene>; SCENES_MAX] = [const { OnceLock::new() }; SCENES_MAX];
        SCENES[layout.number()].get_or_init(|| {
            let (mapping, mended, back) = match layout {
                Layout::Fill(protocol) => {
                    let [mapping, mended] = [false, true].map(|mended| scenario::mapping(protocol, mended));
                    assert_ne!(mapping.hash(), mended.hash());
                    (mapping.clone(), Some(mended), mapping)
                }
                _ => {
                    let mapping = scenario::mapping_of(TABLES, layout.retrofit());
                    let Ok(back) = mapping.reverse() else { unreachable!("it drops nothing") };
                    (mapping, None, back)
                }
            };
            let source_keys = (0..KEYS).map(scenario::key).collect();
            let target_keys = target_keys(&mapping, layout);
            let control_table = control::table("control");
            Scene { layout, mapping, mended, back, control_table, source_keys, target_keys }
        })
    }

    /// That of this retrofit's row.
    fn of_row(head: &RetrofitState) -> &'static Scene {
        let layouts = [Layout::Fixed, Layout::Moving, Layout::Crowded];
        match layouts.into_iter().find(|layout| layout.retrofit() == head.retrofit) {
            Some(layout) => Scene::of(layout),
            None => unreachable!("each scene has its retrofit"),
        }
    }

    /// The key of an item of the source.
    pub(super) fn source_key(&self, number: usize) -> &Item {
        &self.source_keys[number]
    }

    /// The key of an item of the target, if it cannot move.
    pub(super) fn target_key(&self, number: usize) -> Option<&Item> {
        (self.layout == Layout::Fixed).then(|| &self.target_keys[number])
    }

    /// All keys that items of this side's table can have.
    pub(super) fn keys(&self, side: Direction) -> &[Item] {
        match side {
            Direction::Forward => &self.source_keys,
            Direction::Reverse => &self.target_keys,
        }
    }

    /// Which of them this is: records of one key have an order.
    pub(super) fn place(&self, side: Direction, key: &Item) -> usize {
        match self.keys(side).iter().position(|known| *known == *key) {
            Some(place) => place,
            None => unreachable!("all keys are known"),
        }
    }

    /// How items of this side's table become those of the other one.
    pub(super) fn mapping_from(&self, side: Direction) -> &Mapping {
        match side {
            Direction::Forward => &self.mapping,
            Direction::Reverse => &self.back,
        }
    }

    /// The row of a retrofit whose target is tidy. With a ledger it still has to be tidied.
    pub(super) fn started(&self) -> RetrofitState {
        let started = RetrofitState::started(&self.mapping, Some("s1"));
        match self.layout {
            Layout::Fixed => RetrofitState { rows_since: Some(1), ..tidied(&started).swept() },
            Layout::Moving | Layout::Crowded | Layout::Fill(_) => started,
        }
    }
}

/// The row once the target is tidied, apart from former requests that are still under way.
pub(super) fn tidied(started: &RetrofitState) -> RetrofitState {
    let first = started.tidied_first().and_then(|first| started.to(first));
    let tidy =
        first.and_then(|head| if head.phase == Phase::Tidying { head.to(Phase::Tidy) } else { Ok(head) });
    match tidy {
        Ok(tidy) => tidy,
        Err(error) => unreachable!("{error}"),
    }
}

/// What becomes of records of one stream.
#[derive(Clone)]
pub(super) enum Due {
    Carry(Rc<Job>),
    Late { job: Rc<Job>, epoch: Epoch },
    Nothing,
}

/// The jobs that the core makes of a row.
pub(super) struct Jobs {
    pub(super) there: Rc<Job>,
    pub(super) back: Option<Rc<Job>>,
    due: [Due; 2],
}

impl Jobs {
    /// Of this row.
    pub(super) fn of(head: &RetrofitState) -> Rc<Jobs> {
        thread_local! { static MADE: RefCell<HashMap<JobsKey, Rc<Jobs>>> = RefCell::default(); }
        let key = JobsKey::of(head);
        MADE.with_borrow_mut(|made| Rc::clone(made.entry(key).or_insert_with(|| Rc::new(Jobs::made(head)))))
    }

    fn made(head: &RetrofitState) -> Jobs {
        let mapping = &Scene::of_row(head).mapping;
        let due = [Direction::Forward, Direction::Reverse].map(|side| match head.delivery(mapping, side) {
            Delivery::Carry(job) => Due::Carry(Rc::new(job)),
            Delivery::Late { job, epoch } => Due::Late { job: Rc::new(job), epoch },
            Delivery::Nothing => Due::Nothing,
        });
        Jobs { there: Rc::new(head.job(mapping.clone())), back: head.reverse_job(mapping).map(Rc::new), due }
    }

    /// The one that carries what comes to this side's table.
    pub(super) fn leading(&self, side: Direction) -> Option<Rc<Job>> {
        match side {
            Direction::Forward => Some(Rc::clone(&self.there)),
            Direction::Reverse => self.back.clone(),
        }
    }

    /// What becomes of records of this side's stream.
    pub(super) fn due(&self, side: Direction) -> Due {
        self.due[index(side)].clone()
    }
}

/// Everything of a row that its jobs depend on.
#[derive(PartialEq, Eq, Hash)]
struct JobsKey {
    layout: usize,
    phase: &'static str,
    epoch: Epoch,
    back: Option<Epoch>,
    generation: Option<Generation>,
}

impl JobsKey {
    fn of(head: &RetrofitState) -> JobsKey {
        let layout = Scene::of_row(head).layout.number();
        let RetrofitState { phase, epoch, generation, .. } = *head;
        let back = head.reverse_stream.as_ref().map(|back| back.epoch);
        JobsKey { layout, phase: phase.name(), epoch, back, generation }
    }
}

/// Is this the seal of an item here? The others are written too, and no write asks for them.
pub(super) fn is_asked(scene: &Scene, partition: &str) -> bool {
    static ASKED: [OnceLock<BTreeSet<String>>; SCENES_MAX] = [const { OnceLock::new() }; SCENES_MAX];
    ASKED[scene.layout.number()].get_or_init(|| asked(scene)).contains(partition)
}

/// The partitions of the seals that an item here asks for.
fn asked(scene: &Scene) -> BTreeSet<String> {
    let Ok(head) = tidied(&RetrofitState::started(&scene.mapping, Some("s1"))).with_reverse_stream("t")
    else {
        unreachable!("it is the first")
    };
    let jobs = Jobs::of(&head);
    let there = scene.source_keys.iter().filter_map(|key| asked_by(&jobs.there, key));
    let back = scene.target_keys.iter().filter_map(|key| asked_by(jobs.back.as_deref()?, key));
    there.chain(back).collect()
}

/// The partition of the seal that a write of this item asks for.
fn asked_by(job: &Job, key: &Item) -> Option<String> {
    let Ok(sequence) = SequenceNumber::parse("1") else { unreachable!("it is a digit") };
    let kind = ChangeKind::Remove { expired: false };
    let record = ChangeRecord { sequence, key: key.clone(), kind, old: None, new: None };
    let mut task = job.apply(&record);
    let mut step = task.start(job);
    loop {
        match step {
            TaskStep::Send(Request::Transact(writes)) => {
                return writes.last().map(|write| control_partition(write.action.key()).to_owned());
            }
            TaskStep::Send(_) => step = task.respond(job, Response::Item(None)),
            TaskStep::Done(_) => return None,
        }
    }
}

/// The keys of the target's items: of each item, and where they can move, of each value.
fn target_keys(mapping: &Mapping, layout: Layout) -> Vec<Item> {
    let item = |number: usize, value: &str| {
        let mut item = scenario::key(number);
        item.extend([("a", scenario::text(value)), ("kind", scenario::text("in"))]);
        let there = mapping.target_item(&item).ok().flatten();
        there.and_then(|there| mapping.target().key_of(&there)).unwrap_or_default()
    };
    let (numbers, values) = match layout {
        Layout::Fixed => (KEYS, 1),
        Layout::Moving => (KEYS, VALUES.len()),
        Layout::Crowded => (1, VALUES.len()),
        Layout::Fill(_) => (0, 0),
    };
    let all = VALUES[..values].iter().flat_map(|value| (0..numbers).map(move |number| (number, *value)));
    all.map(|(number, value)| item(number, value)).collect()
}
