//! Why a plan was not answered.

/// Why a plan was not answered.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[expect(missing_docs, reason = "the fields are the names that the messages show")]
pub enum AnswerError {
    /// Nothing can be answered within the read units allowed.
    #[error("this request on table `{table}` needs more than {units} read units")]
    ReadUnitsCap { table: String, units: f64 },
    /// More reads are needed than one run makes.
    #[error("this request on table `{table}` needs more than {requests} reads")]
    TooManyReads { table: String, requests: u32 },
    /// More items match than may be sorted.
    #[error("more than {items_max} items of table `{table}` would have to be sorted")]
    SortTooLarge { table: String, items_max: u32 },
    /// Something arrived that no access waits for.
    #[error("the response belongs to no request that is under way")]
    NotAsked,
    /// The position does not belong to this plan.
    #[error("the page does not belong to this request")]
    BadPosition,
    /// The plan reads an index that the table does not have.
    #[error("table `{table}` has no index `{index}`")]
    UnknownIndex { table: String, index: String },
    /// An entry came without an attribute of its key.
    #[error("an item of table `{table}` has no key attribute `{attribute}`")]
    KeyMissing { table: String, attribute: String },
}

impl AnswerError {
    /// The stable error code.
    pub fn code(&self) -> &'static str {
        match self {
            AnswerError::ReadUnitsCap { .. } => "read-units-cap",
            AnswerError::TooManyReads { .. } => "too-many-reads",
            AnswerError::SortTooLarge { .. } => "sort-too-large",
            AnswerError::NotAsked => "not-asked",
            AnswerError::BadPosition => "bad-page-token",
            AnswerError::UnknownIndex { .. } => "unknown-index",
            AnswerError::KeyMissing { .. } => "key-missing",
        }
    }

    /// A suggestion, if there is one.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            AnswerError::ReadUnitsCap { .. } => Some("allow more with `readUnitsMax`, or ask for less"),
            AnswerError::TooManyReads { .. } => Some("ask for less, or add an index with fewer items"),
            AnswerError::SortTooLarge { .. } => {
                Some("allow more with `sortInMemory`, or add an index that gives the order")
            }
            AnswerError::BadPosition => Some("ask again from the first page"),
            AnswerError::NotAsked | AnswerError::UnknownIndex { .. } | AnswerError::KeyMissing { .. } => None,
        }
    }
}
