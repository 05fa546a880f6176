//! One conjunction asked of some kinds of item: what it says, read once for all places.

use std::borrow::Cow;

use super::build::{Built, Place, Task};
use super::facts::Facts;
use super::ground::Ground;
use super::keyspace::Kind;
use crate::condition::{Comparison, Condition};

/// A conjunction and the kinds of item that it is asked of.
pub(super) struct Scope<'a> {
    pub(super) ground: &'a Ground<'a>,
    conjunct: &'a [Cow<'a, Condition>],
    /// Where nothing depends on the kind of item, and what all these kinds have.
    any: Of<'a>,
    /// Where a key does: for each kind by itself. None if there is no such key.
    own: Vec<Of<'a>>,
    /// Does an `in` ask for several values?
    pub(super) asks_several_values: bool,
}

/// What is asked of items of one kind, or of any.
struct Of<'a> {
    kind: Kind,
    facts: Facts<'a>,
    always: Vec<&'a str>,
}

impl<'a> Scope<'a> {
    pub(super) fn new(
        ground: &'a Ground<'a>,
        kinds: &'a [Kind],
        conjunct: &'a [Cow<'a, Condition>],
    ) -> Scope<'a> {
        let read = |kind, when, of: &[Kind]| Of {
            kind,
            facts: Facts::read(conjunct.iter().map(AsRef::as_ref), when),
            always: ground.present(of.iter().copied()),
        };
        let any = read(Kind::Any, ground.conditions_of_any(kinds), kinds);
        let is_overloaded = ground.places.iter().any(|place| place.is_overloaded);
        let own = kinds.iter().filter(|_| is_overloaded);
        let own = own.map(|kind| read(*kind, ground.conditions(*kind), &[*kind])).collect();
        Scope {
            ground,
            conjunct,
            any,
            own,
            asks_several_values: conjunct.iter().any(|clause| asks_several_values(clause)),
        }
    }

    /// The conjunction for each kind that has a key of its own at this place, or once for all of them.
    pub(super) fn tasks<'t>(&'t self, place: Place<'a>) -> impl Iterator<Item = Task<'t, 'a>> + use<'t, 'a> {
        let of = if place.is_overloaded { &self.own } else { std::slice::from_ref(&self.any) };
        of.iter().map(move |Of { kind, facts, always }| Task {
            ground: self.ground,
            place,
            kind: *kind,
            facts,
            always,
        })
    }

    /// The scan of a place: one pass finds the items of all kinds.
    pub(super) fn scan(&self, place: Place<'a>) -> Built<'a> {
        let facts = Facts::read(self.conjunct.iter().map(AsRef::as_ref), self.ground.conditions_of_wanted());
        Task { ground: self.ground, place, kind: Kind::Any, facts: &facts, always: &self.any.always }.scan()
    }
}

fn asks_several_values(clause: &Condition) -> bool {
    matches!(clause, Condition::Is(_, Comparison::In(values)) if values.len() > 1)
}
