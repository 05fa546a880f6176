//! The tables' rows and items, each kept once and known by its number, and what a request does to them.

use std::collections::HashMap;

use keyfold_core::model::Table;
use keyfold_core::retrofit::{Epoch, ItemSeen, Job, Protocol, Request, Response, TableRole, Write};
use keyfold_core::value::Item;

use super::super::Mutant;
use super::super::mutant::weakened;
use super::super::scenario::{key, text};
use super::super::store::{outcome, place};
use super::super::switching::scene::{Layout, Scene};
use super::hash::of_item;
use super::open_task::Role;

/// The states of a source item: absent, or one of two items, which want two target keys that both keys share.
pub(super) const VALUES: usize = 3;
/// The most rows that all tables have in a walk.
const ROWS: usize = 12;

/// The number of an item.
pub(super) type ItemId = u32;
/// No item.
pub(super) const NOTHING: ItemId = 0;
/// The contents of each row. The first two are the source items.
pub(super) type Rows = [ItemId; ROWS];

/// An item, and its hash.
pub(super) struct Held {
    pub(super) item: Item,
    pub(super) hash: u64,
}

/// All rows and items that were met so far.
pub(super) struct Tables {
    scene: &'static Scene,
    /// In the first epoch.
    pub(super) job: Job,
    mutant: Option<Mutant>,
    /// Where each row is.
    rows: Vec<(TableRole, String)>,
    /// Each by its number; the first stands for no item.
    items: Vec<Held>,
    ids: HashMap<u64, ItemId>,
    values: [[ItemId; VALUES]; 2],
}

/// The source item with this value.
fn valued(number: usize, value: usize) -> Option<Item> {
    let a = *["x", "y"].get(value.checked_sub(1)?)?;
    let mut item = key(number);
    item.extend([("a", a), ("b", "x"), ("kind", "in")].map(|(name, value)| (name, text(value))));
    Some(item)
}

impl Tables {
    pub(super) fn new(protocol: Protocol, mutant: Option<Mutant>) -> Tables {
        let scene = Scene::of(Layout::Fill(protocol));
        let mut tables = Tables {
            scene,
            job: Job::new(scene.mapping.clone(), Epoch::FIRST),
            mutant,
            rows: (0..2).map(|number| (TableRole::Source, format!("k{number}"))).collect(),
            items: vec![Held { item: Item::default(), hash: 0 }],
            ids: HashMap::new(),
            values: [[NOTHING; VALUES]; 2],
        };
        for number in 0..2 {
            for value in 0..VALUES {
                tables.values[number][value] = tables.kept(valued(number, value));
            }
        }
        tables
    }

    pub(super) fn protocol(&self) -> Protocol {
        self.scene.mapping.protocol()
    }

    /// The source item of this key with this value.
    pub(super) fn value(&self, number: usize, value: usize) -> ItemId {
        self.values[number][value]
    }

    pub(super) fn held(&self, id: ItemId) -> Option<&Held> {
        (id != NOTHING).then(|| &self.items[id as usize])
    }

    pub(super) fn item(&self, id: ItemId) -> Option<&Item> {
        self.held(id).map(|held| &held.item)
    }

    /// What these rows hold, and where.
    pub(super) fn all(&self, rows: &Rows) -> impl Iterator<Item = (TableRole, &str, &Held)> {
        let held =
            self.rows.iter().zip(*rows).map(|((place, name), id)| Some((*place, &**name, self.held(id)?)));
        held.flatten()
    }

    /// The number of this item, which is kept.
    fn kept(&mut self, item: Option<Item>) -> ItemId {
        let Some(item) = item else { return NOTHING };
        let hash = of_item(&item);
        *self.ids.entry(hash).or_insert_with(|| {
            self.items.push(Held { item, hash });
            (self.items.len() - 1) as ItemId
        })
    }

    /// The rows that a request touches.
    pub(super) fn touched(&mut self, request: &Request) -> Vec<usize> {
        let mut row = |write: &Write| self.row(write.role, write.action.key());
        match request {
            Request::Get { role, key } => vec![self.row(*role, key)],
            Request::Write(write) => vec![row(write)],
            Request::Transact(writes) => writes.iter().map(row).collect(),
        }
    }

    /// Where this place is, and its table: in place, the target is the source.
    fn table(&self, place: TableRole) -> (TableRole, &'static Table) {
        match place {
            TableRole::Control => (place, &self.scene.control_table),
            TableRole::Target if self.protocol() != Protocol::InPlace => (place, self.scene.mapping.target()),
            TableRole::Source | TableRole::Target => (TableRole::Source, self.scene.mapping.source()),
        }
    }

    /// The row of the item with this key.
    fn row(&mut self, at: TableRole, key: &Item) -> usize {
        let (at, table) = self.table(at);
        let name = place(table, key);
        if let Some(row) = self.rows.iter().position(|(place, known)| *place == at && *known == *name) {
            return row;
        }
        self.rows.push((at, name.into_owned()));
        assert!(self.rows.len() <= ROWS, "a state has room for {ROWS} rows");
        self.rows.len() - 1
    }

    /// Is this row the target's?
    pub(super) fn is_target(&self, row: usize) -> bool {
        self.rows[row].0 == TableRole::Target
    }

    /// Carries a request out.
    pub(super) fn send(&mut self, request: &Request, role: Role, rows: &mut Rows) -> Response {
        match request {
            Request::Get { role, key } => Response::Item(self.get(*role, key, rows).cloned()),
            Request::Write(write) => {
                let Some(write) = self.weak(write, role) else { return Response::Written };
                if self.holds(&write, rows) {
                    self.carry(&write, rows);
                    return Response::Written;
                }
                // Some responses carry the item that was met.
                let there = self.get(write.role, write.action.key(), rows);
                Response::Refused(match (role, there) {
                    (Role::Record { .. } | Role::Note { .. }, _) => ItemSeen::Unknown,
                    (_, None) => ItemSeen::Nothing,
                    (_, Some(item)) => ItemSeen::Item(Box::new(item.clone())),
                })
            }
            Request::Transact(writes) => {
                let weak: Vec<Option<Write>> = writes.iter().map(|write| self.weak(write, role)).collect();
                let held: Vec<bool> = weak
                    .iter()
                    .map(|write| write.as_ref().is_none_or(|write| self.holds(write, rows)))
                    .collect();
                if held.contains(&false) {
                    return Response::Cancelled(held);
                }
                weak.iter().flatten().for_each(|write| self.carry(write, rows));
                Response::Written
            }
        }
    }

    /// The request sent in place of a write; `None` without one.
    fn weak(&self, write: &Write, role: Role) -> Option<Write> {
        let weak = self.mutant.and_then(|mutant| weakened(mutant, write, role.kind()));
        weak.unwrap_or_else(|| Some(write.clone()))
    }

    /// The item with this key.
    fn get(&mut self, at: TableRole, key: &Item, rows: &Rows) -> Option<&Item> {
        let row = self.row(at, key);
        self.item(rows[row])
    }

    /// Does its guard hold?
    fn holds(&mut self, write: &Write, rows: &Rows) -> bool {
        let there = self.get(write.role, write.action.key(), rows);
        write.guard.holds(there)
    }

    /// Makes a write.
    fn carry(&mut self, write: &Write, rows: &mut Rows) {
        let row = self.row(write.role, write.action.key());
        let item = outcome(self.item(rows[row]), &write.action);
        rows[row] = self.kept(item);
    }
}
