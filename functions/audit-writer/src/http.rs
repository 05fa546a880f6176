//! Over HTTP: `POST /audit` with one event or a list, from an HTTP API or a function URL.

use std::time::SystemTime;

use keyfold_edge::http::{HttpEvent, response};
use keyfold_edge::{Auth, PROBLEM_CONTENT_TYPE, Problem};
use serde_json::Value;

use crate::event::{Origin, Received, ValuesLeft};
use crate::limits::BODY_BYTES_MAX;
use crate::outcome::answer;
use crate::source::content;
use crate::write::write;
use crate::{Record, Writer, stamp};

/// One caller's answer must not be cached for others.
const NO_STORE: (&str, &str) = ("cache-control", "no-store");

/// Answers one request, always.
pub(crate) async fn respond(
    writer: &Writer,
    event: &HttpEvent,
    deadline: Option<SystemTime>,
    record: &mut Record,
) -> Value {
    if let Some(id) = event.request_id() {
        id.clone_into(&mut record.request_id);
    }
    match accepted(writer, event, deadline, record).await {
        Ok(document) => {
            record.status = if record.written > 0 { 201 } else { 200 };
            response(record.status, [("content-type", "application/json"), NO_STORE], &document.to_string())
        }
        Err(problem) => {
            record.refuse(&problem);
            let body = problem.document(Some(&record.request_id)).to_string();
            let headers = [("content-type", PROBLEM_CONTENT_TYPE), NO_STORE];
            response(problem.status, headers.into_iter().chain(problem.response_header()), &body)
        }
    }
}

async fn accepted(
    writer: &Writer,
    event: &HttpEvent,
    deadline: Option<SystemTime>,
    record: &mut Record,
) -> Result<Value, Box<Problem>> {
    route(event)?;
    let claims = event.claims();
    if claims.is_empty() && writer.auth == Auth::Claims {
        return Err(Problem::not_authenticated().into());
    }
    record.principal = claims.principal().map(str::to_owned);
    if let Some(scope) = writer.grant.as_deref().filter(|scope| !claims.grants(scope)) {
        return Err(Problem::not_granted(scope).into());
    }
    let body = String::from_utf8(event.body(BODY_BYTES_MAX)?)
        .map_err(|_| Problem::malformed("the body is not UTF-8"))?;
    let content = content(&body)?;
    let received = Received { source: "http", principal: claims.principal(), request_id: &record.request_id };
    let origin = Origin { time: stamp::now(), claims: Some(&claims), received };
    let drafts = origin.drafts(writer, &content.events, &mut ValuesLeft::default());
    let outcomes = write(writer, drafts, deadline, record).await;
    answer(&outcomes, content.listed)
}

fn route(event: &HttpEvent) -> Result<(), Problem> {
    match (event.path().trim_matches('/'), event.method()) {
        ("audit", "POST") => Ok(()),
        ("audit", given) => Err(Problem::method_not_allowed("POST", given)),
        _ => Err(Problem::unknown_route()),
    }
}
