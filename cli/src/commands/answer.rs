//! A request is answered: checked, planned, read page by page, printed.

mod items;

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, bail};
use keyfold_core::model::{Model, Table};
use keyfold_core::query::explain::explain;
use keyfold_core::query::{QueryPlan, QueryRequest};
use keyfold_dynamo::retrofit::KnownReadiness;
use keyfold_dynamo::{
    Answer, Binding, Client, Position, RunOptions, TokenKeys, client, model_version, run as run_plan,
};
use serde_json::{Value, json};

use super::now_seconds;
use super::{request, settings};
use crate::args::{AnswerArgs, ItemForm};
use crate::items::plain;
use crate::output::Output;
use crate::refusal::Refusal;
use items::Columns;

/// How long a page token is valid.
const TOKEN_SECONDS: u64 = 15 * 60;
/// The caller in tokens of the command line: anybody who has the keys can use them.
const TOKEN_CALLER: &str = "command line";

/// Answers a request.
pub(super) fn answer(
    (path, model): (&Path, &Model),
    request: &QueryRequest,
    args: &AnswerArgs,
    out: &Output,
) -> anyhow::Result<ExitCode> {
    if out.json && args.output.is_some() {
        bail!("`--json` prints the whole answer as one document, `--output` prints items: use one of them");
    }
    let checked = request::checked(model, request)?;
    let tokens = Tokens::new(path, request)?;
    let from = tokens.open(request)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (plan, answer) = runtime.block_on(async {
        let client = client(&settings(args.endpoint.as_deref())?).await;
        let known = KnownReadiness::new(&args.control);
        let readiness = known.of(&client, model, checked.table).await.map_err(Refusal::of)?;
        let plan = request::planned(&checked, &readiness)?;
        let answer = read(&client, checked.table, &plan, from, args).await?;
        anyhow::Ok((plan, answer))
    })?;
    let token = tokens.seal(answer.next.as_ref())?;
    if out.json {
        return whole(&plan, &answer, token, args, out);
    }
    show((checked.table, &plan), &answer, token, args, out)?;
    Ok(ExitCode::SUCCESS)
}

/// Reads one page, or with `--all` all pages, as one answer.
async fn read(
    client: &Client,
    table: &Table,
    plan: &QueryPlan,
    mut from: Option<Position>,
    args: &AnswerArgs,
) -> anyhow::Result<Answer> {
    let options = RunOptions { read_units_max: args.read_units_max, ..RunOptions::default() };
    let mut whole: Option<Answer> = None;
    loop {
        let page = run_plan(client, table, plan, from.as_ref(), &options).await.map_err(Refusal::of)?;
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
        keys.open(token, &self.binding, now_seconds()).map(Some).map_err(Refusal::of)
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

/// The whole answer as one document.
fn whole(
    plan: &QueryPlan,
    answer: &Answer,
    token: Option<String>,
    args: &AnswerArgs,
    out: &Output,
) -> anyhow::Result<ExitCode> {
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
    out.value(&value)?;
    Ok(ExitCode::SUCCESS)
}

/// The items in the form that was asked for. What is said besides goes where it does not mix with lines for programs.
fn show(
    (table, plan): (&Table, &QueryPlan),
    answer: &Answer,
    token: Option<String>,
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
        out.text(items::text(form, &names, &answer.items)?);
    }
    let more = if answer.next.is_some() { ", and there are more" } else { "" };
    say(format!(
        "{} items{more}; {} read units, {} items read, {} requests\n",
        answer.count, answer.consumed_read_units, answer.items_read, answer.requests
    ));
    match (token, &answer.next) {
        (Some(token), _) => say(format!("next page: --page {token}\n")),
        (None, Some(_)) => {
            say("use --all to read all pages, or set KEYFOLD_TOKEN_KEYS to get page tokens\n".to_owned());
        }
        (None, None) => {}
    }
    Ok(())
}
