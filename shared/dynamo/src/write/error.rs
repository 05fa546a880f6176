//! Why an item was not written.

use std::sync::Arc;

use keyfold_core::index::ItemError;
use keyfold_core::write::NotAnItem;

use crate::error::DynamoError;

/// Why an item was not written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// A value that is not an item: it has no named fields, or one without a DynamoDB type. Nothing was sent.
    #[error(transparent)]
    NotAnItem(#[from] NotAnItem),
    /// Its keys cannot be made, or DynamoDB would refuse it. Nothing was sent.
    #[error(transparent)]
    Item(#[from] ItemError),
    /// The call failed.
    #[error(transparent)]
    Dynamo(#[from] DynamoError),
    /// The call that carried it and others failed.
    #[error(transparent)]
    Batch(#[from] Arc<DynamoError>),
}

impl WriteError {
    /// The stable error code.
    pub fn code(&self) -> &'static str {
        match self {
            WriteError::NotAnItem(error) => error.code(),
            WriteError::Item(error) => error.code(),
            _ => self.dynamo().map_or("other", DynamoError::code),
        }
    }

    /// A suggestion, if there is one.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            WriteError::Item(error) => error.hint(),
            _ => self.dynamo().and_then(DynamoError::hint),
        }
    }

    /// Can the same write succeed a little later?
    pub fn is_retryable(&self) -> bool {
        self.dynamo().is_some_and(DynamoError::is_retryable)
    }

    /// The failed call, if it came to one.
    pub fn dynamo(&self) -> Option<&DynamoError> {
        match self {
            WriteError::Dynamo(error) => Some(error),
            WriteError::Batch(error) => Some(error),
            WriteError::NotAnItem(_) | WriteError::Item(_) => None,
        }
    }
}
