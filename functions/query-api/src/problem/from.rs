//! From the errors of core, of the executor and of tokens to problems: one status for each code.

use http::StatusCode;
use keyfold_core::query::PlanError;
use keyfold_core::query::check::RequestError;
use keyfold_core::query::explain;
use keyfold_core::retrofit::MappingError;
use keyfold_dynamo::retrofit::RetrofitError;
use keyfold_dynamo::{BadToken, DynamoError, QueryError, SealError};

use super::{Problem, Refused};
use crate::question::QuestionError;
use crate::route::RouteError;

impl From<RouteError> for Problem {
    fn from(error: RouteError) -> Problem {
        let detail = error.to_string();
        match error {
            RouteError::Unknown => Problem::new(StatusCode::NOT_FOUND, "unknown-route", detail)
                .hint("GET /openapi.json lists every path"),
            RouteError::Method { allowed, .. } => {
                Problem::new(StatusCode::METHOD_NOT_ALLOWED, "method-not-allowed", detail)
                    .header("allow", allowed)
            }
        }
    }
}

impl From<RequestError> for Problem {
    fn from(error: RequestError) -> Problem {
        let status = match &error {
            RequestError::UnknownTable { .. } => StatusCode::NOT_FOUND,
            RequestError::ClaimMissing { .. }
            | RequestError::ClaimMismatch { .. }
            | RequestError::OutOfScope { .. } => StatusCode::FORBIDDEN,
            _ => StatusCode::BAD_REQUEST,
        };
        Problem::new(status, error.code(), error.to_string()).maybe_hint(error.hint())
    }
}

impl From<QuestionError> for Problem {
    fn from(error: QuestionError) -> Problem {
        let status = match error {
            QuestionError::Request(error) => return error.into(),
            QuestionError::Unknown { .. } => StatusCode::NOT_FOUND,
            _ => StatusCode::BAD_REQUEST,
        };
        Problem::new(status, error.code(), error.to_string()).maybe_hint(error.hint())
    }
}

impl From<PlanError> for Problem {
    fn from(error: PlanError) -> Problem {
        let problem = Problem::new(StatusCode::UNPROCESSABLE_ENTITY, error.code(), error.to_string());
        let rejected = explain::rejected(error.rejected());
        let hint = error.hint();
        let (PlanError::Unserved { suggestion, .. } | PlanError::Unordered { suggestion, .. }) = error;
        Problem { refused: Some(Box::new(Refused { rejected, suggestion })), ..problem.hint(hint) }
    }
}

impl From<BadToken> for Problem {
    /// One problem for every kind: which check failed is nobody's business.
    fn from(_: BadToken) -> Problem {
        Problem::bad_page_token()
    }
}

impl From<SealError> for Problem {
    fn from(error: SealError) -> Problem {
        let status = match error {
            SealError::TooLong => StatusCode::UNPROCESSABLE_ENTITY,
            SealError::NoRandom => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Problem::new(status, error.code(), error.to_string())
    }
}

impl From<QueryError> for Problem {
    fn from(error: QueryError) -> Problem {
        let (status, again) = match &error {
            QueryError::BadPosition => return Problem::bad_page_token(),
            QueryError::ReadUnitsCap { .. }
            | QueryError::TooManyReads { .. }
            | QueryError::SortTooLarge { .. } => (StatusCode::UNPROCESSABLE_ENTITY, false),
            QueryError::Dynamo(error) => of_dynamo(error),
            QueryError::UnknownIndex { .. } | QueryError::KeyMissing { .. } => {
                (StatusCode::INTERNAL_SERVER_ERROR, false)
            }
        };
        let hint = error.hint().map(str::to_owned);
        let problem = Problem::new(status, error.code(), error.to_string()).maybe_hint(hint);
        if again { problem.retry_after() } else { problem }
    }
}

impl From<MappingError> for Problem {
    fn from(error: MappingError) -> Problem {
        Problem::new(StatusCode::NOT_FOUND, error.code(), error.to_string()).maybe_hint(error.hint())
    }
}

impl From<DynamoError> for Problem {
    fn from(error: DynamoError) -> Problem {
        QueryError::Dynamo(error).into()
    }
}

impl From<RetrofitError> for Problem {
    fn from(error: RetrofitError) -> Problem {
        match error {
            RetrofitError::Dynamo(error) => error.into(),
            error => Problem::new(StatusCode::CONFLICT, error.code(), error.to_string())
                .maybe_hint(error.hint().map(str::to_owned)),
        }
    }
}

/// The status, and whether it is worth while to ask again soon.
fn of_dynamo(error: &DynamoError) -> (StatusCode, bool) {
    match error {
        DynamoError::Throttled { .. } | DynamoError::Unprocessed { .. } => {
            (StatusCode::TOO_MANY_REQUESTS, true)
        }
        DynamoError::Unavailable { .. } => (StatusCode::SERVICE_UNAVAILABLE, true),
        DynamoError::TimedOut { .. } => (StatusCode::GATEWAY_TIMEOUT, false),
        _ => (StatusCode::BAD_GATEWAY, false),
    }
}
