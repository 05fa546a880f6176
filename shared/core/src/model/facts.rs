//! What follows from a table's declaration alone, worked out once: the planner asks for it with every request.
//!
//! Not here: anything that depends on a request. `of_table` works it out.

mod of_table;

use std::fmt;
use std::sync::OnceLock;

use smol_str::SmolStr;

use crate::condition::Condition;
use crate::value::AttributeValue;

/// Which entity of a table: a number into [`Table::entities`](super::Table::entities).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntityId(pub usize);

/// What a table keeps of its own facts. A copy of a table begins without them, because whoever copies a table may change it.
#[derive(Default)]
pub struct KeptFacts(OnceLock<TableFacts>);

/// The facts of one table.
#[derive(Debug, PartialEq)]
pub(crate) struct TableFacts {
    /// The entities that the table can hold.
    pub(crate) entities: Vec<EntityFacts>,
    /// The attributes that every item has, whatever its entity: parts of its primary key, and what the manifest promises. The
    /// primary keys of two entities can have different parts.
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

/// What is certain of the items of one entity.
#[derive(Debug, PartialEq)]
pub(crate) struct EntityFacts {
    /// The entity; `None`: the items that are of no entity.
    pub(crate) entity: Option<EntityId>,
    /// What such an item fulfils.
    pub(crate) conditions: Vec<Condition>,
    /// The attributes that every such item has, beside those that every item of the table has.
    pub(crate) present: Vec<SmolStr>,
    /// The attributes that no such item has.
    pub(crate) never: Vec<SmolStr>,
}

/// The facts of one key, of the table or of an index. A plan names most of a table's indexes, to say why each was rejected:
/// names of ordinary length are copied from here without memory of their own.
#[derive(Debug, PartialEq)]
pub(crate) struct KeyFacts {
    /// The index's name; `None` for the table itself.
    pub(crate) index: Option<SmolStr>,
    /// Does the key depend on the entity of an item?
    pub(crate) is_overloaded: bool,
    /// The attributes without which an item has no such key and that not every item has, in the order of the key. Empty if the
    /// key depends on the entity.
    pub(crate) unpromised: Vec<SmolStr>,
    /// What a request must say to name a partition, as far as that is clear without folding anything. Empty if the key depends
    /// on the entity.
    pub(crate) leads: Vec<Lead>,
    /// The share of a partition that is left by the listed values of its key's attributes. 1 if the key depends on the entity.
    pub(crate) listed_share: f64,
    /// How many attributes of the partition key have no listed values. 0 if the key depends on the entity.
    pub(crate) open_parts: i32,
}

/// An attribute without which no partition can be named.
#[derive(Debug, PartialEq)]
pub(crate) struct Lead {
    pub(crate) attribute: SmolStr,
    /// Must it be one value, or does any test narrow the partition?
    pub(crate) by_equality: bool,
    /// Does the manifest list its values?
    pub(crate) is_listed: bool,
}

impl KeptFacts {
    /// The facts, worked out if nobody asked for them before.
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
    /// Equal tables have equal facts, whether they were asked for them or not.
    fn eq(&self, _: &KeptFacts) -> bool {
        true
    }
}

impl fmt::Debug for KeptFacts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("..")
    }
}
