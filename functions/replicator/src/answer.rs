//! The answer to a batch: from which record on Lambda must deliver again.

use serde_json::{Value, json};

/// The answer that names the first record to be delivered again, if there is one.
///
/// Lambda goes on from the lowest number that is named, so naming more than the first says nothing more. An empty list is
/// a success; a null, an empty text or another name of a member would fail the whole batch or, worse, look like one.
/// <https://docs.aws.amazon.com/lambda/latest/dg/services-ddb-batchfailurereporting.html>
pub(crate) fn answer(first_failure: Option<&str>) -> Value {
    let failures: Vec<Value> =
        first_failure.into_iter().map(|sequence| json!({ "itemIdentifier": sequence })).collect();
    json!({ "batchItemFailures": failures })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_has_the_members_that_lambda_reads() {
        let text = |first: Option<&str>| answer(first).to_string();
        assert_eq!(text(None), r#"{"batchItemFailures":[]}"#);
        assert_eq!(text(Some("0042")), r#"{"batchItemFailures":[{"itemIdentifier":"0042"}]}"#);
    }
}
