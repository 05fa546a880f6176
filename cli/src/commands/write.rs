//! `keyfold put`, `update` and `delete`: one item, with its folded keys.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use keyfold_core::index::ItemError;
use keyfold_core::model::Table;
use keyfold_core::value::{AttributeValue, Item};
use keyfold_core::write::value_of_json;
use keyfold_dynamo::{
    Client, Consumed, DynamoError, Expected, Update, WriteError, client, delete as delete_item,
    put as put_item, put_new, update as update_item,
};
use serde_json::json;

use super::{explained, on_this_thread, settings};
use crate::args::{DeleteArgs, PutArgs, UpdateArgs};
use crate::items::{plain, read_item};
use crate::manifest_file::{model, table};
use crate::output::Output;
use crate::refusal::coded;

pub(super) fn put(path: &Path, args: &PutArgs, out: &Output) -> anyhow::Result<ExitCode> {
    let model = model(path, out)?;
    let table = table(&model, &args.table)?;
    let item = of_entity(table, read_item(table, &args.item)?, args.entity.as_deref())?;
    table.check_names(item.keys(), &item).map_err(bad_item)?;
    on_this_thread(async {
        let client = connect(args.endpoint.as_deref()).await?;
        let written = match args.replace {
            true => put_item(&client, table, item).await,
            false => put_new(&client, table, item).await,
        };
        let consumed = written.map_err(|error| failed(table, error, "item-exists"))?;
        said(out, table, "wrote", &consumed)
    })
}

pub(super) fn update(path: &Path, args: &UpdateArgs, out: &Output) -> anyhow::Result<ExitCode> {
    let model = model(path, out)?;
    let table = table(&model, &args.table)?;
    let key = key(table, &args.key)?;
    let mut change = Update::new().expecting(expected(table, &args.conditions)?).reading();
    for text in &args.set {
        let (name, value) = assignment(table, text)?;
        change = change.set(name, value);
    }
    for name in &args.remove {
        change = change.remove(name);
    }
    on_this_thread(async {
        let client = connect(args.endpoint.as_deref()).await?;
        let updated = update_item(&client, table, &key, &change).await.map_err(|error| {
            let (code, hint) = (error.code(), error.hint());
            explained(error, code, hint)
        })?;
        said(out, table, "updated", &updated.consumed)
    })
}

pub(super) fn delete(path: &Path, args: &DeleteArgs, out: &Output) -> anyhow::Result<ExitCode> {
    let model = model(path, out)?;
    let table = table(&model, &args.table)?;
    let (key, expected) = (key(table, &args.key)?, expected(table, &args.conditions)?);
    on_this_thread(async {
        let client = connect(args.endpoint.as_deref()).await?;
        let deleted = delete_item(&client, table, &key, &expected).await;
        let deleted = deleted.map_err(|error| failed(table, error, "expectation-failed"))?;
        match (out.json, &deleted.item) {
            (true, item) => out.value(&json!({
                "table": table.name, "deleted": item.is_some(), "item": item.as_ref().map(plain),
                "units": deleted.consumed.units,
            }))?,
            (false, Some(_)) => return said(out, table, "deleted", &deleted.consumed),
            (false, None) => out.text(format!("table `{}` has no item with this key\n", table.name)),
        }
        Ok(ExitCode::SUCCESS)
    })
}

async fn connect(endpoint: Option<&str>) -> anyhow::Result<Client> {
    Ok(client(&settings(endpoint)?).await)
}

/// The item, with the attribute that says which entity it is.
pub(super) fn of_entity(table: &Table, item: Item, entity: Option<&str>) -> anyhow::Result<Item> {
    Ok(match entity {
        Some(entity) => table.as_entity(item, entity).map_err(bad_item)?,
        None => item,
    })
}

/// An item that cannot be written.
fn bad_item(error: ItemError) -> anyhow::Error {
    let (code, hint) = (error.code(), error.hint());
    explained(error, code, hint)
}

fn said(out: &Output, table: &Table, done: &str, consumed: &Consumed) -> anyhow::Result<ExitCode> {
    match out.json {
        true => out.value(&json!({ "table": table.name, "done": done, "units": consumed.units }))?,
        false => {
            out.text(format!(
                "{done} an item of table `{}` ({} capacity units)\n",
                table.name, consumed.units
            ));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// A condition that does not hold has one meaning for each command.
fn failed(table: &Table, error: WriteError, refused: &'static str) -> anyhow::Error {
    if let WriteError::Dynamo(DynamoError::ConditionFailed { item, .. }) = &error {
        let name = &table.id;
        let (code, text) = match (refused, item.reveal()) {
            ("item-exists", _) => (
                refused,
                format!(
                    "table `{name}` has an item with this key\nhint: `--replace` writes over it; `keyfold update` changes a part of it"
                ),
            ),
            (_, None) => ("item-not-found", format!("table `{name}` has no item with this key")),
            (_, Some(_)) => {
                (refused, format!("the item of table `{name}` is not as expected; it was left as it is"))
            }
        };
        return coded(code, &text);
    }
    let (code, hint) = (error.code(), error.hint());
    explained(error, code, hint)
}

fn key(table: &Table, texts: &[String]) -> anyhow::Result<Item> {
    let pairs = texts.iter().map(|text| assignment(table, text)).collect::<anyhow::Result<Vec<_>>>()?;
    Ok(pairs.into_iter().collect::<std::collections::HashMap<_, _>>().into())
}

/// What the item must be: `name=value`, `name:=JSON`, or `name!?` for an attribute that must be absent.
fn expected(table: &Table, texts: &[String]) -> anyhow::Result<Expected> {
    texts.iter().try_fold(Expected::nothing(), |expected, text| {
        if let Some(name) = text.strip_suffix("!?") {
            return Ok(expected.absent(name));
        }
        let (name, value) = assignment(table, text)?;
        Ok(expected.value(name, value))
    })
}

/// `name=value`, by the attribute's declared type, a text where none is; `name:=JSON` for everything else.
fn assignment(table: &Table, text: &str) -> anyhow::Result<(String, AttributeValue)> {
    use keyfold_core::model::AttributeKind::{Boolean, Date, Number, String, Timestamp};
    let (name, value) = text
        .split_once('=')
        .with_context(|| "an attribute has no value: write `name=value`, or `name:=JSON` for other types")?;
    if let Some(name) = name.strip_suffix(':') {
        let value = value_of_json(table, name, value).with_context(|| format!("attribute `{name}`"))?;
        return Ok((name.to_owned(), value));
    }
    let typed = match table.attributes.get(name).map(|attribute| attribute.kind) {
        Some(Number) => AttributeValue::N(value.to_owned()),
        Some(Boolean) => AttributeValue::Bool(
            value.parse().with_context(|| format!("attribute `{name}` is `true` or `false`"))?,
        ),
        Some(String | Timestamp(_) | Date) | None => AttributeValue::S(value.to_owned()),
        Some(_) => anyhow::bail!("attribute `{name}` is not a plain value: write `{name}:=JSON`"),
    };
    Ok((name.to_owned(), typed))
}
