//! `keyfold fold`: an item with its folded keys, and its entry in each index.

use std::path::Path;
use std::process::ExitCode;

use keyfold_core::index::{Entry, changes, item_bytes};
use keyfold_core::model::Table;
use keyfold_core::value::Item;
use serde_json::{Value, json};

use crate::args::FoldArgs;
use crate::items::{plain, plain_value, read_item};
use crate::manifest_file::{model, table};
use crate::output::{Output, columns};

pub(super) fn run(path: &Path, args: &FoldArgs, out: &Output) -> anyhow::Result<ExitCode> {
    let model = model(path, out)?;
    let table = table(&model, &args.table)?;
    let item = read_item(table, &args.item)?;
    let item = match &args.entity {
        Some(entity) => table.as_entity(item, entity)?,
        None => item,
    };
    let stored = table.with_keys(item)?;
    if out.json {
        out.value(&as_json(table, &stored))?;
    } else {
        out.text(as_text(table, &stored)?);
    }
    Ok(ExitCode::SUCCESS)
}

fn as_json(table: &Table, stored: &Item) -> Value {
    let entries: Vec<Value> = table
        .indexes
        .iter()
        .map(|index| match index.entry(table, stored) {
            Entry::In(entry) => json!({
                "index": index.name,
                "entry": plain(&entry),
                "storageBytes": index.entry_storage_bytes(table, stored),
            }),
            Entry::Absent(why) => json!({ "index": index.name, "absent": why.to_string() }),
        })
        .collect();
    let write = changes(table, None, Some(stored));
    json!({
        "item": plain(stored),
        "bytes": item_bytes(stored),
        "writeUnits": write.total().to_string(),
        "indexes": entries,
    })
}

fn as_text(table: &Table, stored: &Item) -> anyhow::Result<String> {
    let mut text = serde_json::to_string_pretty(&plain(stored))?;
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
                Entry::Absent(why) => format!("not in it: {why}"),
                Entry::In(entry) => index
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
