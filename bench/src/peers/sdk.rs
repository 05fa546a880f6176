//! The SDK as others use it.

use aws_runtime::auth::sigv4::SigV4AuthScheme;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::StalledStreamProtectionConfig;

/// A client like this one, without what Keyfold changes in its own: no interceptors, and the SDK signs and watches for stalls.
pub fn sdk_alone(client: &Client) -> Client {
    let mut config = client.config().to_builder();
    config.set_interceptors([]);
    let config = config
        .push_auth_scheme(SigV4AuthScheme::new())
        .stalled_stream_protection(StalledStreamProtectionConfig::enabled().build());
    Client::from_conf(config.build())
}
