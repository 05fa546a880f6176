//! Where an invocation comes from, by the shape of its event.
//!
//! A direct caller is trusted more than an HTTP caller. So an event that looks like one of AWS's own, but is none that the
//! writer knows, is refused: it is never taken for a direct call.

use keyfold_edge::http::HttpEvent;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::sqs::SqsEvent;

/// An invocation's event.
pub(crate) enum Source<'t> {
    /// An HTTP API (payload format 2.0) or a function URL.
    Http(Box<HttpEvent>),
    /// A queue.
    Sqs(SqsEvent<'t>),
    /// Audit events as they are.
    Direct(&'t str),
    /// An event of another service, or of an API in another format.
    Unknown,
}

/// The members by which AWS's services mark their events: API Gateway in both formats, load balancers, queues, streams,
/// buckets, EventBridge.
#[derive(Deserialize)]
struct Shape<'t> {
    version: Option<&'t RawValue>,
    #[serde(rename = "requestContext", borrow)]
    context: Option<&'t RawValue>,
    #[serde(rename = "httpMethod", borrow)]
    method: Option<&'t RawValue>,
    #[serde(rename = "routeKey", borrow)]
    route: Option<&'t RawValue>,
    #[serde(rename = "Records", borrow)]
    records: Option<&'t RawValue>,
    #[serde(rename = "detail-type", borrow)]
    detail_type: Option<&'t RawValue>,
}

#[derive(Deserialize)]
struct RecordShape<'t> {
    #[serde(rename = "eventSource", borrow)]
    source: std::borrow::Cow<'t, str>,
}

impl Source<'_> {
    /// The source of an event. What is of no known shape is an audit event, or is refused as one.
    pub(crate) fn of(event: &str) -> Source<'_> {
        // No object, or a member twice: as direct, it is read more strictly than here, and refused.
        let Ok(shape) = serde_json::from_str::<Shape<'_>>(event) else { return Source::Direct(event) };
        let is_http = shape.version.is_some_and(|version| version.get() == "\"2.0\"");
        match shape {
            Shape { context: Some(_), records: None, method: None, detail_type: None, .. } if is_http => {
                HttpEvent::read(event).map_or(Source::Unknown, |http| Source::Http(Box::new(http)))
            }
            Shape {
                context: None,
                method: None,
                route: None,
                detail_type: None,
                records: Some(records),
                ..
            } if are_of_sqs(records) => serde_json::from_str(event).map_or(Source::Unknown, Source::Sqs),
            Shape { context: None, method: None, route: None, detail_type: None, records: None, .. } => {
                Source::Direct(event)
            }
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

fn are_of_sqs(records: &RawValue) -> bool {
    serde_json::from_str::<Vec<RecordShape<'_>>>(records.get())
        .is_ok_and(|records| records.iter().all(|record| record.source == "aws:sqs"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_known_by_its_shape_and_nothing_of_aws_is_taken_for_a_direct_call() {
        for (event, name) in [
            (r#"{"version":"2.0","requestContext":{"http":{"method":"POST"}}}"#, "http"),
            (r#"{"Records":[{"eventSource":"aws:sqs","messageId":"1","body":""}]}"#, "sqs"),
            (r#"{"id":"1","resourceId":"r","version":"2.0"}"#, "direct"),
            (r#"{"Records":[{"eventSource":"aws:s3"}]}"#, "unknown"),
            (r#"{"Records":[{"eventSource":"aws:sqs"},{"eventSource":"aws:s3"}]}"#, "unknown"),
            (r#"{"Records":[]}"#, "sqs"),
            (r#"{"Records":7,"requestContext":"x"}"#, "unknown"),
            (r#"{"requestContext":{}}"#, "unknown"),
            (r#"{"version":"2.0","requestContext":{}}"#, "unknown"),
            (r#"{"version":"1.0","requestContext":{"http":{"method":"POST"}}}"#, "unknown"),
            (r#"{"version":"2.0","requestContext":{"http":{"method":"POST"}},"Records":[]}"#, "unknown"),
            (r#"{"httpMethod":"POST","id":"1"}"#, "unknown"),
            (r#"{"routeKey":"$connect"}"#, "unknown"),
            (r#"{"detail-type":"Object Created","source":"aws.s3"}"#, "unknown"),
            ("[]", "direct"),
            ("null", "direct"),
            ("{", "direct"),
        ] {
            assert_eq!(Source::of(event).name(), name, "{event}");
        }
    }
}
