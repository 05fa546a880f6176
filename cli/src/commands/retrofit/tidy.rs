//! `keyfold retrofit tidy`: deletes the target's tombstones before readers move. Each change of the phase is followed by a wait, until
//! every write of the phase before has ended; then the sweep.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use keyfold_core::cost::{ReadUnits, WriteUnits};
use keyfold_core::retrofit::control::{Phase, wait_after_change};
use keyfold_core::retrofit::gates::{Gate, closed};
use keyfold_core::retrofit::{CompletedStep, Mapping, Pass, Protocol};
use keyfold_dynamo::retrofit::{RequestSender, RetrofitState};
use serde_json::json;

use super::env::{Env, explained};
use super::line::{Line, wait};
use super::passes::{RetrofitWork, cleaned, interrupted};
use super::texts::listed;
use crate::output::Output;
use crate::refusal::refuse;
use crate::support::{now_seconds, stop_flag};

#[derive(Debug, clap::Args)]
pub(crate) struct RetrofitTidyArgs {
    #[command(flatten)]
    pub(crate) work: RetrofitWork,
    /// Show the price and what is still to be done. Changes nothing.
    #[arg(long)]
    pub(crate) check: bool,
    /// Seconds to wait after each change of the phase: the longest timeout of a function, and five minutes for requests in flight.
    #[arg(long, default_value_t = 1_260, value_name = "SECONDS")]
    pub(crate) wait: u64,
}

/// How often leases, and whether ctrl-C was pressed, are looked at.
const LOOK: Duration = Duration::from_millis(500);

pub(super) async fn run(env: &Env<'_>, args: &RetrofitTidyArgs) -> anyhow::Result<ExitCode> {
    let out = env.out;
    let (sender, head) = env.started(&args.work.retrofit).await?;
    let first = head.tidied_first().map_err(explained)?;
    if args.check {
        price(env, &sender, &head, args).await?;
        return Ok(ExitCode::SUCCESS);
    }
    if !head.phase.is_filling() {
        // Says which phase it is in.
        head.to(first).map_err(explained)?;
    }
    if !is_tidy(&head) {
        price(env, &sender, &head, args).await?;
    }
    let stop = stop_flag(out);
    loop {
        // Anew for each phase: what a sender may do follows from it.
        let (sender, head) = env.started(&args.work.retrofit).await?;
        if is_tidy(&head) {
            return done(out, &head, sender.job().mapping(), &BTreeMap::new());
        }
        if head.phase == Phase::Running {
            may_begin(&sender, &head).await?;
            enter(&sender, &head, first, out).await?;
            continue;
        }
        if !waited(&sender, &head, args.wait, &stop, out).await? {
            return interrupted(out);
        }
        let (sender, head) = env.started(&args.work.retrofit).await?;
        if head.phase == Phase::Tidying {
            enter(&sender, &head, Phase::Tidy, out).await?;
            continue;
        }
        let sender = sender.paced(args.work.rate);
        let counts = match head.leaves_tombstones() {
            true => cleaned(&sender, Pass::Tidy, &args.work, &stop, out).await?,
            false => Some(BTreeMap::new()),
        };
        let Some(counts) = counts else { return interrupted(out) };
        sender.store(&head.swept(), Some(&head)).await.map_err(explained)?;
        return done(out, &head.swept(), sender.job().mapping(), &counts);
    }
}

/// Is nothing left to be done?
fn is_tidy(head: &RetrofitState) -> bool {
    head.keeps_rows() && head.swept
}

/// What is still to be paid and waited for.
async fn price(
    env: &Env<'_>,
    sender: &RequestSender,
    head: &RetrofitState,
    args: &RetrofitTidyArgs,
) -> anyhow::Result<()> {
    let (out, prices) = (env.out, &env.model.prices);
    let scans = head.protocol == Protocol::Fenced;
    let (items, units) = if scans { sender.target_about().await.map_err(explained)? } else { (0, 0) };
    let reads = prices.dollars_for_reads(ReadUnits::from_halves(units.saturating_mul(2)));
    let writes = prices.dollars_for_writes(WriteUnits::new(items));
    let waits = match head.phase {
        Phase::Running | Phase::Tidying if scans => 2,
        Phase::Running => 1,
        Phase::Tidy if !head.swept => 1,
        _ => 0,
    };
    if args.check && out.json {
        return out.value(&json!({
            "retrofit": head.retrofit, "phase": head.phase.name(), "tombstones": head.leaves_tombstones(),
            "items": items, "readUnits": units, "writeUnitsPerTombstone": 1, "waits": waits, "waitSeconds": args.wait,
        }));
    }
    let retrofit = &head.retrofit;
    if !scans {
        out.note(format!(
            "tidying `{retrofit}`: {waits} wait of {} s; from its beginning, a change costs 2 write units more\n\
             the replicator needs `dynamodb:DeleteItem` on the control table\n",
            args.wait
        ));
        return Ok(());
    }
    out.note(format!(
        "tidying `{retrofit}`: {waits} waits of {} s; one scan of the target, {units} read units ({reads}); 1 write unit for each \
tombstone (all {items} items would be {writes})\n\
from then on, a change costs 2 write units for each KB of the item, 2 for its row, and three reads\n\
replicator, backfiller and verifier need `dynamodb:DeleteItem` on the target\n",
        args.wait
    ));
    Ok(())
}

/// What is still to be carried over costs less before. Who is at work on a segment is waited for later: the lease of one that was
/// killed lasts for a while.
async fn may_begin(sender: &RequestSender, head: &RetrofitState) -> anyhow::Result<()> {
    let evidence = sender.evidence().await.map_err(explained)?;
    let mut gates = closed(head, &evidence);
    gates.retain(|gate| matches!(gate, Gate::Backfill { .. } | Gate::Stream));
    if gates.is_empty() {
        return Ok(());
    }
    refuse!("gates-closed", "retrofit `{}` cannot be tidied yet: {}", head.retrofit, listed(&gates))
}

async fn enter(
    sender: &RequestSender,
    head: &RetrofitState,
    phase: Phase,
    out: &Output,
) -> anyhow::Result<()> {
    let next = head.to(phase).map_err(explained)?;
    sender.store(&next, Some(head)).await.map_err(explained)?;
    out.note(format!("retrofit `{}` is {}\n", next.retrofit, phase.name()));
    Ok(())
}

/// Waits until nothing that was begun in the phase before can still be written; false if it is interrupted.
async fn waited(
    sender: &RequestSender,
    head: &RetrofitState,
    seconds: u64,
    stop: &AtomicBool,
    out: &Output,
) -> anyhow::Result<bool> {
    let since = match head.since {
        Some(since) => since,
        None => {
            if !unleased(sender, stop, out).await? {
                return Ok(false);
            }
            let since = now_seconds();
            sender.store(&head.effective_since(since), Some(head)).await.map_err(explained)?;
            since
        }
    };
    let until = since.saturating_add(wait_after_change(seconds));
    if now_seconds() < until {
        out.note(format!(
            "waiting until {} UTC: until then, what was begun in the phase before may still be written; the same command continues\n",
            clock(until)
        ));
    }
    let left = until.saturating_sub(now_seconds());
    Ok(wait(&Line::new(out), left, "until nothing of the phase before is under way", || {
        stop.load(Ordering::Relaxed)
    })
    .await)
}

/// Waits until nobody works on a segment who may have begun in the phase before: who begins now sees the new one.
async fn unleased(sender: &RequestSender, stop: &AtomicBool, out: &Output) -> anyhow::Result<bool> {
    let line = Line::new(out);
    loop {
        let leases = sender.leases().await.map_err(explained)?;
        if leases == 0 {
            return Ok(true);
        }
        if stop.load(Ordering::Relaxed) {
            return Ok(false);
        }
        line.during(tokio::time::sleep(LOOK), || format!("waiting for workers on {leases} segments")).await;
    }
}

fn done(
    out: &Output,
    head: &RetrofitState,
    mapping: &Mapping,
    counts: &BTreeMap<String, u64>,
) -> anyhow::Result<ExitCode> {
    let count = |name: &str| counts.get(name).copied().unwrap_or(0);
    let (swept, revived) = (count("cleaned"), count("revived"));
    if out.json {
        out.value(&json!({
            "retrofit": head.retrofit, "phase": head.phase.name(), "tombstones": false,
            "items": count("items"), "swept": swept, "revived": revived,
        }))?;
    } else {
        out.text(format!(
            "retrofit `{}` is tidy ({})\n",
            head.retrofit,
            CompletedStep::Tidied { swept, revived }.message(head, mapping)
        ));
    }
    Ok(ExitCode::SUCCESS)
}

/// The second of the day as `14:03:07`.
fn clock(seconds: u64) -> String {
    let of_day = seconds % 86_400;
    format!("{:02}:{:02}:{:02}", of_day / 3_600, of_day / 60 % 60, of_day % 60)
}
