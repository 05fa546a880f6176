//! Requests and responses in the form of DynamoDB's API.

use std::collections::BTreeMap;
use std::{fmt, iter};

use keyfold_core::execute::{
    BatchGet, BatchItems, Consumed, Fetch, HANDLE, PAGE_ITEMS_MAX, Page, PageRequest, PageSource, Read,
    ReadResponse,
};
use keyfold_core::model::Table;
use keyfold_core::value::{AttributeValue, Item, Name};
use keyfold_core::write::{Action, Guard, WriteExpressions};
use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeOwned, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};

use crate::failure::Failure;

/// Parses an argument. The error names the field, and never shows a value.
pub(crate) fn read<T: DeserializeOwned>(what: &str, text: &str) -> Result<T, Failure> {
    serde_json::from_str(text).map_err(|error| unreadable::<T>(what, text, &error))
}

/// The text is parsed again to find the field, so that readable texts do not pay for following each path.
#[cold]
#[inline(never)]
fn unreadable<T: DeserializeOwned>(what: &str, text: &str, error: &serde_json::Error) -> Failure {
    let mut json = serde_json::Deserializer::from_str(text);
    let path = match serde_path_to_error::deserialize::<_, T>(&mut json) {
        Err(error) => error.path().to_string(),
        Ok(_) => ".".to_owned(),
    };
    let field = if path == "." { String::new() } else { format!(" at `{path}`") };
    Failure::call(format_args!("{what} cannot be read{field}: {}", reason(error)))
}

/// Serde's message without values: a field's name, or what was expected.
fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let text = text.rsplit_once(" at line ").map_or(text.as_str(), |(text, _)| text);
    let is_of_names =
        ["unknown field", "missing field", "duplicate field"].iter().any(|start| text.starts_with(start));
    match text.rsplit_once(", expected ") {
        _ if is_of_names => text.to_owned(),
        Some((_, expected)) if error.is_data() => format!("expected {expected}"),
        _ => format!("line {} column {}", error.line(), error.column()),
    }
}

/// The input of PutItem, UpdateItem or DeleteItem, without the item of a put: the package has that already.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct WriteInput<'a> {
    table_name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<&'a Item>,
    #[serde(skip_serializing_if = "Option::is_none")]
    update_expression: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    condition_expression: Option<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    expression_attribute_names: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    expression_attribute_values: BTreeMap<String, AttributeValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    return_values_on_condition_check_failure: Option<&'static str>,
}

/// The input of a write.
pub(crate) fn write<'a>(table: &'a Table, action: &'a Action, guard: Option<&Guard>) -> WriteInput<'a> {
    write_with(table, action, guard, WriteExpressions::of(table, action, guard))
}

/// The input of a write with these expressions.
pub(crate) fn write_with<'a>(
    table: &'a Table,
    action: &'a Action,
    guard: Option<&Guard>,
    expressions: WriteExpressions,
) -> WriteInput<'a> {
    WriteInput {
        table_name: &table.name,
        key: match action {
            Action::Update { key, .. } => Some(key),
            Action::Delete(key) => Some(key),
            Action::Put(_) => None,
        },
        update_expression: expressions.update,
        condition_expression: expressions.condition,
        expression_attribute_names: expressions.names,
        expression_attribute_values: expressions.values,
        return_values_on_condition_check_failure: guard.map(|_| "ALL_OLD"),
    }
}

/// The input of GetItem, with strong consistency.
pub(crate) fn get(table: &str, key: &Item) -> Value {
    json!({ "TableName": table, "Key": key, "ConsistentRead": true, "ReturnConsumedCapacity": "TOTAL" })
}

/// A read: its operation and its input.
#[derive(Serialize)]
pub(crate) struct Sent<'a> {
    pub(crate) operation: &'static str,
    input: ReadInput<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum ReadInput<'a> {
    Page(Box<PageInput<'a>>),
    Batch(BatchInput<'a>),
}

/// The input of Query or Scan.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct PageInput<'a> {
    table_name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    index_name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key_condition_expression: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scan_index_forward: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    filter_expression: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    select: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    projection_expression: Option<&'a str>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    expression_attribute_names: &'a BTreeMap<String, String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    expression_attribute_values: &'a BTreeMap<String, AttributeValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    exclusive_start_key: Option<&'a Item>,
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<u32>,
    consistent_read: bool,
    return_consumed_capacity: &'static str,
}

/// The input of BatchGetItem.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct BatchInput<'a> {
    request_items: BTreeMap<&'a str, BatchKeys<'a>>,
    return_consumed_capacity: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct BatchKeys<'a> {
    keys: &'a [Item],
    #[serde(skip_serializing_if = "Option::is_none")]
    projection_expression: Option<&'a str>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    expression_attribute_names: &'a BTreeMap<String, String>,
    consistent_read: bool,
}

impl<'a> Sent<'a> {
    /// A read of a run.
    pub(crate) fn of(read: &'a Read) -> Sent<'a> {
        match read {
            Read::Page { source, start, items } => Sent::page(source, Some((start.as_ref(), *items))),
            Read::Items(batch) => Sent::batch(batch),
        }
    }

    /// A page of this source: its start key and its limit.
    pub(crate) fn page(source: &'a PageSource, from: Option<(Option<&'a Item>, u32)>) -> Sent<'a> {
        let (operation, query, page) = match source {
            PageSource::Query(query) => ("Query", Some(query), &query.page),
            PageSource::Scan(scan) => ("Scan", None, &scan.page),
        };
        let PageRequest { table, index, filter, names, values, fetch, consistent, .. } = page;
        let input = PageInput {
            table_name: table,
            index_name: index.as_deref(),
            key_condition_expression: query.map(|query| query.key_condition.as_str()),
            scan_index_forward: query.map(|query| query.forward),
            filter_expression: filter.as_deref(),
            select: match fetch {
                Fetch::All => Some("ALL_ATTRIBUTES"),
                Fetch::Count => Some("COUNT"),
                Fetch::Expression(_) | Fetch::Projected => None,
            },
            projection_expression: match fetch {
                Fetch::Expression(projection) => Some(projection),
                Fetch::All | Fetch::Count | Fetch::Projected => None,
            },
            expression_attribute_names: names,
            expression_attribute_values: values,
            exclusive_start_key: from.and_then(|(start, _)| start),
            limit: from.map(|(_, items)| items.clamp(1, PAGE_ITEMS_MAX)),
            consistent_read: *consistent,
            return_consumed_capacity: "TOTAL",
        };
        Sent { operation, input: ReadInput::Page(Box::new(input)) }
    }

    fn batch(batch: &'a BatchGet) -> Sent<'a> {
        let keys = BatchKeys {
            keys: &batch.keys,
            projection_expression: batch.projection.as_deref(),
            expression_attribute_names: &batch.names,
            consistent_read: batch.consistent,
        };
        let request_items = BTreeMap::from([(batch.table.as_str(), keys)]);
        let input = BatchInput { request_items, return_consumed_capacity: "TOTAL" };
        Sent { operation: "BatchGetItem", input: ReadInput::Batch(input) }
    }
}

/// The response to a read, as a package passes it.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Response {
    /// The items that the package does not keep.
    items: Vec<Item>,
    /// The attributes in `looksAt` of each item that it keeps, in that order; `null` for an absent one.
    kept: Vec<Vec<Option<KeptValue>>>,
    /// The number of the first item that it keeps. The others follow.
    first: u64,
    /// The number that passed the filter.
    count: u64,
    /// The number that were read.
    scanned: u64,
    /// The `LastEvaluatedKey`.
    last_key: Option<Item>,
    /// The read units.
    units: f64,
    /// The number of calls.
    calls: u32,
}

/// A value of an item that the package keeps: a text stands for `{"S": text}`, because most values are texts.
#[derive(Debug)]
struct KeptValue(AttributeValue);

impl<'de> Deserialize<'de> for KeptValue {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<KeptValue, D::Error> {
        from.deserialize_any(KeptValueVisitor)
    }
}

struct KeptValueVisitor;

impl<'de> Visitor<'de> for KeptValueVisitor {
    type Value = KeptValue;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text or a value in DynamoDB's notation")
    }

    fn visit_str<E>(self, text: &str) -> Result<KeptValue, E> {
        Ok(KeptValue(AttributeValue::S(text.to_owned())))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<KeptValue, A::Error> {
        AttributeValue::deserialize(MapAccessDeserializer::new(map)).map(KeptValue)
    }
}

/// A value in DynamoDB's notation.
pub fn value(text: &str) -> Result<AttributeValue, Failure> {
    read("the value", text)
}

impl Response {
    /// The same with these values of the items that the package keeps.
    pub(crate) fn keeping(self, kept: Vec<Vec<Option<AttributeValue>>>) -> Response {
        let of_item = |values: Vec<Option<AttributeValue>>| {
            values.into_iter().map(|value| value.map(KeptValue)).collect()
        };
        Response { kept: kept.into_iter().map(of_item).collect(), ..self }
    }

    /// `looks_at`: the names of the attributes of items that the package keeps.
    pub(crate) fn brought(self, operation: &str, looks_at: &[Name]) -> ReadResponse {
        let Response { mut items, kept, first, count, scanned, last_key, units, calls } = self;
        let consumed = Consumed { units, ..Consumed::default() };
        items.extend(kept.into_iter().zip(first..).map(|(values, number)| {
            let handle = (Name::from(HANDLE), AttributeValue::N(number.to_string()));
            let values = looks_at.iter().zip(values);
            let known = values.filter_map(|(name, value)| Some((name.clone(), value?.0)));
            Item::from_iter(iter::once(handle).chain(known))
        }));
        if operation == "BatchGetItem" {
            return ReadResponse::Items(BatchItems { items, consumed });
        }
        let last_key = last_key.filter(|key| !key.is_empty());
        ReadResponse::Page { page: Page { items, count, scanned, last_key, consumed }, calls: calls.max(1) }
    }
}
