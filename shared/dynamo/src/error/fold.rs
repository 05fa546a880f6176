//! Converts the SDK's errors.
//!
//! Errors with data are recognised by type, all others by code: a `ValidationException` and others that an operation
//! does not model arrive as `Unhandled`.

use aws_credential_types::provider::error::CredentialsError;
use aws_sdk_dynamodb::Error as SdkError;
use aws_sdk_dynamodb::config::http::HttpResponse;
use aws_sdk_dynamodb::error::{
    BoxError, BuildError, ErrorMetadata, ProvideErrorMetadata, SdkError as CallError,
};
use aws_sdk_dynamodb::types::ThrottlingReason;
use aws_sdk_dynamodb::types::error::ConditionalCheckFailedException;
use aws_sdk_dynamodbstreams::config::http::HttpResponse as StreamResponse;

use super::{Call, DynamoError, Hidden, Obstacle, Throttle};
use crate::values;

/// A stream's code for throttling; for changes of a table the same code means something else.
const STREAM_READ_TOO_OFTEN: &str = "LimitExceededException";
/// The status of a server that knows no `POST`. DynamoDB never sends it.
const NOT_IMPLEMENTED: u16 = 501;

impl DynamoError {
    /// The error of a failed call.
    pub(crate) fn of<E>(call: Call, error: CallError<E, HttpResponse>) -> DynamoError
    where
        E: std::error::Error + Send + Sync + 'static,
        SdkError: From<E>,
    {
        match error {
            CallError::TimeoutError(_) => DynamoError::TimedOut { call },
            CallError::DispatchFailure(failure) if failure.is_timeout() => DynamoError::TimedOut { call },
            // A success that the SDK could not decode.
            CallError::ServiceError(context) if context.raw().status().is_success() => {
                DynamoError::Unreadable { call }
            }
            CallError::ServiceError(context) => {
                let status = context.raw().status();
                let server_fault = status.is_server_error() && status.as_u16() != NOT_IMPLEMENTED;
                DynamoError::of_service(call, &context.into_err().into(), server_fault)
            }
            // A source of these kinds concerns connections and credentials, not requests.
            error => DynamoError::unreached(call, error.into_source().unwrap_or_else(Into::into)),
        }
    }

    /// The error of a request that did not reach DynamoDB.
    fn unreached(call: Call, source: BoxError) -> DynamoError {
        let first: &(dyn std::error::Error + 'static) = &*source;
        let is_of = |test: &dyn Fn(&(dyn std::error::Error + 'static)) -> bool| {
            std::iter::successors(Some(first), |error| error.source()).any(test)
        };
        let obstacle = match () {
            () if is_of(&|error| error.is::<CredentialsError>()) => Obstacle::Credentials,
            // The message of DynamoDB's endpoint rules: the SDK has no type for this.
            () if is_of(&|error| error.to_string().contains("Missing Region")) => Obstacle::Region,
            () => Obstacle::Network,
        };
        DynamoError::Transport { call, obstacle, source }
    }

    /// The error that the service reports.
    fn of_service(call: Call, error: &SdkError, server_fault: bool) -> DynamoError {
        match error {
            SdkError::ProvisionedThroughputExceededException(throttled) => {
                throttled_by(call, throttled.throttling_reasons())
            }
            SdkError::RequestLimitExceeded(throttled) => throttled_by(call, throttled.throttling_reasons()),
            SdkError::ThrottlingException(throttled) => throttled_by(call, throttled.throttling_reasons()),
            SdkError::ConditionalCheckFailedException(failed) => condition_failed(call, failed),
            other => DynamoError::of_code(call, other.meta(), server_fault),
        }
    }

    /// The error of a failed call of a stream, which has only codes.
    pub(crate) fn of_stream<E>(call: Call, error: CallError<E, StreamResponse>) -> DynamoError
    where
        E: std::error::Error + ProvideErrorMetadata + Send + Sync + 'static,
    {
        match error {
            CallError::TimeoutError(_) => DynamoError::TimedOut { call },
            CallError::DispatchFailure(failure) if failure.is_timeout() => DynamoError::TimedOut { call },
            CallError::ServiceError(context) if context.err().code() == Some(STREAM_READ_TOO_OFTEN) => {
                throttled_by(call, &[])
            }
            CallError::ServiceError(context) => {
                let server_fault = context.raw().status().is_server_error();
                DynamoError::of_code(call, context.err().meta(), server_fault)
            }
            error => DynamoError::unreached(call, error.into_source().unwrap_or_else(Into::into)),
        }
    }

    /// The error with this code.
    fn of_code(call: Call, error: &ErrorMetadata, server_fault: bool) -> DynamoError {
        let detail = || Hidden::new(error.message().unwrap_or_default().to_owned());
        match error.code().unwrap_or("unknown") {
            "ValidationException" | "SerializationException" => {
                DynamoError::Invalid { call, detail: detail() }
            }
            "ProvisionedThroughputExceededException"
            | "RequestLimitExceeded"
            | "ThrottlingException"
            | "Throttling" => throttled_by(call, &[]),
            "ConditionalCheckFailedException" => {
                DynamoError::ConditionFailed { call, item: Hidden::new(None) }
            }
            "ResourceNotFoundException" => DynamoError::NotFound { call },
            "ResourceInUseException" => DynamoError::InUse { call },
            "ItemCollectionSizeLimitExceededException" => DynamoError::CollectionFull { call },
            "TransactionConflictException"
            | "TransactionInProgressException"
            | "ReplicatedWriteConflictException" => DynamoError::Conflict { call },
            reason @ ("AccessDeniedException"
            | "UnrecognizedClientException"
            | "MissingAuthenticationTokenException"
            | "InvalidSignatureException"
            | "IncompleteSignatureException"
            | "ExpiredTokenException") => DynamoError::Denied { call, reason: reason.to_owned() },
            "InternalServerError" | "ServiceUnavailable" => DynamoError::Unavailable { call },
            _ if server_fault => DynamoError::Unavailable { call },
            reason => DynamoError::Other { call, reason: reason.to_owned(), detail: detail() },
        }
    }

    /// The error of a request that the SDK cannot build.
    pub(crate) fn of_build(call: Call, error: &BuildError) -> DynamoError {
        DynamoError::Invalid { call, detail: Hidden::new(error.to_string()) }
    }
}

fn throttled_by(call: Call, reasons: &[ThrottlingReason]) -> DynamoError {
    let throttle = |reason: &ThrottlingReason| Throttle {
        reason: reason.reason().unwrap_or_default().to_owned(),
        resource: reason.resource().unwrap_or_default().to_owned(),
    };
    DynamoError::Throttled { call, reasons: reasons.iter().map(throttle).collect() }
}

fn condition_failed(call: Call, failed: &ConditionalCheckFailedException) -> DynamoError {
    match failed.item().map(|item| values::from_sdk(item.clone())).transpose() {
        Ok(item) => DynamoError::ConditionFailed { call, item: Hidden::new(item.map(Box::new)) },
        Err(values::UnknownType) => DynamoError::Unreadable { call },
    }
}
