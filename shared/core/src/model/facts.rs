//! Facts that follow from a table's declaration alone, computed once: the planner needs them for every request.
//!
//! Not here: anything that depends on a request. `of_table` computes the facts.

mod of_table;

use std::fmt;
use std::sync::OnceLock;

use smol_str::SmolStr;

use crate::condition::Condition;
use crate::value::AttributeValue;

/// Which entity of a table: a number into [`Table::entities`](super::Table::entities).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntityId(pub usize);

/// The cached facts of a table. A cloned table starts without them, because the clone may be changed.
#[derive(Default)]
pub struct KeptFacts(OnceLock<TableFacts>);

/// The facts of one table.
#[derive(Debug, PartialEq)]
pub(crate) struct TableFacts {
    /// The entities that the table can hold.
    pub(crate) entities: Vec<EntityFacts>,
    /// The attributes of every item: parts of its primary key, and attributes that the manifest requires. The primary
    /// keys of two entities can have different parts.
    pub(crate) everywhere: Vec<SmolStr>,
    /// The attributes whose values the manifest lists, with the values.
    listed: Vec<(SmolStr, Vec<AttributeValue>)>,
    /// The attributes that are read from a key: stored items do not have them.
    pub(crate) from_key: Vec<SmolStr>,
    /// The facts of the table's own key.
    pub(crate) table: KeyFacts,
    /// Those of each index, in the table's order.
    pub(crate) indexes: Vec<KeyFacts>,
}

/// Facts about the items of one entity.
#[derive(Debug, PartialEq)]
pub(crate) struct EntityFacts {
    /// The entity; `None`: the items that are of no entity.
    pub(crate) entity: Option<EntityId>,
    /// The conditions that such an item fulfils.
    pub(crate) conditions: Vec<Condition>,
    /// The attributes of every such item, except those of every item in the table.
    pub(crate) present: Vec<SmolStr>,
    /// The attributes that no such item has.
    pub(crate) never: Vec<SmolStr>,
}

/// The facts of one key, of the table or of an index. A plan names most of a table's indexes with the reasons of their
/// rejection, so short names are copied without an allocation.
#[derive(Debug, PartialEq)]
pub(crate) struct KeyFacts {
    /// The index's name; `None` for the table itself.
    pub(crate) index: Option<SmolStr>,
    /// Does the key depend on the entity of an item?
    pub(crate) is_overloaded: bool,
    /// The attributes without which an item has no such key and that not every item has, in the order of the key. Empty if the
    /// key depends on the entity.
    pub(crate) unpromised: Vec<SmolStr>,
    /// The tests that a request must have to select a partition, as far as they are known without folding. Empty if the
    /// key depends on the entity.
    pub(crate) leads: Vec<PartitionInput>,
    /// The share of a partition that is left by the listed values of its key's attributes. 1 if the key depends on the entity.
    pub(crate) listed_share: f64,
    /// How many attributes of the partition key have no listed values. 0 if the key depends on the entity.
    pub(crate) open_parts: i32,
}

/// An attribute without which no partition can be named.
#[derive(Debug, PartialEq)]
pub(crate) struct PartitionInput {
    pub(crate) attribute: SmolStr,
    /// Must it be one value, or does any test narrow the partition?
    pub(crate) by_equality: bool,
    /// Does the manifest list its values?
    pub(crate) is_listed: bool,
}

impl KeptFacts {
    /// The facts, computed on first use.
    fn get(&self, facts: impl FnOnce() -> TableFacts) -> &TableFacts {
        self.0.get_or_init(facts)
    }
}

impl TableFacts {
    /// The values that the manifest lists of an attribute, if it does.
    pub(crate) fn listed_values(&self, attribute: &str) -> Option<&[AttributeValue]> {
        self.listed.iter().find(|(name, _)| name == attribute).map(|(_, values)| values.as_slice())
    }
}

impl Default for KeyFacts {
    fn default() -> KeyFacts {
        KeyFacts {
            index: None,
            is_overloaded: false,
            unpromised: Vec::new(),
            leads: Vec::new(),
            listed_share: 1.0,
            open_parts: 0,
        }
    }
}

impl Clone for KeptFacts {
    fn clone(&self) -> KeptFacts {
        KeptFacts::default()
    }
}

impl PartialEq for KeptFacts {
    /// Cached facts do not affect equality.
    fn eq(&self, _: &KeptFacts) -> bool {
        true
    }
}

impl fmt::Debug for KeptFacts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("..")
    }
}
