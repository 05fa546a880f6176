//! The Lambda function `verifier`: wires settings, log and handler, and decides nothing.

use keyfold_edge::log;
use keyfold_edge::retrofit::{RetrofitSettings, RetrofitStartError, Retrofits};
use keyfold_verifier::handle;
use lambda_runtime::{Diagnostic, Error, LambdaEvent, service_fn};
use serde_json::Value;
use serde_json::value::RawValue;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    log::start();
    match start().await {
        Ok(retrofits) => serve(&retrofits).await,
        Err(error) => {
            tracing::error!(target: "keyfold", %error, "the verifier does not start");
            Err(error.into())
        }
    }
}

/// Everything that outlives an invocation is built here, while Lambda still starts the function.
async fn start() -> Result<Retrofits, RetrofitStartError> {
    Retrofits::start(RetrofitSettings::from_env()?).await
}

async fn serve(retrofits: &Retrofits) -> Result<(), Error> {
    let answer = |event: LambdaEvent<Box<RawValue>>| async move {
        let LambdaEvent { payload, context } = event;
        let deadline = (context.deadline > 0).then(|| context.deadline());
        // Boxed: the compiler follows the types of futures inside of futures only so deep.
        let handled = Box::pin(handle(retrofits, payload.get(), &context.request_id, deadline)).await;
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
