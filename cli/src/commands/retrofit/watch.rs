//! `keyfold retrofit status --watch`: the status again and again, with the rate and the time left of each pass. On a terminal it is
//! drawn in place; elsewhere each sample is one line, and with `--json` one document on a line.

use std::collections::{BTreeMap, VecDeque};
use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use keyfold_core::retrofit::control::Phase;
use keyfold_core::retrofit::progress::{PassProgress, passes};
use keyfold_core::retrofit::{Pass, TableRole};
use keyfold_dynamo::retrofit::Status;
use serde_json::{Value, json};

use super::env::{Env, RetrofitName};
use super::progress::Pace;
use super::status::{RetrofitStatusArgs, lag, rate, rows};
use crate::line::COLUMNS_MAX;
use crate::output::{Output, columns, row};

/// From how many samples the rate is measured.
const SAMPLES_MAX: usize = 7;

pub(super) async fn run(env: &Env<'_>, args: &RetrofitStatusArgs) -> anyhow::Result<ExitCode> {
    let out = env.out;
    let terminal = std::io::stdout().is_terminal() && !out.json;
    let (mut history, mut drawn) = (History::new(), 0);
    loop {
        let sample = sample(env, &args.retrofit, &mut history).await?;
        if out.json {
            out.line(&sample.document());
        } else if terminal {
            drawn = sample.redraw(out, drawn);
        } else {
            out.text(sample.line() + "\n");
        }
        if matches!(sample.status.head.phase, Phase::Finalised | Phase::Abandoned) {
            return Ok(ExitCode::SUCCESS);
        }
        tokio::time::sleep(Duration::from_secs(args.every)).await;
    }
}

/// How far each pass was at the last samples, which gives its rate.
pub(super) type History = VecDeque<(Instant, BTreeMap<Pass, PassProgress>)>;

/// The status now; it is added to the history.
pub(super) async fn sample(
    env: &Env<'_>,
    retrofit: &RetrofitName,
    history: &mut History,
) -> anyhow::Result<StatusSample> {
    // Again each time: the sender depends on the phase.
    let (sender, head) = env.started(retrofit).await?;
    let status = sender.status(head).await?;
    let totals = (sender.items_about().await?, sender.target_about().await?.0);
    history.push_back((Instant::now(), passes(&sender.progress().await?)));
    if history.len() > SAMPLES_MAX {
        history.pop_front();
    }
    Ok(StatusSample { status, paces: paces(history, totals) })
}

/// The status at one time, and how fast each pass goes.
pub(super) struct StatusSample {
    status: Status,
    paces: Vec<(Pass, Pace)>,
}

/// The passes of the last sample, with the rate since the first. `totals`: about how many items source and target have.
fn paces(history: &History, totals: (u64, u64)) -> Vec<(Pass, Pace)> {
    let (Some((started, first)), Some((now, last))) = (history.front(), history.back()) else {
        return Vec::new();
    };
    let elapsed = now.duration_since(*started);
    let pace = |(pass, walked): (&Pass, &PassProgress)| {
        let before = first.get(pass).map_or(0, |walked| walked.items);
        let about = match pass.table() {
            TableRole::Source => totals.0,
            TableRole::Target => totals.1,
            TableRole::Control => 0,
        };
        let pace = Pace::new((walked.items, walked.items.saturating_sub(before)), about, elapsed);
        (*pass, if walked.done == walked.segments { pace.done() } else { pace })
    };
    last.iter().map(pace).collect()
}

impl StatusSample {
    fn document(&self) -> Value {
        let mut document = self.status.json();
        let pass = |(pass, pace): &(Pass, Pace)| {
            json!({
                "pass": pass.name(), "done": pace.is_done, "items": pace.items, "itemsAbout": pace.total,
                "itemsPerSecond": pace.items_per_second(), "secondsLeft": pace.seconds_left(),
            })
        };
        document["passes"] = self.paces.iter().map(pass).collect();
        document
    }

    /// One line.
    pub(super) fn line(&self) -> String {
        let status = &self.status;
        let mut parts = vec![status.head.shown()];
        parts.extend(self.paces.iter().map(|(pass, pace)| format!("{} {pace}", pass.name())));
        parts.extend(rate(status));
        parts.push(format!("lag {}", lag(status)));
        parts.push(format!("{} in quarantine", status.evidence.quarantined));
        parts.push(format!("{} conditions block the switch", status.gates.len()));
        parts.join("; ")
    }

    /// Draws over the lines of the previous sample; how many there are now.
    fn redraw(&self, out: &Output, drawn: usize) -> usize {
        let mut rows = rows(&self.status);
        rows.extend(self.paces.iter().map(|(pass, pace)| row(pass.name(), pace.to_string())));
        // A line that the terminal breaks would be two.
        let lines: Vec<String> =
            columns(&rows).lines().map(|line| line.chars().take(COLUMNS_MAX).collect()).collect();
        let up = if drawn > 0 { format!("\x1b[{drawn}A\x1b[J") } else { String::new() };
        out.redraw(&up, &format!("{}\n", lines.join("\n")));
        lines.len()
    }
}

#[cfg(test)]
mod tests;
