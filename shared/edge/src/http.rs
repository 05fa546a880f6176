//! A request of an HTTP API or of a function URL (payload format 2.0), and its response.
//!
//! <https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html>

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::{Claims, Problem};

/// The fields of the event that functions use. No headers, because a caller can forge them.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HttpEvent {
    #[serde(default)]
    raw_path: String,
    raw_query_string: Option<String>,
    body: Option<String>,
    #[serde(default)]
    is_base64_encoded: bool,
    request_context: RequestContext,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RequestContext {
    stage: Option<String>,
    request_id: Option<String>,
    #[serde(default)]
    authorizer: Value,
    http: Http,
}

#[derive(Debug, Deserialize)]
struct Http {
    method: String,
}

impl HttpEvent {
    /// Reads an event. An event of another form is a problem.
    pub fn read(text: &str) -> Result<HttpEvent, Problem> {
        serde_json::from_str(text).map_err(|_| {
            Problem::malformed(
                "the event is no request of an HTTP API or a function URL (payload format 2.0)",
            )
        })
    }

    /// The method.
    pub fn method(&self) -> &str {
        &self.request_context.http.method
    }

    /// The path without the API's stage.
    pub fn path(&self) -> &str {
        let stage = self.request_context.stage.as_deref().filter(|stage| *stage != "$default");
        stage
            .and_then(|stage| self.raw_path.strip_prefix('/')?.strip_prefix(stage))
            .filter(|rest| rest.starts_with('/'))
            .unwrap_or(&self.raw_path)
    }

    /// The query string as the client sent it.
    pub fn query(&self) -> &str {
        self.raw_query_string.as_deref().unwrap_or_default()
    }

    /// The id that the API gave the request.
    pub fn request_id(&self) -> Option<&str> {
        self.request_context.request_id.as_deref()
    }

    /// The claims of the caller.
    pub fn claims(&self) -> Claims {
        Claims::of_authorizer(&self.request_context.authorizer)
    }

    /// The body, if it has at most `bytes_max` bytes.
    pub fn body(&self, bytes_max: usize) -> Result<Vec<u8>, Problem> {
        let body = self.body.as_deref().unwrap_or_default();
        // Base64 has four characters for three bytes.
        let bytes = if self.is_base64_encoded { body.len() / 4 * 3 } else { body.len() };
        if bytes > bytes_max {
            return Err(Problem::body_too_large(bytes_max));
        }
        match self.is_base64_encoded {
            true => STANDARD.decode(body).map_err(|_| Problem::malformed("the body is not base64")),
            false => Ok(body.as_bytes().to_vec()),
        }
    }
}

/// A response as Lambda hands it to the API.
pub fn response<'h>(status: u16, headers: impl IntoIterator<Item = (&'h str, &'h str)>, body: &str) -> Value {
    let headers: Map<String, Value> =
        headers.into_iter().map(|(name, value)| (name.to_owned(), Value::from(value))).collect();
    json!({ "statusCode": status, "headers": headers, "body": body, "isBase64Encoded": false })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(more: &Value) -> HttpEvent {
        let mut event =
            json!({ "rawPath": "/prod/query", "requestContext": { "http": { "method": "POST" } } });
        for (name, value) in more.as_object().unwrap() {
            event[name] = value.clone();
        }
        HttpEvent::read(&event.to_string()).unwrap()
    }

    #[test]
    fn a_path_loses_the_stage_of_its_api() {
        let staged = |stage: &str| {
            let context = json!({ "stage": stage, "http": { "method": "POST" } });
            event(&json!({ "requestContext": context })).path().to_owned()
        };
        assert_eq!((staged("prod"), staged("$default")), ("/query".to_owned(), "/prod/query".to_owned()));
        assert_eq!((staged("pro"), event(&json!({})).path()), ("/prod/query".to_owned(), "/prod/query"));
    }

    #[test]
    fn a_body_is_measured_before_it_is_decoded() {
        let body = |body: &str, base64: bool| event(&json!({ "body": body, "isBase64Encoded": base64 }));
        assert_eq!(body("aGk=", true).body(3), Ok(b"hi".to_vec()));
        assert_eq!(body("aGk=", true).body(2).unwrap_err().code, "body-too-large");
        assert_eq!(body("aGk=", false).body(3).unwrap_err().code, "body-too-large");
        assert_eq!(body("?", true).body(3).unwrap_err().code, "malformed-request");
        assert_eq!(event(&json!({})).body(0), Ok(Vec::new()));
    }

    #[test]
    fn an_event_of_another_form_is_a_problem() {
        for text in ["{", "[]", "{}", r#"{"requestContext":{}}"#, r#"{"httpMethod":"GET","path":"/"}"#] {
            assert_eq!(HttpEvent::read(text).unwrap_err().code, "malformed-request", "{text}");
        }
    }
}
