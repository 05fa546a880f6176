//! From Lambda's events to a request, and back. Nothing is decided here.

use http::Response;
use lambda_http::request::RequestContext;
use lambda_http::{Body, Request, RequestExt};

use crate::caller::Claims;
use crate::{Api, ApiRequest, Record, respond};

/// A response, and what is to be told of it.
#[derive(Debug)]
pub struct Handled {
    /// For the caller.
    pub response: Response<Body>,
    /// For the log and the metrics.
    pub record: Record,
}

/// Answers one request of an HTTP API or a function URL. There is always an answer.
pub async fn handle(api: &Api, request: Request) -> Handled {
    let (response, record) = respond(api, &of_event(&request)).await;
    Handled { response: response.map(Body::from), record }
}

fn of_event(request: &Request) -> ApiRequest {
    let body: &[u8] = request.body();
    ApiRequest {
        method: request.method().clone(),
        path: path(request).to_owned(),
        query: request.uri().query().unwrap_or_default().to_owned(),
        body: body.to_vec(),
        caller: Claims::of(request).caller(),
        id: request_id(request),
        deadline: deadline(request),
    }
}

/// The path without the API's stage.
fn path(request: &Request) -> &str {
    let raw = match request.raw_http_path() {
        "" => request.uri().path(),
        raw => raw,
    };
    let Some(RequestContext::ApiGatewayV2(context)) = request.request_context_ref() else { return raw };
    let stage = context.stage.as_deref().filter(|stage| *stage != "$default");
    stage
        .and_then(|stage| raw.strip_prefix('/')?.strip_prefix(stage))
        .filter(|rest| rest.starts_with('/'))
        .unwrap_or(raw)
}

fn request_id(request: &Request) -> String {
    if let Some(RequestContext::ApiGatewayV2(context)) = request.request_context_ref()
        && let Some(id) = &context.request_id
    {
        return id.clone();
    }
    request.lambda_context_ref().map(|context| context.request_id.clone()).unwrap_or_default()
}

/// When Lambda ends the invocation; `None` outside of Lambda.
fn deadline(request: &Request) -> Option<std::time::SystemTime> {
    keyfold_edge::deadline(request.lambda_context_ref()?.deadline)
}
