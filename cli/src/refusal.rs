//! A refusal with a code: people read what happened and what to do, programs the API's problem document.

use std::fmt;

use keyfold_edge::Problem;

/// The error of a command, where it is one of the API's problems.
#[derive(Debug)]
pub(crate) struct Refusal(pub(crate) Problem);

impl Refusal {
    /// It as an error of a command.
    pub(crate) fn of(problem: impl Into<Problem>) -> anyhow::Error {
        anyhow::Error::new(Refusal(problem.into()))
    }
}

/// An error with its code. What to do about it stands after `hint: `, in lines of its own at the end.
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
        for turned in members.get("rejected").and_then(|rejected| rejected.as_array()).into_iter().flatten() {
            let text = |name: &str| turned[name].as_str().unwrap_or_default();
            write!(f, "\n  {}: {}", text("source"), text("reason"))?;
        }
        match hint {
            Some(hint) => write!(f, "\nhint: {}", hint.trim_end()),
            None => Ok(()),
        }
    }
}
