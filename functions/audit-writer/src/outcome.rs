//! What became of each audit event, and how it is said.

use keyfold_edge::Problem;
use serde_json::{Value, json};

/// What became of one event.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Outcome {
    /// It is a new item.
    Written { id: String },
    /// It was there already.
    Repeated { id: String },
    /// It was not written, or is not known to be.
    Failed { id: Option<String>, problem: Problem },
}

impl Outcome {
    pub(crate) fn problem(&self) -> Option<&Problem> {
        match self {
            Outcome::Failed { problem, .. } => Some(problem),
            Outcome::Written { .. } | Outcome::Repeated { .. } => None,
        }
    }

    fn shown(&self, index: usize) -> Value {
        match self {
            Outcome::Written { id } => json!({ "index": index, "id": id, "outcome": "written" }),
            Outcome::Repeated { id } => json!({ "index": index, "id": id, "outcome": "repeated" }),
            Outcome::Failed { id, problem } => {
                let mut shown = json!({ "index": index, "outcome": "failed", "problem": problem.document() });
                if let Some(id) = id {
                    shown["id"] = json!(id);
                }
                shown
            }
        }
    }
}

/// How many there are of each outcome.
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

/// A problem, with the members it has besides.
pub(crate) type Refused = Box<(Problem, Value)>;

/// The document of a request whose events all are in the table; else what refuses it.
pub(crate) fn answer(outcomes: &[Outcome], listed: bool) -> Result<Value, Refused> {
    let counts = counts(outcomes);
    let events: Vec<Value> =
        outcomes.iter().enumerate().map(|(index, outcome)| outcome.shown(index)).collect();
    let members = json!({
        "written": counts.written, "repeated": counts.repeated, "failed": counts.failed, "events": events,
    });
    let problems: Vec<&Problem> = outcomes.iter().filter_map(Outcome::problem).collect();
    let Some(worst) = problems.iter().max_by_key(|problem| problem.status) else { return Ok(members) };
    if !listed {
        return Err(Box::new(((*worst).clone(), json!({}))));
    }
    let code = if counts.failed == events.len() as u64 { "nothing-written" } else { "partly-written" };
    let detail = format!("{} of {} audit events were not written", counts.failed, events.len());
    let hint =
        "`events` says which and why; the same request can be sent again, what is written stays as it is";
    let again = problems.iter().any(|problem| problem.again);
    Err(Box::new((Problem { again, ..Problem::new(worst.status, code, detail).hint(Some(hint)) }, members)))
}
