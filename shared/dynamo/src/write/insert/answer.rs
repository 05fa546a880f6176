//! What DynamoDB said of each item of a request.

use std::sync::Arc;

use aws_sdk_dynamodb::types::{BatchStatementError, BatchStatementErrorCodeEnum, BatchStatementResponse};

use super::Collection;
use crate::consumed::Consumed;
use crate::error::{Call, DynamoError, Hidden};

/// What one request came to, or several that became of it.
#[derive(Debug, Default)]
pub(super) struct Answer {
    pub(super) verdicts: Vec<(usize, Verdict)>,
    pub(super) consumed: Consumed,
    pub(super) requests: u64,
    pub(super) collection: Option<Collection>,
}

/// What is known of one item after one attempt.
#[derive(Debug)]
pub(super) enum Verdict {
    Written,
    /// Some item has its key.
    Taken,
    Failed(Arc<DynamoError>),
}

impl Verdict {
    /// What the answer to one statement means.
    pub(super) fn of(call: &Call, response: &BatchStatementResponse) -> Verdict {
        use BatchStatementErrorCodeEnum as Code;
        let Some(error) = response.error() else { return Verdict::Written };
        let call = || call.clone();
        let failed = match error.code() {
            Some(Code::DuplicateItem | Code::ConditionalCheckFailed) => return Verdict::Taken,
            Some(
                Code::ProvisionedThroughputExceeded | Code::RequestLimitExceeded | Code::ThrottlingError,
            ) => DynamoError::Throttled { call: call(), reasons: Vec::new() },
            Some(Code::TransactionConflict) => DynamoError::Conflict { call: call() },
            Some(Code::InternalServerError) => DynamoError::Unavailable { call: call() },
            Some(Code::ItemCollectionSizeLimitExceeded) => DynamoError::CollectionFull { call: call() },
            Some(Code::ValidationError) => DynamoError::Invalid { call: call(), detail: detail(error) },
            Some(Code::AccessDenied) => {
                DynamoError::Denied { call: call(), reason: "AccessDenied".to_owned() }
            }
            Some(Code::ResourceNotFound) => DynamoError::NotFound { call: call() },
            other => {
                let reason = other.map_or("unknown", Code::as_str).to_owned();
                DynamoError::Other { call: call(), reason, detail: detail(error) }
            }
        };
        Verdict::Failed(Arc::new(failed))
    }
}

fn detail(error: &BatchStatementError) -> Hidden<String> {
    Hidden::new(error.message().unwrap_or_default().to_owned())
}
