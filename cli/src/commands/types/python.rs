//! Python, as typed dictionaries: for mypy and pyright. `Table` and `Question` of the package carry the types to its functions.

use keyfold_core::model::AttributeKind;
use keyfold_core::value::AttributeValue;
use serde_json::json;

use super::shape::{Kind, Record, TableShape};

const START: &str = "\"\"\"Written by `keyfold types --lang python`.\"\"\"

import sys
from decimal import Decimal
from typing import Any, Dict, List, Literal, Set, TypedDict, Union

from keyfold import Question, Table

if sys.version_info >= (3, 11):
    from typing import NotRequired
else:
    from typing_extensions import NotRequired

Number = Union[int, Decimal]
";

pub(super) fn write(tables: &[TableShape]) -> String {
    let mut text = START.to_owned();
    for table in tables {
        text.extend(table.records().map(dictionary));
        for (name, records) in table.unions() {
            text.push_str(&union(&name, records.iter().map(|record| record.name.as_str())));
        }
        text.push_str(&tokens(table, "", ""));
    }
    text
}

/// A union of records; nothing if it is one record of that name.
pub(super) fn union<'r>(name: &str, records: impl Iterator<Item = &'r str>) -> String {
    match records.collect::<Vec<_>>().as_slice() {
        [only] if *only == name => String::new(),
        several => format!("\n{name} = {}\n", any_of(several)),
    }
}

fn any_of(records: &[&str]) -> String {
    match records {
        [only] => (*only).to_owned(),
        several => format!("Union[{}]", several.join(", ")),
    }
}

/// The table and its questions as values that carry their types; `before` and `after` stand around the type in the argument
/// that makes items of dictionaries.
pub(super) fn tokens(table: &TableShape, before: &str, after: &str) -> String {
    let (id, name, upper) = (json!(table.id), table.name(), upper(&table.id));
    let maker = |of: &str| match before {
        "" => String::new(),
        _ => format!(", {before}{of}{after}"),
    };
    let item = format!("{name}Item");
    let mut text = format!("\n{upper}: Table[{item}, {name}Key] = Table({id}{})\n", maker(&item));
    for question in &table.questions {
        let (input, answer) = (&question.input.name, any_of(&question.answers()));
        text.push_str(&format!(
            "{upper}_{}: Question[{input}, {answer}] = Question({}{})\n",
            self::upper(question.name.rsplit('.').next().unwrap_or_default()),
            json!(question.name),
            maker(&answer),
        ));
    }
    text
}

pub(super) fn dictionary(record: &Record) -> String {
    let fields = record.fields.iter().map(|field| {
        let kind = kind(&field.kind);
        let kind = if field.optional { format!("NotRequired[{kind}]") } else { kind };
        format!("    {}: {kind},\n", json!(field.name))
    });
    format!(
        "\n{0} = TypedDict({1}, {{\n{2}}})\n",
        record.name,
        json!(record.name),
        fields.collect::<String>()
    )
}

pub(super) fn kind(of: &Kind) -> String {
    match of {
        Kind::Value(kind, values) => value(*kind, values.as_deref()),
        Kind::Many(kind, values) => format!("List[{}]", value(*kind, values.as_deref())),
        Kind::Any => "Any".to_owned(),
    }
}

fn value(kind: AttributeKind, values: Option<&[AttributeValue]>) -> String {
    let texts: Option<Vec<String>> = values.and_then(|values| values.iter().map(literal).collect());
    if let Some(texts) = texts {
        return format!("Literal[{}]", texts.join(", "));
    }
    match kind {
        AttributeKind::String | AttributeKind::Timestamp(_) | AttributeKind::Date => "str",
        AttributeKind::Number => "Number",
        AttributeKind::Binary => "bytes",
        AttributeKind::Boolean => "bool",
        AttributeKind::List => "List[Any]",
        AttributeKind::Map => "Dict[str, Any]",
        AttributeKind::StringSet => "Set[str]",
        AttributeKind::NumberSet => "Set[Number]",
        AttributeKind::BinarySet => "Set[bytes]",
    }
    .to_owned()
}

/// A literal of a type checker: texts and whole numbers.
fn literal(value: &AttributeValue) -> Option<String> {
    match value {
        AttributeValue::S(text) => Some(json!(text).to_string()),
        AttributeValue::N(digits) => digits.parse::<i64>().ok().map(|number| number.to_string()),
        _ => None,
    }
}

/// A name as a constant: `whatDidUserDo` becomes `WHAT_DID_USER_DO`.
fn upper(name: &str) -> String {
    let mut text = String::new();
    for letter in name.chars() {
        let is_boundary = letter.is_ascii_uppercase() || !letter.is_ascii_alphanumeric();
        if is_boundary && !text.is_empty() && !text.ends_with('_') {
            text.push('_');
        }
        if letter.is_ascii_alphanumeric() {
            text.push(letter.to_ascii_uppercase());
        }
    }
    if text.starts_with(|letter: char| letter.is_ascii_digit()) { format!("T{text}") } else { text }
}
