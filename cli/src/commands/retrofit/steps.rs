//! The steps that change a retrofit's phase and touch no item: start, cutover, undo, settle, abandon.

use std::process::ExitCode;

use anyhow::bail;
use keyfold_core::retrofit::control::{ControlError, Phase};
use keyfold_core::retrofit::gates::{Gate, closed};
use keyfold_core::retrofit::{CompletedStep, Epoch, Job, Mapping, Pass, Protocol, TableRole};
use keyfold_dynamo::retrofit::{RequestSender, RetrofitError, RetrofitState};
use keyfold_dynamo::{DynamoError, Endpoint, EnsureError, TableOptions, describe, ensure_table};

use super::env::{Env, RetrofitName, explained};
use super::texts::{listed, report};
use crate::output::Output;
use crate::refusal::refuse;

#[derive(Debug, clap::Args)]
pub(crate) struct RetrofitStartArgs {
    #[command(flatten)]
    pub(crate) retrofit: RetrofitName,
    /// In place only: follow no stream, because every writer folds keys itself.
    #[arg(long)]
    pub(crate) no_stream: bool,
    /// Create the control table if it does not exist. In AWS, the stack creates it; at an `http://` endpoint, `start` always does.
    #[arg(long)]
    pub(crate) create_control_table: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct RetrofitCutoverArgs {
    #[command(flatten)]
    pub(crate) retrofit: RetrofitName,
    /// Cut over although readers of the target will meet tombstones until it is finalised.
    #[arg(long)]
    pub(crate) with_tombstones: bool,
}

pub(super) async fn start(env: &Env<'_>, args: &RetrofitStartArgs) -> anyhow::Result<ExitCode> {
    let sender = env.unstarted(&args.retrofit).await?;
    let mapping = sender.job().mapping();
    let stream = sender.preflight(!args.no_stream).await.map_err(explained)?;
    if args.no_stream && mapping.protocol() != Protocol::InPlace {
        refuse!(
            "stream-required",
            "retrofit `{}` writes to another table: without a stream, changes during the retrofit would be lost",
            mapping.name()
        );
    }
    control_table(env, &sender, args).await?;
    let ended = ended_retrofits(env, &sender).await?;
    let (head, before) = match sender.head().await {
        Ok(before) => {
            if before.phase == Phase::Abandoned {
                RetrofitState::check_begin(mapping).map_err(explained)?;
            }
            let head = before.restarted(mapping, stream.as_deref()).map_err(explained)?;
            (head, Some(before))
        }
        Err(RetrofitError::Control(ControlError::NotStarted { .. })) => {
            RetrofitState::check_begin(mapping).map_err(explained)?;
            let traces = sender.traces().await.map_err(explained)?;
            let head = RetrofitState::begun(mapping, stream.as_deref()).after(&ended, traces);
            (head.map_err(explained)?, None)
        }
        Err(error) => return Err(explained(error)),
    };
    if before.as_ref().is_some_and(|before| before.phase == Phase::Abandoned) {
        // In the same epoch they would count as backfilled. Before the row is written: a killed `start` then does it again.
        let sender =
            RequestSender::new(sender.client().clone(), head.job(mapping.clone()), &env.globals.control);
        sender.forget_segments(Pass::Backfill).await.map_err(explained)?;
    }
    if before.as_ref() != Some(&head) {
        sender.store(&head, before.as_ref()).await.map_err(explained)?;
    }
    report(env.out, &head, &CompletedStep::Started.message(&head, mapping))
}

/// Creates the control table on this machine, and elsewhere only with `--create-control-table`. In AWS the stack creates it: a table of
/// this command would block the deployment, and have neither recovery nor the stack's encryption.
async fn control_table(
    env: &Env<'_>,
    sender: &RequestSender,
    args: &RetrofitStartArgs,
) -> anyhow::Result<()> {
    let (client, table) = (sender.client(), sender.table(TableRole::Control));
    let here = matches!(env.globals.settings()?.endpoint, Endpoint::Plain(_));
    if here || args.create_control_table {
        ensure_table(client, table, TableOptions::default()).await?;
        return Ok(());
    }
    match describe(client, table, TableOptions::default()).await {
        Ok(diff) if diff.is_compatible() => Ok(()),
        Ok(diff) => bail!(EnsureError::Differs { table: table.name.clone(), diff }),
        Err(DynamoError::NotFound { .. }) => refuse!(
            "control-table-missing",
            "there is no control table `{}`\n\
             hint: deploy the stack, which makes it (`keyfold template`), and give its name in KEYFOLD_CONTROL_TABLE; \
             if no stack is to have it, say --create-control-table",
            table.name
        ),
        Err(error) => Err(error.into()),
    }
}

/// Refuses tables that another unfinished retrofit still fills: its fences would be carried over as attributes, or be taken
/// for this one's. Returns the ended retrofits into the same target: its items may still have their marks.
async fn ended_retrofits(env: &Env<'_>, sender: &RequestSender) -> anyhow::Result<Vec<RetrofitState>> {
    let mapping = sender.job().mapping();
    let mut ended = Vec::new();
    for retrofit in env.model.retrofits.iter().filter(|retrofit| retrofit.name != mapping.name()) {
        // A retrofit that cannot be mapped was never started.
        let Ok(other) = Mapping::of(env.model, &retrofit.name) else { continue };
        let job = Job::new(other.clone(), Epoch::FIRST);
        let row = RequestSender::new(sender.client().clone(), job, &sender.table(TableRole::Control).name)
            .head()
            .await;
        match row {
            Ok(head) => {
                head.check_apart(&other, mapping).map_err(explained)?;
                let same = other.target().name == mapping.target().name;
                let over = matches!(head.phase, Phase::Abandoned | Phase::Finalised);
                ended.extend((same && over).then_some(head));
            }
            Err(RetrofitError::Control(ControlError::NotStarted { .. })) => {}
            Err(error) => return Err(explained(error)),
        }
    }
    Ok(ended)
}

pub(super) async fn cutover(env: &Env<'_>, args: &RetrofitCutoverArgs) -> anyhow::Result<ExitCode> {
    let (sender, head) = env.started(&args.retrofit).await?;
    let evidence = sender.evidence().await.map_err(explained)?;
    let mut gates = closed(&head, &evidence);
    gates.retain(|gate| !(args.with_tombstones && *gate == Gate::Tombstones));
    if !gates.is_empty() {
        refuse!("gates-closed", "retrofit `{}` cannot be cut over: {}", head.retrofit, listed(&gates));
    }
    let mapping = sender.job().mapping();
    if head.phase == Phase::CutOver && head.protocol == Protocol::InPlace {
        let next = head.filled_again(mapping);
        sender.store(&next, Some(&head)).await.map_err(explained)?;
        return report(env.out, &next, &CompletedStep::CutOver.message(&next, mapping));
    }
    step(&sender, &head, Phase::CutOver, env.out, CompletedStep::CutOver).await
}

pub(super) async fn undo(env: &Env<'_>, retrofit: &RetrofitName) -> anyhow::Result<ExitCode> {
    let (sender, head) = env.started(retrofit).await?;
    step(&sender, &head, head.undone(), env.out, CompletedStep::Undone).await
}

pub(super) async fn settle(env: &Env<'_>, retrofit: &RetrofitName) -> anyhow::Result<ExitCode> {
    let (sender, head) = env.started(retrofit).await?;
    step(&sender, &head, Phase::Settled, env.out, CompletedStep::Settled).await
}

pub(super) async fn abandon(env: &Env<'_>, retrofit: &RetrofitName) -> anyhow::Result<ExitCode> {
    let (sender, head) = env.started(retrofit).await?;
    step(&sender, &head, Phase::Abandoned, env.out, CompletedStep::Abandoned).await
}

pub(super) async fn step(
    sender: &RequestSender,
    head: &RetrofitState,
    phase: Phase,
    out: &Output,
    step: CompletedStep,
) -> anyhow::Result<ExitCode> {
    let next = head.to(phase).map_err(explained)?;
    sender.store(&next, Some(head)).await.map_err(explained)?;
    // On the way back, source and target of the sender have changed places.
    let mapping = sender.job().mapping();
    report(out, &next, &step.message(&next, mapping.forward()))
}
