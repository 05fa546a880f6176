//! From a request to a response: each step is somebody else's, in this order.

use std::time::Instant;

use http::{HeaderName, HeaderValue, Response, StatusCode, header};
use keyfold_core::query::QueryRequest;
use keyfold_core::query::check::Caller;
use keyfold_core::query::question::{self, Params};
use keyfold_core::value::NumberError;
use keyfold_edge::{PROBLEM_CONTENT_TYPE, Problem};
use serde::Serialize;
use serde_json::json;

use crate::answer::Answer;
use crate::ask::{Asker, explain, query};
use crate::exact::exact;
use crate::params::{self, PARAMS_MAX};
use crate::plain::Format;
use crate::route::{Route, route};
use crate::settings::{ANSWER_BYTES_MAX, BODY_BYTES_MAX, QUERY_STRING_BYTES_MAX};
use crate::write::Write;
use crate::{Api, ApiRequest, Record, openapi, problem};

/// Answers one request: the response, and what the log and the metrics show of it. There is always an answer; a refusal is a
/// problem document.
///
/// This is the whole API. [`handle`](crate::handle) calls it for Lambda's events; a server on this machine calls it itself.
pub async fn respond(api: &Api, request: &ApiRequest) -> (Response<String>, Record) {
    let started = Instant::now();
    let mut record = begun(&request.id);
    let answered = answer(api, request, &mut record).await;
    finished(record, started, answered)
}

/// The record of a request of which nothing is known yet.
pub(crate) fn begun(request_id: &str) -> Record {
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
    // What one caller may see is not for a cache between us.
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
    let mut params = params(request)?;
    let format = format(&mut params)?;
    let asker = Asker { api, caller: &request.caller, deadline: request.deadline };
    let body = match route {
        Route::Health => json_text(&json!({ "status": "ok", "manifest": api.version_text() })),
        Route::OpenApi => json_text(&openapi(api.model(), api.limits.auth)),
        Route::Explain => json_text(&explain(&asker, &body(request)?, record).await?),
        Route::Query => answer_text(&query(&asker, &body(request)?, record).await?, format),
        Route::Write(write) => {
            let answer = json_text(&crate::write::write(&asker, write, &request.body, record).await?)?;
            let mut response = success(answer);
            if write == Write::Put {
                *response.status_mut() = StatusCode::CREATED;
            }
            return Ok(response);
        }
        Route::Question { table, question } => {
            let (table, question) = question::find(&api.model, table, question)?;
            record.table = Some(table.id.clone());
            record.question = Some(question.name.clone());
            let asked = question::request(table, question, params)?;
            answer_text(&query(&asker, &asked, record).await?, format)
        }
    }?;
    Ok(success(body))
}

fn params(request: &ApiRequest) -> Result<Params, Problem> {
    let query = &request.query;
    if query.len() > QUERY_STRING_BYTES_MAX {
        return Err(Problem::body_too_large(QUERY_STRING_BYTES_MAX));
    }
    params::read(query).ok_or_else(|| Problem::malformed(format!("more than {PARAMS_MAX} parameters")))
}

fn format(params: &mut Params) -> Result<Format, Problem> {
    match params.take("format").as_slice() {
        [] => Ok(Format::Plain),
        [one] if one == "plain" => Ok(Format::Plain),
        [one] if one == "dynamodb" => Ok(Format::DynamoDb),
        _ => Err(Problem::new(400, "invalid-parameter", "parameter `format` must be `plain` or `dynamodb`")),
    }
}

fn body(request: &ApiRequest) -> Result<QueryRequest, Problem> {
    let bytes = &request.body;
    if bytes.len() > BODY_BYTES_MAX {
        return Err(Problem::body_too_large(BODY_BYTES_MAX));
    }
    let text = str::from_utf8(bytes).map_err(|_| Problem::malformed("the body is not UTF-8"))?;
    let text = exact(text).map_err(|error| bad_number(&error))?;
    serde_json::from_str(&text)
        .map_err(|error| Problem::malformed(format!("the body is not a request: {error}")))
}

fn bad_number(error: &NumberError) -> Problem {
    let detail = format!("a number in the body is not a valid DynamoDB number: {error}");
    Problem::new(400, "invalid-value", detail)
}

fn answer_text(answer: &Answer, format: Format) -> Result<String, Problem> {
    json_text(&answer.body(format))
}

fn json_text(body: &impl Serialize) -> Result<String, Problem> {
    let text = serde_json::to_string(body)
        .map_err(|_| Problem::new(500, "internal", "the answer could not be written"))?;
    if text.len() > ANSWER_BYTES_MAX { Err(problem::answer_too_large(ANSWER_BYTES_MAX)) } else { Ok(text) }
}

fn success(body: String) -> Response<String> {
    let mut response = Response::new(body);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
