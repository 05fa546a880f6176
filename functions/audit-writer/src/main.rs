//! The Lambda function `audit-writer`: only connects settings and handler to the events.

use keyfold_audit_writer::{Settings, Writer, handle};
use keyfold_edge::serve;
use lambda_runtime::Error;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let start = async { Writer::start(Settings::from_env()?).await };
    serve("audit writer", start, |writer, invocation| Box::pin(handle(writer, invocation))).await
}
