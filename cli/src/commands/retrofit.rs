//! `keyfold retrofit`: gives the items of a live table their new keys, in place or in a new table.

mod enforce;
mod failures;
mod finalise;
pub(super) mod interrupt;
mod late;
mod line;
mod misfits;
mod passes;
mod plan;
mod progress;
mod quarantine;
mod redrive;
mod revise;
mod rounds;
mod run;
mod status;
mod steps;
mod switch;
mod tidy;
mod watch;

use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use keyfold_core::model::Model;
use keyfold_core::retrofit::{Epoch, Job, Mapping};
use keyfold_dynamo::retrofit::{RequestSender, RetrofitError};
use keyfold_dynamo::{Settings, client};
use keyfold_edge::Problem;

use super::{settings, with_causes};
use crate::args::{RetrofitArgs, RetrofitCommand, RetrofitTarget};
use crate::manifest_file::model;
use crate::output::Output;
use crate::refusal::Refusal;

pub(super) fn run(path: &Path, args: &RetrofitArgs, out: &Output) -> anyhow::Result<ExitCode> {
    let model = model(path, out)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(on(&model, args, out))
}

/// Runs a command on a model that is already loaded.
pub(super) async fn on(model: &Model, args: &RetrofitArgs, out: &Output) -> anyhow::Result<ExitCode> {
    match &args.command {
        RetrofitCommand::Plan(args) => plan::run(model, args, out).await,
        RetrofitCommand::Start(args) => steps::start(model, args, out).await,
        RetrofitCommand::Backfill(args) => passes::backfill(model, args, out).await,
        RetrofitCommand::Verify(args) => passes::verify(model, args, false, out).await,
        RetrofitCommand::Repair(args) => passes::verify(model, args, true, out).await,
        RetrofitCommand::Run(args) => run::run(model, args, out),
        RetrofitCommand::Failures(args) => failures::run(model, args, out),
        RetrofitCommand::Status(args) => status::run(model, args, out).await,
        RetrofitCommand::Quarantine(args) => quarantine::run(model, args, out).await,
        RetrofitCommand::Redrive(args) => redrive::run(model, args, out).await,
        RetrofitCommand::Tidy(args) => tidy::run(model, args, out).await,
        RetrofitCommand::Switch(args) => switch::there(model, args, out).await,
        RetrofitCommand::Return(args) => switch::back(model, args, out).await,
        RetrofitCommand::Enforce(args) => enforce::run(model, args, out).await,
        RetrofitCommand::Late(args) => late::run(model, args, out).await,
        RetrofitCommand::Settle(args) => steps::settle(model, args, out).await,
        RetrofitCommand::Cutover(args) => steps::cutover(model, args, out).await,
        RetrofitCommand::Revise(args) => revise::run(model, args, out).await,
        RetrofitCommand::Undo(args) => steps::undo(model, args, out).await,
        RetrofitCommand::Finalise(args) => finalise::run(model, args, out).await,
        RetrofitCommand::Abandon(args) => steps::abandon(model, args, out).await,
    }
}

/// For a retrofit that was not started yet, or whose epoch does not matter.
async fn unstarted(model: &Model, args: &RetrofitTarget) -> anyhow::Result<RequestSender> {
    let settings = settings(args.endpoint.as_deref())?;
    // The SDK must not retry throttled requests silently: the retrofit has its own retries, and lowers its rate.
    let settings = Settings { attempts_max: 1, ..settings };
    let mapping = Mapping::of(model, &args.name).map_err(|error| hinted(error.to_string(), error.hint()))?;
    let job = Job::new(mapping, Epoch::FIRST);
    Ok(RequestSender::new(client(&settings).await, job, &args.control))
}

/// For a retrofit that was started, in its current epoch; with its row of the control table.
async fn started(
    model: &Model,
    args: &RetrofitTarget,
) -> anyhow::Result<(RequestSender, keyfold_dynamo::retrofit::Head)> {
    let unstarted = unstarted(model, args).await?;
    let mapping = unstarted.job().mapping().clone();
    RequestSender::started(unstarted.client().clone(), mapping, &args.control).await.map_err(explained)
}

/// An error with its code and its hint.
fn explained(error: RetrofitError) -> anyhow::Error {
    let detail = with_causes(&error);
    Refusal::of(Problem { detail, ..Problem::from(error) })
}

fn hinted(message: String, hint: Option<String>) -> anyhow::Error {
    match hint {
        Some(hint) => anyhow::anyhow!("{message}\nhint: {hint}"),
        None => anyhow::anyhow!(message),
    }
}

/// The ids of all segments of a scan.
fn segments(total: u32) -> anyhow::Result<Vec<keyfold_core::retrofit::SegmentId>> {
    (0..total)
        .map(|number| keyfold_core::retrofit::SegmentId::new(number, total))
        .collect::<Result<_, _>>()
        .context("the number of segments does not fit")
}
