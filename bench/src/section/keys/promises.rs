//! What a key promises, by three ways of making it: the same values, and what becomes of them.

use std::collections::HashMap;

use anyhow::anyhow;
use keyfold_core::key::{KeyMode, KeyRole, Template};
use keyfold_core::model::{Attribute, AttributeKind};
use keyfold_core::value::{AttributeValue, Item};
use serde::Deserialize;
use serde_json::json;

use crate::peers::Node;
use crate::report::Table;

/// Two texts that belong together.
type KeyPair = [&'static str; 2];

/// Two pairs that a delimiter alone does not keep apart: by itself, and with ElectroDB's labels.
const DELIMITERS: [[KeyPair; 2]; 2] = [[["x#y", "z"], ["x", "y#z"]], [["x#b_y", "z"], ["x", "y#b_z"]]];
/// Two pairs that differ in the case of a letter.
const LETTERS: [KeyPair; 2] = [["X", "y"], ["x", "y"]];
/// In this order.
const NUMBERS: [&str; 2] = ["9", "10"];

/// The keys that one way makes.
#[derive(Debug, Deserialize)]
struct Keys {
    delimiters: [String; 2],
    letters: [String; 2],
    numbers: [String; 2],
    /// What is sent for a question that no index serves.
    unserved: String,
}

impl Keys {
    fn row(&self, name: &str) -> [String; 5] {
        let apart = |[one, other]: &[String; 2]| if one == other { "one key" } else { "two keys" };
        let order = if self.numbers[0] < self.numbers[1] { "in order" } else { "10 before 9" };
        let cells = [name, apart(&self.delimiters), apart(&self.letters), order, &self.unserved];
        cells.map(str::to_owned)
    }
}

/// All of them; without Node only ours and the join.
pub(super) fn table(node: Option<&Node>) -> anyhow::Result<Table> {
    let columns =
        ["", "two different pairs of texts", "`X` and `x`", "9 and 10", "a question that no index serves"];
    let mut table = Table::new("What a key keeps.", columns);
    table.row(joined().row("joined by a delimiter"));
    if let Some(node) = node {
        let pairs = json!({ "delimiters": DELIMITERS[1], "letters": LETTERS });
        let keys: Keys = serde_json::from_str(&node.keys(&pairs.to_string())?)?;
        table.row(keys.row("ElectroDB, as it comes"));
    }
    table.row(folded()?.row("fold"));
    Ok(table)
}

fn joined() -> Keys {
    let key = |[one, other]: KeyPair| format!("{one}#{other}");
    Keys {
        delimiters: DELIMITERS[0].map(key),
        letters: LETTERS.map(key),
        numbers: NUMBERS.map(str::to_owned),
        unserved: "what somebody wrote".to_owned(),
    }
}

fn folded() -> anyhow::Result<Keys> {
    let pair = |[one, other]: KeyPair| fold("{a}#{b}", &[("a", text(one)), ("b", text(other))]);
    let number = |number: &str| fold("{n:number}", &[("n", AttributeValue::N(number.to_owned()))]);
    let mut delimiters = Vec::new();
    for [one, other] in DELIMITERS {
        delimiters.push([pair(one)?, pair(other)?]);
    }
    // If two of them share a key, that is reported.
    let worst = delimiters.iter().position(|[one, other]| one == other).unwrap_or(0);
    Ok(Keys {
        delimiters: delimiters.swap_remove(worst),
        letters: [pair(LETTERS[0])?, pair(LETTERS[1])?],
        numbers: [number(NUMBERS[0])?, number(NUMBERS[1])?],
        unserved: "refused, with the index that would".to_owned(),
    })
}

fn text(text: &str) -> AttributeValue {
    AttributeValue::S(text.to_owned())
}

fn fold(template: &str, values: &[(&str, AttributeValue)]) -> anyhow::Result<String> {
    let kinds = [("a", AttributeKind::String), ("b", AttributeKind::String), ("n", AttributeKind::Number)];
    let attributes = kinds.map(|(name, kind)| (name.to_owned(), Attribute::new(name, kind))).into();
    let template = Template::parse(template, &attributes, KeyRole::Partition, KeyMode::Escaped)
        .map_err(|errors| anyhow!("the template has mistakes: {errors:?}"))?;
    let item: HashMap<String, AttributeValue> =
        values.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    let key = template.fold(&Item::from(item)).map_err(|error| anyhow!("no key: {error:?}"))?;
    key.ok_or_else(|| anyhow!("no key"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_join_mixes_up_what_a_fold_keeps_apart() {
        let table = table(None).unwrap();
        assert_eq!(table.rows[0][1..4], ["one key", "two keys", "10 before 9"]);
        assert_eq!(table.rows[1][1..4], ["two keys", "two keys", "in order"]);
    }
}
