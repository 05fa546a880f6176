//! Query API, audit writer and console over plain HTTP, as an HTTP API in AWS: `POST /audit` goes to the writer, the
//! page and its paths to the console, all else to the query API. The port serves only this machine.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use axum::body::Bytes;
use axum::http::request::Parts;
use axum::http::{Method, Response, StatusCode};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http_body_util::Full;
use keyfold_audit_writer::Writer;
use keyfold_core::model::Model;
use keyfold_dynamo::{Endpoint, Settings as DynamoSettings};
use keyfold_query_api::Api;
use serde_json::json;
use tokio::net::TcpListener;

use super::options::{StackError, StackOptions, function};
use super::writer::AUDIT_TABLE;
use super::{CONTROL_TABLE, event, writer};
use crate::console::Console;
use crate::port::{self, Answer, Answering, PortRules, READ_TIME_MAX};
use crate::runtime_api::InvocationResult;
use crate::{AllowedHosts, EmbeddedDynamo, FunctionOptions, LocalFunction, query_api};

/// Its name in errors, and of its binary.
const NAME: &str = "query-api";
/// Maximum request body; the functions' own limits are lower.
const BODY_BYTES_MAX: usize = 6 * 1024 * 1024;
/// Maximum processes of one function.
const PROCESSES_MAX: usize = 4;

/// The targets of requests.
pub(super) struct Routes {
    console: Console,
    query: Query,
    audit: Option<Audit>,
    requests: AtomicU64,
}

enum Query {
    Here(Arc<Api>),
    Binary(LocalFunction),
}

enum Audit {
    Here(Box<Writer>),
    Binary(LocalFunction),
}

/// The targets by the current manifest.
pub(super) struct CurrentRoutes(Mutex<Arc<Routes>>);

impl CurrentRoutes {
    pub(super) fn new(routes: Routes) -> CurrentRoutes {
        CurrentRoutes(Mutex::new(Arc::new(routes)))
    }

    /// Requests that are under way are answered by the manifest that they began with.
    pub(super) fn replace(&self, routes: Routes) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(routes);
    }

    fn get(&self) -> Arc<Routes> {
        Arc::clone(&self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl fmt::Debug for CurrentRoutes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CurrentRoutes").finish_non_exhaustive()
    }
}

/// Starts the targets.
pub(super) async fn routes(
    model: &Model,
    dynamo: &EmbeddedDynamo,
    options: &StackOptions,
) -> Result<Routes, StackError> {
    let has_audit = model.table(AUDIT_TABLE).is_some();
    let api = Arc::new(api(dynamo, options).await?);
    let console = Console::new(Arc::clone(&api), dynamo.endpoint().to_owned());
    let (query, audit) = match &options.functions {
        Some(folder) => {
            let token_keys = token_keys()?;
            let function = |name| function(name, folder, dynamo, options);
            let query = run(function(NAME)?.env("KEYFOLD_TOKEN_KEYS", &token_keys));
            let audit = || Ok::<_, StackError>(run(function(writer::NAME)?.env("KEYFOLD_AUTH", "open")));
            (Query::Binary(query), has_audit.then(audit).transpose()?.map(Audit::Binary))
        }
        None => {
            let audit = match has_audit {
                true => Some(Audit::Here(Box::new(writer::start(dynamo, options).await?))),
                false => None,
            };
            (Query::Here(api), audit)
        }
    };
    Ok(Routes { console, query, audit, requests: AtomicU64::new(0) })
}

/// The caller of a function's process on this machine. The port serves no others, so the caller has all permissions.
const LOCAL_CALLER: &str = "arn:aws:iam::000000000000:user/local";

/// A key of this run: page tokens of other runs are invalid.
fn token_keys() -> Result<String, StackError> {
    let mut key = [0; 32];
    getrandom::fill(&mut key)
        .map_err(|error| StackError::Function { name: NAME, reason: error.to_string() })?;
    Ok(format!("local:{}", STANDARD.encode(key)))
}

fn run(function: FunctionOptions) -> LocalFunction {
    LocalFunction::new(FunctionOptions { concurrency: PROCESSES_MAX, ..function })
}

async fn api(dynamo: &EmbeddedDynamo, options: &StackOptions) -> Result<Api, StackError> {
    let failed = |reason| StackError::Function { name: NAME, reason };
    let endpoint = Endpoint::parse(dynamo.endpoint()).map_err(|error| failed(error.to_string()))?;
    query_api::start(&options.manifest, DynamoSettings::at(endpoint), CONTROL_TABLE).await.map_err(failed)
}

/// Answers until it is ended.
pub(super) async fn serve(listener: TcpListener, hosts: AllowedHosts, routes: Arc<CurrentRoutes>) {
    let rules = PortRules { hosts, body_bytes_max: BODY_BYTES_MAX, read_time_max: READ_TIME_MAX };
    port::serve_always(listener, rules, routes).await;
}

impl Answer for CurrentRoutes {
    fn answer(&self, parts: Parts, body: Bytes) -> Answering<'_> {
        let routes = self.get();
        Box::pin(async move { answer(&routes, parts, body).await.map(|text| Full::new(Bytes::from(text))) })
    }
}

async fn answer(routes: &Routes, parts: Parts, body: Bytes) -> Response<String> {
    let id = format!("local-{}", routes.requests.fetch_add(1, Ordering::Relaxed));
    let is_audit = parts.uri.path().trim_end_matches('/') == "/audit" && parts.method == Method::POST;
    if is_audit && let Some(audit) = &routes.audit {
        let event = event::of_request(&parts, &body, &id).to_string();
        return shown(match audit {
            Audit::Here(writer) => writer::invoke(writer, &event, &id).await,
            Audit::Binary(function) => function.invoke(event).await,
        });
    }
    if let Some(response) = routes.console.answer(&parts).await {
        return response;
    }
    match &routes.query {
        Query::Here(api) => query_api::answer(api, parts, &body, id).await,
        Query::Binary(function) => {
            let mut event = event::of_request(&parts, &body, &id);
            event["requestContext"]["authorizer"] = json!({ "iam": { "userArn": LOCAL_CALLER } });
            shown(function.invoke(event.to_string()).await)
        }
    }
}

/// A result as a response; a failed function is a 502, as behind an HTTP API.
fn shown(outcome: InvocationResult) -> Response<String> {
    let text = match outcome {
        InvocationResult::Response(text) => text,
        InvocationResult::Error(text) | InvocationResult::InitError(text) | InvocationResult::Ended(text) => {
            return bad(text);
        }
        InvocationResult::TimedOut => return bad("the function took too long".to_owned()),
    };
    event::response(&serde_json::from_str(&text).unwrap_or_default())
}

fn bad(reason: String) -> Response<String> {
    let mut response = Response::new(reason);
    *response.status_mut() = StatusCode::BAD_GATEWAY;
    response
}
