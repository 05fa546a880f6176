//! The HTTPS client. Its connector is created once, for the first request.

use aws_smithy_http_client::proxy::ProxyConfig;
use aws_smithy_http_client::tls::rustls_provider::CryptoMode;
use aws_smithy_http_client::tls::{Provider, TlsContext};
use aws_smithy_http_client::{Builder, Connector};
use aws_smithy_runtime_api::client::connector_metadata::ConnectorMetadata;
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnectorSettings, SharedHttpClient, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;

use super::roots::Roots;

/// A connector for other services of AWS.
pub(crate) fn connector(url: &str, roots: &Roots) -> Connector {
    let connector = Connector::builder().proxy_config(ProxyConfig::from_env());
    if url.starts_with("http://") {
        return connector.build_http();
    }
    match TlsContext::builder().with_trust_store(roots.store()).build() {
        Ok(context) => {
            connector.tls_provider(Provider::rustls(CryptoMode::AwsLc)).tls_context(context).build()
        }
        Err(error) => unreachable!("`Roots::named` leaves out what cannot be used: {error}"),
    }
}

/// A client that trusts these roots, with the settings that the SDK's own client has.
pub(super) fn client(roots: &Roots) -> SharedHttpClient {
    let roots = roots.clone();
    SharedHttpClient::new(WithoutValidation(Builder::new().build_with_connector_fn(
        move |settings, components| {
            let mut connector = Connector::builder();
            connector.set_connector_settings(settings.cloned());
            connector.set_sleep_impl(components.and_then(RuntimeComponents::sleep_impl));
            connector.set_proxy_config(Some(ProxyConfig::from_env()));
            let connector = connector.tls_provider(Provider::rustls(CryptoMode::AwsLc));
            match TlsContext::builder().with_trust_store(roots.store()).build() {
                Ok(context) => connector.tls_context(context).build(),
                Err(error) => unreachable!("`Roots::named` leaves out what cannot be used: {error}"),
            }
        },
    )))
}

/// The SDK's client builds a connector for validation when it is configured, and drops it. All roots would be decoded
/// twice, once of it before a function takes its first event.
#[derive(Debug)]
struct WithoutValidation(SharedHttpClient);

impl HttpClient for WithoutValidation {
    fn http_connector(
        &self,
        settings: &HttpConnectorSettings,
        components: &RuntimeComponents,
    ) -> SharedHttpConnector {
        self.0.http_connector(settings, components)
    }

    fn connector_metadata(&self) -> Option<ConnectorMetadata> {
        self.0.connector_metadata()
    }
}
