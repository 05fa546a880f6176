//! The Lambda function `operator`: wires the handler to the events, and decides nothing.

use keyfold_edge::retrofit::serve;
use keyfold_operator::handle;
use lambda_runtime::Error;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    serve("operator", |retrofits, invocation| Box::pin(handle(retrofits, invocation))).await
}
