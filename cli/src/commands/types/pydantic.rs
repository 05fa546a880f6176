//! Pydantic: a model for each kind of item; keys and parameters stay dictionaries, because their names need not be identifiers.

use serde_json::json;

use super::python::{dictionary, kind, tokens, union};
use super::shape::{Record, TableShape};

const START: &str = "\"\"\"Written by `keyfold types --lang pydantic`.\"\"\"

from decimal import Decimal
from typing import Any, Dict, List, Literal, Optional, Set, Union

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter
from typing_extensions import NotRequired, TypedDict

from keyfold import Question, Table

Number = Union[int, Decimal]
";

pub(super) fn write(tables: &[TableShape]) -> String {
    let mut text = START.to_owned();
    for table in tables {
        let (models, dictionaries): (Vec<&Record>, Vec<&Record>) =
            table.records().partition(|record| table.is_of_items(record));
        text.extend(models.into_iter().map(model));
        text.extend(dictionaries.into_iter().map(dictionary));
        for (name, records) in table.unions() {
            text.push_str(&union(&name, records.iter().map(|record| record.name.as_str())));
        }
        text.push_str(&tokens(table, "TypeAdapter(", ").validate_python"));
    }
    text
}

fn model(record: &Record) -> String {
    let mut text = format!(
        "\n\nclass {}(BaseModel):\n    model_config = ConfigDict(extra=\"allow\", populate_by_name=True)\n\n",
        record.name
    );
    for field in &record.fields {
        let (name, kind) = (identifier(&field.name), kind(&field.kind));
        let kind = if field.optional { format!("Optional[{kind}]") } else { kind };
        let alias = format!("alias={}", json!(field.name));
        let default = match (field.optional, name == field.name) {
            (false, true) => String::new(),
            (true, true) => " = None".to_owned(),
            (false, false) => format!(" = Field({alias})"),
            (true, false) => format!(" = Field(default=None, {alias})"),
        };
        text.push_str(&format!("    {name}: {kind}{default}\n"));
    }
    text
}

/// Words that no field can be called.
const WORDS: [&str; 37] = [
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def",
    "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is",
    "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while", "with", "yield", "copy",
    "json",
];

/// A name as a field's name. Pydantic has methods that begin with `model_`, and no fields that begin with `_`.
fn identifier(name: &str) -> String {
    let text: String =
        name.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '_' }).collect();
    let is_odd = text.starts_with(|letter: char| letter.is_ascii_digit() || letter == '_')
        || text.starts_with("model_");
    match WORDS.contains(&text.as_str()) {
        true => format!("{text}_"),
        false if is_odd => format!("a{text}"),
        false => text,
    }
}
