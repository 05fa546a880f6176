//! Errors of calls: one enum for all operations, with stable codes.
//!
//! Messages name the operation, the table and the index, never an item's contents. DynamoDB's own messages can quote
//! values of the request; they are kept in a [`Hidden`] detail.

mod fold;

use std::fmt;
use std::time::Duration;

use aws_sdk_dynamodb::error::BoxError;
use keyfold_core::format::UnknownFormat;
use keyfold_core::value::Item;

pub use keyfold_core::value::Hidden;

/// Why a call to DynamoDB failed, after the SDK's own retries.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the fields are the names that the messages show")]
pub enum DynamoError {
    /// The request was throttled.
    #[error("{call} was throttled{}", because(.reasons))]
    Throttled { call: Call, reasons: Vec<Throttle> },
    /// The condition of a write failed.
    #[error("the condition of {call} does not hold")]
    ConditionFailed { call: Call, item: Hidden<Option<Box<Item>>> },
    /// Another request is writing the same item.
    #[error("{call} conflicted with another write of the same item")]
    Conflict { call: Call },
    /// DynamoDB rejected the request.
    #[error("{call} is not valid")]
    Invalid { call: Call, detail: Hidden<String> },
    /// The table does not exist, or is not ready.
    #[error("{call} found no such table")]
    NotFound { call: Call },
    /// The table exists already, or is being changed.
    #[error("{call} found a table that already exists or is being changed")]
    InUse { call: Call },
    /// An item collection of a table with local indexes has reached 10 GB.
    #[error("{call} would make an item collection larger than 10 GB")]
    CollectionFull { call: Call },
    /// The caller lacks the permission.
    #[error("{call} is not allowed (`{reason}`)")]
    Denied { call: Call, reason: String },
    /// DynamoDB failed internally.
    #[error("{call} failed inside DynamoDB")]
    Unavailable { call: Call },
    /// No response in time. The request may have been executed.
    #[error("{call} got no answer in time")]
    TimedOut { call: Call },
    /// No connection, no credentials, no region, or an invalid response. The request may have been executed.
    #[error("{call} did not reach DynamoDB{}", .obstacle.text())]
    Transport { call: Call, obstacle: Obstacle, source: BoxError },
    /// Parts of a batch stayed unprocessed after every attempt.
    #[error("{call} left {left} undone after {attempts} attempts")]
    Unprocessed { call: Call, left: usize, attempts: u32 },
    /// Too many keys for one DynamoDB batch.
    #[error("{call} takes at most {most} keys, not {given}")]
    TooMany { call: Call, given: usize, most: usize },
    /// The response is invalid, or contains a value of an unknown type.
    #[error("{call} got an answer that cannot be read")]
    Unreadable { call: Call },
    /// Another version of Keyfold wrote the data.
    #[error("{call}: {source}")]
    UnknownFormat { call: Call, source: UnknownFormat },
    /// The table or one of its indexes did not become active in time.
    #[error("{call} waited {} s, but the table or an index is still not active", .waited.as_secs())]
    NotActive { call: Call, waited: Duration },
    /// Anything else.
    #[error("{call} failed (`{reason}`)")]
    Other { call: Call, reason: String, detail: Hidden<String> },
}

/// Why a request did not reach DynamoDB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Obstacle {
    /// No connection, or a broken one.
    Network,
    /// No credentials were found.
    Credentials,
    /// No region is set.
    Region,
}

impl Obstacle {
    fn text(self) -> &'static str {
        match self {
            Obstacle::Network => "",
            Obstacle::Credentials => ": no credentials were found",
            Obstacle::Region => ": no region is set",
        }
    }
}

/// One reason why a request was throttled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Throttle {
    /// DynamoDB's reason: `TableReadProvisionedThroughputExceeded`, `IndexWriteKeyRangeThroughputExceeded`, ...
    pub reason: String,
    /// The ARN of the table or index.
    pub resource: String,
}

impl DynamoError {
    /// The stable error code.
    pub fn code(&self) -> &'static str {
        match self {
            DynamoError::Throttled { .. } => "throttled",
            DynamoError::ConditionFailed { .. } => "condition-failed",
            DynamoError::Conflict { .. } => "conflict",
            DynamoError::Invalid { .. } => "invalid-request",
            DynamoError::NotFound { .. } => "table-not-found",
            DynamoError::InUse { .. } => "table-in-use",
            DynamoError::CollectionFull { .. } => "item-collection-full",
            DynamoError::Denied { .. } => "access-denied",
            DynamoError::Unavailable { .. } => "unavailable",
            DynamoError::TimedOut { .. } => "timed-out",
            DynamoError::Transport { obstacle: Obstacle::Network, .. } => "not-reached",
            DynamoError::Transport { obstacle: Obstacle::Credentials, .. } => "no-credentials",
            DynamoError::Transport { obstacle: Obstacle::Region, .. } => "no-region",
            DynamoError::Unprocessed { .. } => "unprocessed",
            DynamoError::TooMany { .. } => "too-many-keys",
            DynamoError::Unreadable { .. } => "unreadable-answer",
            DynamoError::UnknownFormat { source, .. } => source.code(),
            DynamoError::NotActive { .. } => "not-active",
            DynamoError::Other { .. } => "other",
        }
    }

    /// The index of the call, if it is missing or still being filled. Only DynamoDB's message shows that.
    pub fn missing_index(&self) -> Option<&str> {
        let DynamoError::Invalid { call, detail } = self else { return None };
        let words = ["does not have the specified index", "backfilling global secondary index"];
        let is_missing = words.iter().any(|words| detail.reveal().contains(words));
        call.index.as_deref().filter(|_| is_missing)
    }

    /// Did the call consume nothing, because DynamoDB refused it or it was never sent?
    pub(crate) fn is_free(&self) -> bool {
        matches!(
            self,
            DynamoError::Throttled { .. }
                | DynamoError::Invalid { .. }
                | DynamoError::NotFound { .. }
                | DynamoError::Denied { .. }
                | DynamoError::Transport { obstacle: Obstacle::Credentials | Obstacle::Region, .. }
        )
    }

    /// Can the same request succeed a little later?
    pub fn is_retryable(&self) -> bool {
        matches!(
            self,
            DynamoError::Throttled { .. }
                | DynamoError::Conflict { .. }
                | DynamoError::Unavailable { .. }
                | DynamoError::TimedOut { .. }
                | DynamoError::Transport { obstacle: Obstacle::Network | Obstacle::Credentials, .. }
                | DynamoError::Unprocessed { .. }
                | DynamoError::NotActive { .. }
        )
    }

    /// DynamoDB's own message, if there is one. It can quote values of the request: not for logs.
    pub fn detail(&self) -> Option<&str> {
        match self {
            DynamoError::Invalid { detail, .. } | DynamoError::Other { detail, .. } => Some(detail.reveal()),
            _ => None,
        }
    }

    /// A suggestion, if there is one.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            DynamoError::NotFound { .. } => {
                Some("create the table first, and check the region and the endpoint")
            }
            DynamoError::Denied { .. } => Some("check the credentials and the rights of their role"),
            DynamoError::Transport { obstacle, .. } => Some(match obstacle {
                Obstacle::Network => "check the endpoint and the network",
                Obstacle::Credentials => "set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
                Obstacle::Region => "set AWS_REGION, or a region in your AWS profile",
            }),
            DynamoError::CollectionFull { .. } => {
                Some("spread the partition key over several values, or remove the local indexes")
            }
            DynamoError::UnknownFormat { source, .. } => Some(source.hint()),
            DynamoError::TooMany { .. } => Some("split the keys into several batches"),
            // DynamoDB's codes are in camel case.
            DynamoError::Other { reason, .. } if !reason.starts_with(char::is_uppercase) => {
                Some("check the endpoint: this is not an answer of DynamoDB")
            }
            _ => None,
        }
    }
}

/// The reasons of a throttled request, for its message.
fn because(reasons: &[Throttle]) -> String {
    let reasons: Vec<_> = reasons.iter().map(|throttle| format!("`{}`", throttle.reason)).collect();
    if reasons.is_empty() { String::new() } else { format!(" ({})", reasons.join(", ")) }
}

/// An operation with its table and index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The operation, in DynamoDB's words: `Query`.
    pub operation: &'static str,
    /// The table's name in DynamoDB; empty for an operation on the account.
    pub table: Box<str>,
    /// The index, if the operation names one.
    pub index: Option<Box<str>>,
}

impl Call {
    /// An operation on a table.
    pub(crate) fn new(operation: &'static str, table: &str) -> Call {
        Call { operation, table: table.into(), index: None }
    }

    /// An operation on a table or one of its indexes.
    pub(crate) fn on(operation: &'static str, table: &str, index: Option<&str>) -> Call {
        Call { index: index.map(Into::into), ..Call::new(operation, table) }
    }
}

/// `` `Query` on table `audit`, index `byUser` ``
impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", self.operation)?;
        if !self.table.is_empty() {
            write!(f, " on table `{}`", self.table)?;
        }
        match &self.index {
            Some(index) => write!(f, ", index `{index}`"),
            None => Ok(()),
        }
    }
}
