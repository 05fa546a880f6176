//! What answers a client's requests, without a connection.

use std::fmt;
use std::sync::Arc;

use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::body::SdkBody;

/// A function of requests.
#[derive(Clone)]
pub(crate) struct Server(Arc<dyn Fn(&HttpRequest) -> HttpResponse + Send + Sync>);

impl Server {
    pub(crate) fn new(answer: impl Fn(&HttpRequest) -> HttpResponse + Send + Sync + 'static) -> Server {
        Server(Arc::new(answer))
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Server")
    }
}

impl HttpConnector for Server {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        HttpConnectorFuture::ready(Ok((self.0)(&request)))
    }
}

impl HttpClient for Server {
    fn http_connector(&self, _: &HttpConnectorSettings, _: &RuntimeComponents) -> SharedHttpConnector {
        SharedHttpConnector::new(self.clone())
    }
}

pub(crate) fn answer(status: u16, body: impl Into<SdkBody>) -> HttpResponse {
    HttpResponse::new(status.try_into().unwrap(), body.into())
}
