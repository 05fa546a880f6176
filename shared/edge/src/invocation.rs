//! A function's process from its start to the answer of each invocation, common to all functions.

use std::pin::Pin;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use lambda_runtime::{Diagnostic, Error, LambdaEvent, service_fn};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::log;

/// Deadlines older than this are ignored: no invocation lasts as long. `cargo lambda watch` sends a short time since
/// 1970 as the deadline.
const OVER_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// One invocation.
#[derive(Debug, Clone, Copy)]
pub struct Invocation<'i> {
    /// Its event, as received from Lambda.
    pub event: &'i str,
    /// Its id.
    pub request_id: &'i str,
    /// When Lambda ends it; `None` outside Lambda.
    pub deadline: Option<SystemTime>,
}

/// An invocation that failed, as Lambda reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionError {
    /// A name for matching, in a state machine or an alarm.
    pub error_type: String,
    /// The error, with a suggestion. It never shows an item's contents.
    pub message: String,
}

/// An invocation's answer, with the record for the log and the metrics.
#[derive(Debug)]
pub struct Handled<R> {
    /// For the caller.
    pub answer: Result<Value, FunctionError>,
    /// For the log and the metrics.
    pub record: R,
}

/// The record of an invocation for the log and the metrics.
pub trait Record {
    /// Writes the log line and the metrics.
    fn write(&self);
}

/// The future of an invocation. It is boxed because the compiler follows nested futures only to a certain depth.
pub type Handling<'a, R> = Pin<Box<dyn Future<Output = Handled<R>> + Send + 'a>>;

/// Starts the function with this name and handles invocations until Lambda ends the process.
///
/// `start` builds everything that outlives an invocation. It runs before the first one, while Lambda still starts the
/// function.
pub async fn serve<S, E, R, F>(
    name: &str,
    start: impl Future<Output = Result<S, E>>,
    handle: F,
) -> Result<(), Error>
where
    S: Sync,
    E: std::error::Error + Send + Sync + 'static,
    R: Record,
    F: for<'a> Fn(&'a S, Invocation<'a>) -> Handling<'a, R>,
{
    log::start();
    let state = start.await.inspect_err(|error| {
        tracing::error!(target: log::TARGET, %error, "the {name} cannot start");
    })?;
    let (state, handle) = (&state, &handle);
    let answer = |event: LambdaEvent<Box<RawValue>>| async move {
        let LambdaEvent { payload, context } = event;
        let deadline = deadline(context.deadline);
        let invocation = Invocation { event: payload.get(), request_id: &context.request_id, deadline };
        let handled = handle(state, invocation).await;
        handled.record.write();
        handled.answer.map_err(|FunctionError { error_type, message }| Diagnostic {
            error_type,
            error_message: message,
        })
    };
    lambda_runtime::run(service_fn(answer)).await
}

/// When Lambda ends an invocation, from the milliseconds since 1970 of its context; `None` outside Lambda.
pub fn deadline(milliseconds: u64) -> Option<SystemTime> {
    let deadline = UNIX_EPOCH.checked_add(Duration::from_millis(milliseconds))?;
    let over = SystemTime::now().duration_since(deadline).unwrap_or_default();
    (over < OVER_MAX).then_some(deadline)
}

/// The error type of a code: `Keyfold.MappingChanged` for `mapping-changed`.
///
/// ```
/// assert_eq!(keyfold_edge::error_type("mapping-changed"), "Keyfold.MappingChanged");
/// ```
pub fn error_type(code: &str) -> String {
    if code == "stream-view-type" {
        // The state machine matches this name.
        return "Keyfold.WrongStreamView".to_owned();
    }
    let mut name = String::from("Keyfold.");
    for word in code.split('-') {
        let mut letters = word.chars();
        name.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        name.push_str(letters.as_str());
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now_ms() -> u64 {
        u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap()
    }

    #[test]
    fn a_deadline_is_one_even_if_it_is_just_over() {
        for milliseconds in [now_ms() + 30_000, now_ms() - 30_000] {
            assert_eq!(deadline(milliseconds), Some(UNIX_EPOCH + Duration::from_millis(milliseconds)));
        }
    }

    #[test]
    fn what_a_program_says_that_has_no_deadlines_is_none() {
        for milliseconds in [0, 600_000, now_ms() - 2 * 24 * 60 * 60 * 1000] {
            assert_eq!(deadline(milliseconds), None, "{milliseconds}");
        }
    }
}
