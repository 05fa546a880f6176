//! The problems that only the query API has.

use keyfold_edge::Problem;

pub(crate) fn timed_out() -> Problem {
    Problem::new(504, "timed-out", "the answer was not complete in time")
        .hint("ask for less: a smaller `limit`, or conditions that an index can answer")
}

pub(crate) fn answer_too_large(bytes_max: usize) -> Problem {
    Problem::new(422, "answer-too-large", format!("the answer is larger than {bytes_max} bytes"))
        .hint("ask for fewer items with `limit`, or for fewer attributes with `select`")
}
