//! Problems of audit events. Every code is listed in `docs/errors.md`.

use keyfold_dynamo::WriteError;
use keyfold_edge::Problem;

use crate::journal::JournalError;

pub(crate) fn over_limit(detail: impl Into<String>) -> Problem {
    Problem::new(400, "over-limit", detail)
}

pub(crate) fn unknown_event() -> Problem {
    let detail = "the event is neither a request of an HTTP API (payload format 2.0), nor a batch from SQS, nor a direct call";
    Problem::new(400, "unknown-event", detail)
        .hint("a direct call is `{\"auditEvents\": [...]}`, without other members")
}

pub(crate) fn conflict(id: &str) -> Problem {
    let detail = format!("another audit event has the id {id:?}");
    Problem::new(409, "id-conflict", detail)
        .hint("an audit event never changes: send this one with its own id")
}

/// Why a valid event is not reported as written.
pub(crate) fn of_journal(error: &JournalError) -> Problem {
    let detail = format!("the journal of the audit trail cannot be written: {error}");
    let hint = "send the event again: what is there already is not written twice";
    Problem { again: true, ..Problem::new(503, "journal-not-written", detail).hint(hint) }
}

/// Why an item was not written.
pub(crate) fn of_write(error: &WriteError) -> Problem {
    match error.dynamo() {
        Some(call) => Problem::from(call),
        None => {
            let status = if error.code() == "item-too-large" { 413 } else { 400 };
            let detail = match error {
                // The cause names the attribute and the reason.
                WriteError::Item(item) => std::error::Error::source(item)
                    .map_or_else(|| item.to_string(), |cause| format!("{item}: {cause}")),
                other => other.to_string(),
            };
            Problem::new(status, error.code(), detail).maybe_hint(error.hint())
        }
    }
}
