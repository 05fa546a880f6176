//! Over HTTP: `POST /audit` with one event or a list, from an HTTP API or a function URL.

use std::time::SystemTime;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use keyfold_edge::{Claims, PROBLEM_CONTENT_TYPE, Problem, RETRY_AFTER_SECONDS};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::content::content;
use crate::event::{Origin, draft};
use crate::limits::BODY_BYTES_MAX;
use crate::outcome::{Refused, answer};
use crate::settings::Auth;
use crate::write::write;
use crate::{Record, Writer, problem, stamp};

/// What is read of an event in payload format 2.0.
/// <https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html>
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct HttpEvent<'t> {
    #[serde(default)]
    raw_path: String,
    #[serde(borrow, default)]
    body: Option<std::borrow::Cow<'t, str>>,
    #[serde(default)]
    is_base64_encoded: bool,
    request_context: Context,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Context {
    stage: Option<String>,
    request_id: Option<String>,
    #[serde(default)]
    authorizer: Value,
    http: Http,
}

#[derive(Deserialize)]
struct Http {
    #[serde(default)]
    method: String,
}

/// Answers one request, always.
pub(crate) async fn respond(
    writer: &Writer,
    event: &HttpEvent<'_>,
    deadline: Option<SystemTime>,
    record: &mut Record,
) -> Value {
    if let Some(id) = &event.request_context.request_id {
        record.request_id.clone_from(id);
    }
    match accepted(writer, event, deadline, record).await {
        Ok(document) => {
            let status = if record.written > 0 { 201 } else { 200 };
            record.status = status;
            response(status, "application/json", &document.to_string(), None)
        }
        Err(refused) => {
            let (problem, members) = *refused;
            record.refuse(&problem);
            let mut document = problem.document();
            document.insert("instance".to_owned(), json!(record.request_id));
            if let Value::Object(members) = members {
                document.extend(members);
            }
            let header = match problem.again {
                true => Some(("retry-after", RETRY_AFTER_SECONDS)),
                false => problem.header,
            };
            response(problem.status, PROBLEM_CONTENT_TYPE, &Value::Object(document).to_string(), header)
        }
    }
}

async fn accepted(
    writer: &Writer,
    event: &HttpEvent<'_>,
    deadline: Option<SystemTime>,
    record: &mut Record,
) -> Result<Value, Refused> {
    let alone = |problem: Problem| Box::new((problem, Value::Null));
    route(event).map_err(alone)?;
    let claims = Claims::of_authorizer(&event.request_context.authorizer);
    if claims.is_empty() && writer.auth == Auth::Claims {
        let problem = Problem::new(401, "not-authenticated", "the request has no claims of an authorizer")
            .hint(Some("give the route an authorizer, or set `KEYFOLD_AUTH=open` if everybody may write"))
            .header("www-authenticate", "Bearer");
        return Err(alone(problem));
    }
    let body = body(event).map_err(alone)?;
    let content = content(&body).map_err(alone)?;
    let origin = Origin { time: stamp::now(), mark: None, claims: Some(&claims) };
    let drafts = content.events.iter().map(|text| draft(writer, text, &origin)).collect();
    let outcomes = write(writer, drafts, deadline, record).await;
    answer(&outcomes, content.listed)
}

fn route(event: &HttpEvent<'_>) -> Result<(), Problem> {
    let context = &event.request_context;
    let stage = context.stage.as_deref().filter(|stage| *stage != "$default");
    let path = stage
        .and_then(|stage| event.raw_path.strip_prefix('/')?.strip_prefix(stage))
        .filter(|rest| rest.starts_with('/'))
        .unwrap_or(&event.raw_path);
    if path.trim_matches('/') != "audit" {
        return Err(Problem::new(404, "unknown-route", "no such path"));
    }
    match context.http.method.as_str() {
        "POST" => Ok(()),
        _ => Err(Problem::new(405, "method-not-allowed", "this path takes POST").header("allow", "POST")),
    }
}

fn body(event: &HttpEvent<'_>) -> Result<String, Problem> {
    let body = event.body.as_deref().unwrap_or_default();
    if !event.is_base64_encoded {
        return Ok(body.to_owned());
    }
    if body.len() / 4 * 3 > BODY_BYTES_MAX {
        return Err(Problem::new(
            413,
            "body-too-large",
            format!("the body is larger than {BODY_BYTES_MAX} bytes"),
        ));
    }
    let bytes = STANDARD.decode(body).map_err(|_| problem::malformed("the body is not base64"))?;
    String::from_utf8(bytes).map_err(|_| problem::malformed("the body is not UTF-8"))
}

fn response(status: u16, content_type: &str, body: &str, header: Option<(&str, &str)>) -> Value {
    let mut headers = Map::new();
    headers.insert("content-type".to_owned(), json!(content_type));
    headers.insert("cache-control".to_owned(), json!("no-store"));
    if let Some((name, value)) = header {
        headers.insert(name.to_owned(), json!(value));
    }
    json!({ "statusCode": status, "headers": headers, "body": body, "isBase64Encoded": false })
}
