//! `keyfold retrofit revise`: goes on with a manifest that was mended while the retrofit runs.

use std::process::ExitCode;

use keyfold_core::model::Model;
use keyfold_core::retrofit::Step;
use keyfold_core::retrofit::control::{Head, wait_after_change};
use keyfold_dynamo::retrofit::RequestSender;

use super::line::{Line, wait};
use super::steps::report;
use super::{explained, unstarted};
use crate::args::RetrofitReviseArgs;
use crate::output::Output;
use crate::refusal::refuse;

pub(super) async fn run(model: &Model, args: &RetrofitReviseArgs, out: &Output) -> anyhow::Result<ExitCode> {
    let sender = unstarted(model, &args.target).await?;
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
    Head::check_begin(&mapping).map_err(|error| explained(error.into()))?;
    // The same manifest again: a command that was interrupted while it waited goes on. Another one waits its own time.
    let revised = if same {
        before.clone()
    } else {
        before.revised(&mapping).map_err(|error| explained(error.into()))?
    };
    nobody_works(&sender, &before).await?;
    if !same {
        sender.store(&revised, Some(&before)).await.map_err(explained)?;
    }
    let sender =
        RequestSender::new(sender.client().clone(), revised.job(mapping.clone()), &args.target.control);
    sender.carry_on(&before).await.map_err(explained)?;
    let line = Line::new(out);
    let seconds = wait_after_change(args.wait);
    line.note(&format!("waiting {seconds} s until nobody writes by the manifest before"));
    wait(&line, seconds, "until nobody writes by the manifest before", || false).await;
    // Somebody may have read the row just before it changed.
    nobody_works(&sender, &revised).await?;
    let settled = revised.settled_again();
    sender.store(&settled, Some(&revised)).await.map_err(explained)?;
    report(out, &settled, &Step::Revised.message(&settled, &mapping))
}

/// A backfill, a comparison or a repair reads the manifest once, and would write by it for hours.
async fn nobody_works(sender: &RequestSender, head: &Head) -> anyhow::Result<()> {
    let at_work = sender.leases().await.map_err(explained)?;
    if at_work == 0 {
        return Ok(());
    }
    refuse!(
        "at-work",
        "a backfill, a comparison or a repair of retrofit `{}` is at work on {at_work} segments, by the manifest that it began with\n\
         hint: stop it, and run `keyfold retrofit revise {}` again; if it was killed, wait a minute",
        head.retrofit,
        head.retrofit
    )
}
