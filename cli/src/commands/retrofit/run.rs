//! `keyfold retrofit run`: starts the retrofit, carries over the existing items, and compares both sides. Finished work is not
//! done again, so the command can be repeated until both sides are the same. The steps are `keyfold_core::retrofit::operate`'s; here
//! are the effects that only a person can allow. In AWS, the state machine does the same with functions.

use std::io::IsTerminal;
use std::process::ExitCode;

use anyhow::ensure;
use keyfold_core::model::Table;
use keyfold_core::retrofit::control::table as control_table;
use keyfold_core::retrofit::operate::{Command, Run, RunStage};
use keyfold_core::retrofit::quarantine::misfits;
use keyfold_core::retrofit::{Mapping, Pass};
use keyfold_dynamo::{
    Client, DynamoError, Endpoint, EnsureError, TableOptions, describe, enable_stream, ensure_table,
};
use serde_json::json;

use super::env::{Env, RetrofitName, RetrofitWork};
use super::execution::{self, HereArgs};
use super::operate::{Ended, SHOW_DEFAULT, perform};
use super::texts::titled;
use crate::refusal::refuse;

/// The default number of segments of a run in AWS.
const SEGMENTS_DEFAULT: u32 = 4;

#[derive(Debug, clap::Args)]
pub(crate) struct RetrofitRunArgs {
    #[command(flatten)]
    retrofit: RetrofitName,
    /// End after this stage.
    #[arg(long, value_enum, default_value_t = Stage::Compare, value_name = "STAGE")]
    until: Stage,
    /// Correct the target where it differs, then compare again. The quarantine is tried again first.
    #[arg(long)]
    repair: bool,
    /// Carry over all items again, from the beginning. Items that are right already are only read.
    #[arg(long)]
    again: bool,
    /// In place only: follow no stream, because every writer folds keys itself.
    #[arg(long)]
    no_stream: bool,
    /// Switch the source's stream on if it is off. On a terminal you are asked without this flag.
    #[arg(long, conflicts_with = "no_stream")]
    enable_stream: bool,
    /// Create the control table if it does not exist. In AWS, the stack creates it; at an `http://` endpoint, `run` always does.
    #[arg(long)]
    create_control_table: bool,
    #[command(flatten)]
    work: RetrofitWork,
    /// How many seconds the replicator may be behind: a difference is checked again for twice as long. 0 if there are no writers [default: 60;
    /// 5 if DynamoDB is on this machine].
    #[arg(long, value_name = "SECONDS")]
    lag: Option<u64>,
    /// How many differences to list, by their keys.
    #[arg(long, default_value_t = SHOW_DEFAULT, value_name = "N")]
    show: usize,
    #[command(flatten)]
    here: HereArgs,
    /// With a state machine: a name for the execution. The same name with the same input gives the same execution.
    #[arg(long, value_name = "NAME")]
    execution: Option<String>,
}

/// The stages of a run, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub(crate) enum Stage {
    /// Check the tables and the stream, and record the retrofit in the control table.
    Start,
    /// Carry over the existing items.
    Backfill,
    /// Compare both sides, in both directions.
    Compare,
}

pub(super) async fn run(env: &Env<'_>, args: &RetrofitRunArgs) -> anyhow::Result<ExitCode> {
    let client = env.globals.client().await?;
    let control = control_table(&env.globals.control);
    known_control_table(env, &client, &control, args.create_control_table).await?;
    // A retrofit is started here; the state machine's functions do the rest.
    let machine = args.here.machine().filter(|_| args.until != Stage::Start);
    let until = if machine.is_some() { Stage::Start } else { args.until };
    let mut ended = performed(env, &client, args, until).await?;
    match machine.filter(|_| ended.outcome.is_success()) {
        Some(machine) => in_aws(env, machine, args, &ended).await,
        None => {
            add_misfits(env, args, &mut ended).await?;
            ended.report(env)
        }
    }
}

/// Runs; where only the stream is missing, switches it on if that is wanted, and runs again.
async fn performed(
    env: &Env<'_>,
    client: &Client,
    args: &RetrofitRunArgs,
    until: Stage,
) -> anyhow::Result<Ended> {
    let (limits, lag) = env.waits(&args.retrofit)?;
    let others = env.model.retrofits.iter().filter(|retrofit| retrofit.name != args.retrofit.name);
    let run = Run {
        until: match until {
            Stage::Start => RunStage::Start,
            Stage::Backfill => RunStage::Backfill,
            Stage::Compare => RunStage::Compare,
        },
        no_stream: args.no_stream,
        follow: args.enable_stream,
        again: args.again,
        repair: args.repair,
        segments: args.work.segments,
        // A retrofit that cannot be mapped was never started.
        others: others.filter_map(|retrofit| Mapping::of(env.model, &retrofit.name).ok()).collect(),
        limits,
    };
    let passes = || args.work.options(args.lag.unwrap_or(lag));
    let perform = |run: Run| perform(env, &args.retrofit, Command::Run(run), passes(), args.show);
    let ended = perform(run.clone()).await?;
    let source = ended.mapping.source();
    if ended.outcome.code != "source-without-stream" || !(args.enable_stream || is_agreed(env, source)?) {
        return Ok(ended);
    }
    enable_stream(client, source).await?;
    perform(Run { follow: true, ..run }).await
}

/// Asks whether to switch the stream on, if there is a terminal to ask on.
fn is_agreed(env: &Env<'_>, table: &Table) -> anyhow::Result<bool> {
    if !(std::io::stdin().is_terminal() && std::io::stderr().is_terminal()) {
        return Ok(false);
    }
    env.out.note(format!(
        "table `{}` has no stream, and the replicator follows one: switch it on, with both images? [y/N] ",
        table.id
    ));
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    Ok(answer.trim().eq_ignore_ascii_case("y"))
}

/// Creates the control table on this machine, and elsewhere only if that is asked for. In AWS the stack creates it: a table of this
/// command would block the deployment, and have neither recovery nor the stack's encryption.
async fn known_control_table(
    env: &Env<'_>,
    client: &Client,
    table: &Table,
    create: bool,
) -> anyhow::Result<()> {
    if create || matches!(env.globals.settings()?.endpoint, Endpoint::Plain(_)) {
        ensure_table(client, table, TableOptions::default()).await?;
        return Ok(());
    }
    let diff = match describe(client, table, TableOptions::default()).await {
        Err(DynamoError::NotFound { .. }) => refuse!(
            "control-table-missing",
            "there is no control table `{}`\n\
             hint: deploy the stack, which makes it (`keyfold template`), and give its name in KEYFOLD_CONTROL_TABLE; \
             if no stack is to have it, say --create-control-table",
            table.name
        ),
        described => described?,
    };
    ensure!(diff.is_compatible(), EnsureError::Differs { table: table.name.clone(), diff });
    Ok(())
}

/// Adds the items that a backfill left in quarantine, by reason.
async fn add_misfits(env: &Env<'_>, args: &RetrofitRunArgs, ended: &mut Ended) -> anyhow::Result<()> {
    if let Some(stage) = ended.stages.iter_mut().find(|stage| stage.name == Pass::Backfill.name()) {
        let (sender, _) = env.started(&args.retrofit).await?;
        let misfits = misfits(&sender.quarantine().await?);
        env.out.note(titled("in quarantine:", &misfits.table()));
        stage.misfits = Some(misfits.json());
    }
    Ok(())
}

/// Lets the state machine carry over and compare a retrofit that was started here.
async fn in_aws(
    env: &Env<'_>,
    machine: &str,
    args: &RetrofitRunArgs,
    started: &Ended,
) -> anyhow::Result<ExitCode> {
    env.out.note(format!("{}\n", started.outcome.message));
    let mut input = json!({
        "segments": args.work.segments.unwrap_or(SEGMENTS_DEFAULT),
        "concurrency": args.work.concurrency,
        "rate": args.work.rate,
        "stream": args.no_stream.then_some(false),
        "repair": args.repair.then_some(true),
    });
    // The state machine asks whether a member exists.
    input.as_object_mut().into_iter().for_each(|members| members.retain(|_, value| !value.is_null()));
    execution::run(env, &args.retrofit, machine, args.execution.as_deref(), input).await
}
