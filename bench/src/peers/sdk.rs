//! The SDK as others use it.

use aws_sdk_dynamodb::Client;

/// A client like this one, without the interceptor that Keyfold's clients have.
pub fn sdk_alone(client: &Client) -> Client {
    let mut config = client.config().to_builder();
    config.set_interceptors([]);
    Client::from_conf(config.build())
}
