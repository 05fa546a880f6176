//! `keyfold ask` and `keyfold query`: a question of the manifest or a request, and its answer.

use std::process::ExitCode;

use anyhow::{Context, bail};
use keyfold_core::model::{Model, Question, QuestionCondition, Table};
use keyfold_core::query::question::{self, Params, param_name};
use keyfold_edge::Problem;
use serde_json::{Value, json};

use crate::answer::{AnswerArgs, answer};
use crate::globals::Globals;
use crate::manifest_file::model;
use crate::output::{Output, columns};
use crate::refusal::Refusal;
use crate::request::{self, RequestArgs};

#[derive(Debug, clap::Args)]
pub(crate) struct QueryArgs {
    #[command(flatten)]
    request: RequestArgs,
    #[command(flatten)]
    answer: AnswerArgs,
}

#[derive(Debug, clap::Args)]
pub(crate) struct AskArgs {
    /// The question's name [default: list all questions].
    #[arg(value_name = "QUESTION")]
    question: Option<String>,
    /// The question's parameters.
    #[arg(value_name = "NAME=VALUE")]
    params: Vec<String>,
    /// The question's table, if several tables have a question of that name.
    #[arg(long, short, value_name = "TABLE")]
    table: Option<String>,
    #[command(flatten)]
    answer: AnswerArgs,
}

pub(super) fn query(globals: &Globals, args: &QueryArgs, out: &Output) -> anyhow::Result<ExitCode> {
    let model = model(&globals.manifest, out)?;
    let request = request::read(&model, &args.request)?;
    answer(globals, &model, &request, &args.answer, out)
}

pub(super) fn ask(globals: &Globals, args: &AskArgs, out: &Output) -> anyhow::Result<ExitCode> {
    let model = model(&globals.manifest, out)?;
    let Some(name) = &args.question else {
        list(&model, out)?;
        return Ok(ExitCode::SUCCESS);
    };
    let (table, question) = find(&model, args.table.as_deref(), name)?;
    let request = question::request(table, question, params(&args.params)?).map_err(Refusal::of)?;
    answer(globals, &model, &request, &args.answer, out)
}

/// Prints every question: its table, its name, its parameters.
fn list(model: &Model, out: &Output) -> anyhow::Result<()> {
    let row = |table: &Table, question: &Question| {
        let param = |condition: &QuestionCondition| match condition.optional {
            true => format!("[{}=]", param_name(condition)),
            false => format!("{}=", param_name(condition)),
        };
        let params: Vec<String> = question.parameters().iter().map(param).collect();
        vec![table.id.clone(), question.name.clone(), params.join(" ")]
    };
    let of_table = |table| model.questions_of(table).map(move |question| row(table, question));
    let rows: Vec<_> = model.tables.iter().flat_map(of_table).collect();
    let entry = |row: &Vec<String>| json!({ "table": row[0], "question": row[1], "parameters": row[2] });
    out.show(&Value::Array(rows.iter().map(entry).collect()), columns(&rows))
}

/// The question of this name: of the given table, or of the only one that has it.
fn find<'m>(model: &'m Model, table: Option<&str>, name: &str) -> anyhow::Result<(&'m Table, &'m Question)> {
    if let Some(table) = table {
        return question::find(model, table, name).map_err(Refusal::of);
    }
    let questions: Vec<_> =
        model.tables.iter().filter_map(|table| question::find(model, &table.id, name).ok()).collect();
    match questions.as_slice() {
        [only] => Ok(*only),
        [] => Err(Refusal::of(
            Problem::new(404, "unknown-question", format!("no table has a question `{name}`"))
                .hint("`keyfold ask` lists all questions"),
        )),
        several => {
            let tables: Vec<&str> = several.iter().map(|(table, _)| table.id.as_str()).collect();
            bail!("tables {} have a question `{name}`\nhint: name one with `--table`", tables.join(", "))
        }
    }
}

fn params(texts: &[String]) -> anyhow::Result<Params> {
    let pair = |text: &String| {
        let (name, value) = text.split_once('=').with_context(|| format!("`{text}` is not `name=value`"))?;
        anyhow::Ok((name.trim().to_owned(), value.to_owned()))
    };
    texts.iter().map(pair).collect()
}
