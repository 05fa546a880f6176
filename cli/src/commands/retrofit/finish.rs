//! `keyfold retrofit finish`: ends the way back, closes the retrofit for good, and removes its marks from the target's items, or leaves
//! them. The steps are `keyfold_core::retrofit::operate`'s.

use std::process::ExitCode;

use keyfold_core::retrofit::operate::FinishPrice;
use keyfold_edge::retrofit::{Operation, Word};
use serde_json::json;

use super::env::{Env, RetrofitName, RetrofitWork};
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
    /// Leave the marks on the items, and the rows in the control table, which costs nothing.
    #[arg(long)]
    leave_marks: bool,
    #[command(flatten)]
    here: HereArgs,
}

pub(super) async fn run(env: &Env<'_>, args: &RetrofitFinishArgs) -> anyhow::Result<ExitCode> {
    if args.check {
        let (sender, head) = env.started(&args.retrofit).await?;
        let target = sender.job().mapping().forward().target();
        let price = FinishPrice::of(&head, args.leave_marks, target, sender.target_about().await?);
        env.out.show(&price.document(), price.text(&env.model.prices))?;
        return Ok(ExitCode::SUCCESS);
    }
    let operation =
        Operation { command: Word::Finish, leave_marks: args.leave_marks, ..Operation::default() };
    if let Some(machine) = args.here.machine() {
        let input = json!({ "operation": operation });
        return execution::run(env, &args.retrofit, machine, None, input).await;
    }
    operate(env, &args.retrofit, &args.work, |limits| operation.command(limits)).await
}
