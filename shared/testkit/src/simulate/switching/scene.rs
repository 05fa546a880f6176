//! What every history has in common: the retrofit, and what the core makes of its row. Made once for each thread, because making it
//! costs more than a turn.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;
use std::sync::OnceLock;

use keyfold_core::manifest::parse;
use keyfold_core::model::Table;
use keyfold_core::retrofit::control::{self, Delivery, Direction, Head, Phase};
use keyfold_core::retrofit::{
    ChangeKind, ChangeRecord, Epoch, Generation, Job, Mapping, Request, Response, SequenceNumber, TaskStep,
    Write, seal,
};
use keyfold_core::value::Item;

use super::super::store::key_in;
use super::world::{KEYS, index, text};

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

[retrofits.moved]
from = "old"
to = "new"
only = { kind = "in" }
rename = { a = "b" }
set = { made = "old" }
"#;

/// The retrofit.
pub(super) struct Scene {
    pub(super) mapping: Mapping,
    pub(super) back: Mapping,
    pub(super) control_table: Table,
    keys: [[Item; KEYS]; 2],
}

impl Scene {
    /// The only one.
    pub(super) fn get() -> &'static Scene {
        static SCENE: OnceLock<Scene> = OnceLock::new();
        SCENE.get_or_init(|| {
            let parsed = parse("switching.toml", TABLES);
            let Some(model) = parsed.model else { unreachable!("{:?}", parsed.diagnostics) };
            let Ok(mapping) = Mapping::of(&model, "moved") else { unreachable!("it is in the text above") };
            let Ok(back) = mapping.back() else { unreachable!("nothing is dropped") };
            let source = std::array::from_fn(source_key);
            let target = std::array::from_fn(|number| match back.origin(&source_key(number)) {
                Some(key) => key,
                None => unreachable!("the source's key fixes the target's"),
            });
            Scene { mapping, back, control_table: control::table("control"), keys: [source, target] }
        })
    }

    /// The key of an item in the table of this side.
    pub(super) fn key(&self, side: Direction, number: usize) -> &Item {
        &self.keys[index(side)][number]
    }

    /// How items of this side's table become those of the other one.
    pub(super) fn mapping_from(&self, side: Direction) -> &Mapping {
        match side {
            Direction::There => &self.mapping,
            Direction::Back => &self.back,
        }
    }
}

/// What becomes of records of one stream.
#[derive(Clone)]
pub(super) enum Due {
    Carry(Rc<Job>),
    Late { job: Rc<Job>, epoch: Epoch },
    Nothing,
}

/// What the core makes of a row.
pub(super) struct Jobs {
    pub(super) there: Rc<Job>,
    pub(super) back: Option<Rc<Job>>,
    due: [Due; 2],
}

impl Jobs {
    /// Of this row.
    pub(super) fn of(head: &Head) -> Rc<Jobs> {
        thread_local! { static MADE: RefCell<HashMap<JobsKey, Rc<Jobs>>> = RefCell::default(); }
        let key = JobsKey::of(head);
        MADE.with_borrow_mut(|made| Rc::clone(made.entry(key).or_insert_with(|| Rc::new(Jobs::made(head)))))
    }

    fn made(head: &Head) -> Jobs {
        let mapping = &Scene::get().mapping;
        let due = [Direction::There, Direction::Back].map(|side| match head.delivery(mapping, side) {
            Delivery::Carry(job) => Due::Carry(Rc::new(job)),
            Delivery::Late { job, epoch } => Due::Late { job: Rc::new(job), epoch },
            Delivery::Nothing => Due::Nothing,
        });
        Jobs { there: Rc::new(head.job(mapping.clone())), back: head.back_job(mapping).map(Rc::new), due }
    }

    /// The one that carries what comes to this side's table.
    pub(super) fn leading(&self, side: Direction) -> Option<Rc<Job>> {
        match side {
            Direction::There => Some(Rc::clone(&self.there)),
            Direction::Back => self.back.clone(),
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
    phase: &'static str,
    epoch: Epoch,
    back: Option<Epoch>,
    generation: Option<Generation>,
    rows: bool,
}

impl JobsKey {
    fn of(head: &Head) -> JobsKey {
        let Head { phase, epoch, generation, rows, .. } = *head;
        let back = head.back.as_ref().map(|back| back.epoch);
        JobsKey { phase: phase.name(), epoch, back, generation, rows }
    }
}

/// Seals, each with its place among all of its generation.
type Seals = Rc<[(usize, Write)]>;

/// The seals of a generation that an item here asks for.
pub(super) fn seals(generation: Generation) -> Seals {
    thread_local! { static MADE: RefCell<HashMap<Generation, Seals>> = RefCell::default(); }
    MADE.with_borrow_mut(|made| {
        let seals = made.entry(generation).or_insert_with(|| {
            let all = seal::seals(Scene::get().mapping.name(), generation).enumerate();
            all.filter(|(_, write)| asked().contains(&control_partition(key_in(&write.action)))).collect()
        });
        Rc::clone(seals)
    })
}

/// The partitions of the seals that an item here asks for.
fn asked() -> &'static BTreeSet<String> {
    static ASKED: OnceLock<BTreeSet<String>> = OnceLock::new();
    ASKED.get_or_init(|| {
        let scene = Scene::get();
        let begun = Head::begun(&scene.mapping, Some("s"));
        let tidy = begun.to(Phase::Tidying).and_then(|head| head.to(Phase::Tidy));
        let Ok(head) = tidy.and_then(|head| head.with_way_back("t")) else { unreachable!("they follow") };
        let jobs = Jobs::of(&head);
        let sides = [Direction::There, Direction::Back];
        let of = |side: Direction| {
            let job = jobs.leading(side);
            (0..KEYS).filter_map(move |number| asked_by(job.as_deref()?, scene.key(side, number)))
        };
        sides.into_iter().flat_map(of).collect()
    })
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
                return writes.last().map(|write| control_partition(key_in(&write.action)));
            }
            TaskStep::Send(_) => step = task.respond(job, Response::Got(None)),
            TaskStep::Done(_) => return None,
        }
    }
}

/// The partition of a row of the control table; an empty text of another table's item.
pub(super) fn control_partition(key: &Item) -> String {
    match key.get(control::PARTITION) {
        Some(keyfold_core::value::AttributeValue::S(partition)) => partition.clone(),
        _ => String::new(),
    }
}

/// The key of an item of the source.
fn source_key(number: usize) -> Item {
    Item::from(HashMap::from([("id".to_owned(), text(&format!("k{number}")))]))
}
