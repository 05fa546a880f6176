//! Why a whole batch fails. Nothing was written, unless a variant says so.

use keyfold_core::retrofit::MappingError;
use keyfold_dynamo::retrofit::RetrofitError;
use keyfold_edge::{FunctionError, error_type};

/// Why a whole batch fails.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the fields are the names that the messages show")]
pub enum Refusal {
    /// The event is not a batch of stream records.
    #[error("the event is not a batch of stream records: {reason}")]
    Malformed { reason: &'static str },
    /// The stream does not carry both images.
    #[error("the stream's records have view type `{view}`")]
    ViewType { view: String },
    /// The manifest does not have the retrofit.
    #[error(transparent)]
    Mapping(#[from] MappingError),
    /// The control table does not allow it, or could not be read.
    #[error(transparent)]
    Retrofit(#[from] RetrofitError),
    /// The control table did not answer before the deadline.
    #[error("the control table did not answer in time")]
    TimedOut,
    /// A record without a sequence number was not processed, so no record can be named to continue from. The others may
    /// have been written.
    #[error("a record without a sequence number could not be recorded in quarantine{}", because(.cause.as_ref()))]
    Unnamed { cause: Option<RetrofitError> },
}

fn because(cause: Option<&RetrofitError>) -> String {
    cause.map_or_else(String::new, |cause| format!(": {cause}"))
}

impl Refusal {
    /// The stable error code.
    pub fn code(&self) -> &'static str {
        match self {
            Refusal::Malformed { .. } => "malformed-batch",
            Refusal::ViewType { .. } => "stream-view-type",
            Refusal::Mapping(error) => error.code(),
            Refusal::Retrofit(error) => error.code(),
            Refusal::TimedOut => "timed-out",
            Refusal::Unnamed { .. } => "record-not-settled",
        }
    }

    /// A suggestion.
    pub fn hint(&self) -> Option<String> {
        match self {
            Refusal::ViewType { .. } => Some(
                "a stream's view type cannot be changed: disable the stream, then enable it with NEW_AND_OLD_IMAGES"
                    .to_owned(),
            ),
            Refusal::Mapping(error) => error.hint(),
            Refusal::Retrofit(error) => error.hint().map(str::to_owned),
            Refusal::Malformed { .. } | Refusal::TimedOut | Refusal::Unnamed { .. } => None,
        }
    }
}

impl From<&Refusal> for FunctionError {
    fn from(refusal: &Refusal) -> FunctionError {
        let hint = refusal.hint().map_or_else(String::new, |hint| format!(" (hint: {hint})"));
        FunctionError { error_type: error_type(refusal.code()), message: format!("{refusal}{hint}") }
    }
}
