//! Python, as typed dictionaries: for mypy and pyright.

use keyfold_core::model::AttributeKind;
use keyfold_core::value::AttributeValue;
use serde_json::json;

use super::shape::{Field, Record, TableShape, pascal};

pub(super) fn write(tables: &[TableShape]) -> String {
    let mut text = "\"\"\"Written by `keyfold types --lang python`.\"\"\"\n\n\
                    import sys\n\
                    from decimal import Decimal\n\
                    from typing import Any, Dict, List, Literal, Set, TypedDict, Union\n\n\
                    if sys.version_info >= (3, 11):\n\
                    \x20   from typing import NotRequired\n\
                    else:\n\
                    \x20   from typing_extensions import NotRequired\n\n\
                    Number = Union[int, Decimal]\n"
        .to_owned();
    for table in tables {
        text.extend(table.records().map(dictionary));
        if table.items.len() > 1 {
            let names: Vec<&str> = table.items.iter().map(|item| item.name.as_str()).collect();
            text.push_str(&format!("\n{}Item = Union[{}]\n", pascal(&table.id), names.join(", ")));
        }
    }
    text
}

fn dictionary(record: &Record) -> String {
    let fields = record.fields.iter().map(|field| {
        let kind = kind(field);
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

fn kind(field: &Field) -> String {
    let texts: Option<Vec<String>> =
        field.values.as_ref().and_then(|values| values.iter().map(literal).collect());
    let one = match texts {
        Some(texts) => format!("Literal[{}]", texts.join(", ")),
        None => match field.kind {
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
        .to_owned(),
    };
    if field.many { format!("List[{one}]") } else { one }
}

/// A literal of a type checker: texts and whole numbers.
fn literal(value: &AttributeValue) -> Option<String> {
    match value {
        AttributeValue::S(text) => Some(json!(text).to_string()),
        AttributeValue::N(digits) => digits.parse::<i64>().ok().map(|number| number.to_string()),
        _ => None,
    }
}
