//! The planning context: data common to all access paths of one request.
//!
//! It is computed once, so that a table with twenty indexes does not compute it twenty times.

use std::borrow::Cow;

use smol_str::SmolStr;

use super::certainty::Certain;
use super::keyspace::Keyspace;
use super::path::AccessPath;
use super::path::EntityChoice;
use super::path::SmallList;
use crate::condition::Condition;
use crate::model::EntityFacts;
use crate::query::check::CheckedRequest;
use crate::query::readiness::Readiness;

/// A request, and the facts about its table that planning needs.
#[derive(Debug)]
pub(super) struct PlanContext<'a> {
    pub(super) request: &'a CheckedRequest<'a>,
    /// Which paths are complete.
    pub(super) readiness: &'a Readiness,
    /// The entities that the table can hold.
    known: &'a [EntityFacts],
    /// The entities that the request asks for.
    pub(super) wanted: SmallList<EntityChoice>,
    /// The condition that an item belongs to one of these, unless all items do.
    among: Vec<Condition>,
}

impl<'a> PlanContext<'a> {
    pub(super) fn of(request: &'a CheckedRequest<'a>, readiness: &'a Readiness) -> PlanContext<'a> {
        let known = request.table.facts().entities.as_slice();
        let mut context =
            PlanContext { request, readiness, known, wanted: SmallList::new(), among: Vec::new() };
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

    /// The table, then its indexes.
    pub(super) fn paths(&self) -> impl Iterator<Item = AccessPath<'a>> + use<'a> {
        AccessPath::all(self.request.table)
    }

    /// The entities that the table can hold.
    pub(super) fn entities(&self) -> impl Iterator<Item = EntityChoice> + use<'a> {
        self.known.iter().map(EntityChoice::of)
    }

    /// The entities whose items can fulfil these clauses. An entity whose own conditions contradict them needs no read:
    /// `type = "flight"` excludes airports, so an index that holds only flights can answer it.
    pub(super) fn possible(&self, conjunct: &[Cow<'_, Condition>]) -> SmallList<EntityChoice> {
        if self.known.len() <= 1 {
            return self.wanted.clone();
        }
        let is_possible = |entity: &EntityChoice| {
            self.known(*entity).is_none_or(|known| {
                let clauses = conjunct.iter().map(AsRef::as_ref).chain(&known.conditions);
                let (present, never) = (self.everywhere().iter().chain(&known.present), known.never.iter());
                let (present, never) = (present.map(SmolStr::as_str), never.map(SmolStr::as_str));
                !Certain::of(present, never, clauses).is_impossible
            })
        };
        self.wanted.iter().copied().filter(is_possible).collect()
    }

    fn known(&self, entity: EntityChoice) -> Option<&'a EntityFacts> {
        self.known.iter().find(|known| EntityChoice::of(known) == entity)
    }

    /// The conditions that an item of this entity fulfils.
    pub(super) fn conditions(&self, entity: EntityChoice) -> &'a [Condition] {
        self.known(entity).map_or(&[], |known| &known.conditions)
    }

    /// The conditions that an item of any of these entities fulfils.
    pub(super) fn conditions_of_any(&self, entities: &[EntityChoice]) -> &[Condition] {
        match entities {
            [one] if self.known.len() > 1 || !self.request.entities.is_empty() => self.conditions(*one),
            _ => &self.among,
        }
    }

    /// The conditions that the items wanted from a scan fulfil.
    pub(super) fn conditions_of_wanted(&self) -> &[Condition] {
        &self.among
    }

    /// The attributes of every item of these entities, except those of every item in the table.
    pub(super) fn present(&self, entities: impl Iterator<Item = EntityChoice>) -> Cow<'a, [SmolStr]> {
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
    pub(super) fn everywhere(&self) -> &'a [SmolStr] {
        &self.request.table.facts().everywhere
    }

    /// Can an item of the table be absent from this path?
    pub(super) fn is_sparse(&self, path: AccessPath<'a>) -> bool {
        !self.known.iter().all(|known| {
            let present = self.everywhere().iter().chain(&known.present);
            Keyspace::of(path, EntityChoice::of(known)).is_ok_and(|keyspace| {
                keyspace.find_required(&|part| !present.clone().any(|name| name == part)).is_none()
            })
        })
    }
}
