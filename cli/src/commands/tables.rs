//! `keyfold tables diff` and `apply`: the differences between the manifest's tables and those in DynamoDB, and their removal. And
//! `keyfold index add`: the global indexes that a live table lacks, one after the other.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Context;
use keyfold_core::model::{Index, IndexKind, Model, Table};
use keyfold_dynamo::{
    ApplyError, Client, Endpoint, LiveIndex, LiveIndexes, Mismatch, Settings, TablePlan, TableStep,
    WarmThroughput, add_indexes, client, live_indexes, plan_existing, plan_table, table_options,
};
use serde_json::{Value, json};

use crate::globals::{Env, Globals};
use crate::manifest_file::{model, table};
use crate::output::{Output, grouped, quoted};
use crate::refusal::{explained, refuse};
use crate::support::{INTERRUPTED, block_on, exit_code};

/// How often an unchanged line is repeated.
const LINE_PERIOD: Duration = Duration::from_secs(60);

#[derive(Debug, clap::Subcommand)]
pub(crate) enum TablesCommand {
    /// Show how the tables differ from the manifest, and what `apply` would do. Exits with 1 if they differ.
    Diff(TablesArgs),
    /// Create what is missing. If one difference cannot be mended, nothing is changed.
    Apply(TablesApplyArgs),
}

#[derive(Debug, clap::Args)]
pub(crate) struct TablesArgs {
    /// The tables' names in the manifest or in DynamoDB [default: all of the manifest].
    #[arg(value_name = "TABLE")]
    pub(crate) tables: Vec<String>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct TablesApplyArgs {
    #[command(flatten)]
    pub(crate) which: TablesArgs,
    #[command(flatten)]
    pub(crate) warm: WarmArgs,
}

#[derive(Debug, clap::Args)]
pub(crate) struct WarmArgs {
    /// Units per second that each new index of a live table can take at once. You pay for them once.
    #[arg(long, value_name = "READ,WRITE", value_parser = warm_throughput)]
    pub(crate) warm_throughput: Option<WarmThroughput>,
}

fn warm_throughput(text: &str) -> Result<WarmThroughput, String> {
    let units = text.split_once(',').and_then(|(read, write)| {
        Some(WarmThroughput { read: read.trim().parse().ok()?, write: write.trim().parse().ok()? })
    });
    units.ok_or_else(|| "write it as READ,WRITE in units per second: 12000,4000".to_owned())
}

#[derive(Debug, clap::Subcommand)]
pub(crate) enum IndexCommand {
    /// Add global indexes that the manifest has and the live table lacks, and wait until they are filled.
    Add(IndexAddArgs),
}

#[derive(Debug, clap::Args)]
pub(crate) struct IndexAddArgs {
    /// The table's name in the manifest or in DynamoDB.
    pub(crate) table: String,
    /// The indexes.
    #[arg(value_name = "INDEX", required_unless_present = "all")]
    pub(crate) indexes: Vec<String>,
    /// All global indexes of the table.
    #[arg(long, conflicts_with = "indexes")]
    pub(crate) all: bool,
    /// Show what is missing. Changes nothing.
    #[arg(long)]
    pub(crate) check: bool,
    #[command(flatten)]
    pub(crate) warm: WarmArgs,
}

pub(super) fn run(globals: &Globals, command: &TablesCommand, out: &Output) -> anyhow::Result<ExitCode> {
    let model = model(&globals.manifest, out)?;
    let env = Env { model: &model, globals, out };
    block_on(async {
        match command {
            TablesCommand::Diff(args) => diff(&env, args).await,
            TablesCommand::Apply(args) => apply(&env, args).await,
        }
    })
}

/// A table, and the steps that make it what the manifest says.
struct Compared<'m> {
    table: &'m Table,
    plan: TablePlan,
    /// Is it left to the stack that creates it?
    of_stack: bool,
}

async fn diff(env: &Env<'_>, args: &TablesArgs) -> anyhow::Result<ExitCode> {
    let (_, compared) = compare(env, args).await?;
    env.out.show(&as_json(&compared), as_text(&compared))?;
    Ok(exit_code(compared.iter().all(|one| one.plan.is_done())))
}

async fn apply(env: &Env<'_>, args: &TablesApplyArgs) -> anyhow::Result<ExitCode> {
    let (model, out) = (env.model, env.out);
    let (client, compared) = compare(env, &args.which).await?;
    out.note(as_text(&compared));
    let (left, own): (Vec<_>, Vec<_>) = compared.iter().partition(|one| one.of_stack);
    own.iter().try_for_each(|one| one.plan.check(one.table)).map_err(explained)?;
    tokio::select! {
        done = apply_all(model, &client, &own, args.warm.warm_throughput, out) => done?,
        _ = tokio::signal::ctrl_c() => {
            out.note("\nstopped: DynamoDB completes the current step; the same command continues with the others\n");
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
            quoted(left)
        ),
    }
}

async fn apply_all(
    model: &Model,
    client: &Client,
    tables: &[&Compared<'_>],
    warm: Option<WarmThroughput>,
    out: &Output,
) -> anyhow::Result<()> {
    for Compared { table, plan, .. } in tables.iter().filter(|one| !one.plan.is_done()) {
        let options = table_options(model, table);
        plan.carry_out(client, table, options, warm, &mut show_filling(out)).await.map_err(explained)?;
        out.note(format!("table `{}`: done ({})\n", table.name, listed(&plan.steps)));
    }
    Ok(())
}

async fn compare<'m>(env: &Env<'m>, args: &TablesArgs) -> anyhow::Result<(Client, Vec<Compared<'m>>)> {
    let model = env.model;
    let tables: Vec<&Table> = match args.tables.is_empty() {
        true => model.tables.iter().collect(),
        false => args.tables.iter().map(|name| table(model, name)).collect::<anyhow::Result<_>>()?,
    };
    let settings = env.globals.settings()?;
    let client = client(&settings).await;
    let mut compared = Vec::new();
    for table in tables {
        let plan = match model.deploy.existing.contains(&table.id) {
            true => plan_existing(&client, model, table).await,
            false => plan_table(&client, table, table_options(model, table)).await,
        };
        let plan = plan.map_err(|error| explained(ApplyError::from(error)))?;
        compared.push(Compared { table, plan, of_stack: is_of_stack(model, table, &settings) });
    }
    Ok((client, compared))
}

/// Does a stack make this table? Then CloudFormation does not know of an index that it did not make, and its next update fails.
/// <https://github.com/aws-cloudformation/cloudformation-coverage-roadmap/issues/881>
fn is_of_stack(model: &Model, table: &Table, settings: &Settings) -> bool {
    !matches!(settings.endpoint, Endpoint::Plain(_)) && !model.deploy.existing.contains(&table.id)
}

/// Shows how indexes are filled: each change, and one line a minute.
fn show_filling(out: &Output) -> impl FnMut(&LiveIndexes) {
    let started = Instant::now();
    let mut last: Option<(String, Instant)> = None;
    move |live: &LiveIndexes| {
        let line = live.to_string();
        if last.as_ref().is_some_and(|(shown, at)| *shown == line && at.elapsed() < LINE_PERIOD) {
            return;
        }
        out.note(format!("{} s: {line}\n", started.elapsed().as_secs()));
        last = Some((line, Instant::now()));
    }
}

fn as_json(compared: &[Compared<'_>]) -> Value {
    let listed = |mismatches: &[Mismatch]| -> Value {
        let entry = |one: &Mismatch| json!({ "difference": one.to_string(), "hint": one.hint() });
        mismatches.iter().map(entry).collect()
    };
    let one = |Compared { table, plan, of_stack }: &Compared<'_>| {
        json!({
            "table": table.id,
            "name": table.name,
            "items": plan.items,
            "bytes": plan.bytes,
            "ofStack": of_stack,
            "steps": plan.steps.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "obstacles": listed(&plan.obstacles),
            "extras": listed(&plan.extras),
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
        let obstacles = plan.obstacles.iter().map(|one| ('!', one));
        for (sign, one) in obstacles.chain(plan.extras.iter().map(|one| ('~', one))) {
            text.push_str(&format!("  {sign} {one}\n    hint: {}\n", one.hint()));
        }
    }
    text
}

/// How many items and bytes an index is filled from.
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

pub(super) fn index(globals: &Globals, command: &IndexCommand, out: &Output) -> anyhow::Result<ExitCode> {
    let IndexCommand::Add(args) = command;
    let model = model(&globals.manifest, out)?;
    block_on(add(&Env { model: &model, globals, out }, args))
}

async fn add(env: &Env<'_>, args: &IndexAddArgs) -> anyhow::Result<ExitCode> {
    let (model, out) = (env.model, env.out);
    let table = table(model, &args.table)?;
    let wanted = wanted(table, args)?;
    let settings = env.globals.settings()?;
    if is_of_stack(model, table, &settings) && !args.check {
        refuse!(
            "table-of-stack",
            "table `{0}` is made by a stack, because the manifest does not say `managed = false`; CloudFormation fails over an index that \
             it did not add itself\n\
             hint: deploy the indexes, see `keyfold template --stages`; if no stack makes table `{0}`, write `managed = false` for it",
            table.id
        );
    }
    let client = client(&settings).await;
    let before = live_indexes(&client, table, &wanted).await.map_err(explained)?;
    if args.check {
        return report_indexes(out, table, &before, &before, false);
    }
    let mut show = show_filling(out);
    let after = tokio::select! {
        after = add_indexes(&client, table, &wanted, args.warm.warm_throughput, &mut show) => after.map_err(explained)?,
        _ = tokio::signal::ctrl_c() => {
            out.note("\nstopped: DynamoDB completes the current index; the same command continues with the others\n");
            return Ok(ExitCode::from(INTERRUPTED));
        }
    };
    report_indexes(out, table, &before, &after, true)
}

/// The indexes that were named, or all global ones.
fn wanted<'t>(table: &'t Table, args: &IndexAddArgs) -> anyhow::Result<Vec<&'t Index>> {
    if args.all {
        return Ok(table.indexes.iter().collect());
    }
    let named = |name: &String| {
        table.index(name).with_context(|| {
            let global = table.indexes.iter().filter(|index| index.kind == IndexKind::Global);
            let names: Vec<&str> = global.map(|index| &*index.name).collect();
            format!(
                "table `{}` has no index `{name}` in the manifest; its global indexes are: {}",
                table.id,
                names.join(", ")
            )
        })
    };
    args.indexes.iter().map(named).collect()
}

fn report_indexes(
    out: &Output,
    table: &Table,
    before: &LiveIndexes,
    after: &LiveIndexes,
    done: bool,
) -> anyhow::Result<ExitCode> {
    let (name, missing) = (&table.name, before.missing().collect::<Vec<&str>>());
    let entry = |index: &LiveIndex| json!({ "index": index.name, "phase": index.phase.name() });
    let indexes: Value = after.indexes.iter().map(entry).collect();
    let mut value = json!({ "table": name, "indexes": indexes });
    value[if done { "added" } else { "missing" }] = json!(missing);
    let indexes = quoted(missing.iter().copied());
    let text = match (missing.is_empty(), done) {
        (true, true) => format!("table `{name}` has all of these indexes, and they are active\n"),
        (true, false) => format!("nothing to add to table `{name}`: {after}\n"),
        (false, true) => format!("added to table `{name}`: {indexes}\n"),
        (false, false) => format!("would add to table `{name}`, in this order: {indexes} (now: {after})\n"),
    };
    out.show(&value, text)?;
    Ok(ExitCode::SUCCESS)
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
