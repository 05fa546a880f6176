//! The state that all parts of a command share, its time limits, and outcomes of failures.

use super::effect::{Failure, TableFacts};
use super::outcome::{End, Outcome};
use crate::retrofit::control::{ControlError, RetrofitState, wait_after_change};
use crate::retrofit::lease::Lease;
use crate::retrofit::mapping::Mapping;
use crate::retrofit::request::TableRole;
use crate::value::Item;

/// The times that an operation goes by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The longest pause of the writers.
    pub stop_max_ms: u64,
    /// How long the streams must bring nothing before that counts as their end.
    pub quiet_ms: u64,
    /// How long every trial write must be denied.
    pub denied_ms: u64,
    /// How long the replicator may take to answer.
    pub proof_max_ms: u64,
    /// How long the streams are read before the stop.
    pub read_max_ms: u64,
    /// The longest time for which a request of an earlier phase can be in flight: the longest timeout of a function and, in AWS,
    /// five minutes for a signed request.
    pub in_flight_ms: u64,
    /// How far the clock of another operator may be off this one's.
    pub clock_skew_ms: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits::AWS
    }
}

impl Limits {
    /// In AWS.
    pub const AWS: Limits = Limits {
        stop_max_ms: 120_000,
        quiet_ms: 10_000,
        denied_ms: 15_000,
        proof_max_ms: 60_000,
        read_max_ms: 3_600_000,
        in_flight_ms: 1_260_000,
        clock_skew_ms: 300_000,
    };
    /// At an endpoint on this machine: one clock, and no function runs longer than a few seconds.
    pub const LOCAL: Limits =
        Limits { quiet_ms: 1_000, denied_ms: 0, in_flight_ms: 5_000, clock_skew_ms: 0, ..Limits::AWS };

    /// How long after a change of the row nothing is in flight that began before it, by one clock.
    pub(super) fn wait_ms(&self) -> u64 {
        // Rounded up: a wait that is a part of a second too short would end before the last request.
        wait_after_change(self.in_flight_ms.div_ceil(1_000)) * 1_000
    }
}

/// The state that all parts of a command share.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct OperationContext {
    pub(super) mapping: Mapping,
    /// The row as it was last read or written; `None` before there is one.
    pub(super) head: Option<RetrofitState>,
    /// Source and target.
    pub(super) tables: [TableFacts; 2],
    pub(super) now_ms: u64,
    pub(super) started_ms: u64,
    /// The times that the command goes by.
    pub(super) limits: Limits,
    /// A text that no other operation has.
    pub(super) nonce: String,
    pub(super) interrupted: bool,
    pub(super) notes: Vec<String>,
    /// The policy that this operation put last on source and target, and when.
    pub(super) put_policies: [Option<(Option<String>, u64)>; 2],
    /// A part of an effect failed, while the rest of it was taken.
    pub(super) failure: Option<Failure>,
}

impl OperationContext {
    /// The row; every command but `run` begins with one.
    pub(super) fn head(&self) -> &RetrofitState {
        match &self.head {
            Some(head) => head,
            None => unreachable!("checked when the row was read"),
        }
    }

    pub(super) fn table(&self, role: TableRole) -> &TableFacts {
        &self.tables[usize::from(role == TableRole::Target)]
    }

    pub(super) fn set_table(&mut self, role: TableRole, facts: TableFacts) {
        self.tables[usize::from(role == TableRole::Target)] = facts;
    }

    pub(super) fn seconds(&self) -> u64 {
        self.now_ms / 1_000
    }

    /// How many of these leases a worker can still hold.
    pub(super) fn held(&self, leases: &[Item]) -> usize {
        // A worker renews its lease by its own clock, which may be behind this one.
        let worker_ms = self.now_ms.saturating_sub(self.limits.clock_skew_ms);
        leases.iter().filter(|row| Lease::is_held(row, worker_ms)).count()
    }

    /// An outcome with what the row says now.
    pub(super) fn over(&self, outcome: Outcome) -> Outcome {
        // By the newest row, not the row that the command began with: the last lines must not name a table that was closed since.
        let outcome = outcome.of_row(&self.mapping, self.head.as_ref());
        Outcome { notes: self.notes.clone(), ..outcome }
    }

    pub(super) fn control_error(&self, error: &ControlError) -> Outcome {
        let outcome = Outcome::refused(error.code(), error.to_string());
        match error.hint() {
            Some(hint) => outcome.hinted(hint),
            None => outcome,
        }
    }
}

/// What becomes of a failure.
#[derive(Debug)]
pub(super) enum OnFailure {
    /// It is tried again while its time lasts, then the operation fails.
    Retry,
    /// It was dealt with: the command is in another state now.
    Handled,
    /// The operation ends.
    End(Box<Outcome>),
}

/// The second from which on nothing of the phase before is in flight, as a millisecond: the row has the second of another operator's clock, which
/// may be off this one's.
pub(super) fn settled_ms(context: &OperationContext, since: u64) -> u64 {
    // Without the skew, a row of a clock that is behind would end the wait while requests are in flight.
    let limits = &context.limits;
    let wait = limits.wait_ms() + limits.clock_skew_ms;
    // A `since` in the future adds at most one full wait.
    (since * 1_000 + wait).min(context.now_ms + wait)
}

/// The outcome of a failure that nothing else is done about.
pub(super) fn failure_outcome(failure: &Failure) -> Outcome {
    let outcome = Outcome::new(End::Failed, &failure.code, failure.message.clone());
    Outcome { hint: failure.hint.clone(), ..outcome }
}

/// A table's tag: version and phase of the newest row that was in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TableTag {
    pub(super) version: u64,
    pub(super) phase: String,
}

impl TableTag {
    pub(super) fn read(text: &str) -> Option<TableTag> {
        // Another form counts as no tag: refused, a tag of another program would keep every command from working.
        let (version, phase) = text.split_once(' ')?;
        Some(TableTag { version: version.parse().ok()?, phase: phase.to_owned() })
    }

    /// The tag's text for this row.
    pub(super) fn text(head: &RetrofitState) -> String {
        format!("{} {}", head.version, head.phase.name())
    }
}

/// Another operator changed the row: it goes on from there.
pub(super) fn raced(context: &OperationContext, there: Option<&RetrofitState>) -> Outcome {
    let phase = there.map_or("gone", |head| head.phase.name());
    let message = format!(
        "another operator changed retrofit `{}` at the same time: it is `{phase}` now",
        context.mapping.name()
    );
    Outcome::new(End::Failed, "retrofit-raced", message)
        .hinted("let one operator at a time work, and run the command again")
}
