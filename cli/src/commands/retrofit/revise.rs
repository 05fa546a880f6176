//! `keyfold retrofit revise`: continues with a manifest that was changed while the retrofit runs.

use std::process::ExitCode;

use keyfold_core::retrofit::CompletedStep;
use keyfold_core::retrofit::control::{RetrofitState, wait_after_change};
use keyfold_dynamo::retrofit::RequestSender;

use super::env::{Env, RetrofitName, WaitsGiven, explained};
use super::line::{Line, wait};
use super::texts::report;
use crate::refusal::refuse;

#[derive(Debug, clap::Args)]
pub(crate) struct RetrofitReviseArgs {
    #[command(flatten)]
    pub(crate) retrofit: RetrofitName,
    #[command(flatten)]
    pub(crate) waits: WaitsGiven,
}

pub(super) async fn run(env: &Env<'_>, args: &RetrofitReviseArgs) -> anyhow::Result<ExitCode> {
    let out = env.out;
    let sender = env.unstarted(&args.retrofit).await?;
    let mapping = sender.job().mapping().clone();
    let before = sender.head().await.map_err(explained)?;
    let same = before.check(&mapping).is_ok();
    if same && !before.revising {
        out.text(format!(
            "retrofit `{}` was started with this manifest, or with one that writes the same: nothing is to be revised\n",
            before.retrofit
        ));
        return Ok(ExitCode::SUCCESS);
    }
    RetrofitState::check_begin(&mapping).map_err(explained)?;
    // The same manifest again: a command that was interrupted while it waited continues. A new one waits its own time.
    let revised = if same { before.clone() } else { before.revised(&mapping).map_err(explained)? };
    nobody_works(&sender, &before).await?;
    if !same {
        sender.store(&revised, Some(&before)).await.map_err(explained)?;
    }
    let sender =
        RequestSender::new(sender.client().clone(), revised.job(mapping.clone()), &env.globals.control);
    sender.carry_on(&before).await.map_err(explained)?;
    let line = Line::new(out);
    let seconds = wait_after_change(env.waits(&args.waits)?.in_flight_seconds());
    line.note(&format!("waiting {seconds} s until nothing writes by the former manifest"));
    wait(&line, seconds, "until nothing writes by the former manifest", || false).await;
    // A worker may have read the row just before it changed.
    nobody_works(&sender, &revised).await?;
    let settled = revised.revision_done();
    sender.store(&settled, Some(&revised)).await.map_err(explained)?;
    report(out, &settled, &CompletedStep::Revised.message(&settled, &mapping))
}

/// A backfill, a comparison or a repair reads the manifest once, and would write by it for hours.
async fn nobody_works(sender: &RequestSender, head: &RetrofitState) -> anyhow::Result<()> {
    let at_work = sender.leases().await.map_err(explained)?;
    if at_work == 0 {
        return Ok(());
    }
    refuse!(
        "at-work",
        "a backfill, a comparison or a repair of retrofit `{}` is at work on {at_work} segments with the former manifest\n\
         hint: stop it, and run `keyfold retrofit revise {}` again; if it was killed, wait a minute",
        head.retrofit,
        head.retrofit
    )
}
