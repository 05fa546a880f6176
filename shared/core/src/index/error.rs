//! Why an item cannot be written as it is.

use std::fmt;

use crate::index::limits::{ATTRIBUTE_NAME_BYTES_MAX, ITEM_BYTES_MAX, NESTING_LEVELS_MAX};
use crate::key::FoldError;
use crate::value::NumberError;

/// Where in which item something is wrong. It names the item by its key and holds nothing else of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemPlace {
    /// The table's name in the manifest.
    pub table: String,
    /// The index whose key it is about, if it is about one.
    pub index: Option<String>,
    /// The attribute, if it is about one.
    pub attribute: Option<String>,
    /// The item's key: `id="111aaa"`.
    pub item: String,
}

impl fmt::Display for ItemPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "table `{}`", self.table)?;
        if let Some(index) = &self.index {
            write!(f, ", index `{index}`")?;
        }
        if let Some(attribute) = &self.attribute {
            write!(f, ", attribute `{attribute}`")?;
        }
        write!(f, ", item {}", self.item)
    }
}

/// Why an item cannot get its keys, or would be refused by DynamoDB. Names table, index, attribute and the item's
/// key, never its contents.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ItemError {
    /// The `when` of two entities holds.
    #[error("the item is both a `{first}` and a `{second}` ({at})")]
    TwoEntities {
        /// Which item.
        at: Box<ItemPlace>,
        /// One entity.
        first: String,
        /// The other.
        second: String,
    },
    /// The table has no such entity.
    #[error("table `{table}` has no entity `{entity}`")]
    UnknownEntity {
        /// The table's name in the manifest.
        table: String,
        /// The name that was asked for.
        entity: String,
    },
    /// An attribute says that the item is of another kind.
    #[error("the attribute contradicts the `when` of entity `{entity}` ({at})")]
    NotThisEntity {
        /// Which item and attribute.
        at: Box<ItemPlace>,
        /// The entity it was to be.
        entity: String,
    },
    /// An attribute that only a key of the item holds would be lost with the key, or read as another value.
    #[error("only a key of the item holds the attribute, and the new keys would lose it ({at})")]
    KeyPartLost {
        /// Which item and attribute.
        at: Box<ItemPlace>,
    },
    /// A key cannot be folded.
    #[error("the key cannot be folded ({at})")]
    Fold {
        /// Which item and key.
        at: Box<ItemPlace>,
        /// Why.
        source: FoldError,
    },
    /// An attribute is missing that the manifest says every item has.
    #[error("the item lacks an attribute that every {} has ({at})", .entity.as_deref().map_or("item of the table".to_owned(), |name| format!("`{name}`")))]
    Required {
        /// Which item and attribute.
        at: Box<ItemPlace>,
        /// The entity that requires it, if not the table.
        entity: Option<String>,
    },
    /// An attribute is there that the manifest says no item of the entity has.
    #[error("the item has an attribute that a `{entity}` never has ({at})")]
    Never {
        /// Which item and attribute.
        at: Box<ItemPlace>,
        /// The entity.
        entity: String,
    },
    /// An attribute has a name that Keyfold keeps for what a retrofit keeps on items.
    #[error("the attribute has a name that Keyfold keeps for itself ({at})")]
    ReservedName {
        /// Which item and attribute.
        at: Box<ItemPlace>,
    },
    /// An attribute has no name, or a longer one than DynamoDB takes.
    #[error("the name of an attribute is empty or longer than {ATTRIBUTE_NAME_BYTES_MAX} bytes ({at})")]
    AttributeName {
        /// Which item.
        at: Box<ItemPlace>,
    },
    /// A declared attribute has another type.
    #[error("the attribute is of type `{found}`, but the manifest declares `{expected}` ({at})")]
    AttributeType {
        /// Which item and attribute.
        at: Box<ItemPlace>,
        /// The declared type.
        expected: &'static str,
        /// The type that it has.
        found: &'static str,
    },
    /// The attribute has a value that the manifest does not list.
    #[error("the attribute has a value that the manifest does not list ({at})")]
    NotListed {
        /// Which item and attribute.
        at: Box<ItemPlace>,
    },
    /// A key attribute that is declared as a timestamp or a date holds something else.
    #[error("a key attribute is not a valid {kind} ({at})")]
    NotATime {
        /// Which item and attribute.
        at: Box<ItemPlace>,
        /// What the manifest says it is.
        kind: &'static str,
    },
    /// The table's key is not complete.
    #[error("the item lacks a key attribute of its table ({at})")]
    MissingKey {
        /// Which item and attribute.
        at: Box<ItemPlace>,
    },
    /// The table's key is made by entities, and the item is of none of them.
    #[error("the item is of no entity of its table, and only entities give it a key ({at})")]
    NoEntity {
        /// Which item and attribute.
        at: Box<ItemPlace>,
    },
    /// A key attribute has another type.
    #[error("a key attribute of type `{expected}` has a value of type `{found}` ({at})")]
    KeyType {
        /// Which item and attribute.
        at: Box<ItemPlace>,
        /// The type that the key has.
        expected: &'static str,
        /// The type that the value has.
        found: &'static str,
    },
    /// A key attribute is empty.
    #[error("a key attribute is empty ({at})")]
    EmptyKey {
        /// Which item and attribute.
        at: Box<ItemPlace>,
    },
    /// A key attribute is too long.
    #[error("a key attribute has {bytes} bytes; at most {bytes_max} are allowed ({at})")]
    KeyTooLong {
        /// Which item and attribute.
        at: Box<ItemPlace>,
        /// Its length.
        bytes: u64,
        /// The most that DynamoDB takes.
        bytes_max: u64,
    },
    /// The item is too large.
    #[error("the item has {bytes} bytes; at most {ITEM_BYTES_MAX} are allowed ({at})")]
    ItemTooLarge {
        /// Which item.
        at: Box<ItemPlace>,
        /// Its size.
        bytes: u64,
    },
    /// A number, at any depth, is none that DynamoDB has.
    #[error("a number is not a valid DynamoDB number ({at})")]
    Number {
        /// Which item and top-level attribute.
        at: Box<ItemPlace>,
        /// Why.
        source: NumberError,
    },
    /// A set, at any depth, is empty.
    #[error("a set is empty ({at})")]
    EmptySet {
        /// Which item and top-level attribute.
        at: Box<ItemPlace>,
    },
    /// A set, at any depth, holds one element twice.
    #[error("a set contains the same element twice ({at})")]
    RepeatedInSet {
        /// Which item and top-level attribute.
        at: Box<ItemPlace>,
    },
    /// Lists and maps are nested too deep.
    #[error("the value is nested deeper than {NESTING_LEVELS_MAX} levels ({at})")]
    TooDeep {
        /// Which item and top-level attribute.
        at: Box<ItemPlace>,
    },
}

impl ItemError {
    /// A stable name of the mistake, for machines.
    pub fn code(&self) -> &'static str {
        match self {
            ItemError::TwoEntities { .. } => "item-two-entities",
            ItemError::UnknownEntity { .. } => "item-unknown-entity",
            ItemError::NotThisEntity { .. } => "item-not-this-entity",
            ItemError::KeyPartLost { .. } => "item-key-part-lost",
            ItemError::Fold { .. } => "item-key-not-foldable",
            ItemError::Required { .. } => "item-attribute-required",
            ItemError::Never { .. } => "item-attribute-never",
            ItemError::ReservedName { .. } => "item-attribute-reserved",
            ItemError::AttributeName { .. } => "item-attribute-name",
            ItemError::AttributeType { .. } => "item-attribute-type",
            ItemError::NotListed { .. } => "item-value-not-listed",
            ItemError::NotATime { .. } => "item-key-time",
            ItemError::MissingKey { .. } => "item-key-missing",
            ItemError::NoEntity { .. } => "item-no-entity",
            ItemError::KeyType { .. } => "item-key-type",
            ItemError::EmptyKey { .. } => "item-key-empty",
            ItemError::KeyTooLong { .. } => "item-key-too-long",
            ItemError::ItemTooLarge { .. } => "item-too-large",
            ItemError::Number { .. } => "item-number",
            ItemError::EmptySet { .. } => "item-set-empty",
            ItemError::RepeatedInSet { .. } => "item-set-repeated",
            ItemError::TooDeep { .. } => "item-too-deep",
        }
    }

    /// What to do about it, where there is something to say.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            ItemError::TwoEntities { .. } => Some("let the `when` of the two entities exclude each other"),
            ItemError::NoEntity { .. } => Some(
                "give the entities a `when` that such items fulfil before they have their key, or give the key a `fold` for other items",
            ),
            ItemError::NotThisEntity { .. } => Some("fold it as another entity, or correct the attribute"),
            ItemError::KeyPartLost { .. } => {
                Some("store the attribute on the item, or leave the attributes that its key is made of")
            }
            ItemError::ReservedName { .. } => {
                Some("names that begin with `keyfold_` never show in an answer: choose another name")
            }
            ItemError::Never { .. } => {
                Some("leave the attribute out, or take it out of the entity's `never`")
            }
            ItemError::EmptyKey { .. } => {
                Some("leave the attribute out: the item is then absent from the index")
            }
            ItemError::NotATime { .. } => Some("a key that is no time has no place in the order of times"),
            ItemError::KeyTooLong { .. } => Some("fold fewer or shorter attributes into the key"),
            ItemError::ItemTooLarge { .. } => {
                Some("store large values elsewhere, and keep a reference to them in the item")
            }
            ItemError::EmptySet { .. } => Some("leave the attribute out instead"),
            ItemError::NotListed { .. } => Some("add the value to the attribute's `values` in the manifest"),
            _ => None,
        }
    }

    /// Which item it is about, and where in it.
    pub fn place(&self) -> Option<&ItemPlace> {
        match self {
            ItemError::UnknownEntity { .. } => None,
            ItemError::TwoEntities { at, .. }
            | ItemError::NotThisEntity { at, .. }
            | ItemError::KeyPartLost { at }
            | ItemError::Fold { at, .. }
            | ItemError::Required { at, .. }
            | ItemError::Never { at, .. }
            | ItemError::ReservedName { at }
            | ItemError::AttributeName { at }
            | ItemError::AttributeType { at, .. }
            | ItemError::NotListed { at }
            | ItemError::NotATime { at, .. }
            | ItemError::MissingKey { at }
            | ItemError::NoEntity { at }
            | ItemError::KeyType { at, .. }
            | ItemError::EmptyKey { at }
            | ItemError::KeyTooLong { at, .. }
            | ItemError::ItemTooLarge { at, .. }
            | ItemError::Number { at, .. }
            | ItemError::EmptySet { at }
            | ItemError::RepeatedInSet { at }
            | ItemError::TooDeep { at } => Some(at),
        }
    }
}
