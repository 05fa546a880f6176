//! Failed invocations, with names that a state machine can match.

use keyfold_core::retrofit::{CheckpointError, MappingError, SegmentRangeError};
use keyfold_dynamo::retrofit::RetrofitError;

use crate::FunctionError;

/// A failed invocation. The names are listed in `docs/errors.md`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The stable code.
    pub code: &'static str,
    /// The error, with a suggestion. It never contains an item's contents.
    pub message: String,
}

impl Failure {
    /// An invalid event.
    pub fn bad_event(detail: impl Into<String>) -> Failure {
        Failure { code: "bad-event", message: detail.into() }
    }

    fn new(code: &'static str, message: impl Into<String>, hint: Option<&str>) -> Failure {
        let message = message.into();
        let hint = hint.map(|hint| format!(" (hint: {hint})")).unwrap_or_default();
        Failure { code, message: format!("{message}{hint}") }
    }

    /// The error's type in Lambda's response, matched by a state machine's `Retry` and `Catch`.
    pub fn kind(&self) -> &'static str {
        match self.code {
            "bad-event" => "Keyfold.BadEvent",
            "unknown-retrofit" => "Keyfold.UnknownRetrofit",
            "segment-out-of-range" => "Keyfold.SegmentOutOfRange",
            "retrofit-not-started" => "Keyfold.RetrofitNotStarted",
            "mapping-changed" => "Keyfold.MappingChanged",
            "retrofit-closed" | "already-cut-over" => "Keyfold.RetrofitClosed",
            "other-stream" => "Keyfold.OtherStream",
            "unknown-format" => "Keyfold.UnknownFormat",
            "control-row-unreadable" => "Keyfold.ControlRowUnreadable",
            "checkpoint-unreadable" => "Keyfold.CheckpointUnreadable",
            "checkpoint-elsewhere" => "Keyfold.CheckpointOfAnother",
            "epoch-changed" => "Keyfold.EpochChanged",
            "source-without-stream" => "Keyfold.SourceWithoutStream",
            "stream-view-type" => "Keyfold.WrongStreamView",
            "table-differs" => "Keyfold.TableDiffers",
            "table-not-found" => "Keyfold.TableNotFound",
            "access-denied" => "Keyfold.AccessDenied",
            "nothing-to-judge-by" => "Keyfold.NothingToJudgeBy",
            "segment-leased" => "Keyfold.SegmentLeased",
            "lease-lost" => "Keyfold.LeaseLost",
            "out-of-time" => "Keyfold.OutOfTime",
            "item-not-settled" => "Keyfold.ItemNotSettled",
            "write-refused" => "Keyfold.WriteRefused",
            "throttled" | "unprocessed" => "Keyfold.Throttled",
            "unavailable" | "timed-out" | "not-reached" | "no-credentials" | "conflict"
            | "retrofit-raced" | "phase-changed" | "not-active" => "Keyfold.Unavailable",
            _ => "Keyfold.Failed",
        }
    }

    /// Can the same event succeed a little later?
    pub fn may_pass(&self) -> bool {
        matches!(self.kind(), "Keyfold.Throttled" | "Keyfold.Unavailable" | "Keyfold.ItemNotSettled")
    }

    /// An invocation without time for a single page.
    pub fn out_of_time() -> Failure {
        RetrofitError::OutOfTime.into()
    }

    /// A source without items to sample.
    pub(crate) fn nothing_to_judge_by() -> Failure {
        Failure::new("nothing-to-judge-by", "the source has no items to sample", None)
    }
}

impl From<Failure> for FunctionError {
    fn from(failure: Failure) -> FunctionError {
        FunctionError { error_type: failure.kind().to_owned(), message: failure.message }
    }
}

impl From<RetrofitError> for Failure {
    fn from(error: RetrofitError) -> Failure {
        Failure::new(error.code(), error.to_string(), error.hint())
    }
}

impl From<MappingError> for Failure {
    fn from(error: MappingError) -> Failure {
        Failure::new(error.code(), error.to_string(), error.hint().as_deref())
    }
}

impl From<CheckpointError> for Failure {
    fn from(error: CheckpointError) -> Failure {
        Failure::new(error.code(), error.to_string(), Some(error.hint()))
    }
}

impl From<SegmentRangeError> for Failure {
    fn from(error: SegmentRangeError) -> Failure {
        Failure::new("segment-out-of-range", error.to_string(), None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_in_the_documentation() {
        let (source, documented) = (include_str!("failure.rs"), include_str!("../../../../docs/errors.md"));
        let names: Vec<_> = source.split('"').filter(|text| text.starts_with("Keyfold.")).collect();
        assert!(names.len() > 20);
        for name in names {
            assert!(documented.contains(&format!("`{name}`")) || name == "Keyfold.", "{name}");
        }
    }

    #[test]
    fn a_message_says_what_can_be_done() {
        let error = RetrofitError::OutOfTime;
        let failure = Failure::from(error);
        assert_eq!((failure.kind(), failure.may_pass()), ("Keyfold.OutOfTime", false));
        assert!(failure.message.ends_with("(hint: give the function more time, or a higher rate)"));
        assert_eq!(Failure { code: "something new", message: String::new() }.kind(), "Keyfold.Failed");
    }
}
