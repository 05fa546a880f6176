//! `keyfold plan`: which index answers each question, at what cost, and what is missing.

use std::process::ExitCode;

use keyfold_core::cost::ReadUnits;
use keyfold_core::model::Model;
use keyfold_core::query::advise::{Advice, advise};
use keyfold_core::query::explain::{explain, rejected};
use keyfold_core::query::plan::{Delivery, Operation, QueryPlan};
use serde_json::{Value, json};

use crate::globals::Globals;
use crate::manifest_file::{model, table};
use crate::output::{Output, columns};
use crate::support::exit_code;

pub(super) fn run(
    globals: &Globals,
    only: Option<&str>,
    in_full: bool,
    out: &Output,
) -> anyhow::Result<ExitCode> {
    let model = model(&globals.manifest, out)?;
    let only = only.map(|name| table(&model, name)).transpose()?;
    let advice: Vec<Advice<'_>> = advise(&model)
        .into_iter()
        .filter(|advice| only.is_none_or(|table| table.id == advice.table.id))
        .collect();
    if out.json {
        out.value(&advice.iter().map(|advice| as_json(&model, advice)).collect::<Vec<_>>())?;
    } else {
        print(&model, &advice, in_full, out);
    }
    Ok(exit_code(advice.iter().all(|advice| advice.outcome.is_ok())))
}

fn as_json(model: &Model, advice: &Advice<'_>) -> Value {
    let mut value = json!({
        "table": advice.table.id,
        "question": advice.question.name,
        "withOptional": advice.with_optional,
    });
    match &advice.outcome {
        Ok(plan) => {
            value["plan"] = json!(explain(plan));
            value["dollarsPerMillion"] = json!(million(model, plan).0);
        }
        Err(error) => {
            value["unserved"] = json!({
                "code": error.code(),
                "message": error.to_string(),
                "hint": error.hint(),
                "rejected": rejected(&error.rejected),
            });
        }
    }
    value
}

fn print(model: &Model, advice: &[Advice<'_>], in_full: bool, out: &Output) {
    if advice.is_empty() {
        out.text("the manifest has no questions: add some under [questions.TABLE.NAME]\n");
        return;
    }
    if !in_full {
        let mut rows =
            vec![["question", "answered by", "read units", "a million times"].map(str::to_owned).to_vec()];
        rows.extend(advice.iter().map(|advice| row(model, advice)));
        out.text(columns(&rows));
    }
    for advice in advice {
        match &advice.outcome {
            Ok(plan) if in_full => {
                out.text(format!("{}\n{}\n", name(advice), indented(&explain(plan).to_string())));
            }
            Ok(_) => {}
            Err(error) => {
                out.text(format!("\n{}: {error}\n", name(advice)));
                for rejected in rejected(&error.rejected) {
                    out.text(format!("  {}: {}\n", rejected.source, rejected.reason));
                }
                out.text(format!("  hint: {}\n", error.hint().replace('\n', "\n    ")));
            }
        }
    }
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}\n")).collect()
}

fn name(advice: &Advice<'_>) -> String {
    let optional = match advice.with_optional {
        None => "",
        Some(false) => " (without its optional conditions)",
        Some(true) => " (with all conditions)",
    };
    format!("{}.{}{optional}", advice.table.id, advice.question.name)
}

fn row(model: &Model, advice: &Advice<'_>) -> Vec<String> {
    match &advice.outcome {
        Err(_) => vec![name(advice), "nothing".to_owned(), "-".to_owned(), "-".to_owned()],
        Ok(plan) => {
            vec![name(advice), by(plan), plan.estimated_units.to_string(), million(model, plan).to_string()]
        }
    }
}

fn by(plan: &QueryPlan) -> String {
    let Some(first) = plan.accesses.first() else { return "nothing to read".to_owned() };
    let place = first.source.index().map_or_else(|| "table".to_owned(), |index| format!("index {index}"));
    let scan = if matches!(first.operation, Operation::Scan) { "scan of " } else { "" };
    let times = if plan.accesses.len() > 1 { format!(" x{}", plan.accesses.len()) } else { String::new() };
    let sort =
        if matches!(plan.delivery, Delivery::SortedInMemory { .. }) { ", sorted in memory" } else { "" };
    format!("{scan}{place}{times}{sort}")
}

/// The price of a million such requests.
fn million(model: &Model, plan: &QueryPlan) -> keyfold_core::cost::Dollars {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "an estimate, never negative"
    )]
    let halves = (plan.estimated_units * 2.0 * 1e6) as u64;
    model.prices.dollars_for_reads(ReadUnits::from_halves(halves))
}
