//! Where an invocation comes from, by the shape of its event.

use keyfold_edge::http::HttpEvent;
use serde::Deserialize;
use serde::de::IgnoredAny;
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
}

#[derive(Deserialize)]
struct Shape<'t> {
    #[serde(rename = "requestContext", borrow)]
    context: Option<&'t RawValue>,
    #[serde(rename = "Records", borrow)]
    records: Option<&'t RawValue>,
}

#[derive(Deserialize)]
struct HttpShape {
    #[serde(rename = "http")]
    _http: IgnoredAny,
}

#[derive(Deserialize)]
struct RecordShape<'t> {
    #[serde(rename = "eventSource", borrow)]
    source: std::borrow::Cow<'t, str>,
}

impl Source<'_> {
    /// The source of an event. What is of no known shape is an audit event, or is refused as one.
    pub(crate) fn of(event: &str) -> Source<'_> {
        let Ok(shape) = serde_json::from_str::<Shape<'_>>(event) else { return Source::Direct(event) };
        let is_http =
            shape.context.is_some_and(|context| serde_json::from_str::<HttpShape>(context.get()).is_ok());
        if is_http && let Ok(http) = HttpEvent::read(event) {
            return Source::Http(Box::new(http));
        }
        let is_sqs = shape.records.is_some_and(|records| {
            serde_json::from_str::<Vec<RecordShape<'_>>>(records.get())
                .is_ok_and(|records| records.iter().all(|record| record.source == "aws:sqs"))
        });
        if is_sqs && let Ok(sqs) = serde_json::from_str(event) {
            return Source::Sqs(sqs);
        }
        Source::Direct(event)
    }

    /// Its name in logs and metrics.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Source::Http(_) => "http",
            Source::Sqs(_) => "sqs",
            Source::Direct(_) => "direct",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_known_by_its_shape_and_everything_else_is_direct() {
        for (event, name) in [
            (r#"{"requestContext":{"http":{"method":"POST"}}}"#, "http"),
            (r#"{"Records":[{"eventSource":"aws:sqs","messageId":"1","body":""}]}"#, "sqs"),
            (r#"{"Records":[{"eventSource":"aws:s3"}]}"#, "direct"),
            (r#"{"Records":7,"requestContext":"x"}"#, "direct"),
            (r#"{"requestContext":{}}"#, "direct"),
            ("[]", "direct"),
            ("null", "direct"),
            ("{", "direct"),
        ] {
            assert_eq!(Source::of(event).name(), name, "{event}");
        }
    }
}
