//! A refusal with a code: text with a hint for people, the API's problem document for programs.

use std::fmt;

use keyfold_core::index::ItemError;
use keyfold_dynamo::{AddIndexError, ApplyError, EnsureError, ServiceError, UpdateError, WriteError};
use keyfold_edge::Problem;

/// The error of a command, where it is one of the API's problems.
#[derive(Debug)]
pub(crate) struct Refusal(pub(crate) Problem);

impl Refusal {
    /// The problem as an error of a command.
    pub(crate) fn of(problem: impl Into<Problem>) -> anyhow::Error {
        anyhow::Error::new(Refusal(problem.into()))
    }

    /// The same, with the causes of the error in its text.
    pub(crate) fn with_causes<E: std::error::Error + 'static>(error: E) -> anyhow::Error
    where
        Problem: From<E>,
    {
        let detail = with_causes(&error);
        Refusal::of(Problem { detail, ..Problem::from(error) })
    }
}

/// An error with a stable code, and a hint where the reader can act.
pub(crate) trait CodedError: std::error::Error {
    fn code_and_hint(&self) -> (&'static str, Option<&'static str>);
}

macro_rules! coded_errors {
    ($($error:ty),*) => { $(
        impl CodedError for $error {
            fn code_and_hint(&self) -> (&'static str, Option<&'static str>) {
                (self.code(), self.hint())
            }
        }
    )* };
}
coded_errors!(AddIndexError, ApplyError, EnsureError, ItemError, ServiceError, UpdateError, WriteError);

/// An error with its causes, its code and its hint.
#[expect(clippy::needless_pass_by_value, reason = "`map_err` passes it so")]
pub(crate) fn explained(error: impl CodedError + 'static) -> anyhow::Error {
    let (code, hint) = error.code_and_hint();
    Refusal::of(Problem::new(500, code, with_causes(&error)).maybe_hint(hint))
}

/// What happened, and why.
fn with_causes(error: &(dyn std::error::Error + 'static)) -> String {
    anyhow::Chain::new(error).map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

/// An error with its code. A hint comes last, on a separate line that begins with `hint: `.
pub(crate) fn coded(code: &'static str, text: &str) -> anyhow::Error {
    let (detail, hint) = match text.split_once("\nhint: ") {
        Some((detail, hint)) => (detail, Some(hint)),
        None => (text, None),
    };
    Refusal::of(Problem::new(409, code, detail).maybe_hint(hint))
}

/// Ends a command with an error that has a code.
macro_rules! refuse {
    ($code:literal, $($text:tt)*) => {
        return Err($crate::refusal::coded($code, &format!($($text)*)))
    };
}
pub(crate) use refuse;

impl std::error::Error for Refusal {}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Problem { detail, code, hint, members, .. } = &self.0;
        write!(f, "{detail} ({code})")?;
        for rejected in members.get("rejected").and_then(|rejected| rejected.as_array()).into_iter().flatten()
        {
            let text = |name: &str| rejected[name].as_str().unwrap_or_default();
            write!(f, "\n  {}: {}", text("source"), text("reason"))?;
        }
        match hint {
            Some(hint) => write!(f, "\nhint: {}", hint.trim_end()),
            None => Ok(()),
        }
    }
}
