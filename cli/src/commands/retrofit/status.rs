//! `keyfold retrofit status`: the progress of a retrofit, and what blocks its cut-over.

use std::process::ExitCode;

use keyfold_core::model::Model;
use keyfold_core::retrofit::gates::{Evidence, Gate};
use keyfold_dynamo::retrofit::Status;

use super::misfits::table;
use super::{explained, started, watch};
use crate::args::RetrofitStatusArgs;
use crate::output::{Output, columns};

pub(super) async fn run(model: &Model, args: &RetrofitStatusArgs, out: &Output) -> anyhow::Result<ExitCode> {
    if args.watch {
        return watch::run(model, args, out).await;
    }
    let (sender, head) = started(model, &args.target).await?;
    let status = sender.status(head).await.map_err(explained)?;
    if out.json {
        out.value(&status.json())?;
        return Ok(ExitCode::SUCCESS);
    }
    out.text(columns(&rows(&status)));
    out.text(table("in quarantine:", &status.misfits));
    Ok(ExitCode::SUCCESS)
}

/// The status as lines: what, and how it is.
pub(super) fn rows(status: &Status) -> Vec<Vec<String>> {
    let Status { head, evidence, gates, .. } = status;
    let row = |name: &str, value: String| vec![name.to_owned(), value];
    let differences = match evidence.verdict {
        None => "not compared".to_owned(),
        Some(verdict) => format!("{}, {} ago", verdict.differences, ago(verdict.age_seconds)),
    };
    let mut rows = vec![
        row("phase", head.shown()),
        row("", head.meaning().to_owned()),
        row("protocol", head.protocol.name().to_owned()),
        row("epoch", head.epoch.number().to_string()),
        row("segments", format!("{} of {}", evidence.segments_done, evidence.segments_total)),
        row("differences", differences),
        row("quarantine", quarantine(evidence)),
        row("lag", lag(status)),
        row("gates", listed(gates)),
    ];
    rows.extend(
        status.denied.iter().map(|(table, who)| row("denied", format!("writes of {who} to table `{table}`"))),
    );
    if status.late > 0 {
        rows.push(row("late", format!("{}: see `keyfold retrofit late {}`", status.late, head.retrofit)));
    }
    rows
}

/// What is known of the replicator's lag. It says something only after a batch: if nothing changes, it is silent.
pub(super) fn lag(status: &Status) -> String {
    match (&status.head.stream, status.lag) {
        (None, _) => "no stream is followed".to_owned(),
        (Some(_), None) => "unknown: the replicator has carried nothing over yet".to_owned(),
        (Some(_), Some(lag)) => {
            // Tenths of a second tell more than DynamoDB's own rounding of the time does.
            let behind = lag.behind_ms.div_ceil(1000);
            format!("{behind} s, as the replicator said {} ago", ago(status.lag_age_seconds))
        }
    }
}

fn ago(seconds: u64) -> String {
    match seconds {
        0..=119 => format!("{seconds} s"),
        120..=7199 => format!("{} min", seconds / 60),
        _ => format!("{} h", seconds / 3600),
    }
}

fn quarantine(evidence: &Evidence) -> String {
    match evidence.accepted {
        0 => evidence.quarantined.to_string(),
        accepted => format!("{}, and {accepted} that stay out", evidence.quarantined),
    }
}

/// The gates as one line.
pub(super) fn listed(gates: &[Gate]) -> String {
    if gates.is_empty() {
        return "all open".to_owned();
    }
    gates.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
