//! The process of one retrofit: carries it out, and says what it took.

use std::time::Instant;

use anyhow::ensure;
use clap::{Args, ValueEnum};
use cpu_time::ProcessTime;
use keyfold_core::model::Model;
use keyfold_core::retrofit::{Epoch, Job, Mapping};
use keyfold_dynamo::{Client, Settings, plain_client};

use super::{Done, ours, raw, seed};
use crate::peers::sdk_alone;
use crate::{data, machine};

/// What is to be done.
#[derive(Debug, Clone, Args)]
pub struct Work {
    /// By which program.
    #[arg(long)]
    pub program: Role,
    /// In place? Otherwise into a new table.
    #[arg(long)]
    pub in_place: bool,
    /// Where DynamoDB is.
    #[arg(long)]
    pub endpoint: String,
    /// How many items there are.
    #[arg(long)]
    pub items: u64,
}

/// A program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Role {
    /// The retrofit.
    Ours,
    /// The same calls, without deciding anything.
    Raw,
    /// A scan, a queue of 10,000, batches of 10 unconditional puts.
    Seed,
}

impl Role {
    /// Its name as an argument.
    pub fn argument(self) -> &'static str {
        match self {
            Role::Ours => "ours",
            Role::Raw => "raw",
            Role::Seed => "seed",
        }
    }
}

/// Does it, and says what it took, as a line of JSON.
pub fn run(work: &Work) -> anyhow::Result<String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let model = data::model(data::MANIFEST)?;
    let client = plain_client(&work.endpoint, &Settings::default());
    let (begun, cpu) = (Instant::now(), ProcessTime::now());
    let items = runtime.block_on(carry_out(work, &model, client))?;
    let (seconds, cpu_seconds) = (begun.elapsed().as_secs_f64(), cpu.elapsed().as_secs_f64());
    ensure!(items == work.items, "{items} items were written, not {}", work.items);
    Ok(serde_json::to_string(&Done { items, seconds, cpu_seconds, peak_kb: peak_kb() })?)
}

async fn carry_out(work: &Work, model: &Model, client: Client) -> anyhow::Result<u64> {
    let retrofit = if work.in_place { "inPlace" } else { "newTable" };
    let job = Job::new(Mapping::of(model, retrofit)?, Epoch::FIRST);
    let (source, target) = (job.mapping().source().name.clone(), job.mapping().target().name.clone());
    match work.program {
        Role::Ours => ours::run(client, job).await,
        Role::Raw => raw::run(&sdk_alone(&client), &source, &target).await,
        Role::Seed => seed::run(&client, &source, &target).await,
    }
}

/// The most memory that this process ever had; 0 if the system does not tell.
fn peak_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    machine::peak_kb(&status).unwrap_or(0)
}
