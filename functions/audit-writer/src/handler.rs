//! From an invocation's event to its answer: each step is somebody else's.

use std::time::Instant;

use keyfold_edge::{Handled, Invocation};

use crate::source::Source;
use crate::{Record, Writer, direct, http, problem, sqs};

/// Takes one event. There is always an answer, and it names what was not written.
pub async fn handle(writer: &Writer, invocation: Invocation<'_>) -> Handled<Record> {
    let Invocation { event, request_id, deadline } = invocation;
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
        Source::Http(event) => Ok(http::respond(writer, &event, deadline, &mut record).await),
        Source::Sqs(event) => Ok(sqs::take(writer, &event, deadline, &mut record).await),
        Source::Direct(event) => direct::invoke(writer, event, deadline, &mut record).await,
        Source::Unknown => Err(direct::failed(&problem::unknown_event(), &mut record)),
    };
    record.duration = started.elapsed();
    Handled { answer, record }
}
