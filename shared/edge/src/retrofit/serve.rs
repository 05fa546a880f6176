//! A function that takes slices: how it starts, and how each invocation is recorded.

use std::time::Instant;

use lambda_runtime::Error;
use serde_json::Value;

use super::{Failure, RetrofitSettings, Retrofits, SliceRecord};
use crate::{Handled, Handling, Invocation};

/// Starts the function with this name and takes invocations until Lambda ends the process.
pub async fn serve<F>(name: &str, handle: F) -> Result<(), Error>
where
    F: for<'a> Fn(&'a Retrofits, Invocation<'a>) -> Handling<'a, SliceRecord>,
{
    crate::serve(name, async { Retrofits::start(RetrofitSettings::from_env()?).await }, handle).await
}

impl Handled<SliceRecord> {
    /// Lets a function answer an invocation, and notes in its record how that ended.
    pub async fn by(
        namespace: &'static str,
        request_id: &str,
        respond: impl AsyncFnOnce(&mut SliceRecord) -> Result<Value, Failure>,
    ) -> Handled<SliceRecord> {
        let begun = Instant::now();
        let mut record = SliceRecord::begun(namespace, request_id);
        let answer = respond(&mut record).await;
        if let Err(failure) = &answer {
            (record.code, record.failed) = (failure.code, true);
        }
        record.duration = begun.elapsed();
        Handled { answer: answer.map_err(Failure::into), record }
    }
}
