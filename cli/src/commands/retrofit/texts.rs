//! The texts that several commands print: a new phase, closed gates, items that do not fit.

use std::process::ExitCode;

use keyfold_core::retrofit::Misfits;
use keyfold_core::retrofit::gates::Gate;
use keyfold_core::retrofit::misfit::MisfitCount;
use keyfold_dynamo::retrofit::RetrofitState;
use serde_json::json;

use crate::output::{Output, columns};

/// Prints the phase that a command led to.
pub(super) fn report(out: &Output, head: &RetrofitState, message: &str) -> anyhow::Result<ExitCode> {
    let (retrofit, phase) = (&head.retrofit, head.phase.name());
    let value =
        json!({ "retrofit": retrofit, "phase": phase, "epoch": head.epoch.number(), "said": message });
    out.show(&value, format!("retrofit `{retrofit}` is {phase} ({message})\n"))?;
    Ok(ExitCode::SUCCESS)
}

/// The gates as one line.
pub(super) fn listed(gates: &[Gate]) -> String {
    if gates.is_empty() {
        return "all open".to_owned();
    }
    gates.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// The table with a line above it; nothing if all items fit.
pub(super) fn misfit_table(title: &str, misfits: &Misfits) -> String {
    if misfits.is_empty() {
        return String::new();
    }
    let head = ["attribute", "reason", "index", "items", "keys"].map(str::to_owned).to_vec();
    let rows: Vec<Vec<String>> = std::iter::once(head).chain(misfits.counts().map(misfit_row)).collect();
    format!("{title}\n{}", columns(&rows))
}

fn misfit_row(count: MisfitCount<'_>) -> Vec<String> {
    let name = |name: &Option<String>| name.clone().unwrap_or_else(|| "-".to_owned());
    let keys: Vec<String> =
        count.examples.iter().map(|key| serde_json::to_string(key).unwrap_or_default()).collect();
    vec![
        name(&count.misfit.attribute),
        count.misfit.reason().to_owned(),
        name(&count.misfit.index),
        count.items.to_string(),
        keys.join(" "),
    ]
}
