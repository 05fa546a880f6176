//! The first stage of `keyfold retrofit run`: checks the tables and the stream, and records the retrofit in the control table.

use std::io::IsTerminal;

use anyhow::bail;
use keyfold_core::retrofit::control::{ControlError, Phase};
use keyfold_core::retrofit::{Epoch, Job, Mapping, Pass, Protocol, TableRole};
use keyfold_dynamo::retrofit::{RequestSender, RetrofitError, RetrofitState};
use keyfold_dynamo::{
    DynamoError, Endpoint, EnsureError, TableOptions, describe, enable_stream, ensure_table,
};

use super::env::{Env, RetrofitName, explained};
use crate::refusal::refuse;

#[derive(Debug, clap::Args)]
pub(crate) struct RetrofitStartArgs {
    /// In place only: follow no stream, because every writer folds keys itself.
    #[arg(long)]
    pub(crate) no_stream: bool,
    /// Switch the source's stream on if it is off. On a terminal you are asked without this flag.
    #[arg(long, conflicts_with = "no_stream")]
    pub(crate) enable_stream: bool,
    /// Create the control table if it does not exist. In AWS, the stack creates it; at an `http://` endpoint, `run` always does.
    #[arg(long)]
    pub(crate) create_control_table: bool,
}

/// The row of the retrofit once it is started. One that was started before stays, unless its source has another stream.
pub(super) async fn start(
    env: &Env<'_>,
    retrofit: &RetrofitName,
    args: &RetrofitStartArgs,
) -> anyhow::Result<RetrofitState> {
    let sender = env.unstarted(retrofit).await?;
    let mapping = sender.job().mapping();
    let before = known(env, &sender).await?;
    let goes_on = before.as_ref().filter(|before| before.phase != Phase::Abandoned);
    let without = goes_on.is_some_and(|before| before.stream.is_none() && !args.enable_stream);
    let follows = !(args.no_stream || without);
    if !follows && mapping.protocol() != Protocol::InPlace {
        refuse!(
            "stream-required",
            "retrofit `{}` writes to another table: without a stream, changes during the retrofit would be lost",
            mapping.name()
        );
    }
    let stream = if follows {
        stream(env, &sender, args).await?
    } else {
        sender.preflight(false).await.map_err(explained)?
    };
    control_table(env, &sender, args).await?;
    let ended = ended_retrofits(env, &sender).await?;
    if goes_on.is_none() {
        RetrofitState::check_begin(mapping).map_err(explained)?;
    }
    let head = match &before {
        Some(before) => before.restarted(mapping, stream.as_deref()),
        None => {
            let traces = sender.traces().await.map_err(explained)?;
            RetrofitState::begun(mapping, stream.as_deref()).after(&ended, traces)
        }
    };
    let head = head.map_err(explained)?;
    if before.as_ref().is_some_and(|before| before.phase == Phase::Abandoned) {
        // In the same epoch they would count as backfilled. Before the row is written: a killed `run` then does it again.
        let sender =
            RequestSender::new(sender.client().clone(), head.job(mapping.clone()), &env.globals.control);
        sender.forget_segments(Pass::Backfill).await.map_err(explained)?;
    }
    if before.as_ref() != Some(&head) {
        sender.store(&head, before.as_ref()).await.map_err(explained)?;
    }
    Ok(head)
}

/// The row as it is; `None` if there is none, or no control table.
pub(super) async fn known(env: &Env<'_>, sender: &RequestSender) -> anyhow::Result<Option<RetrofitState>> {
    match sender.head().await {
        Ok(head) => Ok(Some(head)),
        Err(error) if error.is_not_started(&env.globals.control) => Ok(None),
        Err(error) => Err(explained(error)),
    }
}

/// Checks the tables, and switches the source's stream on if that is wanted. Returns the stream's ARN.
async fn stream(
    env: &Env<'_>,
    sender: &RequestSender,
    args: &RetrofitStartArgs,
) -> anyhow::Result<Option<String>> {
    let checked = sender.preflight(true).await;
    let Err(RetrofitError::NoStream { table }) = &checked else { return checked.map_err(explained) };
    if !args.enable_stream && !is_agreed(env, table)? {
        return checked.map_err(explained);
    }
    enable_stream(sender.client(), sender.table(TableRole::Source)).await?;
    sender.preflight(true).await.map_err(explained)
}

/// Asks whether to switch the stream on, if there is a terminal to ask on.
fn is_agreed(env: &Env<'_>, table: &str) -> anyhow::Result<bool> {
    if !(std::io::stdin().is_terminal() && std::io::stderr().is_terminal()) {
        return Ok(false);
    }
    env.out.note(format!(
        "table `{table}` has no stream, and the replicator follows one: switch it on, with both images? [y/N] "
    ));
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    Ok(answer.trim().eq_ignore_ascii_case("y"))
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
