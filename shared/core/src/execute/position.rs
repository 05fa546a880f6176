//! Where an answer goes on: for each access the last entry that was given out, or the last item of a sorted answer.

use std::fmt;

use crate::query::QueryPlan;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::error::AnswerError;
use super::key_value::KeyValue;

/// Where an answer goes on. It fits the plan that it comes from and no other.
///
/// It contains key values of items, so it must be encrypted before it leaves the process, as the `TokenKeys` of
/// `keyfold-dynamo` do.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    /// Which plan it belongs to: [`fingerprint`].
    plan: u64,
    place: Place,
}

/// `{:?}` shows no key.
impl fmt::Debug for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Position")
    }
}

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
enum Place {
    /// How far each access is.
    Accesses(Vec<Progress>),
    /// After this item of a sorted answer.
    Sorted(SortedAfter),
}

/// How far an access is.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Progress {
    /// Nothing of it was given out.
    NotStarted,
    /// All up to the entry with this key.
    After(Vec<KeyValue>),
    /// Everything.
    Done,
}

/// An item of a sorted answer.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SortedAfter {
    /// What it is ordered by, from the outermost.
    pub(super) order: Vec<Option<KeyValue>>,
    /// Its primary key.
    pub(super) key: Vec<KeyValue>,
}

impl Position {
    pub(super) fn of_accesses(plan: &QueryPlan, progress: Vec<Progress>) -> Position {
        Position { plan: fingerprint(plan), place: Place::Accesses(progress) }
    }

    pub(super) fn of_sorted(plan: &QueryPlan, after: SortedAfter) -> Position {
        Position { plan: fingerprint(plan), place: Place::Sorted(after) }
    }
}

/// Where a run begins.
pub(super) struct Start {
    /// For each access.
    pub(super) lanes: Vec<Progress>,
    /// Within a sorted answer.
    pub(super) sorted: Option<SortedAfter>,
}

/// Where a run of this plan begins.
pub(super) fn start(
    plan: &QueryPlan,
    from: Option<&Position>,
    is_sorted: bool,
) -> Result<Start, AnswerError> {
    let beginning = vec![Progress::NotStarted; plan.accesses.len()];
    let Some(from) = from else { return Ok(Start { lanes: beginning, sorted: None }) };
    if from.plan != fingerprint(plan) {
        return Err(AnswerError::BadPosition);
    }
    match &from.place {
        Place::Accesses(lanes) if !is_sorted && lanes.len() == plan.accesses.len() => {
            Ok(Start { lanes: lanes.clone(), sorted: None })
        }
        Place::Sorted(after) if is_sorted && after.order.len() == plan.order.len() => {
            Ok(Start { lanes: beginning, sorted: Some(after.clone()) })
        }
        _ => Err(AnswerError::BadPosition),
    }
}

/// Tells plans apart that read in another way, for example after an update of the planner.
fn fingerprint(plan: &QueryPlan) -> u64 {
    // In one piece: a digest takes many small ones slowly.
    let shown = format!("{:?}", (&plan.table, &plan.accesses, plan.delivery, &plan.order, plan.count));
    let digest: [u8; 32] = Sha256::digest(shown).into();
    let mut first = [0; 8];
    first.copy_from_slice(&digest[..8]);
    u64::from_be_bytes(first)
}
