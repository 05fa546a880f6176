//! Items: JSON lines, a list, or the output of Scan or Query; in DynamoDB's notation or plain.

use keyfold_core::json::{self, Bounds};
use keyfold_core::value::{AttributeValue, Item, Number};
use serde_json::Value;

use crate::cursor::At;
use crate::draft::{Draft, SampledItem, TableDraft};
use crate::error::{Problem, ReadError};

/// Maximum items of one source.
pub const ITEMS_MAX: usize = 20_000;
/// Is it an item in DynamoDB's notation?
pub(crate) fn is_typed(value: &Value) -> bool {
    json::is_typed(&value.to_string()).unwrap_or_default()
}

/// One item.
pub(crate) fn read_item(at: &At<'_>) -> Result<Item, ReadError> {
    let text = at.value.to_string();
    let item = match json::is_typed(&text) {
        Ok(true) => json::read_item(&text).ok(),
        Ok(false) => match json::read_plain(&text, Bounds::DEFAULT) {
            Ok(AttributeValue::M(members)) if !members.is_empty() => Some(members.into()),
            _ => None,
        },
        Err(_) => None,
    };
    with_numbers(item.ok_or_else(|| at.error(Problem::NotAnItem))?, at)
}

/// The item, if each of its numbers is one: the notation has them as text.
pub(crate) fn with_numbers(item: Item, at: &At<'_>) -> Result<Item, ReadError> {
    fn is_valid(value: &AttributeValue) -> bool {
        let is_number = |text: &String| text.parse::<Number>().is_ok();
        match value {
            AttributeValue::N(text) => is_number(text),
            AttributeValue::Ns(texts) => texts.iter().all(is_number),
            AttributeValue::L(list) => list.iter().all(is_valid),
            AttributeValue::M(members) => members.values().all(is_valid),
            _ => true,
        }
    }
    match item.iter().find(|(_, value)| !is_valid(value)) {
        Some((name, _)) => Err(at.error(Problem::NotANumber(name.to_string()))),
        None => Ok(item),
    }
}

/// The items of a list.
pub(crate) fn read_list<'a>(
    elements: impl Iterator<Item = At<'a>>,
    source: &str,
) -> Result<Draft, ReadError> {
    let mut items = Vec::new();
    for at in elements.take(ITEMS_MAX) {
        items.push(SampledItem { item: read_item(&at)?, entity: None });
    }
    Ok(of(items, source))
}

/// JSON lines. The text has at least one line.
pub(crate) fn read_lines(text: &str, source: &str) -> Result<Draft, ReadError> {
    let mut items = Vec::new();
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    for (number, line) in lines.take(ITEMS_MAX) {
        let place = || format!("line {}", number + 1);
        let value: Value = serde_json::from_str(line).map_err(|error| ReadError {
            source_name: source.to_owned(),
            place: place(),
            problem: Problem::Syntax(syntax(&error)),
        })?;
        // `aws dynamodb export` wraps each item.
        let inner = value.get("Item").filter(|item| is_typed(item)).unwrap_or(&value);
        let at = At { source, value: inner, path: place() };
        items.push(SampledItem { item: read_item(&at)?, entity: None });
    }
    Ok(of(items, source))
}

fn of(items: Vec<SampledItem>, source: &str) -> Draft {
    let table = TableDraft { source: source.to_owned(), items, ..TableDraft::default() };
    Draft { tables: vec![table], notes: Vec::new() }
}

/// The JSON parser's message without the text.
pub(crate) fn syntax(error: &serde_json::Error) -> String {
    let what = match error.classify() {
        serde_json::error::Category::Eof => "the JSON ends too early",
        _ => "it is not JSON",
    };
    format!("{what} (line {}, column {})", error.line(), error.column())
}
