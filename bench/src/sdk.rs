//! The SDK as others use it.

use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::config::timeout::TimeoutConfig;

/// This client in the SDK's default form: with the SDK's timeouts and retries, and without interceptors.
pub(crate) fn sdk_alone(client: &Client) -> Client {
    let mut config = client.config().to_builder();
    config.set_interceptors([]);
    let config = config
        .timeout_config(TimeoutConfig::builder().connect_timeout(Duration::from_millis(3100)).build())
        .retry_config(RetryConfig::standard());
    Client::from_conf(config.build())
}
