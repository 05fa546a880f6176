//! What can be wrong with audit events. Every code is listed in `docs/errors.md`.

use keyfold_dynamo::WriteError;
use keyfold_edge::Problem;

pub(crate) fn malformed(detail: impl Into<String>) -> Problem {
    Problem::new(400, "malformed-request", detail)
}

pub(crate) fn over_limit(detail: impl Into<String>) -> Problem {
    Problem::new(400, "over-limit", detail)
}

pub(crate) fn conflict(id: &str) -> Problem {
    let detail = format!("another audit event has the id {id:?}");
    Problem::new(409, "id-conflict", detail)
        .hint(Some("an audit event is never changed: send this one under an id of its own"))
}

/// Why an item was not written.
pub(crate) fn of_write(error: &WriteError) -> Problem {
    match error.dynamo() {
        Some(call) => Problem::of_call(call),
        None => {
            let status = if error.code() == "item-too-large" { 413 } else { 400 };
            let detail = match error {
                // The cause says which attribute and why.
                WriteError::Item(item) => std::error::Error::source(item)
                    .map_or_else(|| item.to_string(), |cause| format!("{item}: {cause}")),
                other => other.to_string(),
            };
            Problem::new(status, error.code(), detail).hint(error.hint())
        }
    }
}
