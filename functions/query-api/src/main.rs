//! The Lambda function `query-api`: only connects settings and handler to the events.

use keyfold_edge::serve;
use keyfold_query_api::{Api, Settings, handle};
use lambda_runtime::Error;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let start = async { Api::deployed(Settings::from_env()?).await };
    serve("query API", start, |api, invocation| Box::pin(handle(api, invocation))).await
}
