//! `keyfold explain`: shows the plan of a request without running it.

use std::path::Path;
use std::process::ExitCode;

use keyfold_core::model::Model;
use keyfold_core::query::{QueryPlan, Readiness};
use keyfold_core::retrofit::readiness::{Filling, readiness, retrofits_into};

use super::request;
use crate::args::RequestArgs;
use crate::manifest_file::model;
use crate::output::Output;

pub(super) fn run(path: &Path, args: &RequestArgs, out: &Output) -> anyhow::Result<ExitCode> {
    let model = model(path, out)?;
    let request = request::read(&model, args)?;
    let checked = request::checked(&model, &request)?;
    let plan = request::planned(&checked, &Readiness::complete())?;
    filled_by_retrofits(&model, &plan).iter().for_each(|note| out.note(note));
    let explained = keyfold_core::query::explain::explain(&plan);
    if out.json {
        out.value(&explained)?;
    } else {
        out.text(explained);
    }
    Ok(ExitCode::SUCCESS)
}

/// Nothing is read here, so a plan may use what a retrofit fills. Where the rows are asked, such an index is only used once its
/// retrofit is cut over.
fn filled_by_retrofits(model: &Model, plan: &QueryPlan) -> Vec<String> {
    let fillings: Vec<_> = retrofits_into(model, &plan.table).map(Filling::unknown).collect();
    let pending = readiness(&fillings);
    let mut notes: Vec<String> = Vec::new();
    for access in &plan.accesses {
        let index = access.source.index();
        let Some(retrofit) = pending.pending(&plan.table, index).map(|pending| &pending.retrofit) else {
            continue;
        };
        let what =
            index.map_or_else(|| format!("table `{}`", plan.table), |index| format!("index `{index}`"));
        let note = format!("note: {what} is used only once retrofit `{retrofit}` is cut over\n");
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    notes
}
