//! Writes: one item, or many.

mod batch;
mod keys;
mod load;
mod put;

use keyfold_core::index::ItemError;

use crate::error::DynamoError;

pub use batch::BATCH_WRITE_ITEMS_MAX;
pub use keys::{KeysOutcome, set_keys};
pub use load::{LOAD_BATCHES_IN_FLIGHT_MAX, LoadError, Loaded, load};
pub use put::{put, put_new};

/// Why an item was not written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// Its keys cannot be made, or DynamoDB would refuse it. Nothing was sent.
    #[error(transparent)]
    Item(#[from] ItemError),
    /// The call failed.
    #[error(transparent)]
    Dynamo(#[from] DynamoError),
}

impl WriteError {
    /// The code that stays the same, whatever the message says.
    pub fn code(&self) -> &'static str {
        match self {
            WriteError::Item(error) => error.code(),
            WriteError::Dynamo(error) => error.code(),
        }
    }

    /// What the reader can do about it, where there is something to say.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            WriteError::Item(error) => error.hint(),
            WriteError::Dynamo(error) => error.hint(),
        }
    }

    /// Can the same write succeed a little later?
    pub fn is_retryable(&self) -> bool {
        matches!(self, WriteError::Dynamo(error) if error.is_retryable())
    }
}
