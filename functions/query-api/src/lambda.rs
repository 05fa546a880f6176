//! From Lambda's events to a request, and back. Nothing is decided here.

use std::time::Instant;

use http::{Method, Response};
use keyfold_core::query::check::Caller;
use keyfold_edge::http::{HttpEvent, response};
use keyfold_edge::{Handled, Invocation, Problem};
use serde_json::Value;

use crate::handler::{begun, finished};
use crate::{Api, ApiRequest, BODY_BYTES_MAX, Record, respond};

/// Answers one request of an HTTP API or a function URL. There is always an answer.
pub async fn handle(api: &Api, invocation: Invocation<'_>) -> Handled<Record> {
    let (response, record) = match request(&invocation) {
        Ok(request) => respond(api, &request).await,
        Err((id, problem)) => finished(begun(&id), Instant::now(), Err(problem)),
    };
    Handled { answer: Ok(shown(&response)), record }
}

/// The request of an event; else the id of what is no request, and why.
fn request(invocation: &Invocation<'_>) -> Result<ApiRequest, (String, Problem)> {
    let id = || invocation.request_id.to_owned();
    let event = HttpEvent::read(invocation.event).map_err(|problem| (id(), problem))?;
    let id = event.request_id().map_or_else(id, str::to_owned);
    let method = Method::from_bytes(event.method().as_bytes())
        .map_err(|_| (id.clone(), Problem::malformed("the request has no HTTP method")))?;
    Ok(ApiRequest {
        method,
        path: event.path().to_owned(),
        query: event.query().to_owned(),
        body: event.body(BODY_BYTES_MAX).map_err(|problem| (id.clone(), problem))?,
        caller: Caller::Claims(event.claims().into_map()),
        id,
        deadline: invocation.deadline,
    })
}

fn shown(answer: &Response<String>) -> Value {
    let headers = answer.headers().iter();
    let headers = headers.filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)));
    response(answer.status().as_u16(), headers, answer.body())
}
