//! `keyfold retrofit finish`: ends the way back, closes the retrofit for good, and removes its marks from the target's items, or leaves
//! them. The steps are `keyfold_core::retrofit::operate`'s.

use std::process::ExitCode;

use keyfold_core::retrofit::finalise::FinishPrice;
use keyfold_edge::retrofit::{Operation, Word};

use super::env::{Env, RetrofitName, RetrofitWork, WaitsGiven, explained};
use super::execution::{self, HereArgs};
use super::operate::operate;

#[derive(Debug, clap::Args)]
pub(crate) struct RetrofitFinishArgs {
    #[command(flatten)]
    retrofit: RetrofitName,
    #[command(flatten)]
    work: RetrofitWork,
    /// Show the price. Changes nothing.
    #[arg(long)]
    check: bool,
    /// Leave the marks on the items, and the rows in the control table, which costs nothing. Tombstones are deleted all the same.
    #[arg(long)]
    leave_marks: bool,
    #[command(flatten)]
    here: HereArgs,
    #[command(flatten)]
    waits: WaitsGiven,
}

pub(super) async fn run(env: &Env<'_>, args: &RetrofitFinishArgs) -> anyhow::Result<ExitCode> {
    if args.check {
        return price(env, args).await;
    }
    let operation =
        Operation { command: Word::Finish, leave_marks: args.leave_marks, ..Operation::default() };
    if let Some(machine) = args.here.machine() {
        return execution::operate(env, &args.retrofit, machine, &operation).await;
    }
    let waits = env.waits(&args.waits)?;
    operate(env, &args.retrofit, operation.command(waits.limits), args.work.options(waits.lag)).await
}

/// Shows the price.
async fn price(env: &Env<'_>, args: &RetrofitFinishArgs) -> anyhow::Result<ExitCode> {
    let (sender, head) = env.started(&args.retrofit).await?;
    let (items, scan) = match FinishPrice::scans(&head, args.leave_marks) {
        true => sender.target_about().await.map_err(explained)?,
        false => (0, 0),
    };
    let target = sender.job().mapping().forward().target();
    let price = FinishPrice::of(&head, target, args.leave_marks, items, scan);
    env.out.show(&price.document(), price.text(&env.model.prices))?;
    Ok(ExitCode::SUCCESS)
}
