//! `keyfold retrofit finish`: ends the way back, closes the retrofit for good, and removes its marks from the target's items, or leaves them.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use keyfold_core::cost::{ReadUnits, WriteUnits};
use keyfold_core::retrofit::control::{ControlError, Phase, wait_after_change};
use keyfold_core::retrofit::{CompletedStep, Pass, Protocol, finalise};
use keyfold_dynamo::retrofit::{RequestSender, RetrofitState};
use serde_json::json;

use super::env::{Env, RetrofitName, WaitsGiven, explained};
use super::line::{Line, wait};
use super::passes::{RetrofitWork, cleaned, interrupted};
use super::texts::{entered, step};
use crate::output::Output;
use crate::refusal::refuse;
use crate::support::{now_seconds, stop_flag};

#[derive(Debug, clap::Args)]
pub(crate) struct RetrofitFinishArgs {
    #[command(flatten)]
    pub(crate) retrofit: RetrofitName,
    #[command(flatten)]
    pub(crate) work: RetrofitWork,
    /// Show the price. Changes nothing.
    #[arg(long)]
    pub(crate) check: bool,
    /// Leave the marks on the items, and the rows in the control table, which costs nothing. Tombstones are deleted all the same.
    #[arg(long)]
    pub(crate) leave_marks: bool,
    #[command(flatten)]
    pub(crate) waits: WaitsGiven,
}

/// Ends the way back, closes the retrofit, waits until functions in progress have ended, then cleans the target.
pub(super) async fn run(env: &Env<'_>, args: &RetrofitFinishArgs) -> anyhow::Result<ExitCode> {
    let out = env.out;
    let (sender, mut head) = env.started(&args.retrofit).await?;
    let mapping = sender.job().mapping().forward();
    if mapping.keeps_folded() {
        let (retrofit, table) = (head.retrofit, mapping.source().id.clone());
        return Err(explained(ControlError::KeepsFolded { retrofit, table }));
    }
    let passes = passes(&head, args.leave_marks);
    price(env, &sender, &head, &passes, args).await?;
    if args.check {
        return Ok(ExitCode::SUCCESS);
    }
    if head.phase == Phase::Reversed {
        let message = CompletedStep::Settled;
        head = entered(&sender, &head, Phase::Settled).await?;
        out.note(format!("{}\n", message.message(&head, mapping)));
    }
    if head.phase != Phase::Finalising {
        entered(&sender, &head, Phase::Finalising).await?;
    }
    let (sender, mut head) = env.started(&args.retrofit).await?;
    if !passes.is_empty() {
        // Only what is cleaned can be written again by a function of before.
        head = wait_for_functions(&sender, head, env.waits(&args.waits)?.in_flight, out).await?;
    }
    let sender = sender.paced(args.work.rate);
    let stop = stop_flag(out);
    let Some(counts) = clean(&sender, &passes, args, &stop, out).await? else { return interrupted(out) };
    let count = |name: &str| counts.get(name).copied().unwrap_or(0);
    if count("changed") > 0 {
        // A new pass looks for the items that changed.
        for pass in &passes {
            sender.forget_segments(*pass).await.map_err(explained)?;
        }
        refuse!(
            "marks-left",
            "{} items and rows changed each time they were cleaned, and still carry marks\n\
             hint: run `keyfold retrofit finish {}` again",
            count("changed"),
            head.retrofit
        );
    }
    let finalised = CompletedStep::Finalised {
        cleaned: count("cleaned"),
        revived: count("revived"),
        left: args.leave_marks,
    };
    step(&sender, &head, Phase::Finalised, out, finalised).await
}

/// Waits until functions in progress have ended. After an interruption, the same command waits for the rest of the time.
async fn wait_for_functions(
    sender: &RequestSender,
    head: RetrofitState,
    settle: u64,
    out: &Output,
) -> anyhow::Result<RetrofitState> {
    let (since, head) = match head.since {
        Some(since) => (since, head),
        None => {
            let since = now_seconds();
            let next = head.effective_since(since);
            sender.store(&next, Some(&head)).await.map_err(explained)?;
            (since, next)
        }
    };
    let until = since.saturating_add(wait_after_change(settle));
    let left = until.saturating_sub(now_seconds());
    if left > 0 {
        let line = Line::new(out);
        line.note(&format!("waiting {left} s until functions in progress have ended"));
        wait(&line, left, "until functions in progress have ended", || false).await;
    }
    Ok(head)
}

/// The passes that are needed. Tombstones are always deleted: readers of the target would meet them for ever.
fn passes(head: &RetrofitState, leave_marks: bool) -> Vec<Pass> {
    let between_tables = head.protocol != Protocol::InPlace;
    let has_rows = head.protocol == Protocol::Ledger || head.keeps_rows();
    match leave_marks {
        true => head.leaves_tombstones().then_some(Pass::Tidy).into_iter().collect(),
        false => {
            let target = between_tables.then_some(Pass::Finalise);
            target.into_iter().chain(has_rows.then_some(Pass::EmptyLedger)).collect()
        }
    }
}

/// Shows the price.
async fn price(
    env: &Env<'_>,
    sender: &RequestSender,
    head: &RetrofitState,
    passes: &[Pass],
    args: &RetrofitFinishArgs,
) -> anyhow::Result<()> {
    if passes.is_empty() && !args.check {
        return Ok(());
    }
    let (items, scan) = match passes.is_empty() {
        true => (0, 0),
        false => sender.target_about().await.map_err(explained)?,
    };
    let writes = match passes.contains(&Pass::Finalise) {
        true => finalise::write_units(sender.job().mapping().target(), items, scan),
        false => WriteUnits::ZERO,
    };
    let reads = ReadUnits::from_halves(scan.saturating_mul(2));
    let (out, prices) = (env.out, &env.model.prices);
    if args.check && out.json {
        return out.value(&json!({
            "retrofit": head.retrofit, "phase": head.phase.name(), "leaveMarks": args.leave_marks, "items": items,
            "readUnits": scan, "writeUnits": writes.get(), "tombstones": head.leaves_tombstones(),
        }));
    }
    let retrofit = &head.retrofit;
    let mut text = format!(
        "finishing `{retrofit}`: {scan} read units ({}), about {} write units ({}) for the marks of {items} items\n",
        prices.dollars_for_reads(reads),
        writes.get(),
        prices.dollars_for_writes(writes)
    );
    if passes.contains(&Pass::EmptyLedger) {
        text += "and 1 write unit for each row of the control table\n";
    }
    if passes.contains(&Pass::Tidy) {
        text += "and 1 write unit for each tombstone\n";
    }
    if writes > WriteUnits::ZERO {
        text += "with --leave-marks it costs nothing: Keyfold never shows the marks, and later retrofits do not carry them along\n";
    }
    out.note(text);
    Ok(())
}

/// Goes through all passes; `None` if that is interrupted.
async fn clean(
    sender: &RequestSender,
    passes: &[Pass],
    args: &RetrofitFinishArgs,
    stop: &Arc<AtomicBool>,
    out: &Output,
) -> anyhow::Result<Option<BTreeMap<String, u64>>> {
    let mut all = BTreeMap::new();
    for pass in passes {
        let Some(counts) = cleaned(sender, *pass, &args.work, stop, out).await? else { return Ok(None) };
        counts.into_iter().for_each(|(name, count)| *all.entry(name).or_default() += count);
    }
    Ok(Some(all))
}
