//! The errors of DynamoDB.

use keyfold_core::index::ItemError;
use keyfold_core::value::Item;

/// Why a request to the table failed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[expect(missing_docs, reason = "the fields are the names that the messages show")]
pub enum TableError {
    /// The condition of a write failed. With the stored item.
    #[error("the condition does not hold")]
    ConditionFailed { old: Option<Box<Item>> },
    /// The item is not one that can be written.
    #[error(transparent)]
    Item(#[from] ItemError),
    #[error("the table has no index `{index}`")]
    UnknownIndex { index: String },
    #[error("the key needs `{attribute}`")]
    KeyIncomplete { attribute: String },
    #[error("the key has attributes that it should not have")]
    KeyExcess,
    #[error("key attribute `{attribute}` cannot have this value")]
    KeyValue { attribute: String },
    #[error("the key attribute `{attribute}` cannot be changed")]
    KeyChanged { attribute: String },
    #[error("the partition key attribute `{attribute}` must be given by equality, and alone")]
    Partition { attribute: String },
    #[error("the conditions on the sort key must come from the left, and only the last may be a range")]
    SortSequence,
    #[error("`between` on `{attribute}` has its lower bound above its upper bound")]
    InvertedBetween { attribute: String },
    #[error("`begins_with` does not apply to the number `{attribute}`")]
    PrefixOfNumber { attribute: String },
    #[error("a query cannot filter by `{attribute}`, which its key condition is about")]
    FilterOnKey { attribute: String },
    #[error("the index does not hold `{attribute}`")]
    NotProjected { attribute: String },
    #[error("a part of an expression says nothing")]
    EmptyExpression,
    #[error("a global index has no strongly consistent reads")]
    ConsistentGlobal,
    #[error("the limit must be at least 1")]
    Limit,
    #[error("the start key does not fit what is read")]
    StartKey,
}
