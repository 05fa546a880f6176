//! From a request to a response: each step is somebody else's, in this order.

use std::time::Instant;

use keyfold_core::query::QueryRequest;
use lambda_http::http::{HeaderValue, Response, StatusCode, header};
use lambda_http::request::RequestContext;
use lambda_http::{Body, Request, RequestExt};
use serde::Serialize;
use serde_json::json;

use crate::answer::Answer;
use crate::ask::{Asker, explain, query};
use crate::caller::Claims;
use crate::exact::exact;
use crate::params::{PARAMS_MAX, Params};
use crate::plain::Format;
use crate::problem::Problem;
use crate::route::{Route, route};
use crate::settings::{ANSWER_BYTES_MAX, BODY_BYTES_MAX, QUERY_STRING_BYTES_MAX};
use crate::{Api, Record, openapi, question};

/// A response, and what is to be told of it.
#[derive(Debug)]
pub struct Handled {
    /// For the caller.
    pub response: Response<Body>,
    /// For the log and the metrics.
    pub record: Record,
}

/// Answers one request. There is always an answer.
pub async fn handle(api: &Api, request: Request) -> Handled {
    let started = Instant::now();
    let mut record =
        Record { request_id: request_id(&request), route: "none", code: "ok", ..Record::default() };
    let mut response = match respond(api, &request, &mut record).await {
        Ok(body) => success(body),
        Err(problem) => {
            record.code = problem.code;
            problem.response(&record.request_id)
        }
    };
    // What one caller may see is not for a cache between us.
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    record.status = response.status().as_u16();
    record.duration = started.elapsed();
    Handled { response, record }
}

async fn respond(api: &Api, request: &Request, record: &mut Record) -> Result<String, Problem> {
    let route = route(request.method(), path(request))?;
    record.route = route.name();
    let mut params = params(request)?;
    let format = format(&mut params)?;
    let claims = Claims::of(request);
    let asker = Asker { api, claims: &claims, deadline: deadline(request) };
    match route {
        Route::Health => json_text(&json!({ "status": "ok", "manifest": api.version_text() })),
        Route::OpenApi => json_text(&openapi(api.model(), api.limits.auth)),
        Route::Explain => json_text(&explain(&asker, &body(request)?, record)?),
        Route::Query => answer_text(&query(&asker, &body(request)?, record).await?, format),
        Route::Question { table, question } => {
            let (table, question) = question::find(&api.model, table, question)?;
            record.table = Some(table.id.clone());
            record.question = Some(question.name.clone());
            let asked = question::request(table, question, params)?;
            answer_text(&query(&asker, &asked, record).await?, format)
        }
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
    request.lambda_context_ref().filter(|context| context.deadline > 0).map(lambda_http::Context::deadline)
}

fn params(request: &Request) -> Result<Params, Problem> {
    let query = request.uri().query().unwrap_or_default();
    if query.len() > QUERY_STRING_BYTES_MAX {
        return Err(Problem::body_too_large(QUERY_STRING_BYTES_MAX));
    }
    Params::read(query).ok_or_else(|| Problem::malformed(format!("more than {PARAMS_MAX} parameters")))
}

fn format(params: &mut Params) -> Result<Format, Problem> {
    match params.take("format").as_slice() {
        [] => Ok(Format::Plain),
        [one] if one == "plain" => Ok(Format::Plain),
        [one] if one == "dynamodb" => Ok(Format::DynamoDb),
        _ => Err(Problem::new(
            StatusCode::BAD_REQUEST,
            "invalid-parameter",
            "parameter `format` must be `plain` or `dynamodb`",
        )),
    }
}

fn body(request: &Request) -> Result<QueryRequest, Problem> {
    let bytes: &[u8] = request.body();
    if bytes.len() > BODY_BYTES_MAX {
        return Err(Problem::body_too_large(BODY_BYTES_MAX));
    }
    let text = str::from_utf8(bytes).map_err(|_| Problem::malformed("the body is not UTF-8"))?;
    let text = exact(text).map_err(|error| Problem::bad_number(&error))?;
    serde_json::from_str(&text)
        .map_err(|error| Problem::malformed(format!("the body is no request: {error}")))
}

fn answer_text(answer: &Answer, format: Format) -> Result<String, Problem> {
    json_text(&answer.body(format))
}

fn json_text(body: &impl Serialize) -> Result<String, Problem> {
    let text = serde_json::to_string(body).map_err(|_| Problem::internal())?;
    if text.len() > ANSWER_BYTES_MAX { Err(Problem::answer_too_large(ANSWER_BYTES_MAX)) } else { Ok(text) }
}

fn success(body: String) -> Response<Body> {
    let mut response = Response::new(Body::from(body));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
