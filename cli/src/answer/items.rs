//! Items as a table for people, or as lines for programs.

use keyfold_core::model::{Index, Table};
use keyfold_core::value::{AttributeValue, Item, Name};
use keyfold_edge::plain_value;
use serde_json::{Map, Value};

use crate::output::columns;

/// How items are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ItemForm {
    /// A table for people, its cells cut to 40 characters.
    Table,
    /// One JSON object on each line.
    Jsonl,
    /// Comma-separated values, with a line of names.
    Csv,
}

/// The widest cell of a printed table.
const CELL_CHARS_MAX: usize = 40;

/// Which attributes are shown.
pub(super) struct Columns<'a> {
    pub(super) table: &'a Table,
    /// The attributes of the request's `select`; `None` for all.
    pub(super) select: Option<&'a [String]>,
    /// Are folded keys shown too? They repeat the attributes that they are made of.
    pub(super) keys: bool,
}

impl Columns<'_> {
    /// The attributes in their order: the table's own key, other declared attributes, undeclared ones, folded keys.
    pub(super) fn of(&self, items: &[Item]) -> Vec<String> {
        if let Some(names) = self.select {
            return names.to_vec();
        }
        let mut names: Vec<&str> = items.iter().flat_map(|item| item.keys()).map(Name::as_str).collect();
        let key: Vec<&str> = self.table.key_attributes().map(|key| key.name.as_str()).collect();
        let rank = |name: &str| match (self.is_folded(name), key.iter().position(|known| *known == name)) {
            (true, _) => (3, 0),
            (false, Some(at)) => (0, at),
            (false, None) if self.table.attributes.contains_key(name) => (1, 0),
            (false, None) => (2, 0),
        };
        names.sort_by(|a, b| (rank(a), a).cmp(&(rank(b), b)));
        names.dedup();
        names.into_iter().filter(|name| self.keys || !self.is_folded(name)).map(str::to_owned).collect()
    }

    /// Is it a key that Keyfold folds, and no attribute that a writer sets?
    fn is_folded(&self, name: &str) -> bool {
        let indexes = self.table.indexes.iter().flat_map(Index::key_attributes);
        let is_key = self.table.key_attributes().chain(indexes).any(|key| key.name == name);
        is_key && !self.table.attributes.contains_key(name)
    }
}

/// The items in this form.
pub(super) fn text(form: ItemForm, names: &[String], items: &[Item]) -> anyhow::Result<String> {
    match form {
        ItemForm::Table if items.is_empty() => Ok(String::new()),
        ItemForm::Table => {
            let row = |item: &Item| {
                names.iter().map(|name| item.get(name).map_or_else(String::new, cell)).collect()
            };
            Ok(columns(&std::iter::once(names.to_vec()).chain(items.iter().map(row)).collect::<Vec<_>>()))
        }
        ItemForm::Jsonl => {
            let object = |item: &Item| -> Map<String, Value> {
                let member = |name: &String| Some((name.clone(), plain_value(item.get(name)?)));
                names.iter().filter_map(member).collect()
            };
            items.iter().map(|item| Ok(serde_json::to_string(&object(item))? + "\n")).collect()
        }
        ItemForm::Csv => {
            let mut writer = csv::Writer::from_writer(Vec::new());
            writer.write_record(names)?;
            for item in items {
                writer.write_record(
                    names.iter().map(|name| item.get(name).map_or_else(String::new, plain_text)),
                )?;
            }
            Ok(String::from_utf8(writer.into_inner()?)?)
        }
    }
}

/// A text as it is, anything else as JSON.
fn plain_text(value: &AttributeValue) -> String {
    match plain_value(value) {
        Value::String(text) => text,
        other => other.to_string(),
    }
}

fn cell(value: &AttributeValue) -> String {
    let text = plain_text(value);
    let text: String = text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
    if text.chars().count() <= CELL_CHARS_MAX {
        return text;
    }
    text.chars().take(CELL_CHARS_MAX - 1).chain(['…']).collect()
}
