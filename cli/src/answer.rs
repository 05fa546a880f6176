//! The answer to a request: checked, planned, read page by page, printed.

mod items;

use std::process::ExitCode;

use anyhow::{Context, bail};
use keyfold_core::model::{Model, Table};
use keyfold_core::query::explain::explain;
use keyfold_core::query::{QueryPlan, QueryRequest};
use keyfold_dynamo::retrofit::KnownReadiness;
use keyfold_dynamo::{Answer, Client, Position, RunOptions, run as run_plan};
use keyfold_edge::plain_item;
use serde_json::json;

use crate::globals::Globals;
use crate::output::Output;
use crate::refusal::Refusal;
use crate::request;
use crate::support::block_on;
use items::{Columns, ItemForm};

#[derive(Debug, clap::Args)]
pub(crate) struct AnswerArgs {
    /// Read all pages.
    #[arg(long)]
    pub(crate) all: bool,
    /// The maximum read units that each page may consume.
    #[arg(long, value_name = "UNITS")]
    pub(crate) read_units_max: Option<f64>,
    /// Print the plan too.
    #[arg(long)]
    pub(crate) explain: bool,
    /// How to print the items [default: table].
    #[arg(long, value_name = "FORM", value_enum)]
    pub(crate) output: Option<ItemForm>,
    /// Show folded keys, too.
    #[arg(long)]
    pub(crate) keys: bool,
}

/// Answers a request.
pub(crate) fn answer(
    globals: &Globals,
    model: &Model,
    request: &QueryRequest,
    args: &AnswerArgs,
    out: &Output,
) -> anyhow::Result<ExitCode> {
    if out.json && args.output.is_some() {
        bail!("`--json` prints the whole answer as one document, `--output` prints items: use one of them");
    }
    let checked = request::checked(model, request)?;
    if request.page.is_some() {
        bail!("the command line has no keys for page tokens: take `page` out of the request, and use --all");
    }
    let (plan, answer) = block_on(async {
        let client = globals.client().await?;
        let readiness = KnownReadiness::new(&globals.control);
        let readiness = readiness.of(&client, model, checked.table).await.map_err(Refusal::with_causes)?;
        let plan = request::planned(&checked, &readiness)?;
        let answer = read(&client, checked.table, &plan, args).await?;
        Ok((plan, answer))
    })?;
    if out.json {
        return whole(&plan, &answer, args, out);
    }
    show((checked.table, &plan), &answer, args, out)?;
    Ok(ExitCode::SUCCESS)
}

/// Reads one page, or with `--all` all pages, as one answer.
async fn read(client: &Client, table: &Table, plan: &QueryPlan, args: &AnswerArgs) -> anyhow::Result<Answer> {
    let options = RunOptions { read_units_max: args.read_units_max, ..RunOptions::default() };
    let (mut whole, mut from): (Option<Answer>, Option<Position>) = (None, None);
    loop {
        let page =
            run_plan(client, table, plan, from.as_ref(), &options).await.map_err(Refusal::with_causes)?;
        from = page.next.clone();
        whole = Some(match whole {
            None => page,
            Some(before) => joined(before, page),
        });
        if !args.all || from.is_none() {
            return whole.context("no page was read");
        }
    }
}

fn joined(mut before: Answer, page: Answer) -> Answer {
    before.items.extend(page.items);
    Answer {
        items: before.items,
        count: before.count + page.count,
        next: page.next,
        consumed_read_units: before.consumed_read_units + page.consumed_read_units,
        items_read: before.items_read + page.items_read,
        requests: before.requests + page.requests,
    }
}

/// The whole answer as one document.
fn whole(plan: &QueryPlan, answer: &Answer, args: &AnswerArgs, out: &Output) -> anyhow::Result<ExitCode> {
    let mut value = json!({
        "count": answer.count,
        "more": answer.next.is_some(),
        "consumedReadUnits": answer.consumed_read_units,
        "estimatedReadUnits": plan.estimated_units,
        "itemsRead": answer.items_read,
        "requests": answer.requests,
    });
    if !plan.count {
        value["items"] = answer.items.iter().map(plain_item).collect();
    }
    if args.explain {
        value["plan"] = serde_json::to_value(explain(plan))?;
    }
    out.value(&value)?;
    Ok(ExitCode::SUCCESS)
}

/// The items in the requested form. Everything else goes to standard error if the items are for programs.
fn show(
    (table, plan): (&Table, &QueryPlan),
    answer: &Answer,
    args: &AnswerArgs,
    out: &Output,
) -> anyhow::Result<()> {
    let form = args.output.unwrap_or(ItemForm::Table);
    let say = |text: String| if form == ItemForm::Table { out.text(text) } else { out.note(text) };
    if args.explain {
        say(format!("{}\n", explain(plan)));
    }
    if !plan.count {
        let names = Columns { table, select: plan.select.as_deref(), keys: args.keys }.of(&answer.items);
        let text = items::text(form, &names, &answer.items)?;
        match form {
            ItemForm::Csv => out.file(&text),
            ItemForm::Table | ItemForm::Jsonl => out.text(text),
        }
    }
    let more = if answer.next.is_some() { ", and there are more" } else { "" };
    say(format!(
        "{} items{more}; {} read units (estimate{} {}), {} items read, {} requests\n",
        answer.count,
        answer.consumed_read_units,
        if args.all { " for each page" } else { "" },
        plan.estimated_units,
        answer.items_read,
        answer.requests
    ));
    if answer.next.is_some() {
        say("use --all to read all pages\n".to_owned());
    }
    Ok(())
}
