//! An access path: the base table or one index.

use super::access::ReadFrom;
use crate::model::{EntityFacts, EntityId, Index, IndexKind, KeyAttribute, KeyFacts, Projection, Table};

/// The base table, or one of its indexes.
#[derive(Debug, Clone, Copy)]
pub(super) struct AccessPath<'a> {
    pub(super) table: &'a Table,
    pub(super) index: Option<&'a Index>,
    /// The facts of its key.
    pub(super) facts: &'a KeyFacts,
}

impl<'a> AccessPath<'a> {
    /// The base table.
    pub(super) fn base(table: &'a Table) -> AccessPath<'a> {
        AccessPath { table, index: None, facts: &table.facts().table }
    }

    /// The base table, then its indexes.
    pub(super) fn all(table: &'a Table) -> impl Iterator<Item = AccessPath<'a>> {
        let indexes = table.indexes.iter().zip(&table.facts().indexes);
        let indexes = indexes.map(|(index, facts)| AccessPath { table, index: Some(index), facts });
        std::iter::once(AccessPath::base(table)).chain(indexes)
    }

    /// Does the key depend on the entity of an item?
    pub(super) fn is_overloaded(&self) -> bool {
        self.facts.is_overloaded
    }

    /// The attributes of the partition key.
    pub(super) fn partition(&self) -> &'a [KeyAttribute] {
        match self.index {
            None => std::slice::from_ref(&self.table.partition),
            Some(index) => &index.partition,
        }
    }

    /// The attributes of the sort key.
    pub(super) fn sort(&self) -> &'a [KeyAttribute] {
        match self.index {
            None => self.table.sort.as_slice(),
            Some(index) => &index.sort,
        }
    }

    /// The attributes of the whole key.
    pub(super) fn keys(&self) -> impl Iterator<Item = &'a KeyAttribute> {
        self.partition().iter().chain(self.sort())
    }

    pub(super) fn read_from(&self) -> ReadFrom {
        ReadFrom::of(self.index)
    }

    pub(super) fn is_local(&self) -> bool {
        self.index.is_some_and(|index| index.kind == IndexKind::Local)
    }

    pub(super) fn is_global(&self) -> bool {
        self.index.is_some_and(|index| index.kind == IndexKind::Global)
    }

    /// The last tie-break between candidates: the table, then local, then global indexes, then by name. Without it the
    /// plan of a request could change with the order of indexes in the manifest. The order is that of [`ReadFrom`].
    pub(super) fn preference(&self) -> (bool, bool, &'a str) {
        (self.index.is_some(), self.is_global(), self.index.map_or("", |index| &index.name))
    }

    /// Does an entry hold this attribute, or the keys that it is read from?
    pub(super) fn holds(&self, attribute: &str) -> bool {
        let Some(index) = self.index else { return true };
        if index.projection == Projection::All {
            return true;
        }
        let mut sources = self.table.key_part_sources(attribute).peekable();
        match sources.peek() {
            None => index.projects(self.table, attribute),
            Some(_) => sources.all(|source| index.projects(self.table, source)),
        }
    }

    /// Is the attribute read from a key? Stored items lack it, so DynamoDB would treat it as missing.
    pub(super) fn is_read_from_key(&self, attribute: &str) -> bool {
        self.table.facts().from_key.iter().any(|known| known == attribute)
    }

    /// Is it an attribute of the key? DynamoDB refuses a filter on the key that it queries by.
    pub(super) fn is_own_key(&self, attribute: &str) -> bool {
        self.keys().any(|key| key.name == attribute)
    }
}

impl PartialEq for AccessPath<'_> {
    /// Paths of one request have the same table, so the index decides.
    fn eq(&self, other: &AccessPath<'_>) -> bool {
        self.index.map(|index| &index.name) == other.index.map(|index| &index.name)
    }
}

/// The entity whose items a read returns. Each entity can have its own key templates in a table or index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EntityChoice {
    /// Any entity: all have the same key templates.
    Any,
    /// The items of one entity.
    One(EntityId),
    /// The items without an entity. They have keys too, if a template is not limited to an entity.
    NoEntity,
}

impl EntityChoice {
    /// The items with these facts.
    pub(super) fn of(known: &EntityFacts) -> EntityChoice {
        known.entity.map_or(EntityChoice::NoEntity, EntityChoice::One)
    }
}

/// A short list, stored inline: a request has few conditions, and a key few parts.
pub(super) type SmallList<T> = smallvec::SmallVec<[T; 4]>;
