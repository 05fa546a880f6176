//! From an invocation's event to its answer: each step is somebody else's.

use std::time::{Instant, SystemTime};

use serde_json::Value;

use crate::source::Source;
use crate::{Record, Writer, direct, http, sqs};

/// What Lambda is told.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// The invocation's result.
    Value(Value),
    /// The invocation failed: a code, and a problem document.
    Error {
        /// The problem's code.
        kind: &'static str,
        /// The document.
        message: String,
    },
}

/// An answer, and what is to be told of it.
#[derive(Debug)]
pub struct Handled {
    /// For the caller.
    pub answer: Answer,
    /// For the log and the metrics.
    pub record: Record,
}

/// Takes one event. There is always an answer, and it names what was not written.
pub async fn handle(writer: &Writer, event: &str, request_id: &str, deadline: Option<SystemTime>) -> Handled {
    let started = Instant::now();
    let source = Source::of(event);
    let mut record = Record {
        request_id: request_id.to_owned(),
        source: source.name(),
        table: writer.table.id.clone(),
        status: 200,
        code: "ok",
        ..Record::default()
    };
    let answer = match source {
        Source::Http(event) => Answer::Value(http::respond(writer, &event, deadline, &mut record).await),
        Source::Sqs(event) => Answer::Value(sqs::take(writer, &event, deadline, &mut record).await),
        Source::Direct(event) => direct::invoke(writer, event, deadline, &mut record).await,
    };
    record.duration = started.elapsed();
    Handled { answer, record }
}
