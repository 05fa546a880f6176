//! Query API and audit writer over plain HTTP, as an HTTP API in AWS has them: `POST /audit` goes to the writer, the rest to the
//! query API. Everybody who can reach the port is trusted: only this machine can.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::body::Bytes;
use axum::http::request::Parts;
use axum::http::{Method, Response, StatusCode};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http_body_util::Full;
use keyfold_audit_writer::Writer;
use keyfold_core::model::Model;
use keyfold_dynamo::{Endpoint, Settings as DynamoSettings, TokenKeys};
use keyfold_query_api::{
    Api, ApiRequest, Auth, Caller, Grants, Limits, READ_UNITS_MAX_DEFAULT, Settings, respond,
};
use tokio::net::TcpListener;
use tokio::sync::watch;

use super::{CONTROL_TABLE, StackError, StackOptions, event, function, writer};
use crate::port::{self, Answer, Answering, PortRules, READ_TIME_MAX};
use crate::runtime_api::InvocationResult;
use crate::{AllowedHosts, EmbeddedDynamo, FunctionOptions, LocalFunction};

/// The table that audit events go to, where the manifest has it.
pub const AUDIT_TABLE: &str = "audit";
/// Its name in errors, and its binary's.
const NAME: &str = "query-api";
/// The largest body that is taken: the functions have limits of their own, below.
const BODY_BYTES_MAX: usize = 6 * 1024 * 1024;
/// Processes of one function at once.
const PROCESSES_MAX: usize = 4;

/// What answers.
pub(super) struct Routes {
    query: Query,
    audit: Option<Audit>,
    requests: AtomicU64,
}

enum Query {
    Here(Box<Api>),
    Binary(LocalFunction),
}

enum Audit {
    Here(Box<Writer>),
    Binary(LocalFunction),
}

/// Starts what answers.
pub(super) async fn routes(
    model: &Model,
    dynamo: &EmbeddedDynamo,
    options: &StackOptions,
) -> Result<Arc<Routes>, StackError> {
    let has_audit = model.table(AUDIT_TABLE).is_some();
    let (query, audit) = match &options.functions {
        Some(folder) => {
            let token_keys = token_keys()?;
            let run = |name| Ok::<_, StackError>(run(function(name, folder, dynamo, options)?, &token_keys));
            let query = run(NAME)?;
            (Query::Binary(query), has_audit.then(|| run(writer::NAME)).transpose()?.map(Audit::Binary))
        }
        None => {
            let query = Query::Here(Box::new(api(dynamo, options).await?));
            let audit = match has_audit {
                true => Some(Audit::Here(Box::new(writer::start(dynamo, options).await?))),
                false => None,
            };
            (query, audit)
        }
    };
    Ok(Arc::new(Routes { query, audit, requests: AtomicU64::new(0) }))
}

/// A key of this run: page tokens of another are not good here.
fn token_keys() -> Result<String, StackError> {
    let mut key = [0; 32];
    getrandom::fill(&mut key)
        .map_err(|error| StackError::Function { name: NAME, reason: error.to_string() })?;
    Ok(format!("local:{}", STANDARD.encode(key)))
}

fn run(function: FunctionOptions, token_keys: &str) -> LocalFunction {
    let function = function
        .env("KEYFOLD_TOKEN_KEYS", token_keys)
        .env("KEYFOLD_AUTH", "open")
        .env("KEYFOLD_CONSOLE", "on");
    LocalFunction::new(FunctionOptions { concurrency: PROCESSES_MAX, ..function })
}

async fn api(dynamo: &EmbeddedDynamo, options: &StackOptions) -> Result<Api, StackError> {
    let failed = |reason: String| StackError::Function { name: NAME, reason };
    let endpoint = Endpoint::parse(dynamo.endpoint()).map_err(|error| failed(error.to_string()))?;
    let settings = Settings {
        manifest: options.manifest.clone(),
        dynamo: DynamoSettings::at(endpoint),
        control_table: CONTROL_TABLE.to_owned(),
        grants: Grants::default(),
        token_keys: TokenKeys::parse(&token_keys()?).map_err(|error| failed(error.to_string()))?.into(),
        limits: Limits {
            auth: Auth::Open,
            allow_scan: true,
            read_units_max: READ_UNITS_MAX_DEFAULT,
            console: true,
        },
        budget: None,
    };
    Api::start(settings).await.map_err(|error| failed(error.to_string()))
}

/// Answers until it is ended.
pub(super) async fn serve(listener: TcpListener, hosts: AllowedHosts, routes: Arc<Routes>) {
    let rules = PortRules { hosts, body_bytes_max: BODY_BYTES_MAX, read_time_max: READ_TIME_MAX };
    // It ends only with its task.
    let (_never, stopped) = watch::channel(false);
    port::serve(listener, rules, routes, stopped).await;
}

impl Answer for Routes {
    fn answer(&self, parts: Parts, body: Bytes) -> Answering<'_> {
        Box::pin(async move { answer(self, parts, body).await.map(|text| Full::new(Bytes::from(text))) })
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
    match &routes.query {
        Query::Here(api) => {
            let mut request = axum::http::Request::new(body.to_vec());
            (*request.method_mut(), *request.uri_mut()) = (parts.method, parts.uri);
            Box::pin(respond(api, &ApiRequest::of_http(request, Caller::Trusted, id))).await.0
        }
        Query::Binary(function) => {
            shown(function.invoke(event::of_request(&parts, &body, &id).to_string()).await)
        }
    }
}

/// An outcome as a response; a function that failed is a bad gateway, as behind an HTTP API.
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
