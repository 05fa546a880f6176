//! From Lambda's events to a request, and back. Nothing is decided here.

use std::time::{Instant, SystemTime};

use http::{Method, Response};
use keyfold_core::query::check::Caller;
use keyfold_edge::http::{HttpEvent, response};
use keyfold_edge::{Handled, Invocation, Problem};
use serde_json::Value;

use crate::handler::{finished, new_record};
use crate::write::WRITE_BODY_BYTES_MAX;
use crate::{Api, ApiRequest, Record, respond};

/// Answers one request of an HTTP API or a function URL. There is always an answer.
pub async fn handle(api: &Api, invocation: Invocation<'_>) -> Handled<Record> {
    let event = HttpEvent::read(invocation.event);
    let named = event.as_ref().ok().and_then(HttpEvent::request_id);
    let id = named.unwrap_or(invocation.request_id).to_owned();
    let (response, record) = match event.and_then(|event| request(&event, &id, invocation.deadline)) {
        Ok(request) => respond(api, &request).await,
        Err(problem) => finished(new_record(&id), Instant::now(), Err(problem)),
    };
    Handled { answer: Ok(shown(&response)), record }
}

/// The request of an event.
fn request(event: &HttpEvent, id: &str, deadline: Option<SystemTime>) -> Result<ApiRequest, Problem> {
    let method = Method::from_bytes(event.method().as_bytes())
        .map_err(|_| Problem::malformed("the request has no HTTP method"))?;
    Ok(ApiRequest {
        method,
        path: event.path().to_owned(),
        query: event.query().to_owned(),
        body: event.body(WRITE_BODY_BYTES_MAX)?,
        caller: Caller::Claims(event.claims().into_map()),
        id: id.to_owned(),
        deadline,
    })
}

fn shown(answer: &Response<String>) -> Value {
    let headers = answer.headers().iter();
    let headers = headers.filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)));
    response(answer.status().as_u16(), headers, answer.body())
}
