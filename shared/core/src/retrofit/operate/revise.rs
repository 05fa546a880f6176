//! Goes on with a manifest that was changed while the retrofit runs.

use super::context::{Limits, OperationContext, raced};
use super::effect::{Effect, Failure, Reply};
use super::outcome::{End, Outcome};
use super::parts::{Part, PartStep, Rows, Store, Stored};
use crate::retrofit::control::{self, ControlError, RetrofitState};
use crate::retrofit::progress;
use crate::retrofit::request::{Response, Write};
use crate::retrofit::step::CompletedStep;
use crate::value::Item;

/// Writes that are sent at once.
const WRITES_AT_ONCE: usize = 256;

/// A revision, as it was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revise {
    /// Its times.
    pub limits: Limits,
}

#[derive(Debug, Clone, PartialEq)]
enum ReviseStage {
    /// A backfill, a comparison or a repair reads the manifest once, and would write by it for hours.
    Leases {
        rows: Rows,
        is_last: bool,
    },
    Storing {
        store: Box<Store>,
        is_last: bool,
    },
    /// Segments that were backfilled by the former manifest count.
    Segments(Rows),
    Carrying(Vec<Write>),
    /// Nothing may be in flight that was written by the former manifest.
    Waiting {
        until_ms: u64,
    },
    Over(Box<Outcome>),
}

/// A revision at work.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ReviseMachine {
    stage: ReviseStage,
    /// The row as it was when the command began.
    before: RetrofitState,
}

impl ReviseMachine {
    pub(super) fn new(context: &OperationContext) -> ReviseMachine {
        let before = context.head().clone();
        // A killed revision has stored the new manifest and not waited: called done, a worker could still write by the former one.
        let stage = match before.check(&context.mapping).is_ok() && !before.revising {
            true => over(already(context)),
            false => match revised(context, &before) {
                Ok(_) => leases(context, false),
                Err(error) => over(context.control_error(&error)),
            },
        };
        ReviseMachine { stage, before }
    }

    pub(super) fn status(&self, context: &OperationContext) -> String {
        match &self.stage {
            ReviseStage::Waiting { until_ms } => format!(
                "waiting {} s more until nothing writes by the former manifest",
                until_ms.saturating_sub(context.now_ms).div_ceil(1_000)
            ),
            _ => "revising the retrofit".to_owned(),
        }
    }
}

impl Part for ReviseMachine {
    type End = Outcome;

    fn next(&self, context: &OperationContext) -> PartStep<Outcome> {
        if let ReviseStage::Over(outcome) = &self.stage {
            return PartStep::Over((**outcome).clone());
        }
        let effect = match &self.stage {
            ReviseStage::Leases { rows, .. } | ReviseStage::Segments(rows) => rows.next(context).effect(),
            ReviseStage::Storing { store, .. } => store.next(context).effect(),
            ReviseStage::Carrying(writes) => {
                Some(Effect::Send(writes.iter().take(WRITES_AT_ONCE).cloned().collect()))
            }
            ReviseStage::Waiting { until_ms } => Some(Effect::Wait { until_ms: *until_ms }),
            ReviseStage::Over(_) => unreachable!("returned above"),
        };
        match effect {
            Some(effect) => PartStep::Ask(effect),
            None => unreachable!("a stage that asks for nothing is left at once"),
        }
    }

    fn take(&mut self, context: &mut OperationContext, reply: Reply) {
        let next = match (&mut self.stage, reply) {
            (ReviseStage::Leases { rows, is_last }, reply) => {
                rows.take(context, reply);
                match rows.next(context) {
                    PartStep::Ask(_) => return,
                    PartStep::Over(read) => free(context, &self.before, &read[0], *is_last),
                }
            }
            (ReviseStage::Storing { store, is_last }, reply) => {
                store.take(context, reply);
                match store.next(context) {
                    PartStep::Ask(_) => return,
                    PartStep::Over(Stored::Raced(there)) => over(raced(context, there.as_deref())),
                    PartStep::Over(Stored::Done) if *is_last => over(done(context)),
                    PartStep::Over(Stored::Done) => segments(context),
                }
            }
            (ReviseStage::Segments(rows), reply) => {
                rows.take(context, reply);
                match rows.next(context) {
                    PartStep::Ask(_) => return,
                    PartStep::Over(read) => carried_on(context, &self.before, &read[0]),
                }
            }
            (ReviseStage::Carrying(writes), Reply::Responses(responses)) => {
                if let Some(response @ Response::Rejected(_)) =
                    responses.iter().find(|response| matches!(response, Response::Rejected(_)))
                {
                    // No write is dropped: the next attempt sends them all again, which changes nothing in rows that are written.
                    context.failure = Some(Failure::refused("a segment's row", response));
                    return;
                }
                writes.drain(..responses.len().min(writes.len()));
                if !writes.is_empty() {
                    return;
                }
                ReviseStage::Carrying(Vec::new())
            }
            (ReviseStage::Waiting { until_ms }, Reply::Done) if context.now_ms < *until_ms => return,
            // A worker may have read the row just before it changed.
            (ReviseStage::Waiting { .. }, Reply::Done) => leases(context, true),
            (stage, reply) => unreachable!("{reply:?} does not answer {stage:?}"),
        };
        self.stage = match next {
            ReviseStage::Carrying(writes) if writes.is_empty() => waiting(context),
            next => next,
        };
    }
}

/// A command that goes on after an interruption waits its own time.
fn waiting(context: &OperationContext) -> ReviseStage {
    // The row does not have the second of the change: any shorter wait could end while a worker writes by the former manifest.
    ReviseStage::Waiting { until_ms: context.now_ms + context.limits.wait_ms() }
}

/// The row by the manifest at hand.
fn revised(context: &OperationContext, before: &RetrofitState) -> Result<RetrofitState, ControlError> {
    RetrofitState::check_begin(&context.mapping)?;
    // The same manifest again: a command that was interrupted while it waited.
    if before.check(&context.mapping).is_ok() { Ok(before.clone()) } else { before.revised(&context.mapping) }
}

fn leases(context: &OperationContext, is_last: bool) -> ReviseStage {
    let partition = control::leases_partition(context.mapping.rows_name());
    ReviseStage::Leases { rows: Rows::of(vec![partition]), is_last }
}

fn free(context: &OperationContext, before: &RetrofitState, leases: &[Item], is_last: bool) -> ReviseStage {
    let at_work = context.held(leases);
    // Its writes of the former manifest would come after the wait, and stay on the items.
    if at_work > 0 {
        let retrofit = context.mapping.name();
        let message = format!(
            "a backfill, a comparison or a repair of retrofit `{retrofit}` is at work on {at_work} segments with the former manifest"
        );
        return over(Outcome::refused("at-work", message).hinted(format!(
            "stop it, and run `keyfold retrofit revise {retrofit}` again; if it was killed, wait six minutes"
        )));
    }
    if is_last {
        return ReviseStage::Storing {
            store: Box::new(Store::of(context, context.head().revision_done())),
            is_last,
        };
    }
    match revised(context, before) {
        // An interrupted revision: its segments may still be those of the former manifest, and would start from the beginning.
        Ok(next) if next == *before => segments(context),
        Ok(next) => ReviseStage::Storing { store: Box::new(Store::of(context, next)), is_last },
        Err(error) => over(context.control_error(&error)),
    }
}

fn segments(context: &OperationContext) -> ReviseStage {
    ReviseStage::Segments(Rows::of(vec![control::segments_partition(context.mapping.rows_name())]))
}

fn carried_on(context: &OperationContext, before: &RetrofitState, rows: &[Item]) -> ReviseStage {
    let job = context.head().job(context.mapping.clone());
    let mut writes = Vec::new();
    // A checkpoint of the former mapping would be refused, and the segment would start from the beginning.
    for row in rows {
        match progress::carry_on(&job, before.mapping.as_str(), row) {
            Ok(write) => writes.extend(write),
            Err(error) => {
                return over(Outcome::refused(error.code(), error.to_string()).hinted(error.hint()));
            }
        }
    }
    ReviseStage::Carrying(writes)
}

fn already(context: &OperationContext) -> Outcome {
    let message = format!(
        "retrofit `{}` was started with this manifest, or with one that writes the same: nothing is to be revised",
        context.mapping.name()
    );
    Outcome::new(End::Already, context.head().phase.name(), message)
}

fn done(context: &OperationContext) -> Outcome {
    let message = CompletedStep::Revised.message(context.head(), &context.mapping);
    let next = context.head().next_command(&[]);
    Outcome { next, ..Outcome::new(End::Done, context.head().phase.name(), message) }
}

fn over(outcome: Outcome) -> ReviseStage {
    ReviseStage::Over(Box::new(outcome))
}
