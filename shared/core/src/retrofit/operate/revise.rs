//! Goes on with a manifest that was changed while the retrofit runs.

use super::effect::{Effect, Failure, Reply};
use super::known::{Known, Limits, raced};
use super::outcome::{End, Outcome};
use super::parts::{Part, Rows, Store, Stored, Turn, ask};
use crate::retrofit::control::{self, ControlError, RetrofitState, wait_after_change};
use crate::retrofit::lease::Lease;
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
enum Stage {
    /// A backfill, a comparison or a repair reads the manifest once, and would write by it for hours.
    Leases {
        rows: Rows,
        is_last: bool,
    },
    Storing {
        store: Store,
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
pub(super) struct Revising {
    stage: Stage,
    /// The row as it was when the command began.
    before: RetrofitState,
}

impl Revising {
    pub(super) fn new(known: &Known) -> Revising {
        let before = known.head().clone();
        let stage = match before.check(&known.mapping).is_ok() && !before.revising {
            true => over(already(known)),
            false => match revised(known, &before) {
                Ok(_) => leases(known, false),
                Err(error) => over(known.control_error(&error)),
            },
        };
        Revising { stage, before }
    }

    pub(super) fn doing(&self, known: &Known) -> String {
        match &self.stage {
            Stage::Waiting { until_ms } => format!(
                "waiting {} s more until nothing writes by the former manifest",
                until_ms.saturating_sub(known.now_ms).div_ceil(1_000)
            ),
            _ => "revising the retrofit".to_owned(),
        }
    }

    pub(super) fn next(&self, known: &Known) -> Turn<Outcome> {
        if let Stage::Over(outcome) = &self.stage {
            return Turn::Over((**outcome).clone());
        }
        if known.interrupted {
            let message = "interrupted; the same command goes on";
            return Turn::Over(Outcome::new(End::Interrupted, "interrupted", message));
        }
        let effect = match &self.stage {
            Stage::Leases { rows, .. } | Stage::Segments(rows) => ask(rows.next(known)),
            Stage::Storing { store, .. } => ask(store.next(known)),
            Stage::Carrying(writes) => {
                Some(Effect::Send(writes.iter().take(WRITES_AT_ONCE).cloned().collect()))
            }
            Stage::Waiting { until_ms } => Some(Effect::Wait { until_ms: *until_ms }),
            Stage::Over(_) => unreachable!("returned above"),
        };
        match effect {
            Some(effect) => Turn::Ask(effect),
            None => unreachable!("a stage that asks for nothing is left at once"),
        }
    }

    pub(super) fn take(&mut self, known: &mut Known, reply: Reply) {
        let next = match (&mut self.stage, reply) {
            (Stage::Leases { rows, is_last }, reply) => {
                rows.take(known, reply);
                match rows.next(known) {
                    Turn::Ask(_) => return,
                    Turn::Over(read) => free(known, &self.before, &read[0], *is_last),
                }
            }
            (Stage::Storing { store, is_last }, reply) => {
                store.take(known, reply);
                match store.next(known) {
                    Turn::Ask(_) => return,
                    Turn::Over(Stored::Raced(there)) => over(raced(known, there.as_ref())),
                    Turn::Over(Stored::Done) if *is_last => over(done(known)),
                    Turn::Over(Stored::Done) => segments(known),
                }
            }
            (Stage::Segments(rows), reply) => {
                rows.take(known, reply);
                match rows.next(known) {
                    Turn::Ask(_) => return,
                    Turn::Over(read) => carried_on(known, &self.before, &read[0]),
                }
            }
            (Stage::Carrying(writes), Reply::Responses(responses)) => {
                if let Some(response @ Response::Rejected(_)) =
                    responses.iter().find(|response| matches!(response, Response::Rejected(_)))
                {
                    known.failure = Some(Failure::refused("a segment's row", response));
                    return;
                }
                writes.drain(..responses.len().min(writes.len()));
                if !writes.is_empty() {
                    return;
                }
                Stage::Carrying(Vec::new())
            }
            (Stage::Waiting { until_ms }, Reply::Done) if known.now_ms < *until_ms => return,
            // A worker may have read the row just before it changed.
            (Stage::Waiting { .. }, Reply::Done) => leases(known, true),
            (stage, reply) => unreachable!("{reply:?} does not answer {stage:?}"),
        };
        self.stage = match next {
            Stage::Carrying(writes) if writes.is_empty() => waiting(known),
            next => next,
        };
    }
}

/// A command that goes on after an interruption waits its own time.
fn waiting(known: &Known) -> Stage {
    let seconds = wait_after_change(known.limits.in_flight_ms.div_ceil(1_000));
    Stage::Waiting { until_ms: known.now_ms + seconds * 1_000 }
}

/// The row by the manifest at hand.
fn revised(known: &Known, before: &RetrofitState) -> Result<RetrofitState, ControlError> {
    RetrofitState::check_begin(&known.mapping)?;
    // The same manifest again: a command that was interrupted while it waited.
    if before.check(&known.mapping).is_ok() { Ok(before.clone()) } else { before.revised(&known.mapping) }
}

fn leases(known: &Known, is_last: bool) -> Stage {
    let partition = control::leases_partition(known.mapping.rows_name());
    Stage::Leases { rows: Rows::of(vec![partition]), is_last }
}

fn free(known: &Known, before: &RetrofitState, leases: &[Item], is_last: bool) -> Stage {
    let at_work = leases.iter().filter(|row| Lease::is_held(row, known.now_ms)).count();
    if at_work > 0 {
        let retrofit = known.mapping.name();
        let message = format!(
            "a backfill, a comparison or a repair of retrofit `{retrofit}` is at work on {at_work} segments with the former manifest"
        );
        return over(Outcome::refused("at-work", message).hinted(format!(
            "stop it, and run `keyfold retrofit revise {retrofit}` again; if it was killed, wait a minute"
        )));
    }
    if is_last {
        return Stage::Storing { store: Store::of(known, known.head().revision_done()), is_last };
    }
    match revised(known, before) {
        Ok(next) if next == *before => segments(known),
        Ok(next) => Stage::Storing { store: Store::of(known, next), is_last },
        Err(error) => over(known.control_error(&error)),
    }
}

fn segments(known: &Known) -> Stage {
    Stage::Segments(Rows::of(vec![control::segments_partition(known.mapping.rows_name())]))
}

fn carried_on(known: &Known, before: &RetrofitState, rows: &[Item]) -> Stage {
    let job = known.head().job(known.mapping.clone());
    let mut writes = Vec::new();
    for row in rows {
        match progress::carry_on(&job, before.mapping.as_str(), row) {
            Ok(write) => writes.extend(write),
            Err(error) => {
                return over(Outcome::refused(error.code(), error.to_string()).hinted(error.hint()));
            }
        }
    }
    Stage::Carrying(writes)
}

fn already(known: &Known) -> Outcome {
    let message = format!(
        "retrofit `{}` was started with this manifest, or with one that writes the same: nothing is to be revised",
        known.mapping.name()
    );
    Outcome::new(End::Already, known.head().phase.name(), message)
}

fn done(known: &Known) -> Outcome {
    let message = CompletedStep::Revised.message(known.head(), &known.mapping);
    let next = known.head().next_command(&[]);
    Outcome { next, ..Outcome::new(End::Done, known.head().phase.name(), message) }
}

fn over(outcome: Outcome) -> Stage {
    Stage::Over(Box::new(outcome))
}
