//! Converts errors of core and of DynamoDB into problems: one status for each code.

use keyfold_core::query::PlanError;
use keyfold_core::query::check::RequestError;
use keyfold_core::query::explain;
use keyfold_core::query::plan::PlanProblem;
use keyfold_core::query::question::QuestionError;
use keyfold_core::retrofit::MappingError;
use keyfold_dynamo::retrofit::RetrofitError;
use keyfold_dynamo::{AnswerError, BadToken, DynamoError, QueryError, SealError};
use serde_json::json;

use super::Problem;

impl From<RequestError> for Problem {
    fn from(error: RequestError) -> Problem {
        let status = match &error {
            RequestError::UnknownTable { .. } => 404,
            RequestError::ClaimMissing { .. }
            | RequestError::ClaimMismatch { .. }
            | RequestError::OutOfScope { .. } => 403,
            _ => 400,
        };
        Problem::new(status, error.code(), error.to_string()).maybe_hint(error.hint())
    }
}

impl From<QuestionError> for Problem {
    fn from(error: QuestionError) -> Problem {
        let status = match error {
            QuestionError::Request(error) => return error.into(),
            QuestionError::Unknown { .. } => 404,
            _ => 400,
        };
        Problem::new(status, error.code(), error.to_string()).maybe_hint(error.hint())
    }
}

impl From<PlanError> for Problem {
    fn from(error: PlanError) -> Problem {
        // A pending index works after the cut-over. Nothing failed, so no alarm is needed.
        let status = if matches!(error.problem, PlanProblem::Pending(..)) { 409 } else { 422 };
        let mut problem = Problem::new(status, error.code(), error.to_string()).hint(error.hint());
        problem.members.insert("rejected".to_owned(), json!(explain::rejected(&error.rejected)));
        problem.members.extend(error.suggestion.map(|text| ("suggestion".to_owned(), json!(text))));
        problem
    }
}

impl From<BadToken> for Problem {
    /// One problem for every reason: the failed check would only help those who forge tokens.
    fn from(_: BadToken) -> Problem {
        Problem::new(400, "bad-page-token", "the page token is not valid for this request")
            .hint("repeat the request without `page`, and use the tokens of that answer")
    }
}

impl From<SealError> for Problem {
    fn from(error: SealError) -> Problem {
        let status = match error {
            SealError::TooLong => 422,
            SealError::NoRandom => 500,
        };
        Problem::new(status, error.code(), error.to_string())
    }
}

impl From<QueryError> for Problem {
    fn from(error: QueryError) -> Problem {
        let status = match error {
            QueryError::Answer(AnswerError::BadPosition) => return BadToken.into(),
            QueryError::Dynamo(error) => {
                let problem = Problem::from(error);
                // A read that timed out or did not reach DynamoDB would fail again.
                let again = problem.again && matches!(problem.status, 429 | 503);
                return Problem { again, ..problem };
            }
            QueryError::Answer(
                AnswerError::ReadUnitsCap { .. }
                | AnswerError::TooManyReads { .. }
                | AnswerError::SortTooLarge { .. },
            ) => 422,
            QueryError::Answer(_) => 500,
        };
        Problem::new(status, error.code(), error.to_string()).maybe_hint(error.hint())
    }
}

impl From<MappingError> for Problem {
    fn from(error: MappingError) -> Problem {
        Problem::new(404, error.code(), error.to_string()).maybe_hint(error.hint())
    }
}

impl From<RetrofitError> for Problem {
    fn from(error: RetrofitError) -> Problem {
        match error {
            RetrofitError::Dynamo(error) => QueryError::Dynamo(error).into(),
            error => Problem::new(409, error.code(), error.to_string()).maybe_hint(error.hint()),
        }
    }
}

impl From<DynamoError> for Problem {
    /// A failed call: the status shows whether the caller or the service is responsible, and whether a retry can help.
    fn from(error: DynamoError) -> Problem {
        Problem::from(&error)
    }
}

impl From<&DynamoError> for Problem {
    fn from(error: &DynamoError) -> Problem {
        let (status, again) = match error {
            DynamoError::Throttled { .. } | DynamoError::Unprocessed { .. } => (429, true),
            DynamoError::Unavailable { .. } | DynamoError::Conflict { .. } => (503, true),
            DynamoError::TimedOut { .. } => (504, true),
            DynamoError::Transport { .. } => (502, true),
            DynamoError::CollectionFull { .. } => (507, false),
            _ => (502, false),
        };
        Problem { again, ..Problem::new(status, error.code(), error.to_string()).maybe_hint(error.hint()) }
    }
}
