//! `keyfold audit anchor`: where the chains of a day end.

use std::process::ExitCode;

use keyfold_core::audit::FindingKind;
use keyfold_core::model::Model;
use keyfold_trail::{anchor, last_whole_day, now, read_anchors, write_anchor};
use serde_json::json;

use super::journal;
use crate::args::AnchorArgs;
use crate::manifest_file::counted;
use crate::output::Output;

pub(super) async fn run(model: &Model, args: &AnchorArgs, out: &Output) -> anyhow::Result<ExitCode> {
    let (journal, client) = journal(model, &args.trail).await?;
    let mut anchors = read_anchors(&args.anchors)?;
    if !keyfold_core::audit::links(&mut anchors).is_empty() {
        anyhow::bail!(
            "the anchors in `{}` do not follow one another ({}): the folder lacks some, or one was changed",
            args.anchors.display(),
            FindingKind::AnchorBroken.name()
        );
    }
    let made = now();
    let day = match &args.day {
        Some(day) => day.clone(),
        None => last_whole_day(&made)?,
    };
    let previous = anchors.last().map(|(_, hash)| *hash);
    let anchor = anchor(&client, journal, &day, &made, previous, f64::from(args.trail.rate)).await?;
    let path = write_anchor(args.out.as_ref().unwrap_or(&args.anchors), &anchor)?;
    let (chains, rows) = (anchor.chains.len(), anchor.chains.values().map(|end| end.rows).sum::<u64>());
    if out.json {
        out.value(
            &json!({ "file": path, "day": day, "closed": anchor.closed, "chains": chains, "rows": rows }),
        )?;
    } else {
        let open = if anchor.closed { "" } else { "; the day is not over, so anchor it again" };
        out.text(format!("{}: {day}, {}, {rows} rows{open}\n", path.display(), counted(chains, "chain")));
    }
    Ok(ExitCode::SUCCESS)
}
