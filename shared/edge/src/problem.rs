//! An error as an RFC 9457 problem document with a stable code. It never shows an item's contents.
//!
//! Every code is listed in `docs/errors.md`.

mod from;

use std::num::NonZeroU32;

use keyfold_core::model::Table;
use keyfold_core::query::readiness::Pending;
use serde_json::{Map, Value, json};

/// The media type of a problem document.
pub const PROBLEM_CONTENT_TYPE: &str = "application/problem+json";
/// The error code of an index that is not complete yet.
pub const INDEX_PENDING: &str = "index-pending";
/// How long a throttled caller should wait, in seconds.
const RETRY_AFTER_SECONDS: &str = "1";

/// One problem.
#[derive(Debug, Clone, PartialEq)]
pub struct Problem {
    /// The HTTP status.
    pub status: u16,
    /// The stable code.
    pub code: &'static str,
    /// The details of this occurrence.
    pub detail: String,
    /// A suggestion.
    pub hint: Option<String>,
    /// Can the same request succeed a little later?
    pub again: bool,
    /// How long the caller should wait before a retry, if known.
    pub retry_after_seconds: Option<NonZeroU32>,
    /// Additional members of the document for this code.
    pub members: Map<String, Value>,
    /// The method that the path accepts, if another was used.
    pub allowed: Option<&'static str>,
}

impl Problem {
    /// A problem without a hint. Sending the same request again does not help.
    pub fn new(status: u16, code: &'static str, detail: impl Into<String>) -> Problem {
        let detail = detail.into();
        Problem {
            status,
            code,
            detail,
            hint: None,
            again: false,
            retry_after_seconds: None,
            members: Map::new(),
            allowed: None,
        }
    }

    /// The problem with a hint.
    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Problem {
        self.maybe_hint(Some(hint))
    }

    /// The problem with a hint, if there is one.
    #[must_use]
    pub fn maybe_hint(mut self, hint: Option<impl Into<String>>) -> Problem {
        self.hint = hint.map(Into::into);
        self
    }

    /// DynamoDB says that the table lacks the index: a manifest can know it earlier, between the stages of a stack, and until
    /// `keyfold index add` is done.
    pub fn index_pending(table: &Table, index: &str) -> Problem {
        let detail = format!("index `{index}` of table `{}` {}", table.id, Pending::Missing);
        Problem::new(409, INDEX_PENDING, detail).hint("ask again when the index is active")
    }

    /// A malformed request or event.
    pub fn malformed(detail: impl Into<String>) -> Problem {
        Problem::new(400, "malformed-request", detail)
    }

    /// A body or query string over the limit.
    pub fn body_too_large(bytes_max: usize) -> Problem {
        Problem::new(413, "body-too-large", format!("the request is larger than {bytes_max} bytes"))
    }

    /// An unknown path.
    pub fn unknown_route() -> Problem {
        Problem::new(404, "unknown-route", "no such path")
    }

    /// A path that accepts one method, and was requested with another.
    pub fn method_not_allowed(allowed: &'static str, given: &str) -> Problem {
        let detail = format!("this path accepts {allowed}, not {given}");
        Problem { allowed: Some(allowed), ..Problem::new(405, "method-not-allowed", detail) }
    }

    /// A caller without claims.
    pub fn not_authenticated() -> Problem {
        Problem::new(401, "not-authenticated", "the request has no claims of an authorizer")
            .hint("give the route an authorizer, or set `KEYFOLD_AUTH=open` if everyone may use it")
    }

    /// A caller whose token lacks the OAuth scope that the function asks for.
    pub fn not_granted(scope: &str) -> Problem {
        Problem::new(403, "not-granted", format!("the caller's token does not grant the scope `{scope}`"))
    }

    /// The additional header for this status.
    pub fn response_header(&self) -> Option<(&'static str, &'static str)> {
        match self.status {
            _ if self.again => Some(("retry-after", RETRY_AFTER_SECONDS)),
            401 => Some(("www-authenticate", "Bearer")),
            _ => self.allowed.map(|method| ("allow", method)),
        }
    }

    /// RFC 9457's members, then ours. `instance`: the id of the request, if the problem is the whole response.
    pub fn document(&self, instance: Option<&str>) -> Value {
        let mut document = json!({
            "type": format!("urn:keyfold:problem:{}", self.code),
            "title": title(self.code),
            "status": self.status,
            "detail": self.detail,
            "code": self.code,
        });
        let optional = [("hint", self.hint.as_deref()), ("instance", instance)];
        for (name, text) in optional.into_iter().filter_map(|(name, text)| Some((name, text?))) {
            document[name] = json!(text);
        }
        for (name, value) in &self.members {
            document[name] = value.clone();
        }
        document
    }
}

/// The code as a title: the same for every problem of a type, as RFC 9457 requires.
fn title(code: &str) -> String {
    let words = code.replace('-', " ");
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests;
