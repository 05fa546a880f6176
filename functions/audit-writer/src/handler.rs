//! From an invocation's event to its answer.

use std::time::{Instant, SystemTime};

use keyfold_edge::{FunctionError, Handled, Invocation, Problem};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::event::{Origin, Received, ValuesLeft};
use crate::outcome::answer;
use crate::source::{Source, list};
use crate::write::write;
use crate::{Record, Writer, http, problem, sqs, stamp};

/// Handles one event. There is always an answer, and it names the events that were not written.
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
        Source::Direct(events) => {
            let answered = direct(writer, events, deadline, &mut record).await;
            answered.map_err(|problem| failed(&problem, &mut record))
        }
        Source::Unknown => Err(failed(&problem::unknown_event(), &mut record)),
    };
    record.duration = started.elapsed();
    Handled { answer, record }
}

/// Any failure makes a direct invocation fail. Lambda then repeats an asynchronous one, or sends it to its dead-letter queue.
async fn direct(
    writer: &Writer,
    events: Vec<&RawValue>,
    deadline: Option<SystemTime>,
    record: &mut Record,
) -> Result<Value, Box<Problem>> {
    let content = list(events)?;
    let received = Received { source: "direct", principal: None, request_id: &record.request_id };
    let origin = Origin { time: stamp::now(), claims: None, received };
    let drafts = origin.drafts(writer, &content.events, &mut ValuesLeft::default());
    let outcomes = write(writer, drafts, deadline, record).await;
    answer(&outcomes, content.listed)
}

/// The invocation fails with this problem.
fn failed(problem: &Problem, record: &mut Record) -> FunctionError {
    record.refuse(problem);
    let message = problem.document(Some(&record.request_id)).to_string();
    FunctionError { error_type: problem.code.to_owned(), message }
}
