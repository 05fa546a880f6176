//! The first stage of `keyfold retrofit switch`: deletes the target's tombstones before readers move. Each change of the phase is followed by a wait, until
//! every write of the phase before has ended; then the sweep.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use keyfold_core::cost::{ReadUnits, WriteUnits};
use keyfold_core::retrofit::control::{Phase, wait_after_change};
use keyfold_core::retrofit::gates::{Gate, closed};
use keyfold_core::retrofit::{CompletedStep, Mapping, Pass, Protocol};
use keyfold_dynamo::retrofit::{RequestSender, RetrofitState};
use serde_json::{Value, json};

use super::env::{Env, RetrofitName, explained};
use super::line::{Line, wait};
use super::passes::{RetrofitWork, cleaned};
use super::texts::{entered, listed};
use crate::output::Output;
use crate::refusal::refuse;
use crate::support::now_seconds;

/// How often leases, and whether ctrl-C was pressed, are looked at.
const LOOK: Duration = Duration::from_millis(500);

/// Makes the target tidy; false if that is interrupted. One that is tidy stays as it is.
pub(super) async fn tidy(
    env: &Env<'_>,
    retrofit: &RetrofitName,
    seconds: u64,
    stop: &Arc<AtomicBool>,
) -> anyhow::Result<bool> {
    let (out, work) = (env.out, RetrofitWork::default());
    let mut announced = false;
    loop {
        // Anew for each phase: what a sender may do follows from it.
        let (sender, head) = env.started(retrofit).await?;
        if is_tidy(&head) {
            return Ok(true);
        }
        if !std::mem::replace(&mut announced, true) {
            out.note(price(env, &sender, &head, seconds).await?.text);
        }
        if head.phase == Phase::Running {
            may_begin(&sender, &head).await?;
            begun(entered(&sender, &head, head.tidied_first().map_err(explained)?).await?, out);
            continue;
        }
        if !waited(&sender, &head, seconds, stop, out).await? {
            return Ok(false);
        }
        let (sender, head) = env.started(retrofit).await?;
        if head.phase == Phase::Tidying {
            begun(entered(&sender, &head, Phase::Tidy).await?, out);
            continue;
        }
        let sender = sender.paced(work.rate);
        let counts = match head.leaves_tombstones() {
            true => cleaned(&sender, Pass::Tidy, &work, stop, out).await?,
            false => Some(BTreeMap::new()),
        };
        let Some(counts) = counts else { return Ok(false) };
        sender.store(&head.swept(), Some(&head)).await.map_err(explained)?;
        done(out, &head.swept(), sender.job().mapping(), &counts);
        return Ok(true);
    }
}

/// Is nothing left to be done?
pub(super) fn is_tidy(head: &RetrofitState) -> bool {
    head.keeps_rows() && head.swept
}

/// What tidying costs.
pub(super) struct TidyPrice {
    pub(super) value: Value,
    pub(super) text: String,
}

/// What is still to be paid and waited for.
pub(super) async fn price(
    env: &Env<'_>,
    sender: &RequestSender,
    head: &RetrofitState,
    seconds: u64,
) -> anyhow::Result<TidyPrice> {
    let prices = &env.model.prices;
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
    let value = json!({
        "retrofit": head.retrofit, "phase": head.phase.name(), "tombstones": head.leaves_tombstones(),
        "items": items, "readUnits": units, "writeUnitsPerTombstone": 1, "waits": waits, "waitSeconds": seconds,
    });
    let retrofit = &head.retrofit;
    let text = match scans {
        false => format!(
            "preparing `{retrofit}`: {waits} wait of {seconds} s; from its beginning, a change costs 2 write units more\n\
             the replicator needs `dynamodb:DeleteItem` on the control table\n"
        ),
        true => format!(
            "tidying `{retrofit}`: {waits} waits of {seconds} s; one scan of the target, {units} read units ({reads}); 1 write unit for each \
tombstone (all {items} items would be {writes})\n\
from then on, a change costs 2 write units for each KB of the item, 2 for its row, and three reads\n\
replicator, backfiller and verifier need `dynamodb:DeleteItem` on the target\n"
        ),
    };
    Ok(TidyPrice { value, text })
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
    refuse!("gates-closed", "retrofit `{}` cannot be switched yet: {}", head.retrofit, listed(&gates))
}

fn begun(head: RetrofitState, out: &Output) {
    out.note(format!("retrofit `{}` is {}\n", head.retrofit, head.phase.name()));
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

fn done(out: &Output, head: &RetrofitState, mapping: &Mapping, counts: &BTreeMap<String, u64>) {
    let count = |name: &str| counts.get(name).copied().unwrap_or(0);
    let tidied = CompletedStep::Tidied { swept: count("cleaned"), revived: count("revived") };
    out.note(format!("retrofit `{}` is tidy ({})\n", head.retrofit, tidied.message(head, mapping)));
}

/// The second of the day as `14:03:07`.
fn clock(seconds: u64) -> String {
    let of_day = seconds % 86_400;
    format!("{:02}:{:02}:{:02}", of_day / 3_600, of_day / 60 % 60, of_day % 60)
}
