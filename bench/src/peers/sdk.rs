//! The SDK as others use it.

use std::time::Duration;

use aws_runtime::auth::sigv4::SigV4AuthScheme;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::StalledStreamProtectionConfig;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::config::timeout::TimeoutConfig;

/// A client like this one as the SDK makes it: with its own signatures, time-outs and retries, a watch for stalls, no interceptors.
pub fn sdk_alone(client: &Client) -> Client {
    let mut config = client.config().to_builder();
    config.set_interceptors([]);
    let stalls = StalledStreamProtectionConfig::enabled().grace_period(Duration::from_secs(5));
    let config = config
        .push_auth_scheme(SigV4AuthScheme::new())
        .stalled_stream_protection(stalls.build())
        .timeout_config(TimeoutConfig::builder().connect_timeout(Duration::from_millis(3100)).build())
        .retry_config(RetryConfig::standard());
    Client::from_conf(config.build())
}
