//! `keyfold fold`: an item with its folded keys, and its entry in each index.

use std::process::ExitCode;

use keyfold_core::index::{changes, item_bytes};
use keyfold_core::model::Table;
use keyfold_core::value::Item;
use keyfold_edge::{plain_item, plain_value};
use serde_json::{Value, json};

use crate::globals::Globals;
use crate::items::{of_entity, read_item};
use crate::manifest_file::{model, table};
use crate::output::{Output, columns};

#[derive(Debug, clap::Args)]
pub(crate) struct FoldArgs {
    /// The table's name in the manifest or in DynamoDB.
    #[arg(long, short, value_name = "TABLE")]
    pub(crate) table: String,
    /// The item's entity [default: found from the item's attributes].
    #[arg(long, short, value_name = "ENTITY")]
    pub(crate) entity: Option<String>,
    /// The item as plain JSON or in DynamoDB's JSON notation; `-` reads standard input.
    #[arg(long, short, value_name = "JSON")]
    pub(crate) item: String,
}

pub(super) fn run(globals: &Globals, args: &FoldArgs, out: &Output) -> anyhow::Result<ExitCode> {
    let model = model(&globals.manifest, out)?;
    let table = table(&model, &args.table)?;
    let item = read_item(table, &args.item)?;
    let stored = table.with_keys(of_entity(table, item, args.entity.as_deref())?)?;
    out.show(&as_json(table, &stored), as_text(table, &stored)?)?;
    Ok(ExitCode::SUCCESS)
}

fn as_json(table: &Table, stored: &Item) -> Value {
    let entries: Vec<Value> = table
        .indexes
        .iter()
        .map(|index| match index.entry(table, stored) {
            Ok(entry) => json!({
                "index": index.name,
                "entry": plain_item(&entry),
                "storageBytes": index.entry_storage_bytes(table, stored),
            }),
            Err(why) => json!({ "index": index.name, "absent": why.to_string() }),
        })
        .collect();
    let write = changes(table, None, Some(stored));
    json!({
        "item": plain_item(stored),
        "bytes": item_bytes(stored),
        "writeUnits": write.total().to_string(),
        "indexes": entries,
    })
}

fn as_text(table: &Table, stored: &Item) -> anyhow::Result<String> {
    let mut text = serde_json::to_string_pretty(&plain_item(stored))?;
    let write = changes(table, None, Some(stored));
    text.push_str(&format!(
        "\n\n{} bytes; writing it as a new item costs {} write units\n",
        item_bytes(stored),
        write.total()
    ));
    let rows: Vec<Vec<String>> = table
        .indexes
        .iter()
        .map(|index| {
            let what = match index.entry(table, stored) {
                Err(why) => format!("not in it: {why}"),
                Ok(entry) => index
                    .key_attributes()
                    .filter_map(|key| {
                        entry.get(&key.name).map(|value| format!("{} = {}", key.name, plain_value(value)))
                    })
                    .collect::<Vec<_>>()
                    .join(", "),
            };
            vec![format!("index {}", index.name), what]
        })
        .collect();
    text.push_str(&columns(&rows));
    Ok(text)
}
