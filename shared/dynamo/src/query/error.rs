//! Why a plan was not answered.

use crate::error::DynamoError;

/// Why a plan was not answered.
#[derive(Debug, thiserror::Error)]
pub enum QueryError {
    /// A call failed, after every attempt.
    #[error(transparent)]
    Dynamo(#[from] DynamoError),
    /// Nothing can be answered within the read units allowed.
    #[error("this request on table `{table}` needs more than {units} read units")]
    ReadUnitsCap {
        /// The table's id.
        table: String,
        /// What was allowed.
        units: f64,
    },
    /// More reads are needed than one run makes.
    #[error("this request on table `{table}` needs more than {requests} reads")]
    TooManyReads {
        /// The table's id.
        table: String,
        /// How many were made.
        requests: u32,
    },
    /// More items match than may be sorted.
    #[error("more than {items_max} items of table `{table}` would have to be sorted")]
    SortTooLarge {
        /// The table's id.
        table: String,
        /// The most that are sorted.
        items_max: u32,
    },
    /// The position does not belong to this plan.
    #[error("the page does not belong to this request")]
    BadPosition,
    /// The plan reads an index that the table does not have.
    #[error("table `{table}` has no index `{index}`")]
    UnknownIndex {
        /// The table's id.
        table: String,
        /// The index.
        index: String,
    },
    /// An entry came without an attribute of its key.
    #[error("an item of table `{table}` has no key attribute `{attribute}`")]
    KeyMissing {
        /// The table's name in DynamoDB.
        table: String,
        /// The attribute.
        attribute: String,
    },
}

impl QueryError {
    /// The code that stays the same, whatever the message says.
    pub fn code(&self) -> &'static str {
        match self {
            QueryError::Dynamo(error) => error.code(),
            QueryError::ReadUnitsCap { .. } => "read-units-cap",
            QueryError::TooManyReads { .. } => "too-many-reads",
            QueryError::SortTooLarge { .. } => "sort-too-large",
            QueryError::BadPosition => "bad-page-token",
            QueryError::UnknownIndex { .. } => "unknown-index",
            QueryError::KeyMissing { .. } => "key-missing",
        }
    }

    /// What the reader can do about it, where there is something to say.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            QueryError::Dynamo(error) => error.hint(),
            QueryError::ReadUnitsCap { .. } => Some("allow more with `readUnitsMax`, or ask for less"),
            QueryError::TooManyReads { .. } => Some("ask for less, or add an index with fewer items"),
            QueryError::SortTooLarge { .. } => {
                Some("allow more with `sortInMemory`, or add an index that gives the order")
            }
            QueryError::BadPosition => Some("ask again from the first page"),
            QueryError::UnknownIndex { .. } | QueryError::KeyMissing { .. } => None,
        }
    }

    /// Can the same request succeed a little later?
    pub fn is_retryable(&self) -> bool {
        matches!(self, QueryError::Dynamo(error) if error.is_retryable())
    }
}
