//! The HTTPS client: made when the first request is sent, once.
//!
//! A server is first held against Amazon's roots, of which there are five, and then, if its certificate is refused, against
//! everything that is trusted. So a proxy that looks into TLS works with the authority that its users have installed. Nothing
//! is accepted that the whole would not accept.

use std::error::Error;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use aws_smithy_http_client::proxy::ProxyConfig;
use aws_smithy_http_client::tls::rustls_provider::CryptoMode;
use aws_smithy_http_client::tls::{Provider, TlsContext, TrustStore};
use aws_smithy_http_client::{Builder, Connector};
use aws_smithy_runtime_api::client::connector_metadata::ConnectorMetadata;
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpClient,
    SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;

use super::trust::Trust;

/// A client that trusts this.
pub(super) fn client(trust: &Trust) -> SharedHttpClient {
    let whole = trust.clone();
    SharedHttpClient::new(Https {
        trust: trust.clone(),
        narrow: OnceLock::new(),
        whole: with_roots(move || whole.whole()),
        refused: Arc::default(),
    })
}

/// A client of the library, with the settings that it has by default. Roots are asked for when a connector is made.
fn with_roots(roots: impl Fn() -> TrustStore + Send + Sync + 'static) -> SharedHttpClient {
    Builder::new().build_with_connector_fn(move |settings, components| {
        let mut connector = Connector::builder();
        connector.set_connector_settings(settings.cloned());
        connector.set_sleep_impl(components.and_then(RuntimeComponents::sleep_impl));
        connector.set_proxy_config(Some(ProxyConfig::from_env()));
        let connector = connector.tls_provider(Provider::rustls(CryptoMode::AwsLc));
        match TlsContext::builder().with_trust_store(roots()).build() {
            Ok(context) => connector.tls_context(context).build(),
            Err(_) => connector.build(),
        }
    })
}

/// The library's own client makes a connector when it is configured, and throws it away. This one makes none before it must.
struct Https {
    trust: Trust,
    /// Amazon's roots alone, if there are any; looked for with the first request.
    narrow: OnceLock<Option<SharedHttpClient>>,
    whole: SharedHttpClient,
    /// Has a server's certificate been refused by the narrow one? Then there is a proxy, or another server than AWS's.
    refused: Arc<AtomicBool>,
}

impl fmt::Debug for Https {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Https").field("refused", &self.refused).finish_non_exhaustive()
    }
}

impl HttpClient for Https {
    fn http_connector(
        &self,
        settings: &HttpConnectorSettings,
        components: &RuntimeComponents,
    ) -> SharedHttpConnector {
        let with = |roots: TrustStore| with_roots(move || roots.clone());
        match self.narrow.get_or_init(|| self.trust.narrow().map(with)) {
            Some(narrow) if !self.refused.load(Ordering::Relaxed) => SharedHttpConnector::new(Narrow {
                narrow: narrow.http_connector(settings, components),
                whole: self.whole.clone(),
                settings: settings.clone(),
                components: components.clone(),
                refused: Arc::clone(&self.refused),
            }),
            _ => self.whole.http_connector(settings, components),
        }
    }

    fn connector_metadata(&self) -> Option<ConnectorMetadata> {
        self.whole.connector_metadata()
    }
}

/// A connector that turns to another when a server's certificate is refused.
#[derive(Debug)]
struct Narrow {
    narrow: SharedHttpConnector,
    whole: SharedHttpClient,
    settings: HttpConnectorSettings,
    components: RuntimeComponents,
    refused: Arc<AtomicBool>,
}

impl HttpConnector for Narrow {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let again = request.try_clone();
        let first = self.narrow.call(request);
        let (whole, settings, components) =
            (self.whole.clone(), self.settings.clone(), self.components.clone());
        let refused = Arc::clone(&self.refused);
        HttpConnectorFuture::new(async move {
            match (first.await, again) {
                // A certificate is refused before anything of the request is sent.
                (Err(error), Some(request)) if is_refusal(&error) => {
                    refused.store(true, Ordering::Relaxed);
                    whole.http_connector(&settings, &components).call(request).await
                }
                (answer, _) => answer,
            }
        })
    }
}

/// Was the server's certificate refused?
fn is_refusal(error: &ConnectorError) -> bool {
    let mut next: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = next {
        if matches!(error.downcast_ref(), Some(rustls::Error::InvalidCertificate(_))) {
            return true;
        }
        // An I/O error's source is the source of what it holds.
        next = match error.downcast_ref::<std::io::Error>() {
            Some(error) => error.get_ref().map(|held| held as &(dyn Error + 'static)),
            None => error.source(),
        };
    }
    false
}
