//! The source of an invocation, by the shape of its event, and the audit events in a body.
//!
//! A direct caller is trusted more than an HTTP caller. So a direct call has an envelope that no AWS service sends, and
//! events of any other shape are refused.

use aws_lambda_events::sqs::SqsEvent;
use keyfold_edge::Problem;
use keyfold_edge::http::HttpEvent;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use crate::limits::{BODY_BYTES_MAX, EVENTS_MAX};
use crate::problem;

/// An invocation's event.
pub(crate) enum Source<'t> {
    /// An HTTP API (payload format 2.0) or a function URL.
    Http(Box<HttpEvent>),
    /// A queue. Each message has an id.
    Sqs(SqsEvent),
    /// A direct call with these audit events.
    Direct(Vec<&'t RawValue>),
    /// An event of another service, or of an API in another format.
    Unknown,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DirectEvent<'t> {
    #[serde(rename = "auditEvents", borrow)]
    events: Vec<&'t RawValue>,
}

/// The members that distinguish requests and batches from the events of other services.
#[derive(Deserialize)]
struct Shape<'t> {
    #[serde(borrow)]
    version: Option<&'t RawValue>,
    /// The event of an authorizer is a request with a type.
    #[serde(rename = "type")]
    kind: Option<IgnoredAny>,
    #[serde(rename = "requestContext")]
    context: Option<IgnoredAny>,
    #[serde(rename = "Records")]
    records: Option<IgnoredAny>,
    #[serde(rename = "auditEvents")]
    direct: Option<IgnoredAny>,
}

impl Source<'_> {
    /// The source of an event.
    pub(crate) fn of(event: &str) -> Source<'_> {
        // Serde reads a list as a struct too: its elements as the members.
        if !event.trim_start().starts_with('{') {
            return Source::Unknown;
        }
        if let Ok(DirectEvent { events }) = serde_json::from_str(event) {
            return Source::Direct(events);
        }
        let Ok(shape) = serde_json::from_str::<Shape<'_>>(event) else { return Source::Unknown };
        let is_http = shape.version.is_some_and(|version| version.get() == "\"2.0\"") && shape.kind.is_none();
        match (shape.context, shape.records, shape.direct) {
            (Some(_), None, None) if is_http => {
                HttpEvent::read(event).map_or(Source::Unknown, |http| Source::Http(Box::new(http)))
            }
            (None, Some(_), None) => sqs(event).map_or(Source::Unknown, Source::Sqs),
            _ => Source::Unknown,
        }
    }

    /// Its name in logs and metrics.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Source::Http(_) => "http",
            Source::Sqs(_) => "sqs",
            Source::Direct(_) => "direct",
            Source::Unknown => "unknown",
        }
    }
}

/// A batch from SQS. The crate's type accepts the records of every service, so the event source is checked.
fn sqs(event: &str) -> Option<SqsEvent> {
    let event: SqsEvent = serde_json::from_str(event).ok()?;
    let of_sqs = |source: Option<&str>| source == Some("aws:sqs");
    let all = event
        .records
        .iter()
        .all(|message| of_sqs(message.event_source.as_deref()) && message.message_id.is_some());
    all.then_some(event)
}

/// The events of a body, as texts.
pub(crate) struct Content<'t> {
    pub(crate) events: Vec<&'t RawValue>,
    /// Was it a list?
    pub(crate) listed: bool,
}

/// Parses a body: one audit event, or a list of them.
pub(crate) fn content(body: &str) -> Result<Content<'_>, Problem> {
    if body.len() > BODY_BYTES_MAX {
        return Err(Problem::body_too_large(BODY_BYTES_MAX));
    }
    match body.trim_start().starts_with('[') {
        true => list(read(body)?),
        false => Ok(Content { events: vec![read(body)?], listed: false }),
    }
}

/// A list of audit events, if it is neither empty nor too long.
pub(crate) fn list(events: Vec<&RawValue>) -> Result<Content<'_>, Problem> {
    match events.len() {
        0 => Err(Problem::new(400, "empty-batch", "the list has no audit events")),
        1..=EVENTS_MAX => Ok(Content { events, listed: true }),
        many => {
            let detail = format!("the list has {many} audit events; at most {EVENTS_MAX} are accepted");
            Err(problem::over_limit(detail).hint("send them in several requests"))
        }
    }
}

/// Parses JSON. An error contains the position, never the text.
fn read<'t, T: Deserialize<'t>>(text: &'t str) -> Result<T, Problem> {
    serde_json::from_str(text).map_err(|error| {
        let place = format!("line {}, column {}", error.line(), error.column());
        Problem::malformed(format!("this is not the JSON of an audit event ({place})"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_known_by_its_shape_and_everything_else_is_unknown() {
        for (event, name) in [
            (r#"{"version":"2.0","requestContext":{"http":{"method":"POST"}}}"#, "http"),
            (r#"{"Records":[{"eventSource":"aws:sqs","messageId":"1","body":""}]}"#, "sqs"),
            (r#"{"auditEvents":[{"id":"1"}]}"#, "direct"),
            (r#"{"auditEvents":[]}"#, "direct"),
            (r#"{"auditEvents":[],"Records":[]}"#, "unknown"),
            (r#"{"auditEvents":[],"events":[]}"#, "unknown"),
            (r#"{"auditEvents":[],"auditEvents":[]}"#, "unknown"),
            (r#"{"auditEvents":{"id":"1"}}"#, "unknown"),
            (r#"{"id":"1","resourceId":"r","version":"2.0"}"#, "unknown"),
            (r#"{"Records":[{"eventSource":"aws:s3"}]}"#, "unknown"),
            (r#"{"Records":[{"eventSource":"aws:s3","messageId":"1"}]}"#, "unknown"),
            (
                r#"{"Records":[{"eventSource":"aws:sqs","messageId":"1"},{"eventSource":"aws:s3"}]}"#,
                "unknown",
            ),
            (r#"{"Records":[{"eventSource":"aws:sqs","body":"{}"}]}"#, "unknown"),
            (r#"{"Records":[]}"#, "sqs"),
            (r#"{"Records":7,"requestContext":"x"}"#, "unknown"),
            (r#"{"requestContext":{}}"#, "unknown"),
            (r#"{"version":"2.0","requestContext":{}}"#, "unknown"),
            (r#"{"version":"1.0","requestContext":{"http":{"method":"POST"}}}"#, "unknown"),
            (r#"{"version":"2.0","requestContext":{"http":{"method":"POST"}},"Records":[]}"#, "unknown"),
            (r#"{"version":"2.0","type":"REQUEST","requestContext":{"http":{"method":"POST"}}}"#, "unknown"),
            (r#"{"httpMethod":"POST","id":"1"}"#, "unknown"),
            (r#"{"routeKey":"$connect"}"#, "unknown"),
            (r#"{"detail-type":"Object Created","source":"aws.s3"}"#, "unknown"),
            ("[]", "unknown"),
            (r#"[[{"id":"1"}]]"#, "unknown"),
            ("null", "unknown"),
            ("{", "unknown"),
        ] {
            assert_eq!(Source::of(event).name(), name, "{event}");
        }
    }

    #[test]
    fn events_of_other_services_are_unknown() {
        let events = keyfold_harness::events("audit-writer");
        let others: Vec<_> = events.iter().filter(|(name, _)| name.as_str() >= "50").collect();
        assert!(others.len() >= 15);
        for (name, event) in others {
            assert_eq!(Source::of(event).name(), "unknown", "{name}");
        }
    }
}
