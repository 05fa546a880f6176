//! `keyfold tables diff` and `apply`: the manifest's tables beside those in DynamoDB, and what makes them the same.

use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use keyfold_core::model::{Model, Table};
use keyfold_dynamo::{
    ApplyError, Client, Endpoint, LiveIndexes, Mismatch, Settings, TablePlan, TableStep, client, plan_table,
    table_options,
};
use serde_json::{Value, json};

use super::{explained, on_this_thread, settings};
use crate::args::{TablesApplyArgs, TablesArgs, TablesCommand};
use crate::manifest_file::{model, table};
use crate::output::{INTERRUPTED, Output, grouped};
use crate::refusal::refuse;

/// How often a line is printed that says the same as the one before.
const LINE_PERIOD: Duration = Duration::from_secs(60);

pub(super) fn run(path: &Path, command: &TablesCommand, out: &Output) -> anyhow::Result<ExitCode> {
    let model = model(path, out)?;
    on_this_thread(async {
        match command {
            TablesCommand::Diff(args) => diff(&model, args, out).await,
            TablesCommand::Apply(args) => apply(&model, args, out).await,
        }
    })
}

/// A table, and what it takes.
struct Compared<'m> {
    table: &'m Table,
    plan: TablePlan,
    /// Is it left to the stack that makes it?
    of_stack: bool,
}

async fn diff(model: &Model, args: &TablesArgs, out: &Output) -> anyhow::Result<ExitCode> {
    let (_, compared) = compared(model, args).await?;
    match out.json {
        true => out.value(&as_json(&compared))?,
        false => out.text(as_text(&compared)),
    }
    Ok(ExitCode::from(u8::from(!compared.iter().all(|one| one.plan.is_done()))))
}

async fn apply(model: &Model, args: &TablesApplyArgs, out: &Output) -> anyhow::Result<ExitCode> {
    let (client, compared) = compared(model, &args.which).await?;
    out.note(as_text(&compared));
    let (left, own): (Vec<_>, Vec<_>) = compared.iter().partition(|one| one.of_stack);
    own.iter().try_for_each(|one| one.plan.check(one.table)).map_err(failed)?;
    tokio::select! {
        done = apply_all(model, &client, &own, args, out) => done?,
        _ = tokio::signal::ctrl_c() => {
            out.note("\nstopped: DynamoDB goes on with what it is at; run the same command again for the rest\n");
            return Ok(ExitCode::from(INTERRUPTED));
        }
    }
    let left: Vec<&str> = left.iter().filter(|one| !one.plan.is_done()).map(|one| &*one.table.id).collect();
    if out.json {
        let mut value = as_json(&compared);
        value["leftToStack"] = json!(left);
        out.value(&value)?;
    } else if left.is_empty() {
        out.text("all of these tables are as the manifest says\n");
    }
    match left.is_empty() {
        true => Ok(ExitCode::SUCCESS),
        false => refuse!(
            "table-of-stack",
            "a stack makes {}: CloudFormation fails over a table or an index that it did not make\n\
             hint: deploy the manifest (`keyfold template`, and `--stages` for indexes); if no stack makes a table, write `managed = false` for it",
            quoted(&left)
        ),
    }
}

async fn apply_all(
    model: &Model,
    client: &Client,
    tables: &[&Compared<'_>],
    args: &TablesApplyArgs,
    out: &Output,
) -> anyhow::Result<()> {
    for Compared { table, plan, .. } in tables.iter().filter(|one| !one.plan.is_done()) {
        let options = table_options(model, table);
        plan.carry_out(client, table, options, args.warm_throughput, &mut told(out)).await.map_err(failed)?;
        out.note(format!("table `{}`: done ({})\n", table.name, listed(&plan.steps)));
    }
    Ok(())
}

async fn compared<'m>(model: &'m Model, args: &TablesArgs) -> anyhow::Result<(Client, Vec<Compared<'m>>)> {
    let tables: Vec<&Table> = match args.tables.is_empty() {
        true => model.tables.iter().collect(),
        false => args.tables.iter().map(|name| table(model, name)).collect::<anyhow::Result<_>>()?,
    };
    let settings = settings(args.endpoint.as_deref())?;
    let client = client(&settings).await;
    let mut compared = Vec::new();
    for table in tables {
        let plan = plan_table(&client, table, table_options(model, table)).await;
        let plan = plan.map_err(|error| failed(error.into()))?;
        compared.push(Compared { table, plan, of_stack: is_of_stack(model, table, &settings) });
    }
    Ok((client, compared))
}

/// Does a stack make this table? Then CloudFormation does not know of an index that it did not make, and its next update fails.
/// <https://github.com/aws-cloudformation/cloudformation-coverage-roadmap/issues/881>
pub(super) fn is_of_stack(model: &Model, table: &Table, settings: &Settings) -> bool {
    !matches!(settings.endpoint, Endpoint::Plain(_)) && !model.deploy.existing.contains(&table.id)
}

/// Shows how far indexes are: at each change, and now and then.
pub(super) fn told(out: &Output) -> impl FnMut(&LiveIndexes) {
    let begun = Instant::now();
    let mut last: Option<(String, Instant)> = None;
    move |live: &LiveIndexes| {
        let line = live.to_string();
        if last.as_ref().is_some_and(|(said, at)| *said == line && at.elapsed() < LINE_PERIOD) {
            return;
        }
        out.note(format!("{} s: {line}\n", begun.elapsed().as_secs()));
        last = Some((line, Instant::now()));
    }
}

fn as_json(compared: &[Compared<'_>]) -> Value {
    let shown = |found: &[Mismatch]| {
        let one = |found: &Mismatch| json!({ "difference": found.to_string(), "hint": found.hint() });
        Value::Array(found.iter().map(one).collect())
    };
    let one = |Compared { table, plan, of_stack }: &Compared<'_>| {
        json!({
            "table": table.id,
            "name": table.name,
            "items": plan.items,
            "bytes": plan.bytes,
            "ofStack": of_stack,
            "steps": plan.steps.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "obstacles": shown(&plan.obstacles),
            "extras": shown(&plan.extras),
        })
    };
    json!({ "tables": compared.iter().map(one).collect::<Vec<_>>() })
}

fn as_text(compared: &[Compared<'_>]) -> String {
    let mut text = String::new();
    for Compared { table, plan, of_stack } in compared {
        let done = if plan.is_done() { ": as the manifest says" } else { "" };
        let stack = if *of_stack { " (made by a stack)" } else { "" };
        text.push_str(&format!("table {} `{}`{stack}{done}\n", table.id, table.name));
        for step in &plan.steps {
            text.push_str(&format!("  + {step}{}\n", filled(step, plan)));
        }
        for found in &plan.obstacles {
            text.push_str(&format!("  ! {found}\n    hint: {}\n", found.hint()));
        }
        for found in &plan.extras {
            text.push_str(&format!("  ~ {found}\n    hint: {}\n", found.hint()));
        }
    }
    text
}

/// From how much an index is filled.
fn filled(step: &TableStep, plan: &TablePlan) -> String {
    match step {
        TableStep::Add { .. } => {
            let (items, bytes) = (grouped(plan.items), grouped(plan.bytes));
            format!(" (filled from about {items} items, {bytes} bytes)")
        }
        _ => String::new(),
    }
}

fn listed(steps: &[TableStep]) -> String {
    steps.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

fn quoted(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

fn failed(error: ApplyError) -> anyhow::Error {
    let (code, hint) = (error.code(), error.hint());
    explained(error, code, hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_aws_a_table_is_left_to_its_stack_unless_the_manifest_says_that_there_is_none() {
        let text = "[tables.new]\npartition = \"id\"\nattributes = { id = \"string\" }\n\
                    [tables.old]\npartition = \"id\"\nmanaged = false\nattributes = { id = \"string\" }\n";
        let model = keyfold_core::manifest::parse("t", text).model.unwrap();
        let of_stack = |id: &str, url: &str| {
            let settings = Settings::at(Endpoint::parse(url).unwrap());
            is_of_stack(&model, model.table(id).unwrap(), &settings)
        };
        let (aws, here) = ("https://dynamodb.eu-west-1.amazonaws.com", "http://127.0.0.1:8000");
        assert!(of_stack("new", aws) && !of_stack("old", aws));
        assert!(!of_stack("new", here) && !of_stack("old", here));
    }
}
