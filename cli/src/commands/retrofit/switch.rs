//! `keyfold retrofit switch`: moves readers and writers to the target, or back. The steps are `keyfold_core::retrofit::operate`'s: the
//! target is tidied and compared; then the writers of one table are stopped, all their writes arrive at the other one, requests in flight
//! are refused by seals, and the writers of the other table may write. In place, only the indexes are opened.

use std::process::ExitCode;

use keyfold_core::retrofit::operate::{Command, Switch};
use keyfold_edge::retrofit::{How, Operation};
use serde_json::json;

use super::env::{Env, RetrofitName, RetrofitWork};
use super::execution::{self, HereArgs};
use super::operate::operate;

#[derive(Debug, clap::Args)]
pub(crate) struct RetrofitSwitchArgs {
    #[command(flatten)]
    retrofit: RetrofitName,
    /// Move the writers back to the source, with everything that they wrote to the target; in place, close the indexes again. During a
    /// switch: take it back.
    #[arg(long)]
    back: bool,
    /// Move the writers without a proof that they could be moved again. Needed where the retrofit's changes cannot be taken back (`plan`
    /// says why): there is no way back then.
    #[arg(long)]
    for_good: bool,
    /// Show whether the writers could move now, and what is still to arrive. Changes nothing.
    #[arg(long)]
    check: bool,
    /// What happens to the writers of the table that they leave. Without it, the command tidies and compares the target while they go on,
    /// and ends with `writers-not-stopped`: after that they need to stop for seconds only.
    #[arg(long, value_enum, value_name = "HOW")]
    writers: Option<Writers>,
    /// With `--writers policy`: the ARNs of the roles that may still write: the replicator's (the stack's output) and your own.
    #[arg(long, value_name = "ARN", env = "KEYFOLD_EXEMPT", hide_env_values = true, value_delimiter = ',')]
    exempt: Vec<String>,
    /// The longest pause of the writers, in seconds. When it is over, the switch is taken back.
    #[arg(long, default_value_t = 120, value_name = "SECONDS")]
    stop_max: u64,
    /// Remove the policies of earlier switches from both tables, without a move. From then on you stop the writers yourself. Refused
    /// while a switch has stopped the writers.
    #[arg(long, conflicts_with_all = ["back", "for_good", "check", "writers"])]
    lift: bool,
    #[command(flatten)]
    here: HereArgs,
}

/// How writers are stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Writers {
    /// You have stopped them, and they stay stopped until this command has ended.
    Attested,
    /// A resource-based policy on the table denies their writes.
    Policy,
    /// They stay where they are. Only readers move to the target, and the source's changes are still carried over.
    Stay,
}

pub(super) async fn run(env: &Env<'_>, args: &RetrofitSwitchArgs) -> anyhow::Result<ExitCode> {
    if args.lift {
        return operate(env, &args.retrofit, &RetrofitWork::default(), |_| Command::Lift).await;
    }
    let how = |how| match how {
        Writers::Attested => How::Attested,
        Writers::Policy => How::Policy,
        Writers::Stay => How::Stay,
    };
    // A check is the same for readers and writers.
    let writers = args.writers.filter(|how| !args.check || *how != Writers::Stay);
    let operation = Operation {
        back: args.back,
        for_good: args.for_good,
        writers: writers.map(how),
        exempt: args.exempt.clone(),
        stop_max_seconds: Some(args.stop_max),
        ..Operation::default()
    };
    if let Some(machine) = args.here.machine().filter(|_| !args.check) {
        let (_, head) = env.started(&args.retrofit).await?;
        let input = json!({ "operation": operation.in_phase(head.phase) });
        return execution::run(env, &args.retrofit, machine, None, input).await;
    }
    let command = |limits| match operation.command(limits) {
        Command::Switch(switch) => Command::Switch(Switch { check: args.check, ..switch }),
        command => command,
    };
    operate(env, &args.retrofit, &RetrofitWork::default(), command).await
}
