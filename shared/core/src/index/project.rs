//! The entry that an index holds for a stored item, or why it holds none.

use crate::index::error::KeyProblem;
use crate::index::size::attribute_bytes;
use crate::index::validate::{index_keys, key_problem};
use crate::model::{Index, Projection, Table};
use crate::value::{AttributeValue, Item, Name};

/// Why an item is not in an index.
///
/// A write of an item with an invalid index key attribute is refused. Existing items with one are silently left out
/// when the index is created; all problems but a missing attribute come from there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("attribute `{attribute}` {problem}")]
pub struct Absence {
    /// The key attribute.
    pub attribute: String,
    /// The problem.
    pub problem: KeyProblem,
}

impl Index {
    /// The entry of this index for a stored item, which includes its folded attributes.
    pub fn entry(&self, table: &Table, stored: &Item) -> Result<Item, Absence> {
        if let Some(absence) = self.absence(stored) {
            return Err(absence);
        }
        if self.projection == Projection::All {
            return Ok(stored.clone());
        }
        let mut entry = Vec::with_capacity(self.projected_max(table).min(stored.len()));
        entry.extend(self.projected(table, stored).map(|(name, value)| (name.clone(), value.clone())));
        Ok(entry.into())
    }

    /// Why a stored item is not in this index; `None` if it is.
    pub fn absence(&self, stored: &Item) -> Option<Absence> {
        index_keys(self).find_map(|(role, key)| {
            let problem = key_problem(key, role, stored.get(&key.name))?;
            Some(Absence { attribute: key.name.clone(), problem })
        })
    }

    /// Is this attribute in the projection: a key attribute of the index or the table, an included one, or any at all?
    pub fn projects(&self, table: &Table, attribute: &str) -> bool {
        let keys = || self.key_attributes().chain(table.key_attributes()).any(|key| key.name == attribute);
        match &self.projection {
            Projection::All => true,
            Projection::KeysOnly => keys(),
            Projection::Include(names) => names.iter().any(|name| name == attribute) || keys(),
        }
    }

    /// The size of the entry for a stored item; `None` without an entry. Nothing is copied.
    pub fn entry_bytes(&self, table: &Table, stored: &Item) -> Option<u64> {
        let bytes = || self.projected(table, stored).map(|(name, value)| attribute_bytes(name, value)).sum();
        self.absence(stored).is_none().then(bytes)
    }

    /// Maximum attributes of an entry, unless everything is projected.
    fn projected_max(&self, table: &Table) -> usize {
        let included = match &self.projection {
            Projection::Include(names) => names.len(),
            Projection::All | Projection::KeysOnly => 0,
        };
        included + self.key_attributes().chain(table.key_attributes()).count()
    }

    /// The projected attributes of an item, whether or not it is in the index.
    pub(crate) fn projected<'a>(
        &'a self,
        table: &'a Table,
        stored: &'a Item,
    ) -> impl Iterator<Item = (&'a Name, &'a AttributeValue)> {
        stored.iter().filter(|(name, _)| self.projects(table, name))
    }
}
