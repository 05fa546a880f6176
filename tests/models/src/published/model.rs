//! A published table as a model of ours: by a manifest whose keys are all natural.

use std::collections::BTreeMap;
use std::fmt::Write;

use keyfold_core::manifest;
use keyfold_core::model::Model;
use keyfold_core::value::type_letter;

use super::Unknown;
use crate::case::Case;

/// The published table as a model whose keys are all natural.
pub(super) fn model(case: &Case) -> Result<Model, Unknown> {
    let text = manifest_text(case);
    let parsed = manifest::parse("published", &text);
    parsed.model.ok_or_else(|| {
        let first = parsed.diagnostics.first().map(|diagnostic| diagnostic.message.clone());
        format!("the published table cannot be made: {}", first.unwrap_or_default())
    })
}

fn manifest_text(case: &Case) -> String {
    let table = &case.table;
    let mut text = String::new();
    // Writing to a text cannot fail.
    let _ = writeln!(text, "[tables.published]\nname = {}", quoted(&table.name));
    keys(&mut text, &table.partition, &table.sort);
    text.push_str("[tables.published.attributes]\n");
    for (name, letter) in types(case) {
        let _ = writeln!(text, "{} = \"{}\"", quoted(name), kind(letter));
    }
    for index in &table.indexes {
        let _ = writeln!(text, "[tables.published.indexes.{}]", quoted(&index.name));
        if index.local {
            text.push_str("type = \"local\"\n");
            keys(&mut text, &[], &index.sort);
        } else {
            keys(&mut text, &index.partition, &index.sort);
        }
        let _ = match index.holds.as_deref() {
            None => writeln!(text, "projection = \"all\""),
            Some([]) => writeln!(text, "projection = \"keys-only\""),
            Some(names) => writeln!(text, "projection = {}", list(names)),
        };
    }
    text
}

/// The types of all attributes that a key or a projection names.
fn types(case: &Case) -> BTreeMap<&str, &str> {
    let of_items = |name: &str| case.items.iter().find_map(|item| item.get(name)).map_or("S", type_letter);
    let held = case.table.indexes.iter().flat_map(|index| index.holds.iter().flatten());
    let mut types: BTreeMap<&str, &str> = held.map(|name| (name.as_str(), of_items(name))).collect();
    types.extend(case.table.types.iter().map(|(name, letter)| (name.as_str(), letter.as_str())));
    types
}

/// What the manifest calls a type.
fn kind(letter: &str) -> &'static str {
    match letter {
        "N" => "number",
        "B" => "binary",
        "BOOL" => "boolean",
        "L" => "list",
        "M" => "map",
        "SS" => "string-set",
        "NS" => "number-set",
        "BS" => "binary-set",
        _ => "string",
    }
}

fn keys(text: &mut String, partition: &[String], sort: &[String]) {
    for (field, names) in [("partition", partition), ("sort", sort)] {
        let _ = match names {
            [] => Ok(()),
            [one] => writeln!(text, "{field} = {{ attribute = {} }}", quoted(one)),
            several => writeln!(text, "{field} = {}", list(several)),
        };
    }
}

fn list(names: &[String]) -> String {
    format!("[{}]", names.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", "))
}

/// A JSON text is a TOML text too.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
