//! Writes random models, items, updates and requests with Rust's results, one JSON line each, as test vectors for the
//! packages in other languages: `cargo run -p keyfold-testkit --bin vectors -- FROM..TO`.

#![expect(clippy::print_stdout, reason = "this is a program for a terminal")]

use std::process::ExitCode;

use keyfold_core::model::Table;
use keyfold_core::query::check::Caller;
use keyfold_core::query::explain::explain;
use keyfold_core::query::{Readiness, check, plan};
use keyfold_core::value::{Item, Name};
use keyfold_core::write::{Update, UpdateRefusal, UpdateRequest, UpdateTask, WriteExpressions, primary_key};
use keyfold_testkit::case::{Case, seeds};
use serde_json::{Value, json};

fn main() -> ExitCode {
    let Some(seeds) = std::env::args().nth(1).and_then(|text| seeds(&text)) else {
        println!("give a range of seeds, `FROM..TO`");
        return ExitCode::from(2);
    };
    for seed in seeds {
        println!("{}", vector(&Case::new(seed)));
    }
    ExitCode::SUCCESS
}

fn vector(case: &Case) -> Value {
    let table = case.table();
    let items: Vec<&Item> = case.items.iter().filter_map(|item| item.seen.as_ref()).collect();
    let updates: Vec<Value> = items.windows(2).filter_map(|pair| update(table, pair[0], pair[1])).collect();
    json!({
        "seed": case.seed,
        "manifest": case.manifest,
        "table": table.id,
        "items": items.iter().map(|item| written(table, item)).collect::<Vec<_>>(),
        "updates": updates,
        "request": case.asking.request,
        "plan": planned(case),
    })
}

/// The item as written, its key and its entries; or the code of the refusal.
fn written(table: &Table, item: &Item) -> Value {
    let stored = match table.written(item.clone()) {
        Ok(stored) => stored,
        Err(error) => return json!({ "item": item, "code": error.code(), "message": error.to_string() }),
    };
    let key = primary_key(table, item).map_or_else(|error| json!(error.code()), |key| json!(&key));
    let entries: Vec<Value> = table
        .indexes
        .iter()
        .map(|index| match index.entry(table, &stored) {
            Ok(entry) => json!({ "index": index.name, "entry": entry }),
            Err(why) => json!({ "index": index.name, "absent": why.to_string() }),
        })
        .collect();
    json!({ "item": item, "stored": stored, "key": key, "entries": entries })
}

/// An update that gives one attribute of the item the value that it has in another one.
fn update(table: &Table, item: &Item, other: &Item) -> Option<Value> {
    let stored = table.written(item.clone()).ok()?;
    let key = table.key_of(&stored)?;
    let mut names: Vec<&str> = other
        .keys()
        .map(Name::as_str)
        .filter(|name| !stored.contains_key(*name) || item.get(*name) != other.get(*name))
        .collect();
    names.sort();
    let name = names.first()?;
    let change = Update::new().set(*name, other[*name].clone());
    let shown = |task: Result<UpdateTask<&Table>, UpdateRefusal>| match task {
        Ok(task) => sent(table, &task),
        Err(error) => json!({ "code": error.code(), "message": error.to_string() }),
    };
    let read = || {
        let mut task = UpdateTask::new(table, &key, change.clone().reading())?;
        if matches!(task.request(), UpdateRequest::Read(_)) {
            task.was_read(Some(stored.clone()))?;
        }
        Ok(task)
    };
    Some(json!({
        "key": &key,
        "set": { *name: other[*name] },
        "stored": stored,
        "unread": shown(UpdateTask::new(table, &key, change.clone())),
        "read": shown(read()),
    }))
}

fn sent(table: &Table, task: &UpdateTask<&Table>) -> Value {
    let UpdateRequest::Write(action, guard) = task.request() else { return json!("read") };
    let sent = WriteExpressions::of(table, action, Some(guard));
    json!({
        "UpdateExpression": sent.update,
        "ConditionExpression": sent.condition,
        "ExpressionAttributeNames": sent.names,
        "ExpressionAttributeValues": sent.values,
    })
}

fn planned(case: &Case) -> Value {
    let request = &case.asking.request;
    let checked = match check(&case.model, request, &Caller::Trusted) {
        Ok(checked) => checked,
        Err(error) => return json!({ "code": error.code(), "message": error.to_string() }),
    };
    match plan(&checked, &Readiness::complete()) {
        Ok(plan) => json!(explain(&plan)),
        Err(error) => json!({ "code": error.code(), "message": error.to_string() }),
    }
}
