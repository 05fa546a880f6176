//! `keyfold unfold`: splits a folded key into its parts.

use std::process::ExitCode;

use anyhow::{bail, ensure};
use keyfold_core::key::Unfolded;
use keyfold_core::model::{FoldRule, Index, KeyAttribute, KeySource, Table};
use keyfold_edge::plain_value;
use serde_json::{Map, Value, json};

use crate::globals::Globals;
use crate::manifest_file::{model, table};
use crate::output::{Output, columns, row};

#[derive(Debug, clap::Args)]
pub(crate) struct UnfoldArgs {
    /// The table's name in the manifest or in DynamoDB.
    #[arg(long, short, value_name = "TABLE")]
    pub(crate) table: String,
    /// The index that the key belongs to [default: the table].
    #[arg(long, value_name = "INDEX")]
    pub(crate) index: Option<String>,
    /// The folded attribute, if several could have this key.
    #[arg(long, value_name = "ATTRIBUTE")]
    pub(crate) attribute: Option<String>,
    /// The key.
    pub(crate) key: String,
}

pub(super) fn run(globals: &Globals, args: &UnfoldArgs, out: &Output) -> anyhow::Result<ExitCode> {
    let model = model(&globals.manifest, out)?;
    let table = table(&model, &args.table)?;
    let keys = folded_keys(table, args)?;
    let mut why = Vec::new();
    for (key, rule) in &keys {
        match rule.template.unfold(&args.key) {
            Err(error) => why.push(format!("{} = \"{}\": {error}", key.name, rule.template.text())),
            Ok(parts) => {
                let entity = rule.entity.map(|entity| table.entities[entity.0].name.as_str());
                show(key, entity, rule, &parts, out)?;
                return Ok(ExitCode::SUCCESS);
            }
        }
    }
    bail!("the key does not match any template:\n  {}", why.join("\n  "))
}

/// The folded keys that could have this value, with each of their rules.
fn folded_keys<'m>(
    table: &'m Table,
    args: &UnfoldArgs,
) -> anyhow::Result<Vec<(&'m KeyAttribute, &'m FoldRule)>> {
    let keys: Vec<&KeyAttribute> = match &args.index {
        None => table.key_attributes().chain(table.indexes.iter().flat_map(Index::key_attributes)).collect(),
        Some(name) => match table.index(name) {
            Some(index) => index.key_attributes().collect(),
            None => bail!("table `{}` has no index `{name}`", table.id),
        },
    };
    let mut rules: Vec<(&KeyAttribute, &FoldRule)> = Vec::new();
    for key in keys.into_iter().filter(|key| args.attribute.as_ref().is_none_or(|wanted| *wanted == key.name))
    {
        let KeySource::Folded(all) = &key.source else { continue };
        if !rules.iter().any(|(other, _)| other.name == key.name) {
            rules.extend(all.iter().map(|rule| (key, rule)));
        }
    }
    ensure!(!rules.is_empty(), "there is no folded key here: a natural key is an attribute and has no parts");
    Ok(rules)
}

fn show(
    key: &KeyAttribute,
    entity: Option<&str>,
    rule: &FoldRule,
    parts: &[(&str, Unfolded)],
    out: &Output,
) -> anyhow::Result<()> {
    let template = rule.template.text();
    let by_name: Map<String, Value> =
        parts.iter().map(|(name, part)| ((*name).to_owned(), part_json(part))).collect();
    let mut rows = vec![row(&key.name, template)];
    rows.extend(entity.map(|entity| row("entity", entity)));
    rows.extend(parts.iter().map(|(name, part)| row(&format!("  {name}"), part_text(part))));
    let value = json!({ "attribute": key.name, "entity": entity, "template": template, "parts": by_name });
    out.show(&value, columns(&rows))
}

fn part_json(part: &Unfolded) -> Value {
    match part {
        Unfolded::Value(value) => plain_value(value),
        Unfolded::Lossy(text) => json!({ "lossy": text }),
        Unfolded::Shard(number) => json!({ "shard": number }),
        Unfolded::Absent => Value::Null,
    }
}

fn part_text(part: &Unfolded) -> String {
    match part {
        Unfolded::Value(value) => plain_value(value).to_string(),
        Unfolded::Lossy(text) => format!("{text:?} (the key does not keep the letter case)"),
        Unfolded::Shard(number) => format!("shard {number}"),
        Unfolded::Absent => "absent".to_owned(),
    }
}
