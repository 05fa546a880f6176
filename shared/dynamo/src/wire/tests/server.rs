//! A server that gives scripted answers, without a connection.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::body::SdkBody;

/// Answers one request after another, each with a status and a body.
#[derive(Debug, Clone)]
pub(super) struct Server(Arc<Mutex<VecDeque<(u16, String)>>>);

impl Server {
    pub(super) fn with(answers: &[(u16, &str)]) -> Server {
        let answers = answers.iter().map(|(status, body)| (*status, (*body).to_owned()));
        Server(Arc::new(Mutex::new(answers.collect())))
    }

    pub(super) fn answers_left(&self) -> usize {
        self.0.lock().unwrap().len()
    }
}

impl HttpConnector for Server {
    fn call(&self, _: HttpRequest) -> HttpConnectorFuture {
        let (status, body) = self.0.lock().unwrap().pop_front().unwrap();
        HttpConnectorFuture::ready(Ok(HttpResponse::new(status.try_into().unwrap(), SdkBody::from(body))))
    }
}

impl HttpClient for Server {
    fn http_connector(&self, _: &HttpConnectorSettings, _: &RuntimeComponents) -> SharedHttpConnector {
        SharedHttpConnector::new(self.clone())
    }
}
