//! The problems that only the query API has.

use keyfold_edge::Problem;

/// The console shows what a table with a scope holds to a trusted caller only.
pub(crate) fn trusted_only(table: &str) -> Problem {
    let detail = format!("table `{table}` has a scope, so its contents are shown to a trusted caller only");
    Problem::new(403, "trusted-only", detail).hint("ask a question: its answer shows the items in your scope")
}

pub(crate) fn index_not_declared(table: &str, index: &str, known: &[&str]) -> Problem {
    let detail = format!("table `{table}` declares no index `{index}`");
    let hint = (!known.is_empty()).then(|| format!("it has `{}`", known.join("`, `")));
    Problem::new(404, "index-not-declared", detail).maybe_hint(hint)
}

pub(crate) fn timed_out() -> Problem {
    Problem::new(504, "timed-out", "the answer was not complete in time")
        .hint("ask for less: a smaller `limit`, or conditions that an index can answer")
}

pub(crate) fn answer_too_large(bytes_max: usize) -> Problem {
    Problem::new(422, "answer-too-large", format!("the answer is larger than {bytes_max} bytes"))
        .hint("ask for fewer items with `limit`, or for fewer attributes with `select`")
}
