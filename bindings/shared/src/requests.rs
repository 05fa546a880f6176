//! Requests as DynamoDB's API has them, and its responses.

use std::collections::BTreeMap;

use keyfold_core::execute::{
    BatchGet, Brought, Consumed, Fetch, Got, PAGE_ITEMS_MAX, Page, PageRequest, PageSource, Read,
};
use keyfold_core::model::Table;
use keyfold_core::value::{AttributeValue, Item};
use keyfold_core::write::{Action, Guard, WriteExpressions};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::failure::Failure;

/// What was given, read as what is wanted.
pub(crate) fn read<T: DeserializeOwned>(what: &str, text: &str) -> Result<T, Failure> {
    // Serde's words can quote values; where it stopped is enough to find the place.
    serde_json::from_str(text).map_err(|error| {
        Failure::call(format_args!(
            "{what} cannot be read, at line {} column {}",
            error.line(),
            error.column()
        ))
    })
}

/// As JSON.
pub(crate) fn text(value: &impl Serialize) -> String {
    match serde_json::to_string(value) {
        Ok(text) => text,
        Err(_) => unreachable!("what this crate writes has texts for names and no infinite numbers"),
    }
}

fn put_some(input: &mut Map<String, Value>, name: &str, value: Option<impl Serialize>) {
    if let Some(value) = value {
        input.insert(name.to_owned(), json!(value));
    }
}

fn put_filled<T: Serialize>(input: &mut Map<String, Value>, name: &str, map: &BTreeMap<String, T>) {
    if !map.is_empty() {
        input.insert(name.to_owned(), json!(map));
    }
}

/// The input of PutItem, UpdateItem or DeleteItem, without the item of a put: the package has that already.
pub(crate) fn write(table: &Table, action: &Action, guard: Option<&Guard>) -> Map<String, Value> {
    let expressions = WriteExpressions::of(table, action, guard);
    let mut input = Map::new();
    input.insert("TableName".to_owned(), json!(table.name));
    if let Action::Update { key, .. } | Action::Delete(key) = action {
        input.insert("Key".to_owned(), json!(sorted(key)));
    }
    put_some(&mut input, "UpdateExpression", expressions.update);
    put_some(&mut input, "ConditionExpression", expressions.condition);
    put_filled(&mut input, "ExpressionAttributeNames", &expressions.names);
    put_filled(&mut input, "ExpressionAttributeValues", &expressions.values);
    if guard.is_some() {
        input.insert("ReturnValuesOnConditionCheckFailure".to_owned(), json!("ALL_OLD"));
    }
    input
}

/// The input of GetItem, with strong consistency.
pub(crate) fn get(table: &str, key: &Item) -> Value {
    json!({ "TableName": table, "Key": sorted(key), "ConsistentRead": true, "ReturnConsumedCapacity": "TOTAL" })
}

/// An item with its attributes in order: the same item is the same text.
pub(crate) fn sorted(item: &Item) -> BTreeMap<&String, &AttributeValue> {
    item.iter().collect()
}

/// The input of Query or Scan, without start and limit.
pub(crate) fn page(source: &PageSource) -> (&'static str, Map<String, Value>) {
    let mut input = Map::new();
    let (operation, page) = match source {
        PageSource::Query(query) => {
            input.insert("KeyConditionExpression".to_owned(), json!(query.key_condition));
            input.insert("ScanIndexForward".to_owned(), json!(query.forward));
            ("Query", &query.page)
        }
        PageSource::Scan(scan) => ("Scan", &scan.page),
    };
    let PageRequest { table, index, filter, names, values, fetch, consistent, .. } = page;
    input.insert("TableName".to_owned(), json!(table));
    put_some(&mut input, "IndexName", index.as_ref());
    put_some(&mut input, "FilterExpression", filter.as_ref());
    match fetch {
        Fetch::All => put_some(&mut input, "Select", Some("ALL_ATTRIBUTES")),
        Fetch::Count => put_some(&mut input, "Select", Some("COUNT")),
        Fetch::Expression(projection) => put_some(&mut input, "ProjectionExpression", Some(projection)),
        Fetch::Projected => {}
    }
    put_filled(&mut input, "ExpressionAttributeNames", names);
    put_filled(&mut input, "ExpressionAttributeValues", values);
    input.insert("ConsistentRead".to_owned(), json!(consistent));
    input.insert("ReturnConsumedCapacity".to_owned(), json!("TOTAL"));
    (operation, input)
}

/// The operation and the input of a read.
pub(crate) fn operation(read: &Read) -> (&'static str, Value) {
    match read {
        Read::Page { source, start, items } => {
            let (operation, mut input) = page(source);
            put_some(&mut input, "ExclusiveStartKey", start.as_ref().map(sorted));
            input.insert("Limit".to_owned(), json!((*items).clamp(1, PAGE_ITEMS_MAX)));
            (operation, Value::Object(input))
        }
        Read::Items(batch) => ("BatchGetItem", batch_get(batch)),
    }
}

fn batch_get(batch: &BatchGet) -> Value {
    let mut keys = Map::new();
    keys.insert("Keys".to_owned(), batch.keys.iter().map(|key| json!(sorted(key))).collect());
    put_some(&mut keys, "ProjectionExpression", batch.projection.as_ref());
    put_filled(&mut keys, "ExpressionAttributeNames", &batch.names);
    keys.insert("ConsistentRead".to_owned(), json!(batch.consistent));
    json!({ "RequestItems": { batch.table.as_str(): keys }, "ReturnConsumedCapacity": "TOTAL" })
}

/// What a read brought, as a package tells it.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Response {
    /// The items that came.
    items: Vec<Item>,
    /// How many passed the filter.
    count: u64,
    /// How many were read.
    scanned: u64,
    /// The `LastEvaluatedKey`.
    last_key: Option<Item>,
    /// The read units.
    units: f64,
    /// How many calls it took.
    calls: u32,
}

impl Response {
    pub(crate) fn brought(self, operation: &str) -> Brought {
        let consumed = Consumed { units: self.units, ..Consumed::default() };
        if operation == "BatchGetItem" {
            return Brought::Items(Got { items: self.items, consumed });
        }
        let last_key = self.last_key.filter(|key| !key.is_empty());
        let Response { items, count, scanned, calls, .. } = self;
        Brought::Page { page: Page { items, count, scanned, last_key, consumed }, calls: calls.max(1) }
    }
}
