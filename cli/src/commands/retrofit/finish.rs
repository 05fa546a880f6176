//! `keyfold retrofit finish`: ends the way back, closes the retrofit for good, and removes its marks from the target's items, or leaves
//! them. The steps are `keyfold_core::retrofit::operate`'s.

use std::process::ExitCode;

use keyfold_core::cost::{ReadUnits, WriteUnits};
use keyfold_core::retrofit::{Protocol, finalise};
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
    /// Leave the marks on the items, and the rows in the control table, which costs nothing. Tombstones are deleted all the same.
    #[arg(long)]
    leave_marks: bool,
    #[command(flatten)]
    here: HereArgs,
}

pub(super) async fn run(env: &Env<'_>, args: &RetrofitFinishArgs) -> anyhow::Result<ExitCode> {
    if args.check {
        return price(env, args).await;
    }
    let operation =
        Operation { command: Word::Finish, leave_marks: args.leave_marks, ..Operation::default() };
    if let Some(machine) = args.here.machine() {
        let input = json!({ "operation": operation });
        return execution::run(env, &args.retrofit, machine, None, input).await;
    }
    let command = operation.command(env.waits(&args.retrofit)?.limits);
    operate(env, &args.retrofit, &args.work, command).await
}

/// Shows the price.
async fn price(env: &Env<'_>, args: &RetrofitFinishArgs) -> anyhow::Result<ExitCode> {
    let (sender, head) = env.started(&args.retrofit).await?;
    let mapping = sender.job().mapping().forward();
    let takes_marks = !args.leave_marks && head.protocol != Protocol::InPlace;
    let scans = takes_marks || head.leaves_tombstones();
    let (items, scan) = if scans { sender.target_about().await? } else { (0, 0) };
    let writes = match takes_marks {
        true => finalise::write_units(mapping.target(), items, scan),
        false => WriteUnits::ZERO,
    };
    let prices = &env.model.prices;
    let reads = prices.dollars_for_reads(ReadUnits::from_halves(scan.saturating_mul(2)));
    let mut text = format!(
        "finishing `{}`: {scan} read units ({reads}), about {} write units ({}) for the marks of {items} items\n",
        head.retrofit,
        writes.get(),
        prices.dollars_for_writes(writes)
    );
    if !args.leave_marks && (head.protocol == Protocol::Ledger || head.keeps_rows()) {
        text += "and 1 write unit for each row of the control table\n";
    }
    if head.leaves_tombstones() {
        text += "and 1 write unit for each tombstone\n";
    }
    if writes > WriteUnits::ZERO {
        text += "with --leave-marks it costs nothing: Keyfold never shows the marks, and later retrofits do not carry them along\n";
    }
    let value = json!({
        "retrofit": head.retrofit, "phase": head.phase.name(), "leaveMarks": args.leave_marks, "items": items,
        "readUnits": scan, "writeUnits": writes.get(), "tombstones": head.leaves_tombstones(),
    });
    env.out.show(&value, text)?;
    Ok(ExitCode::SUCCESS)
}
