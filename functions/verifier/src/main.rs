//! The Lambda function `verifier`: only connects the handler to the events.

use keyfold_edge::retrofit::serve;
use keyfold_verifier::handle;
use lambda_runtime::Error;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    serve("verifier", |retrofits, invocation| Box::pin(handle(retrofits, invocation))).await
}
