//! The result of a batch from an invocation's outcome, as Lambda reads it.

use serde_json::Value;

use crate::runtime_api::InvocationResult;

/// The processed part of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BatchResult {
    /// All of it.
    Done,
    /// Everything before the record at this position.
    From(usize),
    /// Nothing.
    Failed,
}

/// Reads an outcome. `place` returns the position of a sequence number in the batch.
///
/// As in Lambda, an answer without `batchItemFailures` is a success, whatever else it contains; an invalid record name
/// fails the whole batch. The lowest named position counts.
pub(super) fn batch_result(
    outcome: &InvocationResult,
    partial: bool,
    place: impl Fn(&str) -> Option<usize>,
) -> BatchResult {
    let InvocationResult::Response(text) = outcome else { return BatchResult::Failed };
    if !partial {
        return BatchResult::Done;
    }
    let answer: Value = serde_json::from_str(text).unwrap_or_default();
    let Some(failures) = answer.get("batchItemFailures").filter(|failures| !failures.is_null()) else {
        return BatchResult::Done;
    };
    let Some(failures) = failures.as_array() else { return BatchResult::Failed };
    let named = |failure: &Value| place(failure.get("itemIdentifier")?.as_str()?);
    match failures.iter().map(named).collect::<Option<Vec<usize>>>() {
        None => BatchResult::Failed,
        Some(places) => places.into_iter().min().map_or(BatchResult::Done, BatchResult::From),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_read_as_lambda_reads_it() {
        let place = |text: &str| ["10", "11", "12"].iter().position(|known| *known == text);
        let read = |text: &str| batch_result(&InvocationResult::Response(text.to_owned()), true, place);
        for done in ["null", "{}", "", r#"{"batchItemFailures":[]}"#, r#"{"batchItemFailures":null}"#] {
            assert_eq!(read(done), BatchResult::Done, "{done}");
        }
        // Silent loss, as in Lambda: the member's name is wrong.
        assert_eq!(read(r#"{"batchItemFailure":[{"itemIdentifier":"10"}]}"#), BatchResult::Done);
        let two = r#"{"batchItemFailures":[{"itemIdentifier":"12"},{"itemIdentifier":"11"}]}"#;
        assert_eq!(read(two), BatchResult::From(1));
        for bad in [r#"{"itemIdentifier":""}"#, r#"{"itemIdentifier":null}"#, r#"{"item":"10"}"#, "{}"] {
            assert_eq!(read(&format!(r#"{{"batchItemFailures":[{bad}]}}"#)), BatchResult::Failed, "{bad}");
        }
        assert_eq!(
            batch_result(&InvocationResult::Response(two.to_owned()), false, place),
            BatchResult::Done
        );
        for outcome in [
            InvocationResult::Error(String::new()),
            InvocationResult::TimedOut,
            InvocationResult::Ended(String::new()),
        ] {
            assert_eq!(batch_result(&outcome, true, place), BatchResult::Failed);
        }
    }
}
