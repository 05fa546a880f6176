//! A function that takes slices: from the start of its process to the answer of each invocation.

use std::pin::Pin;
use std::time::{Instant, SystemTime};

use lambda_runtime::{Diagnostic, Error, LambdaEvent, service_fn};
use serde_json::Value;
use serde_json::value::RawValue;

use super::{Failure, RetrofitSettings, RetrofitStartError, Retrofits, SliceRecord};
use crate::{deadline, log};

/// An answer, and what is to be told of it.
#[derive(Debug)]
pub struct Handled {
    /// For the caller.
    pub answer: Result<Value, Failure>,
    /// For the log and the metrics.
    pub record: SliceRecord,
}

impl Handled {
    /// Lets a function answer an invocation, and notes in its record how that ended.
    pub async fn by(
        namespace: &'static str,
        request_id: &str,
        respond: impl AsyncFnOnce(&mut SliceRecord) -> Result<Value, Failure>,
    ) -> Handled {
        let begun = Instant::now();
        let mut record = SliceRecord::begun(namespace, request_id);
        let answer = respond(&mut record).await;
        if let Err(failure) = &answer {
            (record.code, record.failed) = (failure.code, true);
        }
        record.duration = begun.elapsed();
        Handled { answer, record }
    }
}

/// What a function does with an event, its request's id, and the time at which Lambda ends it. Boxed: the compiler follows
/// the types of futures inside of futures only so deep.
pub type Handling<'a> = Pin<Box<dyn Future<Output = Handled> + Send + 'a>>;

/// Starts the function with this name and takes invocations until Lambda ends the process.
///
/// Everything that outlives an invocation is built before the first, while Lambda still starts the function.
pub async fn serve<F>(name: &str, handle: F) -> Result<(), Error>
where
    F: for<'a> Fn(&'a Retrofits, &'a str, &'a str, Option<SystemTime>) -> Handling<'a>,
{
    log::start();
    let retrofits = start().await.inspect_err(|error| {
        tracing::error!(target: log::TARGET, %error, "the {name} does not start");
    })?;
    let (retrofits, handle) = (&retrofits, &handle);
    let answer = |event: LambdaEvent<Box<RawValue>>| async move {
        let LambdaEvent { payload, context } = event;
        let deadline = deadline(context.deadline);
        let handled = handle(retrofits, payload.get(), &context.request_id, deadline).await;
        handled.record.tell();
        match handled.answer {
            Ok(value) => Ok::<Value, Diagnostic>(value),
            Err(failure) => {
                let error_type = failure.kind().to_owned();
                Err(Diagnostic { error_type, error_message: failure.message })
            }
        }
    };
    lambda_runtime::run(service_fn(answer)).await
}

async fn start() -> Result<Retrofits, RetrofitStartError> {
    Retrofits::start(RetrofitSettings::from_env()?).await
}
