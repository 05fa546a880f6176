//! The steps that change a retrofit's phase and touch no item: start, cutover, undo, settle, abandon.

use std::process::ExitCode;

use anyhow::bail;
use keyfold_core::model::Model;
use keyfold_core::retrofit::control::{ControlError, Phase};
use keyfold_core::retrofit::gates::{Gate, closed};
use keyfold_core::retrofit::{Epoch, Job, Mapping, Pass, Protocol, Step, TableRole};
use keyfold_dynamo::retrofit::{Head, RequestSender, RetrofitError};
use keyfold_dynamo::{DynamoError, Endpoint, EnsureError, TableOptions, describe, ensure_table};

use super::super::settings;
use super::status::listed;
use super::{explained, started, unstarted};
use crate::args::{RetrofitCutoverArgs, RetrofitStartArgs, RetrofitTarget};
use crate::output::Output;
use crate::refusal::refuse;

pub(super) async fn start(model: &Model, args: &RetrofitStartArgs, out: &Output) -> anyhow::Result<ExitCode> {
    let sender = unstarted(model, &args.target).await?;
    let mapping = sender.job().mapping();
    let stream = sender.preflight(!args.no_stream).await.map_err(explained)?;
    if args.no_stream && mapping.protocol() != Protocol::InPlace {
        refuse!(
            "stream-required",
            "retrofit `{}` writes to another table: without a stream, changes during the retrofit would be lost",
            mapping.name()
        );
    }
    control_table(&sender, args).await?;
    let ended = tables_are_settled(model, &sender).await?;
    let (head, before) = match sender.head().await {
        Ok(before) => {
            if before.phase == Phase::Abandoned {
                Head::check_begin(mapping).map_err(|error| explained(error.into()))?;
            }
            let head = before.restarted(mapping, stream.as_deref()).map_err(|e| explained(e.into()))?;
            (head, Some(before))
        }
        Err(RetrofitError::Control(ControlError::NotStarted { .. })) => {
            Head::check_begin(mapping).map_err(|error| explained(error.into()))?;
            let traces = sender.traces().await.map_err(explained)?;
            let head = Head::begun(mapping, stream.as_deref()).after(&ended, traces);
            (head.map_err(|error| explained(error.into()))?, None)
        }
        Err(error) => return Err(explained(error)),
    };
    if before.as_ref() != Some(&head) {
        sender.store(&head, before.as_ref()).await.map_err(explained)?;
    }
    if before.is_some_and(|before| before.phase == Phase::Abandoned) {
        // In the same epoch they would count as backfilled.
        let (sender, _) = started(model, &args.target).await?;
        sender.forget_segments(Pass::Backfill).await.map_err(explained)?;
    }
    report(out, &head, &Step::Started.message(&head, mapping))
}

/// Makes the control table on this machine, and elsewhere if that was asked for. In AWS it is the stack's: a table that this
/// command had made would be in the way of the deployment, and have neither recovery nor the stack's encryption.
async fn control_table(sender: &RequestSender, args: &RetrofitStartArgs) -> anyhow::Result<()> {
    let (client, table) = (sender.client(), sender.table(TableRole::Control));
    let here = matches!(settings(args.target.endpoint.as_deref())?.endpoint, Endpoint::Plain(_));
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
/// for this one's. Returns the retrofits into the same target that are over: their marks may still be there.
async fn tables_are_settled(model: &Model, sender: &RequestSender) -> anyhow::Result<Vec<Head>> {
    let mapping = sender.job().mapping();
    let mut ended = Vec::new();
    for retrofit in model.retrofits.iter().filter(|retrofit| retrofit.name != mapping.name()) {
        // A retrofit that cannot be mapped was never started.
        let Ok(other) = Mapping::of(model, &retrofit.name) else { continue };
        let job = Job::new(other.clone(), Epoch::FIRST);
        let row = RequestSender::new(sender.client().clone(), job, &sender.table(TableRole::Control).name)
            .head()
            .await;
        match row {
            Ok(head) => {
                head.check_apart(&other, mapping).map_err(|error| explained(error.into()))?;
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

pub(super) async fn cutover(
    model: &Model,
    args: &RetrofitCutoverArgs,
    out: &Output,
) -> anyhow::Result<ExitCode> {
    let (sender, head) = started(model, &args.target).await?;
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
        return report(out, &next, &Step::CutOver.message(&next, mapping));
    }
    step(&sender, &head, Phase::CutOver, out, Step::CutOver).await
}

pub(super) async fn undo(model: &Model, args: &RetrofitTarget, out: &Output) -> anyhow::Result<ExitCode> {
    let (sender, head) = started(model, args).await?;
    step(&sender, &head, head.undone(), out, Step::Undone).await
}

pub(super) async fn settle(model: &Model, args: &RetrofitTarget, out: &Output) -> anyhow::Result<ExitCode> {
    let (sender, head) = started(model, args).await?;
    step(&sender, &head, Phase::Settled, out, Step::Settled).await
}

pub(super) async fn abandon(model: &Model, args: &RetrofitTarget, out: &Output) -> anyhow::Result<ExitCode> {
    let (sender, head) = started(model, args).await?;
    step(&sender, &head, Phase::Abandoned, out, Step::Abandoned).await
}

pub(super) async fn step(
    sender: &RequestSender,
    head: &Head,
    phase: Phase,
    out: &Output,
    step: Step,
) -> anyhow::Result<ExitCode> {
    let next = head.to(phase).map_err(|error| explained(error.into()))?;
    sender.store(&next, Some(head)).await.map_err(explained)?;
    // On the way back, source and target of the sender have changed places.
    let mapping = sender.job().mapping();
    report(out, &next, &step.message(&next, mapping.there()))
}

pub(super) fn report(out: &Output, head: &Head, what: &str) -> anyhow::Result<ExitCode> {
    if out.json {
        out.value(&serde_json::json!({
            "retrofit": head.retrofit, "phase": head.phase.name(), "epoch": head.epoch.number(), "said": what,
        }))?;
    } else {
        out.text(format!("retrofit `{}` is {} ({what})\n", head.retrofit, head.phase.name()));
    }
    Ok(ExitCode::SUCCESS)
}
