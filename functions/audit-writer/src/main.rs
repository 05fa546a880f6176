//! The Lambda function `audit-writer`: wires settings, log and handler, and decides nothing.

use keyfold_audit_writer::{Answer, Settings, StartError, Writer, handle};
use keyfold_edge::log;
use lambda_runtime::{Diagnostic, Error, LambdaEvent, service_fn};
use serde_json::Value;
use serde_json::value::RawValue;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    log::start();
    match start().await {
        Ok(writer) => serve(&writer).await,
        Err(error) => {
            tracing::error!(target: "keyfold", %error, "the audit writer does not start");
            Err(error.into())
        }
    }
}

/// Everything that outlives an invocation is built here, while Lambda still starts the function.
async fn start() -> Result<Writer, StartError> {
    Writer::start(Settings::from_env()?).await
}

async fn serve(writer: &Writer) -> Result<(), Error> {
    let answer = |event: LambdaEvent<Box<RawValue>>| async move {
        let LambdaEvent { payload, context } = event;
        let deadline = keyfold_edge::deadline(context.deadline);
        // Boxed: the compiler follows the types of futures inside of futures only so deep.
        let handled = Box::pin(handle(writer, payload.get(), &context.request_id, deadline)).await;
        handled.record.tell();
        match handled.answer {
            Answer::Value(value) => Ok::<Value, Diagnostic>(value),
            Answer::Error { kind, message } => {
                Err(Diagnostic { error_type: kind.to_owned(), error_message: message })
            }
        }
    };
    lambda_runtime::run(service_fn(answer)).await
}
