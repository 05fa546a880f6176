//! `keyfold retrofit status --watch`: the status again and again, with the rate and the time left of each pass. On a terminal it is
//! drawn in place; elsewhere each sample is one line, and with `--json` one document on a line.

use std::collections::{BTreeMap, VecDeque};
use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use keyfold_core::retrofit::Pass;
use keyfold_core::retrofit::control::Phase;
use keyfold_core::retrofit::progress::{PassProgress, passes};
use keyfold_dynamo::retrofit::Status;
use serde_json::{Value, json};

use super::env::{Env, RetrofitName, explained};
use super::progress::{Pace, known_total};
use super::status::{RetrofitStatusArgs, lag, rate, rows, status_json};
use crate::line::COLUMNS_MAX;
use crate::output::{Output, columns};

/// From how many samples the rate is measured.
const SAMPLES_MAX: usize = 7;

pub(super) async fn run(env: &Env<'_>, args: &RetrofitStatusArgs) -> anyhow::Result<ExitCode> {
    let out = env.out;
    let terminal = std::io::stdout().is_terminal() && !out.json;
    let (mut history, mut drawn) = (StatusHistory::default(), 0);
    loop {
        let sample = history.sample(env, &args.retrofit).await?;
        if out.json {
            out.line(&sample.document());
        } else if terminal {
            drawn = sample.redraw(out, drawn);
        } else {
            out.text(sample.plain());
        }
        if matches!(sample.status.head.phase, Phase::Finalised | Phase::Abandoned) {
            return Ok(ExitCode::SUCCESS);
        }
        tokio::time::sleep(Duration::from_secs(args.every)).await;
    }
}

/// The last samples of a retrofit's status, which give its rates.
#[derive(Default)]
pub(super) struct StatusHistory {
    walked: VecDeque<(Instant, BTreeMap<Pass, PassProgress>)>,
    /// About how many items source and target have.
    totals: Option<(u64, u64)>,
}

impl StatusHistory {
    pub(super) async fn sample(
        &mut self,
        env: &Env<'_>,
        retrofit: &RetrofitName,
    ) -> anyhow::Result<StatusSample> {
        // Again each time: the sender depends on the phase.
        let (sender, head) = env.started(retrofit).await?;
        let status = sender.status(head).await.map_err(explained)?;
        let totals = match self.totals {
            Some(totals) => totals,
            None => {
                let target = sender.target_about().await.map_err(explained)?.0;
                *self.totals.insert((sender.items_about().await.map_err(explained)?, target))
            }
        };
        self.walked.push_back((Instant::now(), passes(&sender.progress().await.map_err(explained)?)));
        if self.walked.len() > SAMPLES_MAX {
            self.walked.pop_front();
        }
        Ok(StatusSample { status, walks: paces(&self.walked, totals) })
    }
}

/// The status at one time.
pub(super) struct StatusSample {
    status: Status,
    walks: Vec<Walk>,
}

/// A pass, and how fast it goes.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Walk {
    pass: Pass,
    pace: Pace,
    is_done: bool,
}

/// The passes of the last sample, with the rate since the first. `totals`: about how many items source and target have.
fn paces(history: &VecDeque<(Instant, BTreeMap<Pass, PassProgress>)>, totals: (u64, u64)) -> Vec<Walk> {
    let (Some((started, first)), Some((now, last))) = (history.front(), history.back()) else {
        return Vec::new();
    };
    let seconds = now.duration_since(*started).as_secs_f64();
    let walk = |(pass, walked): (&Pass, &PassProgress)| {
        let before = first.get(pass).map_or(0, |walked| walked.items);
        let is_done = walked.done == walked.segments;
        let about = match pass {
            Pass::Backfill | Pass::VerifySource => totals.0,
            Pass::VerifyTarget | Pass::Tidy | Pass::Finalise => totals.1,
            Pass::EmptyLedger => 0,
        };
        let total = if is_done { Some(walked.items) } else { known_total(about, walked.items) };
        let pace = Pace::new(walked.items, walked.items.saturating_sub(before), total, seconds);
        Walk { pass: *pass, pace, is_done }
    };
    last.iter().map(walk).collect()
}

impl Walk {
    fn text(&self) -> String {
        match self.is_done {
            true => format!("done, {} items", self.pace.items),
            false => format!("{}, {}", self.pace, self.pace.left()),
        }
    }
}

impl StatusSample {
    fn document(&self) -> Value {
        let mut document = status_json(&self.status);
        let walk = |Walk { pass, pace, is_done }: &Walk| {
            json!({
                "pass": pass.name(), "done": is_done, "items": pace.items, "itemsAbout": pace.total,
                "itemsPerSecond": pace.items_per_second.round(), "secondsLeft": pace.seconds_left(),
            })
        };
        document["passes"] = self.walks.iter().map(walk).collect();
        document
    }

    /// One line.
    pub(super) fn plain(&self) -> String {
        let status = &self.status;
        let mut parts = vec![status.head.shown()];
        parts.extend(self.walks.iter().map(|walk| format!("{} {}", walk.pass.name(), walk.text())));
        parts.extend(rate(status));
        parts.push(format!("lag {}", lag(status)));
        parts.push(format!("{} in quarantine", status.evidence.quarantined));
        parts.push(format!("{} conditions block the switch", status.gates.len()));
        parts.join("; ") + "\n"
    }

    /// Draws over the lines of the previous sample; how many there are now.
    fn redraw(&self, out: &Output, drawn: usize) -> usize {
        let mut rows = rows(&self.status);
        rows.extend(self.walks.iter().map(|walk| vec![walk.pass.name().to_owned(), walk.text()]));
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
