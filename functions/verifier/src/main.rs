//! The Lambda function `verifier`: connects the handler to the events, without decisions of its own.

use keyfold_edge::retrofit::serve;
use keyfold_verifier::handle;
use lambda_runtime::Error;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    serve("verifier", |retrofits, invocation| Box::pin(handle(retrofits, invocation))).await
}
