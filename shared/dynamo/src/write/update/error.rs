//! Why an update did not happen.

use keyfold_core::index::ItemError;
use keyfold_core::model::Table;
use keyfold_core::value::Item;

use crate::error::{DynamoError, Hidden};
use crate::write::WriteError;

/// Why an update did not happen. Nothing was written, unless a call failed without an answer.
#[derive(Debug, thiserror::Error)]
pub enum UpdateError {
    /// It changes nothing.
    #[error("the update of an item of table `{table}` sets and removes nothing")]
    Empty {
        /// The table's name in the manifest.
        table: String,
    },
    /// It gives an attribute that is folded from others.
    #[error("attribute `{attribute}` of table `{table}` is folded from others and cannot be set")]
    Folded {
        /// The table's name in the manifest.
        table: String,
        /// The folded attribute.
        attribute: String,
    },
    /// It changes the item's primary key, which DynamoDB cannot.
    #[error(
        "the update would change attribute `{attribute}`, which is in the primary key of table `{table}`"
    )]
    Key {
        /// The table's name in the manifest.
        table: String,
        /// The key attribute.
        attribute: String,
    },
    /// Folded keys are made of attributes that are not known, and the update does not allow reading.
    #[error("{} of table `{table}` cannot be computed without {}", listed(.keys), listed(.missing))]
    NeedsReading {
        /// The table's name in the manifest.
        table: String,
        /// The folded attributes that the update touches.
        keys: Vec<String>,
        /// What they are made of and is not known.
        missing: Vec<String>,
    },
    /// There is no item with this key.
    #[error("table `{table}` has no item with this key")]
    NotFound {
        /// The table's name in the manifest.
        table: String,
    },
    /// The item is not what was expected.
    #[error("the item of table `{table}` is not as expected: {}", listed(.attributes))]
    Expectation {
        /// The table's name in the manifest.
        table: String,
        /// The attributes that differ.
        attributes: Vec<String>,
        /// The item as it is.
        item: Hidden<Box<Item>>,
    },
    /// The item changed each time between the read and the write.
    #[error("the item of table `{table}` changed during each of {attempts} attempts to update it")]
    Contended {
        /// The table's name in the manifest.
        table: String,
        /// How often the update was tried.
        attempts: u32,
    },
    /// The item would not be one that can be written, or a call failed.
    #[error(transparent)]
    Write(#[from] WriteError),
}

impl UpdateError {
    /// The code that stays the same, whatever the message says.
    pub fn code(&self) -> &'static str {
        match self {
            UpdateError::Empty { .. } => "update-empty",
            UpdateError::Folded { .. } => "update-folded-attribute",
            UpdateError::Key { .. } => "update-primary-key",
            UpdateError::NeedsReading { .. } => "update-needs-reading",
            UpdateError::NotFound { .. } => "item-not-found",
            UpdateError::Expectation { .. } => "expectation-failed",
            UpdateError::Contended { .. } => "update-contended",
            UpdateError::Write(error) => error.code(),
        }
    }

    /// What the reader can do about it, where there is something to say.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            UpdateError::Folded { .. } => Some("set the attributes that it is folded from"),
            UpdateError::Key { .. } => Some("delete the item and put it with its new key"),
            UpdateError::NeedsReading { .. } => {
                Some("set them too, give their values with `expecting`, or allow `reading`")
            }
            UpdateError::Write(error) => error.hint(),
            _ => None,
        }
    }

    /// Can the same update succeed a little later?
    pub fn is_retryable(&self) -> bool {
        match self {
            UpdateError::Contended { .. } => true,
            UpdateError::Write(error) => error.is_retryable(),
            _ => false,
        }
    }
}

impl From<DynamoError> for UpdateError {
    fn from(error: DynamoError) -> UpdateError {
        UpdateError::Write(error.into())
    }
}

impl From<ItemError> for UpdateError {
    fn from(error: ItemError) -> UpdateError {
        UpdateError::Write(error.into())
    }
}

pub(super) fn not_found(table: &Table) -> UpdateError {
    UpdateError::NotFound { table: table.id.clone() }
}

pub(super) fn expectation(table: &Table, attributes: Vec<String>, item: Item) -> UpdateError {
    UpdateError::Expectation { table: table.id.clone(), attributes, item: Hidden::new(Box::new(item)) }
}

fn listed(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
