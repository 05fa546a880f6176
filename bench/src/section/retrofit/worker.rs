//! The process of one retrofit: runs it, and prints its figures.

use std::ops::ControlFlow;
use std::time::Instant;

use clap::{Args, ValueEnum};
use cpu_time::ProcessTime;
use keyfold_core::retrofit::{Checkpoint, Epoch, Job, Mapping, Pass, SegmentId};
use keyfold_dynamo::retrofit::{CONTROL_TABLE_DEFAULT, RequestSender, SliceOptions, backfill_slice};
use keyfold_dynamo::{Client, Settings, plain_client};
use serde::{Deserialize, Serialize};

use super::raw;
use crate::sdk::sdk_alone;
use crate::turns::one_thread;
use crate::{data, machine};

/// One retrofit.
#[derive(Debug, Clone, Args)]
pub(crate) struct Work {
    program: Worker,
    /// Where DynamoDB is.
    endpoint: String,
    /// In place, not into a new table.
    #[arg(long)]
    in_place: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Worker {
    /// The same calls, without deciding anything.
    Raw,
    /// The retrofit.
    Keyfold,
}

/// The figures of a retrofit: every program prints them as JSON.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Done {
    /// The items that it wrote.
    pub(super) items: u64,
    pub(super) seconds: f64,
    /// The CPU of the whole process.
    cpu_seconds: f64,
    /// The peak memory of the process; 0 if unknown.
    peak_kb: u64,
}

impl Done {
    /// Microseconds of CPU for an item.
    pub(super) fn cpu(&self) -> f64 {
        self.cpu_seconds * 1e6 / self.items as f64
    }

    pub(super) fn peak_mb(&self) -> f64 {
        if self.peak_kb == 0 { f64::NAN } else { self.peak_kb as f64 / 1024.0 }
    }
}

impl Work {
    /// Runs it, and returns its figures.
    pub(crate) fn run(&self) -> anyhow::Result<String> {
        let runtime = one_thread()?;
        let model = data::model(data::MANIFEST)?;
        let retrofit = if self.in_place { "inPlace" } else { "newTable" };
        let job = Job::new(Mapping::of(&model, retrofit)?, Epoch::FIRST);
        let (source, target) = (job.mapping().source().name.clone(), job.mapping().target().name.clone());
        let client = plain_client(&self.endpoint, &Settings::default());
        let (started, cpu) = (Instant::now(), ProcessTime::now());
        let items = runtime.block_on(async {
            match self.program {
                Worker::Raw => raw::run(&sdk_alone(&client), &source, &target).await,
                Worker::Keyfold => keyfold(client, job).await,
            }
        })?;
        let (seconds, cpu_seconds) = (started.elapsed().as_secs_f64(), cpu.elapsed().as_secs_f64());
        Ok(serde_json::to_string(&Done { items, seconds, cpu_seconds, peak_kb: machine::peak_kb() })?)
    }
}

/// The retrofit, as `keyfold retrofit run` carries it out, in one segment.
async fn keyfold(client: Client, job: Job) -> anyhow::Result<u64> {
    let sender = RequestSender::new(client, job, CONTROL_TABLE_DEFAULT);
    let from = Checkpoint::start(sender.job(), Pass::Backfill, SegmentId::WHOLE);
    let watch = &mut |_: &Checkpoint| ControlFlow::Continue(());
    let end = backfill_slice(&sender, from, &SliceOptions::default(), watch).await;
    match end.error {
        Some(error) => Err(error.into()),
        None => Ok(end.checkpoint.count("written")),
    }
}
