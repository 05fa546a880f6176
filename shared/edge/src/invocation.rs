//! From the start of a function's process to the answer of each invocation: the same for every function.

use std::pin::Pin;
use std::time::SystemTime;

use lambda_runtime::{Diagnostic, Error, LambdaEvent, service_fn};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::{deadline, log};

/// One invocation.
#[derive(Debug, Clone, Copy)]
pub struct Invocation<'i> {
    /// Its event, as Lambda hands it over.
    pub event: &'i str,
    /// Its id.
    pub request_id: &'i str,
    /// When Lambda ends it; `None` outside Lambda.
    pub deadline: Option<SystemTime>,
}

/// An invocation that failed, as Lambda reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionError {
    /// A name that others can match: a state machine, an alarm.
    pub error_type: String,
    /// What happened, and what can be done about it. It never shows what an item holds.
    pub message: String,
}

/// An invocation's answer, and what the log and the metrics show of it.
#[derive(Debug)]
pub struct Handled<R> {
    /// For the caller.
    pub answer: Result<Value, FunctionError>,
    /// For the log and the metrics.
    pub record: R,
}

/// What the log and the metrics show of an invocation.
pub trait Record {
    /// Writes the log line and the metrics.
    fn write(&self);
}

/// The future of an invocation. It is boxed because the compiler follows nested futures only to a certain depth.
pub type Handling<'a, R> = Pin<Box<dyn Future<Output = Handled<R>> + Send + 'a>>;

/// Starts the function with this name and takes invocations until Lambda ends the process.
///
/// `start` builds everything that outlives an invocation. It runs before the first one, while Lambda still starts the function.
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
