//! `keyfold query`: runs a request and prints the answer.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use keyfold_core::model::Table;
use keyfold_core::query::explain::explain;
use keyfold_core::query::{QueryPlan, QueryRequest};
use keyfold_core::value::Item;
use keyfold_dynamo::retrofit::KnownReadiness;
use keyfold_dynamo::{
    Answer, Binding, Client, Position, RunOptions, TokenKeys, client, model_version, run as run_plan,
};
use serde_json::{Value, json};

use super::now_seconds;
use super::request::{self, with_hint};
use super::settings;
use crate::args::QueryArgs;
use crate::items::{plain, plain_value};
use crate::manifest_file::model;
use crate::output::{Output, columns};

/// How long a page token is valid.
const TOKEN_SECONDS: u64 = 15 * 60;
/// The caller in tokens of the command line: anybody who has the keys can use them.
const TOKEN_CALLER: &str = "command line";
/// The widest cell of a printed table.
const CELL_CHARS_MAX: usize = 40;

pub(super) fn run(path: &Path, args: &QueryArgs, out: &Output) -> anyhow::Result<ExitCode> {
    let model = model(path, out)?;
    let mut request = request::read(&model, &args.request)?;
    request.page = args.page.clone().or(request.page);
    let checked = request::checked(&model, &request)?;
    let tokens = Tokens::new(path, &request)?;
    let from = tokens.open(&request)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (plan, answer) = runtime.block_on(async {
        let client = client(&settings(args.endpoint.as_deref())?).await;
        let known = KnownReadiness::new(&args.control);
        let readiness = known.of(&client, &model, checked.table).await;
        let readiness = readiness.map_err(|error| with_hint(&error, error.hint()))?;
        let plan = request::planned(&checked, &readiness)?;
        let answer = ask(&client, checked.table, &plan, from, args).await?;
        anyhow::Ok((plan, answer))
    })?;
    show(&plan, &answer, tokens.seal(answer.next.as_ref())?, args, out)?;
    Ok(ExitCode::SUCCESS)
}

/// Reads one page, or with `--all` all pages, as one answer.
async fn ask(
    client: &Client,
    table: &Table,
    plan: &QueryPlan,
    mut from: Option<Position>,
    args: &QueryArgs,
) -> anyhow::Result<Answer> {
    let options = RunOptions { read_units_max: args.read_units_max, ..RunOptions::default() };
    let mut whole: Option<Answer> = None;
    loop {
        let page = run_plan(client, table, plan, from.as_ref(), &options)
            .await
            .map_err(|error| with_hint(&format!("{error} ({})", error.code()), error.hint()))?;
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

/// The tokens of pages, if there are keys to seal them with.
struct Tokens {
    keys: Option<TokenKeys>,
    binding: Binding,
}

impl Tokens {
    fn new(path: &Path, request: &QueryRequest) -> anyhow::Result<Tokens> {
        let keys = match std::env::var("KEYFOLD_TOKEN_KEYS") {
            Ok(text) => Some(TokenKeys::parse(&text).context("KEYFOLD_TOKEN_KEYS is not valid")?),
            Err(_) => None,
        };
        let text = std::fs::read_to_string(path)?;
        Ok(Tokens { keys, binding: Binding::new(request, TOKEN_CALLER, &model_version(&text)) })
    }

    fn open(&self, request: &QueryRequest) -> anyhow::Result<Option<Position>> {
        let Some(token) = &request.page else { return Ok(None) };
        let keys = self
            .keys
            .as_ref()
            .context("to use a page token, set KEYFOLD_TOKEN_KEYS to the keys that encrypted it")?;
        let opened = keys.open(token, &self.binding, now_seconds());
        opened.map(Some).map_err(|error| with_hint(&error, Some(error.hint())))
    }

    fn seal(&self, next: Option<&Position>) -> anyhow::Result<Option<String>> {
        match (&self.keys, next) {
            (Some(keys), Some(next)) => {
                Ok(Some(keys.seal(next, &self.binding, now_seconds(), TOKEN_SECONDS)?))
            }
            _ => Ok(None),
        }
    }
}

fn show(
    plan: &QueryPlan,
    answer: &Answer,
    token: Option<String>,
    args: &QueryArgs,
    out: &Output,
) -> anyhow::Result<()> {
    if out.json {
        let mut value = json!({
            "count": answer.count,
            "more": answer.next.is_some(),
            "consumedReadUnits": answer.consumed_read_units,
            "itemsRead": answer.items_read,
            "requests": answer.requests,
        });
        if !plan.count {
            value["items"] = answer.items.iter().map(plain).collect();
        }
        if let Some(token) = token {
            value["page"] = Value::String(token);
        }
        if args.explain {
            value["plan"] = serde_json::to_value(explain(plan))?;
        }
        return out.value(&value);
    }
    if args.explain {
        out.text(format!("{}\n", explain(plan)));
    }
    if !plan.count {
        out.text(item_table(plan.select.as_deref(), &answer.items));
    }
    let more = if answer.next.is_some() { ", and there are more" } else { "" };
    out.text(format!(
        "{} items{more}; {} read units, {} items read, {} requests\n",
        answer.count, answer.consumed_read_units, answer.items_read, answer.requests
    ));
    match (token, &answer.next) {
        (Some(token), _) => out.text(format!("next page: --page {token}\n")),
        (None, Some(_)) => {
            out.text("use --all to read all pages, or set KEYFOLD_TOKEN_KEYS to get page tokens\n");
        }
        (None, None) => {}
    }
    Ok(())
}

/// Items as a table, with a column for each selected attribute, or for each attribute that any item has.
fn item_table(select: Option<&[String]>, items: &[Item]) -> String {
    if items.is_empty() {
        return String::new();
    }
    let mut names: Vec<String> = match select {
        Some(names) => names.to_vec(),
        None => items.iter().flat_map(|item| item.keys().cloned()).collect(),
    };
    if select.is_none() {
        names.sort();
        names.dedup();
    }
    let row = |item: &Item| {
        names
            .iter()
            .map(|name| item.get(name).map_or_else(String::new, |value| cell(&plain_value(value))))
            .collect()
    };
    let mut rows: Vec<Vec<String>> = vec![names.clone()];
    rows.extend(items.iter().map(row));
    columns(&rows)
}

fn cell(value: &Value) -> String {
    let text = match value {
        Value::String(text) => {
            text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
        }
        other => other.to_string(),
    };
    if text.chars().count() <= CELL_CHARS_MAX {
        return text;
    }
    text.chars().take(CELL_CHARS_MAX - 1).chain(['…']).collect()
}
