//! The Lambda function `query-api`: wires settings, log and handler, and decides nothing.

use keyfold_query_api::{Api, Settings, StartError, log, serve};
use lambda_http::Error;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    log::start();
    match start().await {
        Ok(api) => serve(&api).await,
        Err(error) => {
            tracing::error!(target: "keyfold", %error, "the query API does not start");
            Err(error.into())
        }
    }
}

/// Everything that outlives a request is built here, while Lambda still starts the function.
async fn start() -> Result<Api, StartError> {
    Api::start(Settings::from_env()?).await
}
