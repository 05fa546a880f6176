//! An error of the core for a package: its code, its message, its hint.

use std::fmt::Display;

use keyfold_core::execute::AnswerError;
use keyfold_core::index::ItemError;
use keyfold_core::query::RequestError;
use keyfold_core::query::plan::PlanError;
use keyfold_core::query::question::QuestionError;
use keyfold_core::retrofit::CheckpointError;
use keyfold_core::retrofit::control::ControlError;
use keyfold_core::write::UpdateRefusal;
use serde::Serialize;

/// A refused call.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Failure {
    /// The stable code, listed in docs/errors.md.
    pub code: &'static str,
    /// The error, without an item's contents.
    pub message: String,
    /// A suggestion.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl Failure {
    fn new(code: &'static str, message: &impl Display, hint: Option<impl Into<String>>) -> Failure {
        Failure { code, message: message.to_string(), hint: hint.map(Into::into) }
    }

    /// A call with invalid arguments.
    pub fn call(message: impl Display) -> Failure {
        Failure::new("invalid-call", &message, None::<String>)
    }

    /// An invalid manifest; the text shows all mistakes.
    pub(crate) fn manifest(report: &str) -> Failure {
        Failure::new("invalid-manifest", &report.trim_end(), None::<String>)
    }

    /// As JSON.
    pub fn json(&self) -> String {
        text(self)
    }
}

impl From<ItemError> for Failure {
    fn from(error: ItemError) -> Failure {
        Failure::new(error.code(), &error, error.hint())
    }
}

impl From<ControlError> for Failure {
    fn from(error: ControlError) -> Failure {
        Failure::new(error.code(), &error, error.hint())
    }
}

impl From<CheckpointError> for Failure {
    fn from(error: CheckpointError) -> Failure {
        Failure::new(error.code(), &error, Some(error.hint()))
    }
}

impl From<UpdateRefusal> for Failure {
    fn from(error: UpdateRefusal) -> Failure {
        Failure::new(error.code(), &error, error.hint())
    }
}

impl From<RequestError> for Failure {
    fn from(error: RequestError) -> Failure {
        Failure::new(error.code(), &error, error.hint())
    }
}

impl From<QuestionError> for Failure {
    fn from(error: QuestionError) -> Failure {
        Failure::new(error.code(), &error, error.hint())
    }
}

impl From<PlanError> for Failure {
    fn from(error: PlanError) -> Failure {
        Failure::new(error.code(), &error, Some(error.hint()))
    }
}

impl From<AnswerError> for Failure {
    fn from(error: AnswerError) -> Failure {
        Failure::new(error.code(), &error, error.hint())
    }
}

/// Room for most answers, so that a text seldom grows.
const TEXT_BYTES: usize = 1 << 10;

/// As JSON.
pub(crate) fn text(value: &impl Serialize) -> String {
    let mut bytes = Vec::with_capacity(TEXT_BYTES);
    match serde_json::to_writer(&mut bytes, value).map(|()| String::from_utf8(bytes)) {
        Ok(Ok(text)) => text,
        _ => unreachable!("what this crate writes has texts for names and no infinite numbers"),
    }
}
