//! The Lambda function `backfiller`: only connects the handler to the events.

use keyfold_backfiller::handle;
use keyfold_edge::retrofit::serve;
use lambda_runtime::Error;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    serve("backfiller", |retrofits, invocation| Box::pin(handle(retrofits, invocation))).await
}
