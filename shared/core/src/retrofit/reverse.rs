//! Whether items can be carried the other way, before the writers move: a row of the control table with a question and its answer.
//!
//! The operator's command asks, and writes one item of the table that follows once more, so that this table's stream has
//! something to show. The replicator that receives a batch of that stream answers: which stream it is, and whether writes to the other table are
//! allowed. So an answer shows that the stream is followed now, by a role that has the rights of the way back. Nothing is carried yet.

use super::control::{self, Direction, Phase, RetrofitState, number, text, whole};
use super::job::Job;
use super::progress::whatever_is_there;
use super::request::{Action, Guard, TableRole, Write};
use crate::value::{AttributeValue, Item};

const SORT: &str = "reverse";
const QUESTION: &str = "question";
const SECONDS: &str = "seconds";
const STREAM: &str = "stream";
const ALLOWED: &str = "allowed";

/// Who is handed older records than this is too far behind to answer.
pub const RECENT_SECONDS: u64 = 60;

/// A question, and the answer to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reverse {
    /// Another one each time.
    pub question: String,
    /// The second since 1970 at which it was asked or, once there is an answer, answered.
    pub seconds: u64,
    /// The answer.
    pub answer: Option<ReverseAnswer>,
}

/// The answer of the replicator that follows the stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReverseAnswer {
    /// The stream that it follows.
    pub stream: String,
    /// May it write to the other table?
    pub allowed: bool,
}

impl RetrofitState {
    /// Will records of this table be carried once the writers have moved?
    pub fn would_carry(&self, records_lead: Direction) -> bool {
        matches!(
            (self.phase, records_lead),
            (Phase::Tidy, Direction::Reverse) | (Phase::Reversed, Direction::Forward)
        )
    }
}

impl Reverse {
    /// The key of the row, for a job of the direction that items are carried in now.
    pub fn key(job: &Job) -> Item {
        control::key(&format!("retrofit#{}", job.mapping().other_rows_name()), SORT)
    }

    /// A question, which replaces every other.
    pub fn asked(question: String, seconds: u64) -> Reverse {
        Reverse { question, seconds, answer: None }
    }

    /// Does this stream's follower still have to answer?
    pub fn is_open_for(&self, stream: &str) -> bool {
        self.answer.as_ref().is_none_or(|answer| answer.stream != stream)
    }

    /// The question with its answer.
    #[must_use]
    pub fn answered(self, answer: ReverseAnswer, seconds: u64) -> Reverse {
        Reverse { seconds, answer: Some(answer), ..self }
    }

    /// The write that asks, or answers if there is no newer question.
    pub fn store(&self, job: &Job) -> Write {
        let mut row = control::row(Reverse::key(job));
        let question = AttributeValue::S(self.question.clone());
        row.insert(QUESTION, question.clone());
        row.insert(SECONDS, number(self.seconds));
        let guard = match &self.answer {
            None => whatever_is_there(),
            Some(answer) => {
                row.insert(STREAM, AttributeValue::S(answer.stream.clone()));
                row.insert(ALLOWED, AttributeValue::Bool(answer.allowed));
                Guard::equals(QUESTION, question)
            }
        };
        Write { role: TableRole::Control, action: Action::Put(row), guard }
    }

    /// Reads a row.
    pub fn read(row: &Item) -> Option<Reverse> {
        let stream = text(row, STREAM).map(str::to_owned);
        let answer = stream.map(|stream| ReverseAnswer {
            stream,
            allowed: matches!(row.get(ALLOWED), Some(AttributeValue::Bool(true))),
        });
        Some(Reverse { question: text(row, QUESTION)?.to_owned(), seconds: whole(row, SECONDS)?, answer })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::retrofit::tests::job;

    fn row(reverse: &Reverse) -> (Item, Guard) {
        let Write { action: Action::Put(row), guard, .. } = reverse.store(&job("moved")) else {
            panic!("a row is put")
        };
        (row, guard)
    }

    #[test]
    fn only_the_question_that_stands_is_answered() {
        let (first, second) = (Reverse::asked("a".to_owned(), 1), Reverse::asked("b".to_owned(), 2));
        let (asked, guard) = row(&first);
        assert!(guard.holds(None) && guard.holds(Some(&row(&second).0)), "a question replaces every other");
        assert_eq!(Reverse::read(&asked), Some(first.clone()));
        let answer = |allowed| ReverseAnswer { stream: "s".to_owned(), allowed };
        for allowed in [true, false] {
            let answered = first.clone().answered(answer(allowed), 3);
            let (said, guard) = row(&answered);
            assert_eq!(Reverse::read(&said), Some(answered.clone()));
            assert!(guard.holds(Some(&asked)));
            assert!(!guard.holds(Some(&row(&second).0)) && !guard.holds(None));
            assert!(first.is_open_for("s") && !answered.is_open_for("s") && answered.is_open_for("t"));
        }
    }

    #[test]
    fn only_a_table_whose_writers_may_move_next_is_asked_about() {
        use Phase::*;
        let head = RetrofitState::started(job("moved").mapping(), None);
        for phase in [Running, Tidying, Tidy, Closing, Reversed, Returning, Settled, CutOver, Abandoned] {
            let head = RetrofitState { phase, ..head.clone() };
            assert_eq!(head.would_carry(Direction::Reverse), phase == Tidy, "{phase:?}");
            assert_eq!(head.would_carry(Direction::Forward), phase == Reversed, "{phase:?}");
        }
    }
}
