//! The gates, by the rows of the control table and the tables themselves.

use super::context::OperationContext;
use super::effect::Reply;
use super::parts::{Part, PartStep, Rows};
use crate::retrofit::control::{self, ControlError};
use crate::retrofit::gates::{Evidence, Gate, closed};
use crate::retrofit::job::Job;
use crate::retrofit::lag::Lag;
use crate::retrofit::progress::{self, ComparisonStart};
use crate::retrofit::protocol_choice::Protocol;
use crate::retrofit::quarantine::{Quarantined, entries};
use crate::retrofit::segment::Pass;
use crate::value::Item;

/// The state that the rows show.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct GateReport {
    pub(super) gates: Vec<Gate>,
    /// Entries that are not accepted: those of the direction that items are carried in, then those of the other one.
    pub(super) entries: [Vec<Quarantined>; 2],
    /// The number of segments of the backfill; 0 if it was never started.
    pub(super) segments: u32,
}

/// Reads everything that the gates depend on.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct GateCheck {
    rows: Rows,
}

impl GateCheck {
    pub(super) fn of(context: &OperationContext) -> GateCheck {
        let mapping = leading(context).mapping().clone();
        let (name, other) = (mapping.rows_name(), mapping.other_rows_name());
        // Leases first: work that is over by then has entered what it could not do.
        GateCheck {
            rows: Rows::of(vec![
                control::leases_partition(name),
                control::segments_partition(name),
                format!("retrofit#{}", context.mapping.name()),
                control::quarantine_partition(name),
                control::accepted_partition(name),
                control::quarantine_partition(&other),
                control::accepted_partition(&other),
            ]),
        }
    }
}

/// The partitions of the quarantine, with their acceptances: of the direction that items are carried in, then of the other one.
pub(super) fn quarantine_rows(context: &OperationContext) -> Rows {
    let mapping = leading(context).mapping().clone();
    let (name, other) = (mapping.rows_name(), mapping.other_rows_name());
    Rows::of(vec![
        control::quarantine_partition(name),
        control::accepted_partition(name),
        control::quarantine_partition(&other),
        control::accepted_partition(&other),
    ])
}

/// The entries in these rows that are not accepted.
pub(super) fn open_entries(rows: &[Vec<Item>]) -> [Vec<Quarantined>; 2] {
    let [quarantine, accepted, other_quarantine, other_accepted] = rows else {
        unreachable!("one list for each partition")
    };
    [entries(quarantine, accepted), entries(other_quarantine, other_accepted)].map(unaccepted)
}

fn unaccepted(entries: Vec<Quarantined>) -> Vec<Quarantined> {
    entries.into_iter().filter(|entry| entry.accepted.is_none()).collect()
}

/// The job of the direction that items are carried in.
pub(super) fn leading(context: &OperationContext) -> Job {
    let head = context.head();
    head.leading_job(&context.mapping).unwrap_or_else(|| head.job(context.mapping.clone()))
}

impl Part for GateCheck {
    type End = Result<GateReport, ControlError>;

    fn next(&self, context: &OperationContext) -> PartStep<Result<GateReport, ControlError>> {
        match self.rows.next(context) {
            PartStep::Ask(effect) => PartStep::Ask(effect),
            PartStep::Over(rows) => PartStep::Over(report(context, &rows)),
        }
    }

    fn take(&mut self, context: &mut OperationContext, reply: Reply) {
        self.rows.take(context, reply);
    }
}

fn report(context: &OperationContext, rows: &[Vec<Item>]) -> Result<GateReport, ControlError> {
    let [leases, segments, heads, quarantine, accepted, other_quarantine, other_accepted] = rows else {
        unreachable!("one list for each partition")
    };
    let job = leading(context);
    let unreadable = |_| ControlError::Unreadable { retrofit: context.mapping.name().to_owned() };
    // Skipped, a checkpoint of an unknown format would be a segment that no gate counts.
    let backfilled = progress::read_checkpoints(&job, Pass::Backfill, segments).map_err(unreadable)?;
    let (segments_done, segments_total) = progress::filled(&backfilled);
    let protocol = context.mapping.protocol();
    let mut compared = Vec::new();
    for pass in progress::comparison(protocol) {
        compared.extend(progress::read_checkpoints(&job, *pass, segments).map_err(unreadable)?);
    }
    let is_at = |key: &Item, row: &&Item| key.iter().all(|(name, value)| row.get(name) == Some(value));
    let mark_key = progress::mark_key(&job);
    let mark = heads.iter().find(|row| is_at(&mark_key, row)).and_then(progress::read_mark);
    // A comparison counts for one mark and one version: under another, something may have been written after it.
    let now = ComparisonStart {
        mark: mark.unwrap_or_default(),
        version: context.head().version,
        seconds: context.seconds(),
    };
    let lag_key = Lag::key(&job);
    let lag = heads.iter().find(|row| is_at(&lag_key, row)).and_then(Lag::read);
    // An entry of the other direction is a change that one of the tables still lacks: it blocks a switch as much.
    let both = [entries(quarantine, accepted), entries(other_quarantine, other_accepted)];
    let is_accepted = |entry: &&Quarantined| entry.accepted.is_some();
    let accepted = both.iter().flatten().filter(is_accepted).count() as u64;
    let entries = both.map(unaccepted);
    let evidence = Evidence {
        segments_done,
        segments_total,
        verdict: progress::verdict(protocol, &now, &compared),
        leases: context.held(leases) as u64,
        quarantined: (entries[0].len() + entries[1].len()) as u64,
        accepted,
        indexes_not_active: context.tables[1].indexes_not_active.clone(),
        stream: context.tables[0].stream.clone(),
    };
    let mut gates = closed(context.head(), &evidence);
    let is_followed = context.head().protocol == Protocol::InPlace && context.head().stream.is_some();
    // Queries would use indexes whose keys nothing keeps right: each later change would leave a stale key.
    if is_followed && lag.is_none() {
        gates.push(Gate::Replicator);
    }
    Ok(GateReport { gates, entries, segments: segments_total })
}
