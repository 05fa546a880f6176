//! Why an update is refused.

use crate::index::ItemError;
use crate::model::Table;
use crate::value::{Hidden, Item};

/// Why an update is refused. Nothing was written.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[expect(missing_docs, reason = "the fields are the names that the messages show")]
pub enum UpdateRefusal {
    /// An update without changes.
    #[error("the update of an item of table `{table}` sets and removes nothing")]
    Empty { table: String },
    /// It sets a folded attribute.
    #[error("attribute `{attribute}` of table `{table}` is folded from others and cannot be set")]
    Folded { table: String, attribute: String },
    /// An attribute that is stored only in a folded key.
    #[error("attribute `{attribute}` of table `{table}` is only in a key and cannot be updated")]
    KeyPart { table: String, attribute: String },
    /// It changes the item's primary key, which DynamoDB cannot.
    #[error(
        "the update would change attribute `{attribute}`, which is in the primary key of table `{table}`"
    )]
    Key { table: String, attribute: String },
    /// DynamoDB would compute the new value of an attribute that keys depend on.
    #[error(
        "attribute `{attribute}` of table `{table}` is part of a key, and the update does not give its new value"
    )]
    Computed { table: String, attribute: String },
    /// Folded keys need unknown attributes, and the update does not allow reading.
    #[error("{} of table `{table}` cannot be computed without {}", listed(.keys), listed(.missing))]
    NeedsReading { table: String, keys: Vec<String>, missing: Vec<String> },
    /// There is no item with this key.
    #[error("table `{table}` has no item with this key")]
    NotFound { table: String },
    /// The item does not match the expectations.
    #[error("the item of table `{table}` is not as expected: {}", listed(.attributes))]
    Expectation { table: String, attributes: Vec<String>, item: Hidden<Box<Item>> },
    /// The item changed each time between the read and the write.
    #[error("the item of table `{table}` changed during each of {attempts} attempts to update it")]
    Contended { table: String, attempts: u32 },
    /// The item would not be one that can be written.
    #[error(transparent)]
    Item(#[from] ItemError),
}

impl UpdateRefusal {
    /// The stable error code.
    pub fn code(&self) -> &'static str {
        match self {
            UpdateRefusal::Empty { .. } => "update-empty",
            UpdateRefusal::Folded { .. } => "update-folded-attribute",
            UpdateRefusal::KeyPart { .. } => "update-key-part",
            UpdateRefusal::Key { .. } => "update-primary-key",
            UpdateRefusal::Computed { .. } => "update-computed-key",
            UpdateRefusal::NeedsReading { .. } => "update-needs-reading",
            UpdateRefusal::NotFound { .. } => "item-not-found",
            UpdateRefusal::Expectation { .. } => "expectation-failed",
            UpdateRefusal::Contended { .. } => "update-contended",
            UpdateRefusal::Item(error) => error.code(),
        }
    }

    /// A suggestion, if there is one.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            UpdateRefusal::Folded { .. } => Some("set the attributes that it is folded from"),
            UpdateRefusal::KeyPart { .. } => Some("put the whole item: that folds its keys again"),
            UpdateRefusal::Key { .. } => Some("delete the item and put it with its new key"),
            UpdateRefusal::Computed { .. } => Some("read the item, and set the attribute to its new value"),
            UpdateRefusal::NeedsReading { .. } => Some(
                "set them too, give their values with `expecting`, name the item's `entity`, or allow `reading`",
            ),
            UpdateRefusal::Item(error) => error.hint(),
            _ => None,
        }
    }

    /// Can the same update succeed a little later?
    pub fn is_retryable(&self) -> bool {
        matches!(self, UpdateRefusal::Contended { .. })
    }
}

pub(super) fn not_found(table: &Table) -> UpdateRefusal {
    UpdateRefusal::NotFound { table: table.id.clone() }
}

pub(super) fn expectation(table: &Table, attributes: Vec<String>, item: Item) -> UpdateRefusal {
    UpdateRefusal::Expectation { table: table.id.clone(), attributes, item: Hidden::new(Box::new(item)) }
}

fn listed(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
