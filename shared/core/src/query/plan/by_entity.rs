//! The conjunction of each entity, computed once for all access paths.

use std::borrow::Cow;

use smol_str::SmolStr;

use super::conjunction::Conjunction;
use super::context::PlanContext;
use super::path::AccessPath;
use super::path::EntityChoice;
use super::planned_read::PlannedRead;
use super::planner::PathPlanner;
use crate::condition::{Comparison, Condition};

/// A conjunction, for each entity that the request concerns.
pub(super) struct ConjunctionByEntity<'a> {
    pub(super) context: &'a PlanContext<'a>,
    conjunct: &'a [Cow<'a, Condition>],
    /// For a scan, and for a path whose key does not depend on the entity: all entities together. `None` if there is neither.
    any: Option<EntityConjunction<'a>>,
    /// For a path whose key depends on it: each entity separately. Empty if there is no such path.
    each: Vec<EntityConjunction<'a>>,
    /// Does an `in` ask for several values?
    pub(super) asks_several_values: bool,
}

/// The conjunction for one entity, or for all of them.
struct EntityConjunction<'a> {
    entity: EntityChoice,
    conjunction: Conjunction<'a>,
    /// The attributes of all these items, except those of every item in the table.
    always: Cow<'a, [SmolStr]>,
}

impl<'a> ConjunctionByEntity<'a> {
    pub(super) fn new(
        context: &'a PlanContext<'a>,
        entities: &[EntityChoice],
        conjunct: &'a [Cow<'a, Condition>],
    ) -> ConjunctionByEntity<'a> {
        let read = |entity, when, of: &[EntityChoice]| EntityConjunction {
            entity,
            conjunction: Conjunction::read(context.request.table, conjunct.iter().map(AsRef::as_ref), when),
            always: context.present(of.iter().copied()),
        };
        let is_any = context.request.scan || context.paths().any(|path| !path.is_overloaded());
        let any = is_any.then(|| read(EntityChoice::Any, context.conditions_of_any(entities), entities));
        let is_overloaded = context.paths().any(|path| path.is_overloaded());
        let each = entities.iter().filter(|_| is_overloaded);
        let each = each.map(|entity| read(*entity, context.conditions(*entity), &[*entity])).collect();
        ConjunctionByEntity {
            context,
            conjunct,
            any,
            each,
            asks_several_values: conjunct.iter().any(|clause| asks_several_values(clause)),
        }
    }

    /// A planner for each entity with its own key in this path, or one for all of them.
    pub(super) fn planners<'t>(
        &'t self,
        path: AccessPath<'a>,
    ) -> impl Iterator<Item = PathPlanner<'t, 'a>> + use<'t, 'a> {
        let of = if path.is_overloaded() { self.each.as_slice() } else { self.any.as_slice() };
        of.iter().map(move |EntityConjunction { entity, conjunction, always }| PathPlanner {
            context: self.context,
            path,
            entity: *entity,
            conjunction,
            always,
        })
    }

    /// The scan of a path: one pass finds the items of all entities.
    pub(super) fn scan(&self, path: AccessPath<'a>) -> PlannedRead<'a> {
        let wanted = self.context.conditions_of_wanted();
        let conjunction =
            &Conjunction::read(self.context.request.table, self.conjunct.iter().map(AsRef::as_ref), wanted);
        let (context, always) = (self.context, self.any.as_ref().map_or(&[][..], |any| &any.always));
        PathPlanner { context, path, entity: EntityChoice::Any, conjunction, always }.scan()
    }
}

fn asks_several_values(clause: &Condition) -> bool {
    matches!(clause, Condition::Is(_, Comparison::In(values)) if values.len() > 1)
}
