//! From SQS: each message is one event or a list. Only failed messages are redelivered.

use std::time::SystemTime;

use aws_lambda_events::sqs::{SqsEvent, SqsMessage};
use keyfold_edge::Problem;
use serde_json::{Value, json};

use crate::event::{Draft, Origin, Received, ValuesLeft};
use crate::outcome::Outcome;
use crate::source::content;
use crate::write::write;
use crate::{Record, Writer, stamp};

/// Writes the events of all messages together, and names the messages that failed.
pub(crate) async fn take(
    writer: &Writer,
    event: &SqsEvent,
    deadline: Option<SystemTime>,
    record: &mut Record,
) -> Value {
    let (mut drafts, mut of_message, mut left) = (Vec::new(), Vec::new(), ValuesLeft::default());
    for (number, message) in event.records.iter().enumerate() {
        let read = drafts_of(writer, message, &mut left);
        of_message.extend(std::iter::repeat_n(number, read.len()));
        drafts.extend(read);
    }
    let outcomes = write(writer, drafts, deadline, record).await;
    let mut failures: Vec<Option<&Problem>> = vec![None; event.records.len()];
    for (outcome, number) in outcomes.iter().zip(of_message) {
        failures[number] = failures[number].or(outcome.problem());
    }
    let mut failed = Vec::new();
    for (message, problem) in event.records.iter().zip(failures) {
        if let Some(problem) = problem {
            tell(record, id(message), problem);
            failed.push(json!({ "itemIdentifier": id(message) }));
        }
    }
    if let Some(worst) = outcomes.iter().filter_map(Outcome::problem).max_by_key(|problem| problem.status) {
        record.refuse(worst);
    }
    json!({ "batchItemFailures": failed })
}

/// The events of one message. Its time is when it was sent, which is the same for redeliveries.
fn drafts_of(writer: &Writer, message: &SqsMessage, left: &mut ValuesLeft) -> Vec<Result<Draft, Problem>> {
    let sent = message.attributes.get("SentTimestamp").and_then(|text| text.parse().ok());
    let time = sent.and_then(stamp::of_milliseconds).unwrap_or_else(stamp::now);
    let content = match content(message.body.as_deref().unwrap_or_default()) {
        Ok(content) => content,
        Err(problem) => return vec![Err(problem)],
    };
    // SQS sets the sender of a message; the sender cannot.
    let principal = message.attributes.get("SenderId").map(String::as_str);
    let received = Received { source: "sqs", principal, request_id: id(message) };
    Origin { time, claims: None, received }.drafts(writer, &content.events, left)
}

/// The message's id: [`Source::of`](crate::source::Source::of) refuses messages without one.
fn id(message: &SqsMessage) -> &str {
    message.message_id.as_deref().unwrap_or_default()
}

fn tell(record: &Record, message_id: &str, problem: &Problem) {
    tracing::warn!(
        target: keyfold_edge::log::TARGET,
        request_id = record.request_id,
        message_id,
        code = problem.code,
        "a message failed"
    );
}
