//! `keyfold ask`: a question of the manifest, with its parameters, and its answer.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, bail};
use keyfold_core::model::{Model, Question, QuestionCondition, Table};
use keyfold_core::query::question::{self, Params, param_name};
use keyfold_edge::Problem;
use serde_json::json;

use super::answer::answer;
use crate::args::AskArgs;
use crate::manifest_file::model;
use crate::output::{Output, columns};
use crate::refusal::Refusal;

pub(super) fn run(path: &Path, args: &AskArgs, out: &Output) -> anyhow::Result<ExitCode> {
    let model = model(path, out)?;
    let Some(name) = &args.question else {
        list(&model, out)?;
        return Ok(ExitCode::SUCCESS);
    };
    let (table, asked) = find(&model, args.table.as_deref(), name)?;
    let mut request = question::request(table, asked, params(&args.params)?).map_err(Refusal::of)?;
    request.page = args.answer.page.clone().or(request.page);
    answer((path, &model), &request, &args.answer, out)
}

fn list(model: &Model, out: &Output) -> anyhow::Result<()> {
    let known = known(model);
    if !out.json {
        out.text(columns(&known));
        return Ok(());
    }
    let shown = |row: &Vec<String>| json!({ "table": row[0], "question": row[1], "parameters": row[2] });
    out.value(&known.iter().map(shown).collect::<Vec<_>>())
}

/// Every question: its table, its name, its parameters.
fn known(model: &Model) -> Vec<Vec<String>> {
    let row = |table: &Table, asked: &Question| {
        let param = |condition: &QuestionCondition| match condition.optional {
            true => format!("[{}=]", param_name(condition)),
            false => format!("{}=", param_name(condition)),
        };
        let params: Vec<String> = asked.parameters().iter().map(param).collect();
        vec![table.id.clone(), asked.name.clone(), params.join(" ")]
    };
    let of = |table| model.questions_of(table).map(move |asked| row(table, asked));
    model.tables.iter().flat_map(of).collect()
}

/// The question of this name: of the table that is given, or of the only one that has it.
fn find<'m>(model: &'m Model, of: Option<&str>, name: &str) -> anyhow::Result<(&'m Table, &'m Question)> {
    if let Some(of) = of {
        return question::find(model, of, name).map_err(Refusal::of);
    }
    let found: Vec<_> =
        model.tables.iter().filter_map(|table| question::find(model, &table.id, name).ok()).collect();
    match found.as_slice() {
        [one] => Ok(*one),
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
