//! `keyfold retrofit status`: how far a retrofit is, the next command, and what blocks it.

use std::collections::BTreeSet;
use std::process::ExitCode;

use keyfold_core::retrofit::Protocol;
use keyfold_core::retrofit::stop::PolicyChange;
use keyfold_dynamo::StateMachines;
use keyfold_dynamo::retrofit::Status;

use super::env::{Env, RetrofitName};
use super::texts::{run_json, run_text, titled};
use crate::line::duration;
use crate::output::{columns, counted, row};

#[derive(Debug, clap::Args)]
pub(crate) struct RetrofitStatusArgs {
    #[command(flatten)]
    pub(crate) retrofit: RetrofitName,
    /// Repeat until the retrofit is over or you press ctrl-C, with the rate and the time left of each pass.
    #[arg(long)]
    pub(crate) watch: bool,
    /// The seconds between two updates.
    #[arg(long, default_value_t = 5, value_name = "SECONDS", requires = "watch", value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub(crate) every: u64,
    /// The state machine's ARN: shows its newest run too, and which segments failed and why.
    #[arg(
        long,
        value_name = "ARN",
        env = "KEYFOLD_STATE_MACHINE",
        hide_env_values = true,
        conflicts_with = "watch"
    )]
    pub(crate) state_machine: Option<String>,
}

pub(super) async fn run(env: &Env<'_>, args: &RetrofitStatusArgs) -> anyhow::Result<ExitCode> {
    let (sender, head) = env.started(&args.retrofit).await?;
    let status = sender.status(head).await?;
    let run = match &args.state_machine {
        Some(machine) => StateMachines::open(&env.globals.settings()?).await?.newest(machine).await?,
        None => None,
    };
    let (mut rows, mut value) = (rows(&status), status.json());
    // A policy that the phase needs may have been overwritten.
    let changes = match status.head.exempt.is_empty() {
        true => Vec::new(),
        false => sender.policy_changes(&status.head).await?,
    };
    value["policiesToApply"] = changes.iter().map(PolicyChange::json).collect();
    let unfit =
        |table: &str| format!("of table `{table}` does not fit this phase: the next command replaces it");
    rows.extend(changes.iter().map(|change| row("policy", unfit(&change.table))));
    if let Some(run) = &run {
        value["run"] = run_json(run, &status.head.retrofit);
    }
    let run = run.map(|run| format!("its newest run:\n{}", run_text(&run))).unwrap_or_default();
    let text = columns(&rows) + &titled("in quarantine:", &status.misfits.table()) + &run;
    env.out.show(&value, text)?;
    Ok(ExitCode::SUCCESS)
}

/// The status as rows of a name and a value.
pub(super) fn rows(status: &Status) -> Vec<Vec<String>> {
    let Status { head, evidence, gates, .. } = status;
    let differences = match evidence.verdict {
        None => "not compared".to_owned(),
        Some(verdict) => format!("{}, {} ago", verdict.differences, duration(verdict.age_seconds)),
    };
    let blocked = match gates.is_empty() {
        true => "nothing".to_owned(),
        false => gates.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "),
    };
    let quarantined = match evidence.accepted {
        0 => evidence.quarantined.to_string(),
        accepted => format!("{}, and {accepted} that stay out", evidence.quarantined),
    };
    // The way back has no backfill.
    let segments = match evidence.segments_total {
        0 => "none".to_owned(),
        total => format!("{} of {total}", evidence.segments_done),
    };
    let mut rows = vec![
        row("phase", head.shown()),
        row("", head.meaning()),
        row("next", head.next_command(gates).unwrap_or_else(|| "nothing: the retrofit is over".to_owned())),
        row("blocked by", blocked),
        row("protocol", head.protocol.name()),
        row("epoch", format!("{}: each new stream of the source starts the next", head.epoch.number())),
        row("quarantine", quarantined),
        row("lag", lag(status)),
    ];
    rows.extend(rate(status).map(|rate| row("rate", rate)));
    // Once the writers have moved, neither the backfill nor the comparison says anything.
    if head.phase.is_filling() || head.protocol == Protocol::InPlace {
        rows.push(row("segments", segments));
        rows.push(row("differences", differences));
    }
    rows.extend(
        status.denied.iter().map(|(table, who)| row("denied", format!("writes of {who} to table `{table}`"))),
    );
    if status.late > 0 {
        rows.push(row(
            "late writes",
            format!("{}: see `keyfold retrofit quarantine {}`", status.late, head.retrofit),
        ));
    }
    rows
}

/// How fast the workers go together, and what limits them; `None` if none is at work.
pub(super) fn rate(status: &Status) -> Option<String> {
    let (rates, workers) = (&status.rates, status.rates.len());
    let units: u64 = rates.iter().map(|rate| rate.units_per_second).sum();
    let limits: BTreeSet<&str> = rates.iter().filter_map(|rate| Some(rate.limited_by?.words())).collect();
    let limited = match limits.is_empty() {
        true => "nothing limits it".to_owned(),
        false => format!("limited by {}", limits.into_iter().collect::<Vec<_>>().join(" and ")),
    };
    (workers > 0).then(|| format!("up to {units} units/s of {}; {limited}", counted(workers, "worker")))
}

/// The replicator's lag, as of its last batch: without changes, it reports nothing.
pub(super) fn lag(status: &Status) -> String {
    match (&status.head.stream, status.lag) {
        (None, _) => "no stream is followed".to_owned(),
        (Some(_), None) => "unknown: the replicator has carried nothing over yet".to_owned(),
        (Some(_), Some(lag)) => {
            // DynamoDB rounds the times of records to seconds.
            let behind = lag.behind_ms.div_ceil(1000);
            format!("{behind} s, as the replicator reported {} ago", duration(status.lag_age_seconds))
        }
    }
}
