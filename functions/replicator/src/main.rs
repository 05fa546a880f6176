//! The Lambda function `replicator`: only connects settings and handler to the events.

use keyfold_edge::serve;
use keyfold_replicator::{Replicator, Settings, handle};
use lambda_runtime::Error;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let start = async { Replicator::start(Settings::from_env()?).await };
    serve("replicator", start, |replicator, invocation| Box::pin(handle(replicator, invocation))).await
}
