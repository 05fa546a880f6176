//! From a request to a response.

use std::time::Instant;

use http::{HeaderName, HeaderValue, Response, StatusCode, header};
use keyfold_core::query::check::Caller;
use keyfold_core::query::question::{self, Params};
use keyfold_edge::{PROBLEM_CONTENT_TYPE, Problem};
use serde::Serialize;
use serde_json::json;

use crate::context::RequestContext;
use crate::plain::Format;
use crate::plan::explain;
use crate::query::query;
use crate::route::{Route, route};
use crate::settings::ANSWER_BYTES_MAX;
use crate::write::{Write, write};
use crate::{Api, ApiRequest, Record, openapi};

/// The response to one request, and its record for the log and the metrics. A refusal is a problem document.
///
/// This is the whole API. [`handle`](crate::handle) calls it for Lambda's events; a server on this machine calls it itself.
pub async fn respond(api: &Api, request: &ApiRequest) -> (Response<String>, Record) {
    let started = Instant::now();
    let mut record = new_record(&request.id);
    let answered = answer(api, request, &mut record).await;
    finished(record, started, answered)
}

/// The record of a request before its route is known.
pub(crate) fn new_record(request_id: &str) -> Record {
    Record { request_id: request_id.to_owned(), route: "none", code: "ok", ..Record::default() }
}

pub(crate) fn finished(
    mut record: Record,
    started: Instant,
    answered: Result<Response<String>, Problem>,
) -> (Response<String>, Record) {
    let mut response = answered.unwrap_or_else(|problem| {
        record.code = problem.code;
        refusal(&problem, &record.request_id)
    });
    // One caller's answer must not be cached for another.
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    record.status = response.status().as_u16();
    record.duration = started.elapsed();
    (response, record)
}

fn refusal(problem: &Problem, request_id: &str) -> Response<String> {
    let mut response = Response::new(problem.document(Some(request_id)).to_string());
    *response.status_mut() =
        StatusCode::from_u16(problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let kind = HeaderValue::from_static(PROBLEM_CONTENT_TYPE);
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    if let Some((name, value)) = problem.response_header() {
        let name = HeaderName::from_static(name);
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    if let Some(seconds) = problem.retry_after_seconds {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds.get()));
    }
    response
}

async fn answer(api: &Api, request: &ApiRequest, record: &mut Record) -> Result<Response<String>, Problem> {
    let route = route(&request.method, &request.path)?;
    record.route = route.name();
    if let Caller::Claims(claims) = &request.caller {
        record.principal = keyfold_edge::principal(claims).map(str::to_owned);
    }
    let mut params = request.params()?;
    let format = format(&mut params)?;
    let context = RequestContext::new(api, &request.caller, request.deadline);
    let body = match route {
        Route::Health => json_text(&json!({ "status": "ok", "manifest": api.version_text() })),
        Route::OpenApi => json_text(&openapi(api.model(), api.limits.auth)),
        Route::Explain => json_text(&explain(&context, &request.query_request()?, record).await?),
        Route::Query => json_text(&query(&context, &request.query_request()?, record).await?.body(format)),
        Route::Write(kind) => {
            let answer = json_text(&write(&context, kind, &request.body, record).await?)?;
            let mut response = success(answer);
            if kind == Write::Put {
                *response.status_mut() = StatusCode::CREATED;
            }
            return Ok(response);
        }
        Route::Question { table, question } => {
            let (table, question) = question::find(&api.model, table, question)?;
            record.table = Some(table.id.clone());
            record.question = Some(question.name.clone());
            let asked = question::request(table, question, params)?;
            json_text(&query(&context, &asked, record).await?.body(format))
        }
    }?;
    Ok(success(body))
}

fn format(params: &mut Params) -> Result<Format, Problem> {
    match params.take("format").as_slice() {
        [] => Ok(Format::Plain),
        [one] if one == "plain" => Ok(Format::Plain),
        [one] if one == "dynamodb" => Ok(Format::DynamoDb),
        _ => Err(Problem::new(400, "invalid-parameter", "parameter `format` must be `plain` or `dynamodb`")),
    }
}

fn json_text(body: &impl Serialize) -> Result<String, Problem> {
    let text = serde_json::to_string(body)
        .map_err(|_| Problem::new(500, "internal", "the answer could not be written"))?;
    if text.len() > ANSWER_BYTES_MAX {
        let detail = format!("the answer is larger than {ANSWER_BYTES_MAX} bytes");
        let hint = "ask for fewer items with `limit`, or for fewer attributes with `select`";
        return Err(Problem::new(422, "answer-too-large", detail).hint(hint));
    }
    Ok(text)
}

fn success(body: String) -> Response<String> {
    let mut response = Response::new(body);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
