//! `keyfold retrofit`: gives the items of a live table their new keys, in place or in a new table.

mod enforce;
mod env;
mod finalise;
mod late;
mod line;
mod machine;
mod passes;
mod plan;
mod progress;
mod quarantine;
mod redrive;
mod revise;
mod rounds;
mod status;
mod steps;
mod switch;
mod texts;
mod tidy;
mod watch;

use std::process::ExitCode;

use self::env::RetrofitName;
use crate::globals::{Env, Globals};
use crate::manifest_file::model;
use crate::output::Output;
use crate::support::block_on;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum RetrofitCommand {
    /// Show which protocol applies and why, and what it will cost. Writes nothing.
    Plan(plan::RetrofitPlanArgs),
    /// Check both tables and the stream, and record the retrofit in the control table.
    Start(steps::RetrofitStartArgs),
    /// Carry over the existing items. After an interruption, the same command continues.
    Backfill(passes::RetrofitPassArgs),
    /// Compare both sides, in both directions. Exits with 1 if they differ.
    Verify(passes::RetrofitVerifyArgs),
    /// Compare both sides, and correct the target where it differs.
    Repair(passes::RetrofitVerifyArgs),
    /// In AWS: start the state machine, which does everything up to the comparison. Without --state-machine, print its input.
    Run(machine::RetrofitRunArgs),
    /// In AWS: show which segments failed in a run of the state machine, and why. Asks Step Functions with the AWS CLI.
    Failures(machine::RetrofitFailuresArgs),
    /// Show the progress, and what still blocks the cut-over.
    Status(status::RetrofitStatusArgs),
    /// List the items that could not be carried over, and why.
    Quarantine(quarantine::RetrofitQuarantineArgs),
    /// Read the items of discarded batches again from the source, and write them. Reads the batches with the AWS CLI.
    Redrive(RetrofitName),
    /// Delete the target's tombstones before readers move: price, wait, sweep. After an interruption, the same command continues.
    Tidy(tidy::RetrofitTidyArgs),
    /// Move the writers to the target. Everything arrives there before they continue, and then the source follows the target.
    Switch(switch::RetrofitSwitchArgs),
    /// Move the writers back to the source, with everything that they wrote to the target.
    Return(switch::RetrofitSwitchArgs),
    /// After `--writers policy`: apply the policies that the retrofit's phase needs to both tables.
    Enforce(enforce::RetrofitEnforceArgs),
    /// List changes that came to a table after its writers should have stopped.
    Late(late::RetrofitLateArgs),
    /// After a switch: end the way back. The source no longer follows.
    Settle(RetrofitName),
    /// If all gates are open: record that readers and writers use the target; in place, let queries use the filled indexes.
    Cutover(steps::RetrofitCutoverArgs),
    /// Continue with a manifest that was changed while the retrofit runs. `repair` then carries over what changes.
    Revise(revise::RetrofitReviseArgs),
    /// Take the cut-over back.
    Undo(RetrofitName),
    /// After the cut-over: remove the retrofit's marks from the target's items. In place, end the upkeep of folded keys.
    Finalise(finalise::RetrofitFinaliseArgs),
    /// Give the retrofit up. Everything written stays, and the command lists it.
    Abandon(RetrofitName),
}

pub(super) fn run(globals: &Globals, command: &RetrofitCommand, out: &Output) -> anyhow::Result<ExitCode> {
    let model = model(&globals.manifest, out)?;
    block_on(run_command(&Env { model: &model, globals, out }, command))
}

/// Runs a command on a model that is already loaded.
pub(super) async fn run_command(env: &Env<'_>, command: &RetrofitCommand) -> anyhow::Result<ExitCode> {
    match command {
        RetrofitCommand::Plan(args) => plan::run(env, args).await,
        RetrofitCommand::Start(args) => steps::start(env, args).await,
        RetrofitCommand::Backfill(args) => passes::backfill(env, args).await,
        RetrofitCommand::Verify(args) => passes::verify(env, args, false).await,
        RetrofitCommand::Repair(args) => passes::verify(env, args, true).await,
        RetrofitCommand::Run(args) => machine::run(env, args),
        RetrofitCommand::Failures(args) => machine::failures(env, args),
        RetrofitCommand::Status(args) if args.watch => watch::run(env, args).await,
        RetrofitCommand::Status(args) => status::run(env, args).await,
        RetrofitCommand::Quarantine(args) => quarantine::run(env, args).await,
        RetrofitCommand::Redrive(retrofit) => redrive::run(env, retrofit).await,
        RetrofitCommand::Tidy(args) => tidy::run(env, args).await,
        RetrofitCommand::Switch(args) => switch::switch(env, args).await,
        RetrofitCommand::Return(args) => switch::switch_back(env, args).await,
        RetrofitCommand::Enforce(args) => enforce::run(env, args).await,
        RetrofitCommand::Late(args) => late::run(env, args).await,
        RetrofitCommand::Settle(retrofit) => steps::settle(env, retrofit).await,
        RetrofitCommand::Cutover(args) => steps::cutover(env, args).await,
        RetrofitCommand::Revise(args) => revise::run(env, args).await,
        RetrofitCommand::Undo(retrofit) => steps::undo(env, retrofit).await,
        RetrofitCommand::Finalise(args) => finalise::run(env, args).await,
        RetrofitCommand::Abandon(retrofit) => steps::abandon(env, retrofit).await,
    }
}
