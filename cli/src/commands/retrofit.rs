//! `keyfold retrofit`: gives the items of a live table their new keys, in place or in a new table.

mod env;
mod execution;
mod finish;
mod operate;
mod plan;
mod progress;
mod quarantine;
mod run;
mod status;
mod switch;
mod texts;
mod watch;

use std::process::ExitCode;

use keyfold_core::retrofit::operate::{Command, Revise};

use self::env::{RetrofitName, RetrofitWork, with_code};
use self::operate::operate;
use crate::globals::{Env, Globals};
use crate::manifest_file::model;
use crate::output::Output;
use crate::support::block_on;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum RetrofitCommand {
    /// Show which protocol applies and why, and what it will cost. Writes nothing.
    Plan(plan::RetrofitPlanArgs),
    /// Start, carry over the existing items, and compare both sides. Repeat it until both are the same: it exits with 1 if they differ.
    Run(run::RetrofitRunArgs),
    /// Move readers and writers to the target; in place, let queries use the filled indexes. `--back` takes it back.
    Switch(switch::RetrofitSwitchArgs),
    /// End the way back, and remove what the retrofit kept on items. In place, end the upkeep of folded keys.
    Finish(finish::RetrofitFinishArgs),
    /// Show the phase, the next command, and what blocks it.
    Status(status::RetrofitStatusArgs),
    /// List the items that could not be carried over and the writes that came late; retry, accept or release them.
    Quarantine(quarantine::RetrofitQuarantineArgs),
    /// Continue with a manifest that was changed while the retrofit runs. `run --repair` then carries over what changes.
    Revise(RetrofitName),
    /// Give the retrofit up. Everything written stays, and the command lists it.
    Abandon(RetrofitName),
}

pub(super) fn run(globals: &Globals, command: &RetrofitCommand, out: &Output) -> anyhow::Result<ExitCode> {
    let model = model(&globals.manifest, out)?;
    block_on(run_command(&Env { model: &model, globals, out }, command))
}

/// Runs a command on a model that is already loaded.
pub(super) async fn run_command(env: &Env<'_>, command: &RetrofitCommand) -> anyhow::Result<ExitCode> {
    let ended = match command {
        RetrofitCommand::Plan(args) => plan::run(env, args).await,
        RetrofitCommand::Run(args) => run::run(env, args).await,
        RetrofitCommand::Switch(args) => switch::run(env, args).await,
        RetrofitCommand::Finish(args) => finish::run(env, args).await,
        RetrofitCommand::Status(args) if args.watch => watch::run(env, args).await,
        RetrofitCommand::Status(args) => status::run(env, args).await,
        RetrofitCommand::Quarantine(args) => quarantine::run(env, args).await,
        RetrofitCommand::Revise(retrofit) => {
            let revise = |limits| Command::Revise(Revise { limits });
            operate(env, retrofit, &RetrofitWork::default(), revise).await
        }
        RetrofitCommand::Abandon(retrofit) => {
            operate(env, retrofit, &RetrofitWork::default(), |_| Command::Abandon).await
        }
    };
    ended.map_err(with_code)
}
