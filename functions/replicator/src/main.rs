//! The Lambda function `replicator`: wires settings, log and handler, and decides nothing.

use keyfold_edge::log;
use keyfold_replicator::{Answer, Replicator, Settings, StartError, handle};
use lambda_runtime::{Diagnostic, Error, LambdaEvent, service_fn};
use serde_json::Value;
use serde_json::value::RawValue;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    log::start();
    match start().await {
        Ok(replicator) => serve(&replicator).await,
        Err(error) => {
            tracing::error!(target: "keyfold", %error, "the replicator does not start");
            Err(error.into())
        }
    }
}

/// Everything that outlives an invocation is built here, while Lambda still starts the function.
async fn start() -> Result<Replicator, StartError> {
    Replicator::start(Settings::from_env()?).await
}

async fn serve(replicator: &Replicator) -> Result<(), Error> {
    let answer = |event: LambdaEvent<Box<RawValue>>| async move {
        let LambdaEvent { payload, context } = event;
        let deadline = keyfold_edge::deadline(context.deadline);
        // Boxed: the compiler follows the types of futures inside of futures only so deep.
        let handled = Box::pin(handle(replicator, payload.get(), &context.request_id, deadline)).await;
        handled.report.tell();
        match handled.answer {
            Answer::Value(value) => Ok::<Value, Diagnostic>(value),
            Answer::Error { kind, message } => Err(Diagnostic { error_type: kind, error_message: message }),
        }
    };
    lambda_runtime::run(service_fn(answer)).await
}
