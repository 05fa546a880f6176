//! What is the same for all places of one request: the kinds of item, what all of them have, the places themselves.
//!
//! It is found out once, so that a table of twenty indexes does not find it out twenty times.

use super::build::Place;
use super::keyspace::{Keyspace, Kind};
use crate::condition::Condition;
use crate::model::{Entity, Table};
use crate::query::check::CheckedRequest;

/// A request, and what planning needs of its table.
#[derive(Debug)]
pub(super) struct Ground<'a> {
    pub(super) request: &'a CheckedRequest<'a>,
    /// The table, then its indexes.
    pub(super) places: Vec<Place<'a>>,
    /// Every kind of item that the table can hold.
    kinds: Vec<Known<'a>>,
    /// The kinds that the request asks for.
    pub(super) wanted: Vec<Kind>,
    /// That an item is of one of these, where not every item is.
    among: Vec<Condition>,
}

/// A kind of item.
#[derive(Debug)]
struct Known<'a> {
    kind: Kind,
    /// What an item of this kind fulfils.
    conditions: Vec<Condition>,
    /// The attributes that every item of this kind has: parts of its primary key, and what the manifest promises. The
    /// kinds of one table can have keys of different parts.
    present: Vec<&'a str>,
}

impl<'a> Ground<'a> {
    pub(super) fn of(request: &'a CheckedRequest<'a>) -> Ground<'a> {
        let table = request.table;
        let kinds = kinds_of(table).map(|kind| Known::of(table, kind)).collect();
        let indexes = table.indexes.iter().map(Some);
        let mut ground = Ground {
            request,
            places: std::iter::once(None).chain(indexes).map(|index| Place::of(table, index)).collect(),
            kinds,
            wanted: Vec::new(),
            among: Vec::new(),
        };
        if request.entities.is_empty() {
            ground.wanted = ground.kinds().collect();
        } else {
            ground.wanted = request.entities.iter().map(|entity| Kind::Entity(*entity)).collect();
            let one_of =
                ground.wanted.iter().map(|kind| Condition::all(ground.conditions(*kind).iter().cloned()));
            ground.among = vec![Condition::Any(one_of.collect())];
        }
        ground
    }

    /// Every kind of item that the table can hold.
    pub(super) fn kinds(&self) -> impl Iterator<Item = Kind> {
        self.kinds.iter().map(|known| known.kind)
    }

    fn known(&self, kind: Kind) -> Option<&Known<'a>> {
        self.kinds.iter().find(|known| known.kind == kind)
    }

    /// What an item of this kind fulfils.
    pub(super) fn conditions(&self, kind: Kind) -> &[Condition] {
        self.known(kind).map_or(&[], |known| &known.conditions)
    }

    /// What an item of these kinds fulfils, whichever of them it is.
    pub(super) fn conditions_of_any(&self, kinds: &[Kind]) -> &[Condition] {
        match kinds {
            [one] if self.kinds.len() > 1 || !self.request.entities.is_empty() => self.conditions(*one),
            _ => &self.among,
        }
    }

    /// What an item that a scan is to find fulfils.
    pub(super) fn conditions_of_wanted(&self) -> &[Condition] {
        &self.among
    }

    /// The attributes that every item of these kinds has.
    pub(super) fn present(&self, kinds: impl Iterator<Item = Kind>) -> Vec<&'a str> {
        let mut kinds = kinds.filter_map(|kind| self.known(kind));
        let mut all = kinds.next().map(|first| first.present.clone()).unwrap_or_default();
        kinds.for_each(|other| all.retain(|name| other.present.contains(name)));
        all
    }

    /// Can an item of the table be absent here?
    pub(super) fn is_sparse(&self, place: Place<'a>) -> bool {
        !self.kinds.iter().all(|known| {
            Keyspace::of(place, known.kind)
                .is_ok_and(|keyspace| keyspace.required().all(|part| known.present.contains(&part)))
        })
    }
}

impl<'a> Known<'a> {
    fn of(table: &'a Table, kind: Kind) -> Known<'a> {
        Known { kind, conditions: conditions(table, kind), present: present(table, kind) }
    }
}

fn kinds_of(table: &Table) -> impl Iterator<Item = Kind> {
    let entities = (0..table.entities.len()).map(|number| Kind::Entity(crate::model::EntityId(number)));
    entities.chain(Keyspace::of(Place::of(table, None), Kind::Stray).is_ok().then_some(Kind::Stray))
}

fn conditions(table: &Table, kind: Kind) -> Vec<Condition> {
    let of = |entity: &Entity| entity.when.iter().map(Condition::from).collect::<Vec<_>>();
    match kind {
        Kind::Any => Vec::new(),
        Kind::Entity(entity) => of(&table.entities[entity.0]),
        Kind::Stray => {
            table.entities.iter().map(|entity| Condition::Not(Box::new(Condition::all(of(entity))))).collect()
        }
    }
}

fn present(table: &Table, kind: Kind) -> Vec<&str> {
    let promised = table.attributes.values().filter(|known| known.required).map(|known| known.name.as_str());
    let mut present: Vec<&str> = promised.collect();
    if let Ok(keyspace) = Keyspace::of(Place::of(table, None), kind) {
        present.extend(keyspace.required());
    }
    if let Kind::Entity(entity) = kind {
        present.extend(table.entities[entity.0].requires.iter().map(String::as_str));
    }
    present
}
