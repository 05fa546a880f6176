//! The demo's set-up: an embedded DynamoDB with the sample's tables, and the commands of `keyfold retrofit` on it.

use std::process::ExitCode;
use std::sync::PoisonError;

use anyhow::{Context, ensure};
use clap::Parser;
use futures_util::stream;
use keyfold_core::manifest;
use keyfold_core::model::{Model, Table};
use keyfold_core::query::{QueryRequest, Readiness};
use keyfold_core::value::Item;
use keyfold_dynamo::{
    Answer, Client, PageRequest, RunOptions, ScanPage, TableOptions, enable_stream, load, run as run_plan,
    scan_page,
};
use keyfold_local::{CONTROL_TABLE, EmbeddedDynamo};
use serde_json::Value;

use super::events::{answers, event, question};
use crate::commands::retrofit::{self, RetrofitCommand};
use crate::globals::{Env, Globals};
use crate::output::Output;
use crate::request;

/// The sample that the root of the repository holds.
const MANIFEST: &str = include_str!("../../../keyfold.toml");

/// The size of the sample from which costs are estimated.
const SAMPLE_ITEMS: usize = 500;

/// The arguments of a command that the demo runs.
#[derive(Debug, Parser)]
struct Line {
    #[command(flatten)]
    globals: Globals,
    #[command(subcommand)]
    command: RetrofitCommand,
}

/// The sample's tables on an embedded DynamoDB.
pub(super) struct Stage {
    pub(super) model: Model,
    pub(super) server: EmbeddedDynamo,
    pub(super) client: Client,
    /// The retrofit's name in the manifest.
    pub(super) retrofit: &'static str,
    /// The table with the events, as programs without folded keys know it.
    pub(super) source: Table,
    /// The table whose index will answer the question.
    pub(super) target: Table,
    /// How many of the first events answer the question.
    pub(super) answers_at_first: usize,
}

impl Stage {
    /// Creates an old table with this many events, and a new one; in place, only the new one, with events that lack their keys.
    pub(super) async fn set(items: u32, in_place: bool) -> anyhow::Result<Stage> {
        let model =
            manifest::parse("keyfold.toml", MANIFEST).model.context("the built-in sample has mistakes")?;
        let table =
            |id: &str| model.table(id).cloned().with_context(|| format!("the sample has no table `{id}`"));
        let target = table("audit")?;
        let (retrofit, old) = if in_place { ("auditInPlace", "audit") } else { ("auditV2", "audit-legacy") };
        let source = Table { indexes: Vec::new(), ..table(old)? };
        let server = EmbeddedDynamo::memory()?;
        let client = server.client();
        server.create_tables([&table(old)?, &target], TableOptions::default()).await?;
        let mut answers_at_first = 0;
        let events = (0..items).map(|number| event(number, number));
        let counted = events.inspect(|event| answers_at_first += usize::from(answers(event)));
        load(&client, &source, stream::iter(counted)).await?;
        enable_stream(&client, &source).await?;
        Ok(Stage { model, server, client, retrofit, source, target, answers_at_first })
    }

    /// The answer to the question.
    pub(super) async fn ask(&self) -> anyhow::Result<Answer> {
        self.ask_of(&self.model, &question()?).await
    }

    /// The same question without any index: a scan with a filter.
    pub(super) async fn ask_by_scan(&self) -> anyhow::Result<Answer> {
        let mut without = self.model.clone();
        without.tables.iter_mut().for_each(|table| table.indexes.clear());
        let request = QueryRequest { scan: true, count: true, order: Vec::new(), ..question()? };
        self.ask_of(&without, &request).await
    }

    /// The same question over an index by one attribute, with a filter for the rest.
    pub(super) async fn ask_by_filter(&self) -> anyhow::Result<Answer> {
        let mut without = self.model.clone();
        for table in &mut without.tables {
            table.indexes.retain(|index| index.name != "byResourceActionUser");
        }
        self.ask_of(&without, &question()?).await
    }

    async fn ask_of(&self, model: &Model, request: &QueryRequest) -> anyhow::Result<Answer> {
        let checked = request::checked(model, request)?;
        let plan = request::planned(&checked, &Readiness::complete())?;
        Ok(run_plan(&self.client, checked.table, &plan, None, &RunOptions::default()).await?)
    }

    /// Some events of the source, from which costs are estimated.
    pub(super) async fn sample(&self) -> anyhow::Result<Vec<Item>> {
        let mut items = Pages::of(&self.client, &self.source.name).next().await?.unwrap_or_default();
        items.truncate(SAMPLE_ITEMS);
        Ok(items)
    }

    /// Runs `keyfold retrofit ...` as in a terminal, and returns the JSON that it prints.
    pub(super) async fn retrofit(&self, arguments: &[&str], out: &Output) -> anyhow::Result<Value> {
        let endpoint = ["--endpoint", self.server.endpoint(), "--control", CONTROL_TABLE];
        let line = ["retrofit"].into_iter().chain(arguments.iter().copied()).chain(endpoint);
        let line = Line::try_parse_from(line)?;
        let (collecting, values) = out.collecting();
        let env = Env { model: &self.model, globals: &line.globals, out: &collecting };
        let code = retrofit::run_command(&env, &line.command).await?;
        ensure!(code == ExitCode::SUCCESS, "`keyfold retrofit {}` failed", arguments.join(" "));
        let value = values.lock().unwrap_or_else(PoisonError::into_inner).pop();
        value.context("the command printed nothing")
    }
}

/// The pages of a table, strongly consistent, read in a plain loop.
pub(super) struct Pages<'c> {
    client: &'c Client,
    next: Option<PageRequest>,
}

impl<'c> Pages<'c> {
    /// From the table's beginning.
    pub(super) fn of(client: &'c Client, table: &str) -> Pages<'c> {
        let next = PageRequest { table: table.to_owned(), consistent: true, ..PageRequest::default() };
        Pages { client, next: Some(next) }
    }

    /// The next page; `None` after the last.
    pub(super) async fn next(&mut self) -> anyhow::Result<Option<Vec<Item>>> {
        let Some(page) = self.next.take() else { return Ok(None) };
        let scan = ScanPage { page, segment: None };
        let read = scan_page(self.client, &scan).await?;
        if read.last_key.is_some() {
            self.next = Some(PageRequest { start_key: read.last_key, ..scan.page });
        }
        Ok(Some(read.items))
    }
}
