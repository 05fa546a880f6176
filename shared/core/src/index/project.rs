//! The entry that an index holds for a stored item, or why it holds none.

use crate::index::key_rules::{KeyProblem, index_keys, key_problem};
use crate::index::size::attribute_bytes;
use crate::model::{Index, Projection, Table};
use crate::value::{AttributeValue, Item, Name};

/// What an index holds for one stored item.
#[derive(Debug, Clone, PartialEq)]
pub enum Entry {
    /// This entry.
    In(Item),
    /// None: the index is sparse.
    Absent(Absence),
}

impl Entry {
    /// The entry, if there is one.
    pub fn item(self) -> Option<Item> {
        match self {
            Entry::In(item) => Some(item),
            Entry::Absent(_) => None,
        }
    }
}

/// Why an item is not in an index.
///
/// A write of an item whose index key attribute is there but wrong is refused. Items that were there before the index
/// was created are left out of it without a word, and that is where all but `Missing` come from.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Absence {
    /// The item does not have the attribute.
    #[error("attribute `{attribute}` is missing")]
    Missing {
        /// The key attribute.
        attribute: String,
    },
    /// The attribute has another type.
    #[error("attribute `{attribute}` is of type `{found}`, but the index needs `{expected}`")]
    WrongType {
        /// The key attribute.
        attribute: String,
        /// The type that the key has.
        expected: &'static str,
        /// The type that the value has.
        found: &'static str,
    },
    /// The attribute is an empty string or binary.
    #[error("attribute `{attribute}` is empty")]
    Empty {
        /// The key attribute.
        attribute: String,
    },
    /// The attribute is longer than a key may be.
    #[error("attribute `{attribute}` has {bytes} bytes, but a key has at most {bytes_max}")]
    TooLong {
        /// The key attribute.
        attribute: String,
        /// Its length.
        bytes: u64,
        /// The most that DynamoDB takes.
        bytes_max: u64,
    },
}

impl Index {
    /// The entry that DynamoDB holds in this index for an item as it is stored, folded attributes included.
    pub fn entry(&self, table: &Table, stored: &Item) -> Entry {
        if let Some(absence) = self.absence(stored) {
            return Entry::Absent(absence);
        }
        if self.projection == Projection::All {
            return Entry::In(stored.clone());
        }
        let mut entry = Vec::with_capacity(self.projected_max(table).min(stored.len()));
        entry.extend(self.projected(table, stored).map(|(name, value)| (name.clone(), value.clone())));
        Entry::In(entry.into())
    }

    /// Why a stored item is not in this index; `None` if it is.
    pub fn absence(&self, stored: &Item) -> Option<Absence> {
        index_keys(self).find_map(|(role, key)| {
            let attribute = || key.name.clone();
            let Some(value) = stored.get(&key.name) else {
                return Some(Absence::Missing { attribute: attribute() });
            };
            key_problem(key, role, value).map(|problem| match problem {
                KeyProblem::WrongType { found } => {
                    Absence::WrongType { attribute: attribute(), expected: key.scalar.letter(), found }
                }
                KeyProblem::Empty => Absence::Empty { attribute: attribute() },
                KeyProblem::TooLong { bytes, bytes_max } => {
                    Absence::TooLong { attribute: attribute(), bytes, bytes_max }
                }
            })
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

    /// The size of the entry for a stored item; `None` if there is none. Nothing is copied.
    pub fn entry_bytes(&self, table: &Table, stored: &Item) -> Option<u64> {
        match self.absence(stored) {
            Some(_) => None,
            None => {
                Some(self.projected(table, stored).map(|(name, value)| attribute_bytes(name, value)).sum())
            }
        }
    }

    /// The most attributes that an entry has, unless everything is projected.
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
