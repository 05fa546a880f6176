//! The outcome of each audit event, and the answer with all outcomes.

use keyfold_edge::Problem;
use serde_json::{Map, Value, json};

use crate::journal::JournalError;
use crate::problem;

/// The outcome of one event.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Outcome {
    /// It is a new item.
    Written { id: String },
    /// It existed already.
    Repeated { id: String },
    /// It was not written, or possibly not.
    Failed { id: Option<String>, problem: Problem },
}

impl Outcome {
    pub(crate) fn problem(&self) -> Option<&Problem> {
        match self {
            Outcome::Failed { problem, .. } => Some(problem),
            Outcome::Written { .. } | Outcome::Repeated { .. } => None,
        }
    }

    /// The outcome if the journal could not record it: a success becomes a failure.
    pub(crate) fn unnoted(self, error: &JournalError) -> Outcome {
        match self {
            Outcome::Written { id } | Outcome::Repeated { id } => {
                Outcome::Failed { id: Some(id), problem: problem::of_journal(error) }
            }
            failed @ Outcome::Failed { .. } => failed,
        }
    }

    fn shown(&self, index: usize) -> Value {
        match self {
            Outcome::Written { id } => json!({ "index": index, "id": id, "outcome": "written" }),
            Outcome::Repeated { id } => json!({ "index": index, "id": id, "outcome": "repeated" }),
            Outcome::Failed { id, problem } => {
                let mut shown =
                    json!({ "index": index, "outcome": "failed", "problem": problem.document(None) });
                if let Some(id) = id {
                    shown["id"] = json!(id);
                }
                shown
            }
        }
    }
}

/// The number of events with each outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) written: u64,
    pub(crate) repeated: u64,
    pub(crate) failed: u64,
}

pub(crate) fn counts(outcomes: &[Outcome]) -> Counts {
    let mut counts = Counts::default();
    for outcome in outcomes {
        match outcome {
            Outcome::Written { .. } => counts.written += 1,
            Outcome::Repeated { .. } => counts.repeated += 1,
            Outcome::Failed { .. } => counts.failed += 1,
        }
    }
    counts
}

/// The answer to a request whose events are all in the table; otherwise the problem.
pub(crate) fn answer(outcomes: &[Outcome], listed: bool) -> Result<Value, Box<Problem>> {
    let counts = counts(outcomes);
    let events: Vec<Value> =
        outcomes.iter().enumerate().map(|(index, outcome)| outcome.shown(index)).collect();
    let problems: Vec<&Problem> = outcomes.iter().filter_map(Outcome::problem).collect();
    let worst = problems.iter().max_by_key(|problem| problem.status);
    if let Some(worst) = worst.filter(|_| !listed) {
        return Err(Box::new((*worst).clone()));
    }
    let many = events.len() as u64;
    let members = Map::from_iter([
        ("written".to_owned(), json!(counts.written)),
        ("repeated".to_owned(), json!(counts.repeated)),
        ("failed".to_owned(), json!(counts.failed)),
        ("events".to_owned(), json!(events)),
    ]);
    let Some(worst) = worst else { return Ok(Value::Object(members)) };
    let code = if counts.failed == many { "nothing-written" } else { "partly-written" };
    let detail = format!("{} of {many} audit events were not written", counts.failed);
    let hint = "`events` names them with the reason; you can safely send the same request again";
    let again = problems.iter().any(|problem| problem.again);
    Err(Box::new(Problem { again, members, ..Problem::new(worst.status, code, detail).hint(hint) }))
}
