//! `keyfold retrofit status`: the progress of a retrofit, and what blocks its cut-over.

use std::process::ExitCode;

use keyfold_core::model::Model;
use keyfold_core::retrofit::gates::{Evidence, Gate};
use keyfold_dynamo::retrofit::Status;

use super::misfits::table;
use super::{explained, started};
use crate::args::RetrofitTarget;
use crate::output::{Output, columns};

pub(super) async fn run(model: &Model, args: &RetrofitTarget, out: &Output) -> anyhow::Result<ExitCode> {
    let (sender, head) = started(model, args).await?;
    let status = sender.status(head).await.map_err(explained)?;
    if out.json {
        out.value(&status.json())?;
        return Ok(ExitCode::SUCCESS);
    }
    let Status { head, evidence, gates, misfits } = status;
    let row = |name: &str, value: String| vec![name.to_owned(), value];
    let differences = match evidence.verdict {
        None => "not compared".to_owned(),
        Some(verdict) => format!("{}, {} min ago", verdict.differences, verdict.age_seconds / 60),
    };
    out.text(columns(&[
        row("phase", head.shown()),
        row("protocol", head.protocol.name().to_owned()),
        row("epoch", head.epoch.number().to_string()),
        row("segments", format!("{} of {}", evidence.segments_done, evidence.segments_total)),
        row("differences", differences),
        row("quarantine", quarantine(&evidence)),
        row("gates", listed(&gates)),
    ]));
    out.text(table("in quarantine:", &misfits));
    Ok(ExitCode::SUCCESS)
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
