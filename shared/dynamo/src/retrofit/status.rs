//! How far a retrofit is, read from the control table and from the tables themselves.

use keyfold_core::retrofit::control::{self, ControlError, Direction, RetrofitState};
use keyfold_core::retrofit::gates::{Evidence, Gate, closed};
use keyfold_core::retrofit::quarantine::misfits;
use keyfold_core::retrofit::{
    Checkpoint, Epoch, Job, Lag, Mapping, Misfits, Pass, Quarantined, ThrottledBy, WorkerRate, progress,
};
use serde_json::{Value, json};

use super::clock::now_seconds;
use super::{RequestSender, RetrofitError};
use crate::{Client, DynamoError};

/// The control table's name, where nothing else is set.
pub const CONTROL_TABLE_DEFAULT: &str = "keyfold-control";

/// The passes of a status.
const PASSES: [Pass; 6] =
    [Pass::Backfill, Pass::EmptyLedger, Pass::Finalise, Pass::Tidy, Pass::VerifySource, Pass::VerifyTarget];

/// How far a retrofit is, and what keeps it from being cut over.
#[derive(Debug, Clone, PartialEq)]
pub struct Status {
    /// Its row: phase, protocol, epoch.
    pub head: RetrofitState,
    /// What speaks for or against cutting over.
    pub evidence: Evidence,
    /// The gates that are closed.
    pub gates: Vec<Gate>,
    /// The entries of the quarantine, by reason.
    pub misfits: Misfits,
    /// How far behind the replicator said it was.
    pub lag: Option<Lag>,
    /// The age of that note, in seconds.
    pub lag_age_seconds: u64,
    /// The tables that policies of the retrofit close, each with those whose writes are denied.
    pub denied: Vec<(String, &'static str)>,
    /// Changes that came to a closed table, and are not handled yet.
    pub late: u64,
    /// How fast the workers go that are at work, and what limits them.
    pub rates: Vec<WorkerRate>,
}

impl Status {
    /// As `keyfold retrofit status --json` prints it.
    pub fn json(&self) -> Value {
        let Status { head, evidence, gates, misfits, lag, lag_age_seconds, denied, late, rates } = self;
        let gate = |gate: &Gate| json!({ "code": gate.code(), "message": gate.to_string() });
        json!({
            "retrofit": head.retrofit,
            "phase": head.phase.name(),
            "shown": head.shown(),
            "means": head.meaning(),
            "tombstones": head.leaves_tombstones(),
            "protocol": head.protocol.name(),
            "mapping": head.mapping.as_str(),
            "epoch": head.epoch.number(),
            "next": head.next_command(gates),
            "segmentsDone": evidence.segments_done,
            "segments": evidence.segments_total,
            "differences": evidence.verdict.map(|verdict| verdict.differences),
            "comparedSecondsAgo": evidence.verdict.map(|verdict| verdict.age_seconds),
            "quarantined": evidence.quarantined,
            "accepted": evidence.accepted,
            "gates": gates.iter().map(gate).collect::<Vec<_>>(),
            "misfits": misfits.json(),
            "lagMilliseconds": lag.map(|lag| lag.behind_ms),
            "lagSecondsAgo": lag.map(|_| lag_age_seconds),
            "denied": denied.iter().map(|(table, who)| json!({ "table": table, "who": who })).collect::<Vec<_>>(),
            "late": late,
            "rates": rates.iter().map(rate_json).collect::<Vec<_>>(),
        })
    }
}

fn rate_json(rate: &WorkerRate) -> Value {
    let by = rate.limited_by.map(ThrottledBy::name);
    json!({ "worker": rate.owner, "unitsPerSecond": rate.units_per_second, "limitedBy": by })
}

impl RequestSender {
    /// The sender of a retrofit that was started with this mapping, in its epoch and the direction that items are carried in; and
    /// its row.
    pub async fn started(
        client: Client,
        mapping: Mapping,
        control_table: &str,
    ) -> Result<(RequestSender, RetrofitState), RetrofitError> {
        let first = RequestSender::new(client, Job::new(mapping, Epoch::FIRST), control_table);
        let head = first.head().await?;
        let mapping = first.job().mapping().clone();
        head.check(&mapping)?;
        let job = head.leading_job(&mapping).unwrap_or_else(|| head.job(mapping));
        let sender = RequestSender::new(first.client().clone(), job, control_table);
        Ok((sender, head))
    }

    /// How far the retrofit with this row is.
    pub async fn status(&self, head: RetrofitState) -> Result<Status, RetrofitError> {
        let (evidence, entries) = self.evidence_and_quarantine().await?;
        let gates = closed(&head, &evidence);
        let lag = if head.stream.is_some() { self.lag().await? } else { None };
        let lag_age_seconds = lag.map_or(0, |lag| now_seconds().saturating_sub(lag.told));
        let there = self.job().mapping().forward();
        let doors = [(Direction::Forward, there.source()), (Direction::Reverse, there.target())];
        let denied = doors
            .into_iter()
            .filter_map(|(side, table)| Some((table.id.clone(), head.write_access(side).denied()?)));
        let denied = denied.collect();
        // Nothing is late before the writers have moved.
        let late = if head.was_reversed() { self.late().await?.len() as u64 } else { 0 };
        let (misfits, rates) = (misfits(&entries), self.worker_rates().await?);
        Ok(Status { head, evidence, gates, misfits, lag, lag_age_seconds, denied, late, rates })
    }

    /// The segments of every pass that were started in this epoch, pass by pass.
    pub async fn progress(&self) -> Result<Vec<Checkpoint>, RetrofitError> {
        let rows = self.rows(control::segments_partition(self.job().mapping().rows_name())).await?;
        let mut segments = Vec::new();
        for pass in PASSES {
            segments.extend(progress::read_checkpoints(self.job(), pass, &rows)?);
        }
        Ok(segments)
    }

    /// The first entries of the quarantine, by their keys.
    pub async fn quarantine_begin(&self, entries_max: u32) -> Result<Vec<Quarantined>, RetrofitError> {
        let partition = control::quarantine_partition(self.job().mapping().rows_name());
        let rows = self.page_of_rows(partition, None, Some(entries_max)).await?.items;
        Ok(rows.iter().filter_map(Quarantined::read).collect())
    }
}

impl RetrofitError {
    /// Was the retrofit never started: has it no row, or is there not even a control table?
    pub fn is_not_started(&self, control_table: &str) -> bool {
        match self {
            RetrofitError::Control(ControlError::NotStarted { .. }) => true,
            RetrofitError::Dynamo(DynamoError::NotFound { call }) => &*call.table == control_table,
            _ => false,
        }
    }
}
