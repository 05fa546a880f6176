//! Which items a read is about, by their entity.

use crate::model::{EntityFacts, EntityId};

/// The items that a read is about. Templates belong to entities, so each entity can have keys of its own in one table or index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EntityChoice {
    /// Items of any entity: the key is made the same way for all of them.
    Any,
    /// The items of one entity.
    One(EntityId),
    /// The items that are of no entity. They have keys too, where a template is not limited to an entity.
    NoEntity,
}

impl EntityChoice {
    /// The items that these facts are about.
    pub(super) fn of(known: &EntityFacts) -> EntityChoice {
        known.entity.map_or(EntityChoice::NoEntity, EntityChoice::One)
    }
}
