//! What went wrong, as an RFC 9457 problem document with a stable code. Never holds what an item holds.

use keyfold_dynamo::DynamoError;
use serde_json::{Map, Value, json};

/// The media type of a problem document.
pub const PROBLEM_CONTENT_TYPE: &str = "application/problem+json";
/// How long a throttled caller should wait, in seconds.
pub const RETRY_AFTER_SECONDS: &str = "1";

/// One problem.
#[derive(Debug, Clone, PartialEq)]
pub struct Problem {
    /// The HTTP status.
    pub status: u16,
    /// The code that stays the same.
    pub code: &'static str,
    /// What happened this time.
    pub detail: String,
    /// What the reader can do about it.
    pub hint: Option<String>,
    /// Is it worth while to ask again soon?
    pub again: bool,
    /// A header that the status asks for.
    pub header: Option<(&'static str, &'static str)>,
}

impl Problem {
    /// A problem without a hint, that asking again does not solve.
    pub fn new(status: u16, code: &'static str, detail: impl Into<String>) -> Problem {
        Problem { status, code, detail: detail.into(), hint: None, again: false, header: None }
    }

    /// The problem with a hint, if there is one.
    #[must_use]
    pub fn hint(mut self, hint: Option<impl Into<String>>) -> Problem {
        self.hint = hint.map(Into::into);
        self
    }

    /// The problem with a header of its status.
    #[must_use]
    pub fn header(mut self, name: &'static str, value: &'static str) -> Problem {
        self.header = Some((name, value));
        self
    }

    /// A failed call to DynamoDB: who is at fault, and whether it is worth while to ask again soon.
    pub fn of_call(error: &DynamoError) -> Problem {
        let (status, again) = match error {
            DynamoError::Throttled { .. } | DynamoError::Unprocessed { .. } => (429, true),
            DynamoError::Unavailable { .. } | DynamoError::Conflict { .. } => (503, true),
            DynamoError::TimedOut { .. } => (504, true),
            DynamoError::Transport { .. } => (502, true),
            DynamoError::CollectionFull { .. } => (507, false),
            _ => (502, false),
        };
        Problem { again, ..Problem::new(status, error.code(), error.to_string()).hint(error.hint()) }
    }

    /// RFC 9457's members, then ours.
    pub fn document(&self) -> Map<String, Value> {
        let mut document = Map::new();
        let mut add = |name: &str, value: Value| document.insert(name.to_owned(), value);
        add("type", json!(format!("urn:keyfold:problem:{}", self.code)));
        add("title", json!(title(self.code)));
        add("status", json!(self.status));
        add("detail", json!(self.detail));
        add("code", json!(self.code));
        if let Some(hint) = &self.hint {
            add("hint", json!(hint));
        }
        document
    }
}

/// The code as words: the same for every problem of one type, as RFC 9457 wants it.
fn title(code: &str) -> String {
    let words = code.replace('-', " ");
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use keyfold_dynamo::{Call, Hidden};

    use super::*;

    #[test]
    fn what_dynamodb_says_of_a_request_is_not_passed_on() {
        let call = Call { operation: "PutItem", table: "ResourceAccessAudit".into(), index: None };
        let error = DynamoError::Invalid { call, detail: Hidden::new("value joe1 is not valid".to_owned()) };
        let document = Problem::of_call(&error).document();
        assert_eq!(document["title"], "Invalid request");
        assert!(!Value::Object(document).to_string().contains("joe1"));
    }

    #[test]
    fn whoever_is_throttled_may_come_again() {
        let call = || Call { operation: "PutItem", table: "ResourceAccessAudit".into(), index: None };
        for (error, status, again) in [
            (DynamoError::Throttled { call: call(), reasons: Vec::new() }, 429, true),
            (DynamoError::Unavailable { call: call() }, 503, true),
            (DynamoError::NotFound { call: call() }, 502, false),
            (DynamoError::CollectionFull { call: call() }, 507, false),
        ] {
            let problem = Problem::of_call(&error);
            assert_eq!((problem.status, problem.again), (status, again), "{problem:?}");
        }
    }
}
