//! The console on a port of this machine, for any DynamoDB.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::body::Bytes;
use axum::http::Response;
use axum::http::request::Parts;
use http_body_util::Full;
use keyfold_dynamo::{Endpoint, Settings as DynamoSettings};
use keyfold_edge::Problem;
use keyfold_query_api::{Api, BODY_BYTES_MAX};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::{Console, refusal};
use crate::port::{Answer, Answering, ListenError, PortRules, READ_TIME_MAX, listen, serve_always};
use crate::{AllowedHosts, query_api};

/// How to serve the console.
#[derive(Debug, Clone)]
pub struct ConsoleOptions {
    /// The path of the manifest.
    pub manifest: PathBuf,
    /// How to reach DynamoDB.
    pub dynamo: DynamoSettings,
    /// The control table of the retrofits.
    pub control_table: String,
    /// The port; 0 for any free one.
    pub port: u16,
}

/// Why the console does not start.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the fields are the names that the messages show")]
pub enum ConsoleError {
    /// The port cannot be used.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// The query API does not start.
    #[error("the console cannot start: {reason}")]
    Api { reason: String },
}

/// A running console. It stops when it is dropped.
#[derive(Debug)]
pub struct ConsoleServer {
    address: SocketAddr,
    endpoint: String,
    task: JoinHandle<()>,
}

impl ConsoleServer {
    /// Serves the console for a manifest.
    pub async fn start(options: &ConsoleOptions) -> Result<ConsoleServer, ConsoleError> {
        let listener = listen(options.port, "--port").await?;
        let ConsoleOptions { manifest, dynamo, control_table, .. } = options;
        let api = query_api::start(manifest, dynamo.clone(), control_table).await;
        let api = api.map_err(|reason| ConsoleError::Api { reason })?;
        let endpoint = match &dynamo.endpoint {
            Endpoint::Plain(url) | Endpoint::Tls(url) => url.clone(),
            Endpoint::Aws => {
                let region =
                    api.client().config().region().map_or("without a region", |region| region.as_ref());
                format!("AWS {region}")
            }
        };
        Ok(ConsoleServer::serve(listener, api, endpoint)?)
    }

    /// Serves the console for an API on any free port. `endpoint`: the location of its tables, for the page.
    pub async fn of(api: Api, endpoint: &str) -> Result<ConsoleServer, ConsoleError> {
        Ok(ConsoleServer::serve(listen(0, "--port").await?, api, endpoint.to_owned())?)
    }

    fn serve(listener: TcpListener, api: Api, endpoint: String) -> Result<ConsoleServer, ListenError> {
        let address = listener.local_addr().map_err(|source| ListenError::Failed { port: 0, source })?;
        let console = Console::new(Arc::new(api), endpoint.clone());
        let rules = PortRules {
            hosts: AllowedHosts::default(),
            body_bytes_max: BODY_BYTES_MAX,
            read_time_max: READ_TIME_MAX,
        };
        let port = Arc::new(ConsolePort { console, requests: AtomicU64::new(0) });
        Ok(ConsoleServer { address, endpoint, task: tokio::spawn(serve_always(listener, rules, port)) })
    }

    /// The URL of the page.
    pub fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// The location of the tables: a URL, or AWS with its region.
    pub fn endpoint(&self) -> &str {
        &self.endpoint
    }
}

impl Drop for ConsoleServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

struct ConsolePort {
    console: Console,
    requests: AtomicU64,
}

impl ConsolePort {
    async fn respond(&self, parts: Parts, body: Bytes) -> Response<String> {
        if let Some(response) = self.console.answer(&parts).await {
            return response;
        }
        if !only_reads(parts.uri.path()) {
            return refusal(&Problem::unknown_route());
        }
        let id = format!("console-{}", self.requests.fetch_add(1, Ordering::Relaxed));
        query_api::answer(&self.console.api, parts, &body, id).await
    }
}

/// Is this one of the query API's paths that the page uses? Writes are not served here.
fn only_reads(path: &str) -> bool {
    let segments: Vec<&str> = path.trim_matches('/').split('/').collect();
    matches!(segments.as_slice(), ["query" | "explain"] | ["tables", _, "questions", _])
}

impl Answer for ConsolePort {
    fn answer(&self, parts: Parts, body: Bytes) -> Answering<'_> {
        Box::pin(async move { self.respond(parts, body).await.map(|text| Full::new(Bytes::from(text))) })
    }
}
