//! Writes: one item, or many.

mod batch;
mod keys;
mod load;
mod put;

use crate::error::DynamoError;

pub use batch::BATCH_WRITE_ITEMS_MAX;
pub use keys::KeysError;
pub use load::{LOAD_BATCHES_IN_FLIGHT_MAX, LoadError, Loaded, load};
pub use put::put;

/// Why an item was not written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// Its keys cannot be made.
    #[error(transparent)]
    Keys(#[from] KeysError),
    /// The call failed.
    #[error(transparent)]
    Dynamo(#[from] DynamoError),
}

impl WriteError {
    /// The code that stays the same, whatever the message says.
    pub fn code(&self) -> &'static str {
        match self {
            WriteError::Keys(_) => "no-keys",
            WriteError::Dynamo(error) => error.code(),
        }
    }

    /// Can the same write succeed a little later?
    pub fn is_retryable(&self) -> bool {
        matches!(self, WriteError::Dynamo(error) if error.is_retryable())
    }
}
