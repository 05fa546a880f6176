//! `keyfold explain`: shows the plan of a request without running it.

use std::process::ExitCode;

use keyfold_core::model::Model;
use keyfold_core::query::readiness::Pending;
use keyfold_core::query::{QueryPlan, Readiness};
use keyfold_core::retrofit::readiness::{Filling, readiness, retrofits_into};

use crate::globals::Globals;
use crate::manifest_file::model;
use crate::output::Output;
use crate::request::{self, RequestArgs};

pub(super) fn run(globals: &Globals, args: &RequestArgs, out: &Output) -> anyhow::Result<ExitCode> {
    let model = model(&globals.manifest, out)?;
    let request = request::read(&model, args)?;
    let checked = request::checked(&model, &request)?;
    let plan = request::planned(&checked, &Readiness::complete())?;
    filled_by_retrofits(&model, &plan).iter().for_each(|note| out.note(note));
    let explained = keyfold_core::query::explain::explain(&plan);
    out.show(&serde_json::to_value(&explained)?, explained)?;
    Ok(ExitCode::SUCCESS)
}

/// `explain` reads no control table, so its plan may use an index that a retrofit still fills. Real queries use such an index only
/// after the cut-over.
fn filled_by_retrofits(model: &Model, plan: &QueryPlan) -> Vec<String> {
    let fillings: Vec<_> = retrofits_into(model, &plan.table).map(Filling::unknown).collect();
    let pending = readiness(&fillings);
    let mut notes: Vec<String> = Vec::new();
    for access in &plan.accesses {
        let index = access.source.index();
        let Some(Pending::Retrofit { retrofit, .. }) = pending.pending(&plan.table, index) else {
            continue;
        };
        let source =
            index.map_or_else(|| format!("table `{}`", plan.table), |index| format!("index `{index}`"));
        let note = format!("note: {source} is used only after `keyfold retrofit switch {retrofit}`\n");
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    notes
}
