//! What Lambda is told: from which record on it must deliver again.

use serde_json::{Value, json};

/// What Lambda is told.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// The invocation's result.
    Value(Value),
    /// The invocation failed, and with it the whole batch: a name that others can match, and a message.
    Error {
        /// The error's type: `Keyfold.MappingChanged`, ...
        kind: String,
        /// What happened, and what can be done about it.
        message: String,
    },
}

/// The answer that names the first record to be delivered again, if there is one.
///
/// Lambda goes on from the lowest number that is named, so naming more than the first says nothing more. An empty list is
/// a success; a null, an empty text or another name of a member would fail the whole batch or, worse, look like one.
/// <https://docs.aws.amazon.com/lambda/latest/dg/services-ddb-batchfailurereporting.html>
pub(crate) fn answer(first_failure: Option<&str>) -> Answer {
    let failures: Vec<Value> =
        first_failure.into_iter().map(|sequence| json!({ "itemIdentifier": sequence })).collect();
    Answer::Value(json!({ "batchItemFailures": failures }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_has_the_members_that_lambda_reads() {
        let text = |first: Option<&str>| match answer(first) {
            Answer::Value(value) => value.to_string(),
            Answer::Error { .. } => unreachable!("an answer is no error"),
        };
        assert_eq!(text(None), r#"{"batchItemFailures":[]}"#);
        assert_eq!(text(Some("0042")), r#"{"batchItemFailures":[{"itemIdentifier":"0042"}]}"#);
    }
}
