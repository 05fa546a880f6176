//! The plan context: what is the same for every access path of one request.
//!
//! It is found out once, so that a table of twenty indexes does not find it out twenty times.

use std::borrow::Cow;

use super::certainty::Certain;
use super::entity::EntityChoice;
use super::few::Few;
use super::keyspace::Keyspace;
use super::path::AccessPath;
use crate::condition::Condition;
use crate::model::{Entity, EntityId, Table};
use crate::query::check::CheckedRequest;
use crate::query::readiness::Readiness;

/// A request, and what planning needs of its table.
#[derive(Debug)]
pub(super) struct PlanContext<'a> {
    pub(super) request: &'a CheckedRequest<'a>,
    /// Which paths hold all their items.
    pub(super) readiness: &'a Readiness,
    /// The table, then its indexes.
    pub(super) paths: Vec<AccessPath<'a>>,
    /// The entities that the table can hold.
    known: Vec<KnownEntity<'a>>,
    /// The attributes that every item of the table has, where there are several entities.
    everywhere: Vec<&'a str>,
    /// The entities that the request asks for.
    pub(super) wanted: Few<EntityChoice>,
    /// The condition that an item is of one of these, where not every item is.
    among: Vec<Condition>,
}

/// What is certain of the items of one entity.
#[derive(Debug)]
struct KnownEntity<'a> {
    entity: EntityChoice,
    /// What such an item fulfils.
    conditions: Vec<Condition>,
    /// The attributes that every such item has: parts of its primary key, and what the manifest promises. The primary keys
    /// of two entities can have different parts.
    present: Vec<&'a str>,
    /// The attributes that no such item has.
    never: Vec<&'a str>,
}

impl<'a> PlanContext<'a> {
    pub(super) fn of(request: &'a CheckedRequest<'a>, readiness: &'a Readiness) -> PlanContext<'a> {
        let table = request.table;
        let mut context = PlanContext {
            request,
            readiness,
            paths: AccessPath::all(table).collect(),
            known: entities_of(table).map(|entity| KnownEntity::of(table, entity)).collect(),
            everywhere: Vec::new(),
            wanted: Few::new(),
            among: Vec::new(),
        };
        if context.known.len() > 1 {
            context.everywhere = context.present(context.entities()).into_owned();
        }
        if request.entities.is_empty() {
            context.wanted = context.entities().collect();
        } else {
            context.wanted = request.entities.iter().map(|entity| EntityChoice::One(*entity)).collect();
            let conditions = context
                .wanted
                .iter()
                .map(|entity| Condition::all(context.conditions(*entity).iter().cloned()));
            context.among = vec![Condition::Any(conditions.collect())];
        }
        context
    }

    /// The entities that the table can hold.
    pub(super) fn entities(&self) -> impl Iterator<Item = EntityChoice> {
        self.known.iter().map(|known| known.entity)
    }

    /// The entities that can have an item which fulfils these clauses. An entity whose own conditions contradict them needs no
    /// read: `type = "flight"` is not asked of airports, so an index that holds flights alone can answer it.
    pub(super) fn possible(&self, conjunct: &[Cow<'_, Condition>]) -> Few<EntityChoice> {
        if self.known.len() <= 1 {
            return self.wanted.clone();
        }
        let is_possible = |entity: &EntityChoice| {
            self.known(*entity).is_none_or(|known| {
                let clauses = conjunct.iter().map(AsRef::as_ref).chain(&known.conditions);
                let (present, never) = (known.present.iter().copied(), known.never.iter().copied());
                !Certain::of(present, never, clauses).is_impossible
            })
        };
        self.wanted.iter().copied().filter(is_possible).collect()
    }

    fn known(&self, entity: EntityChoice) -> Option<&KnownEntity<'a>> {
        self.known.iter().find(|known| known.entity == entity)
    }

    /// What an item of this entity fulfils.
    pub(super) fn conditions(&self, entity: EntityChoice) -> &[Condition] {
        self.known(entity).map_or(&[], |known| &known.conditions)
    }

    /// What an item of these entities fulfils, whichever of them it is.
    pub(super) fn conditions_of_any(&self, entities: &[EntityChoice]) -> &[Condition] {
        match entities {
            [one] if self.known.len() > 1 || !self.request.entities.is_empty() => self.conditions(*one),
            _ => &self.among,
        }
    }

    /// What an item that a scan is to find fulfils.
    pub(super) fn conditions_of_wanted(&self) -> &[Condition] {
        &self.among
    }

    /// The attributes that every item of these entities has.
    pub(super) fn present(&self, entities: impl Iterator<Item = EntityChoice>) -> Cow<'_, [&'a str]> {
        let mut entities = entities.filter_map(|entity| self.known(entity)).peekable();
        let first = entities.next().map_or([].as_slice(), |first| &first.present);
        if entities.peek().is_none() {
            return Cow::Borrowed(first);
        }
        let mut all = first.to_vec();
        entities.for_each(|other| all.retain(|name| other.present.contains(name)));
        Cow::Owned(all)
    }

    /// The attributes that every item of the table has.
    pub(super) fn everywhere(&self) -> &[&'a str] {
        match self.known.as_slice() {
            [one] => &one.present,
            _ => &self.everywhere,
        }
    }

    /// Can an item of the table be absent from this path?
    pub(super) fn is_sparse(&self, path: AccessPath<'a>) -> bool {
        !self.known.iter().all(|known| {
            Keyspace::of(path, known.entity).is_ok_and(|keyspace| {
                keyspace.find_required(&|part| !known.present.contains(&part)).is_none()
            })
        })
    }
}

impl<'a> KnownEntity<'a> {
    fn of(table: &'a Table, entity: EntityChoice) -> KnownEntity<'a> {
        KnownEntity {
            entity,
            conditions: conditions(table, entity),
            present: present(table, entity),
            never: never(table, entity),
        }
    }
}

/// Every entity, and items of none if the table's own key can be made without one.
fn entities_of(table: &Table) -> impl Iterator<Item = EntityChoice> {
    let entities = (0..table.entities.len()).map(|number| EntityChoice::One(EntityId(number)));
    let others = Keyspace::of(AccessPath::base(table), EntityChoice::NoEntity).is_ok();
    entities.chain(others.then_some(EntityChoice::NoEntity))
}

fn conditions(table: &Table, entity: EntityChoice) -> Vec<Condition> {
    let of = |entity: &Entity| entity.when.iter().map(Condition::from).collect::<Vec<_>>();
    match entity {
        EntityChoice::Any => Vec::new(),
        EntityChoice::One(entity) => of(&table.entities[entity.0]),
        EntityChoice::NoEntity => {
            table.entities.iter().map(|entity| Condition::Not(Box::new(Condition::all(of(entity))))).collect()
        }
    }
}

fn present(table: &Table, entity: EntityChoice) -> Vec<&str> {
    let promised = &table.facts().promised;
    // Nearly always a primary key has one or two attributes beside them.
    let mut present = Vec::with_capacity(promised.len() + 4);
    present.extend(promised.iter().map(String::as_str));
    if let Ok(keyspace) = Keyspace::of(AccessPath::base(table), entity) {
        present.extend(keyspace.required());
    }
    if let EntityChoice::One(entity) = entity {
        present.extend(table.entities[entity.0].requires.iter().map(String::as_str));
    }
    present
}

fn never(table: &Table, entity: EntityChoice) -> Vec<&str> {
    match entity {
        EntityChoice::One(entity) => table.entities[entity.0].never.iter().map(String::as_str).collect(),
        EntityChoice::Any | EntityChoice::NoEntity => Vec::new(),
    }
}
