//! Why a plan was not answered.

use keyfold_core::execute::AnswerError;

use crate::error::DynamoError;

/// Why a plan was not answered.
#[derive(Debug, thiserror::Error)]
pub enum QueryError {
    /// A call failed, after every attempt.
    #[error(transparent)]
    Dynamo(#[from] DynamoError),
    /// The calls succeeded, but they give no answer.
    #[error(transparent)]
    Answer(#[from] AnswerError),
}

impl QueryError {
    /// The code that stays the same, whatever the message says.
    pub fn code(&self) -> &'static str {
        match self {
            QueryError::Dynamo(error) => error.code(),
            QueryError::Answer(error) => error.code(),
        }
    }

    /// What the reader can do about it, where there is something to say.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            QueryError::Dynamo(error) => error.hint(),
            QueryError::Answer(error) => error.hint(),
        }
    }

    /// Can the same request succeed a little later?
    pub fn is_retryable(&self) -> bool {
        matches!(self, QueryError::Dynamo(error) if error.is_retryable())
    }
}
