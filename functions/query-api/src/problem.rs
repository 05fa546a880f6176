//! What went wrong, as an RFC 9457 problem document with a stable code. Never holds what an item holds.
//!
//! Every code is listed in `docs/errors.md`.

mod from;

use http::{HeaderValue, Response, StatusCode, header};
use keyfold_core::query::explain::ExplainedRejection;
use keyfold_core::value::NumberError;
use serde::Serialize;

/// The media type of a problem document.
pub(crate) const CONTENT_TYPE: &str = "application/problem+json";
/// How long a throttled caller should wait, in seconds.
pub(crate) const RETRY_AFTER_SECONDS: &str = "1";

/// One problem. `instance`, the id of the request, is added when it is sent.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Problem {
    pub(crate) status: StatusCode,
    pub(crate) code: &'static str,
    pub(crate) detail: String,
    pub(crate) hint: Option<String>,
    /// For a refused plan.
    pub(crate) refused: Option<Box<Refused>>,
    /// A header that the status asks for.
    header: Option<(&'static str, &'static str)>,
}

/// What is known of a plan that was refused.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Refused {
    /// Why each place was turned down.
    pub(crate) rejected: Vec<ExplainedRejection>,
    /// An index that would answer, as manifest text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) suggestion: Option<String>,
}

impl Problem {
    pub(crate) fn new(status: StatusCode, code: &'static str, detail: impl Into<String>) -> Problem {
        let detail = detail.into();
        Problem { status, code, detail, hint: None, refused: None, header: None }
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Problem {
        self.hint = Some(hint.into());
        self
    }

    pub(crate) fn maybe_hint(mut self, hint: Option<String>) -> Problem {
        self.hint = hint;
        self
    }

    fn header(mut self, name: &'static str, value: &'static str) -> Problem {
        self.header = Some((name, value));
        self
    }

    fn retry_after(self) -> Problem {
        self.header("retry-after", RETRY_AFTER_SECONDS)
    }

    /// The problem as an answer.
    pub(crate) fn response(&self, instance: &str) -> Response<String> {
        let document = Document {
            kind: format!("urn:keyfold:problem:{}", self.code),
            title: title(self.code),
            status: self.status.as_u16(),
            detail: &self.detail,
            code: self.code,
            hint: self.hint.as_deref(),
            refused: self.refused.as_deref(),
            instance,
        };
        let body = serde_json::to_string(&document).unwrap_or_default();
        let mut response = Response::new(body);
        *response.status_mut() = self.status;
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(CONTENT_TYPE));
        if let Some((name, value)) = self.header {
            response.headers_mut().insert(name, HeaderValue::from_static(value));
        }
        response
    }
}

/// RFC 9457's members, then ours.
#[derive(Serialize)]
struct Document<'a> {
    #[serde(rename = "type")]
    kind: String,
    title: String,
    status: u16,
    detail: &'a str,
    code: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'a str>,
    #[serde(flatten)]
    refused: Option<&'a Refused>,
    instance: &'a str,
}

/// The code as words: the same for every problem of one type, as RFC 9457 wants it.
fn title(code: &str) -> String {
    let words = code.replace('-', " ");
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// The problems of the API's own making.
impl Problem {
    pub(crate) fn body_too_large(most: usize) -> Problem {
        let detail = format!("the request is larger than {most} bytes");
        Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "body-too-large", detail)
    }

    pub(crate) fn malformed(detail: impl Into<String>) -> Problem {
        Problem::new(StatusCode::BAD_REQUEST, "malformed-request", detail)
    }

    pub(crate) fn bad_number(error: &NumberError) -> Problem {
        let detail = format!("a number in the body is not a valid DynamoDB number: {error}");
        Problem::new(StatusCode::BAD_REQUEST, "invalid-value", detail)
    }

    pub(crate) fn not_authenticated() -> Problem {
        Problem::new(
            StatusCode::UNAUTHORIZED,
            "not-authenticated",
            "the request has no claims of an authorizer",
        )
        .hint("give the route an authorizer, or set `KEYFOLD_AUTH=open` if everybody may use it")
        .header("www-authenticate", "Bearer")
    }

    pub(crate) fn trusted_only(table: &str) -> Problem {
        let detail =
            format!("table `{table}` has a scope, so its contents are shown to a trusted caller only");
        Problem::new(StatusCode::FORBIDDEN, "trusted-only", detail)
            .hint("ask a question: its answer shows the items in your scope")
    }

    pub(crate) fn index_not_declared(table: &str, index: &str, known: &[&str]) -> Problem {
        let detail = format!("table `{table}` declares no index `{index}`");
        let hint = (!known.is_empty()).then(|| format!("it has `{}`", known.join("`, `")));
        Problem::new(StatusCode::NOT_FOUND, "index-not-declared", detail).maybe_hint(hint)
    }

    pub(crate) fn bad_page_token() -> Problem {
        Problem::new(
            StatusCode::BAD_REQUEST,
            "bad-page-token",
            "the page token is not valid for this request",
        )
        .hint("repeat the request without `page`, and use the tokens of that answer")
    }

    pub(crate) fn timed_out() -> Problem {
        Problem::new(StatusCode::GATEWAY_TIMEOUT, "timed-out", "the answer was not complete in time")
            .hint("ask for less: a smaller `limit`, or conditions that an index can answer")
    }

    pub(crate) fn answer_too_large(most: usize) -> Problem {
        let detail = format!("the answer is larger than {most} bytes");
        Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "answer-too-large", detail)
            .hint("ask for fewer items with `limit`, or for fewer attributes with `select`")
    }

    pub(crate) fn internal() -> Problem {
        Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "the answer could not be written")
    }
}

#[cfg(test)]
mod tests;
