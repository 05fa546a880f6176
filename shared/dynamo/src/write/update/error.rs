//! Why an update did not happen.

use keyfold_core::write::UpdateRefusal;

use crate::error::DynamoError;

/// Why an update did not happen. Nothing was written, unless a call failed without an answer.
#[derive(Debug, thiserror::Error)]
pub enum UpdateError {
    /// It cannot happen, or the item is not such that it may.
    #[error(transparent)]
    Refused(#[from] UpdateRefusal),
    /// A call failed.
    #[error(transparent)]
    Dynamo(#[from] DynamoError),
}

impl UpdateError {
    /// The code that stays the same, whatever the message says.
    pub fn code(&self) -> &'static str {
        match self {
            UpdateError::Refused(error) => error.code(),
            UpdateError::Dynamo(error) => error.code(),
        }
    }

    /// What the reader can do about it, where there is something to say.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            UpdateError::Refused(error) => error.hint(),
            UpdateError::Dynamo(error) => error.hint(),
        }
    }

    /// Can the same update succeed a little later?
    pub fn is_retryable(&self) -> bool {
        match self {
            UpdateError::Refused(error) => error.is_retryable(),
            UpdateError::Dynamo(error) => error.is_retryable(),
        }
    }
}
