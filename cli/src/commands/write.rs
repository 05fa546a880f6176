//! `keyfold put`, `update` and `delete`: one item, with its folded keys.

use std::process::ExitCode;

use anyhow::Context;
use keyfold_core::model::Table;
use keyfold_core::value::{AttributeValue, Item};
use keyfold_core::write::value_of_json;
use keyfold_dynamo::{
    Consumed, DynamoError, Expected, Update, WriteError, delete as delete_item, put as put_item, put_new,
    update as update_item,
};
use keyfold_edge::plain_item;
use serde_json::json;

use crate::globals::Globals;
use crate::items::{of_entity, read_item};
use crate::manifest_file::{model, table};
use crate::output::Output;
use crate::refusal::{coded, explained};
use crate::support::block_on;

#[derive(Debug, clap::Args)]
pub(crate) struct PutArgs {
    /// The table's name in the manifest or in DynamoDB.
    pub(crate) table: String,
    /// The item as plain JSON or in DynamoDB's JSON notation; `-` reads standard input.
    pub(crate) item: String,
    #[command(flatten)]
    pub(crate) how: PutOptions,
}

/// How items are written.
#[derive(Debug, clap::Args)]
pub(crate) struct PutOptions {
    /// The entity of the items [default: found from each item's attributes].
    #[arg(long, short, value_name = "ENTITY")]
    pub(crate) entity: Option<String>,
    /// Overwrite existing items.
    #[arg(long)]
    pub(crate) replace: bool,
}

/// An item, and what must be true of it.
#[derive(Debug, clap::Args)]
pub(crate) struct KeyArgs {
    /// The table's name in the manifest or in DynamoDB.
    pub(crate) table: String,
    /// An attribute of the item's key, or one that the key is folded from.
    #[arg(long, value_name = "NAME=VALUE", required = true)]
    pub(crate) key: Vec<String>,
    /// The entity of the item [default: found from the attributes of `--key`].
    #[arg(long, short, value_name = "ENTITY")]
    pub(crate) entity: Option<String>,
    /// Only if the attribute has this value; NAME!? if it is absent.
    #[arg(long = "if", value_name = "NAME=VALUE")]
    pub(crate) conditions: Vec<String>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct UpdateArgs {
    #[command(flatten)]
    pub(crate) item: KeyArgs,
    /// An attribute and its new value.
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) set: Vec<String>,
    /// An attribute to remove.
    #[arg(long, value_name = "ATTRIBUTE")]
    pub(crate) remove: Vec<String>,
}

pub(super) fn put(globals: &Globals, args: &PutArgs, out: &Output) -> anyhow::Result<ExitCode> {
    let model = model(&globals.manifest, out)?;
    let table = table(&model, &args.table)?;
    let item = of_entity(table, read_item(table, &args.item)?, args.how.entity.as_deref())?;
    table.check_names(item.keys(), &item).map_err(explained)?;
    block_on(async {
        let client = globals.client().await?;
        let written = match args.how.replace {
            true => put_item(&client, table, item).await,
            false => put_new(&client, table, item).await,
        };
        let consumed = written.map_err(|error| failed(table, error, "item-exists"))?;
        report(out, table, "wrote", &consumed)
    })
}

pub(super) fn update(globals: &Globals, args: &UpdateArgs, out: &Output) -> anyhow::Result<ExitCode> {
    let model = model(&globals.manifest, out)?;
    let table = table(&model, &args.item.table)?;
    let (key, expected) = (key(table, &args.item)?, expected(table, &args.item.conditions)?);
    let mut change = Update::new().expecting(expected).reading();
    for text in &args.set {
        let (name, value) = assignment(table, text)?;
        change = change.set(name, value);
    }
    for name in &args.remove {
        change = change.remove(name);
    }
    block_on(async {
        let client = globals.client().await?;
        let updated = update_item(&client, table, &key, &change).await.map_err(explained)?;
        report(out, table, "updated", &updated.consumed)
    })
}

pub(super) fn delete(globals: &Globals, args: &KeyArgs, out: &Output) -> anyhow::Result<ExitCode> {
    let model = model(&globals.manifest, out)?;
    let table = table(&model, &args.table)?;
    let (key, expected) = (key(table, args)?, expected(table, &args.conditions)?);
    block_on(async {
        let client = globals.client().await?;
        let deleted = delete_item(&client, table, &key, &expected).await;
        let deleted = deleted.map_err(|error| failed(table, error, "expectation-failed"))?;
        match (out.json, &deleted.item) {
            (true, item) => out.value(&json!({
                "table": table.name, "deleted": item.is_some(), "item": item.as_ref().map(plain_item),
                "units": deleted.consumed.units,
            }))?,
            (false, Some(_)) => return report(out, table, "deleted", &deleted.consumed),
            (false, None) => out.text(format!("table `{}` has no item with this key\n", table.name)),
        }
        Ok(ExitCode::SUCCESS)
    })
}

fn report(out: &Output, table: &Table, done: &str, consumed: &Consumed) -> anyhow::Result<ExitCode> {
    let text = format!("{done} an item of table `{}` ({} capacity units)\n", table.name, consumed.units);
    out.show(&json!({ "table": table.name, "done": done, "units": consumed.units }), text)?;
    Ok(ExitCode::SUCCESS)
}

/// A condition that does not hold means something else in each command: `refused` is its code.
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
    explained(error)
}

fn key(table: &Table, args: &KeyArgs) -> anyhow::Result<Item> {
    let pairs = args.key.iter().map(|text| assignment(table, text)).collect::<anyhow::Result<Vec<_>>>()?;
    let key = pairs.into_iter().collect::<std::collections::HashMap<_, _>>().into();
    of_entity(table, key, args.entity.as_deref())
}

/// The conditions on the item: `name=value`, `name:=JSON`, or `name!?` for an attribute that must be absent.
fn expected(table: &Table, texts: &[String]) -> anyhow::Result<Expected> {
    texts.iter().try_fold(Expected::nothing(), |expected, text| {
        if let Some(name) = text.strip_suffix("!?") {
            return Ok(expected.absent(name));
        }
        let (name, value) = assignment(table, text)?;
        Ok(expected.value(name, value))
    })
}

/// `name=value`, by the attribute's declared type, a string if it is undeclared; `name:=JSON` for everything else.
fn assignment(table: &Table, text: &str) -> anyhow::Result<(String, AttributeValue)> {
    use keyfold_core::model::AttributeKind::{Boolean, Date, Number, String, Timestamp};
    let (name, value) = text
        .split_once('=')
        .with_context(|| "an attribute has no value: write `name=value`, or `name:=JSON` for other types")?;
    if let Some(name) = name.strip_suffix(':') {
        let value = value_of_json(table, name, value).with_context(|| format!("attribute `{name}`"))?;
        return Ok((name.to_owned(), value));
    }
    if table.mixed_type(&[], name).is_some() {
        anyhow::bail!("attribute `{name}` has different types in two entities: write `{name}:=JSON`");
    }
    let typed = match table.attributes.get(name).map(|attribute| attribute.kind) {
        Some(Number) => AttributeValue::N(value.to_owned()),
        Some(Boolean) => AttributeValue::Bool(
            value.parse().with_context(|| format!("attribute `{name}` must be `true` or `false`"))?,
        ),
        Some(String | Timestamp(_) | Date) | None => AttributeValue::S(value.to_owned()),
        Some(_) => anyhow::bail!("attribute `{name}` is not a plain value: write `{name}:=JSON`"),
    };
    Ok((name.to_owned(), typed))
}
