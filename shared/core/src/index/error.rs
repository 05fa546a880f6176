//! Why an item cannot be written.

use std::fmt;

use crate::index::size::{ATTRIBUTE_NAME_BYTES_MAX, ITEM_BYTES_MAX, NESTING_LEVELS_MAX};
use crate::key::FoldError;
use crate::value::NumberError;

/// The place of a problem in an item. It names the item by its key and contains nothing else of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemPlace {
    /// The table's name in the manifest.
    pub table: String,
    /// The index, if the problem concerns its key.
    pub index: Option<String>,
    /// The attribute, if the problem concerns one.
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemError {
    /// The item, and the place in it.
    pub at: Box<ItemPlace>,
    /// The problem.
    pub problem: ItemProblem,
}

impl fmt::Display for ItemError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.problem, self.at)
    }
}

impl std::error::Error for ItemError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.problem.source()
    }
}

/// A problem of an item. Values are checked at any depth.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum ItemProblem {
    #[error("the item is both a `{first}` and a `{second}`")]
    TwoEntities { first: String, second: String },
    #[error("there is no entity `{entity}`")]
    UnknownEntity { entity: String },
    #[error("the attribute contradicts the `when` of entity `{entity}`")]
    NotThisEntity { entity: String },
    #[error("only a key of the item holds the attribute, and the new keys would lose it")]
    KeyPartLost,
    #[error("the key cannot be folded: {0}")]
    Fold(FoldError),
    #[error("the item lacks an attribute that every {} has", .entity.as_deref().map_or("item of the table".to_owned(), |name| format!("`{name}`")))]
    Required { entity: Option<String> },
    #[error("the item has an attribute that a `{entity}` never has")]
    Never { entity: String },
    #[error("the attribute has a name that Keyfold keeps for itself")]
    ReservedName,
    #[error("the name of an attribute is empty or longer than {ATTRIBUTE_NAME_BYTES_MAX} bytes")]
    AttributeName,
    #[error("the attribute is of type `{found}`, but the manifest declares `{expected}`")]
    AttributeType { expected: &'static str, found: &'static str },
    #[error("the attribute has a value that the manifest does not list")]
    NotListed,
    #[error("a key attribute is not a valid {kind}")]
    NotATime { kind: &'static str },
    #[error("the item matches no entity of its table, and only entities give it a key")]
    NoEntity,
    #[error("the item's source key and its attributes give this key different values")]
    KeyNotFixed,
    #[error("a key attribute {0}")]
    Key(KeyProblem),
    #[error("the item has {bytes} bytes; at most {ITEM_BYTES_MAX} are allowed")]
    TooLarge { bytes: u64 },
    #[error("a number is not a valid DynamoDB number")]
    Number(#[from] NumberError),
    #[error("a set is empty")]
    EmptySet,
    #[error("a set contains the same element twice")]
    RepeatedInSet,
    #[error("the value is nested deeper than {NESTING_LEVELS_MAX} levels")]
    TooDeep,
}

/// A problem of an item's value for a key attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum KeyProblem {
    #[error("is missing")]
    Missing,
    #[error("is of type `{found}`, but the key needs `{expected}`")]
    WrongType { expected: &'static str, found: &'static str },
    #[error("is empty")]
    Empty,
    #[error("has {bytes} bytes, but a key has at most {bytes_max}")]
    TooLong { bytes: u64, bytes_max: u64 },
}

impl ItemError {
    /// A stable name of the mistake, for machines.
    pub fn code(&self) -> &'static str {
        match self.problem {
            ItemProblem::TwoEntities { .. } => "item-two-entities",
            ItemProblem::UnknownEntity { .. } => "item-unknown-entity",
            ItemProblem::NotThisEntity { .. } => "item-not-this-entity",
            ItemProblem::KeyPartLost => "item-key-part-lost",
            ItemProblem::Fold(_) => "item-key-not-foldable",
            ItemProblem::Required { .. } => "item-attribute-required",
            ItemProblem::Never { .. } => "item-attribute-never",
            ItemProblem::ReservedName => "item-attribute-reserved",
            ItemProblem::AttributeName => "item-attribute-name",
            ItemProblem::AttributeType { .. } => "item-attribute-type",
            ItemProblem::NotListed => "item-value-not-listed",
            ItemProblem::NotATime { .. } => "item-key-time",
            ItemProblem::NoEntity => "item-no-entity",
            ItemProblem::KeyNotFixed => "item-key-not-fixed",
            ItemProblem::Key(KeyProblem::Missing) => "item-key-missing",
            ItemProblem::Key(KeyProblem::WrongType { .. }) => "item-key-type",
            ItemProblem::Key(KeyProblem::Empty) => "item-key-empty",
            ItemProblem::Key(KeyProblem::TooLong { .. }) => "item-key-too-long",
            ItemProblem::TooLarge { .. } => "item-too-large",
            ItemProblem::Number(_) => "item-number",
            ItemProblem::EmptySet => "item-set-empty",
            ItemProblem::RepeatedInSet => "item-set-repeated",
            ItemProblem::TooDeep => "item-too-deep",
        }
    }

    /// A suggestion, if there is one.
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self.problem {
            ItemProblem::TwoEntities { .. } => "let the `when` of the two entities exclude each other",
            ItemProblem::NotThisEntity { .. } => "fold it as another entity, or correct the attribute",
            ItemProblem::KeyPartLost => {
                "store the attribute on the item, or leave the attributes that its key is made of"
            }
            ItemProblem::ReservedName => {
                "names that begin with `keyfold_` never show in an answer: choose another name"
            }
            ItemProblem::Never { .. } => {
                "leave the attribute out, or declare it in the entity's `attributes`, or for the whole table"
            }
            ItemProblem::NoEntity => {
                "give the entities a `when` that such items fulfil before they have their key, or give the key a `fold` for other items"
            }
            ItemProblem::KeyNotFixed => {
                "the source's key must be what the template of the item's entity makes, and the item's attributes must have the values that this key contains"
            }
            ItemProblem::Key(KeyProblem::Empty) => {
                "leave the attribute out: the item is then absent from the index"
            }
            ItemProblem::NotATime { .. } => "the key sorts by time, so its attribute must be a timestamp",
            ItemProblem::Key(KeyProblem::TooLong { .. }) => "fold fewer or shorter attributes into the key",
            ItemProblem::TooLarge { .. } => {
                "store large values elsewhere, and keep a reference to them in the item"
            }
            ItemProblem::EmptySet => "leave the attribute out instead",
            ItemProblem::NotListed => "add the value to the attribute's `values` in the manifest",
            _ => return None,
        })
    }
}
