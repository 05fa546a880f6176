//! One item by its key, as DynamoDB stores it, with the stored and the expected value of each key.

use keyfold_core::condition::{Comparison, Condition, Path};
use keyfold_core::index::item_bytes;
use keyfold_core::model::{Index, KeyAttribute, KeySource, Table};
use keyfold_core::query::check::find_table;
use keyfold_core::query::expression::ConditionExpression;
use keyfold_core::query::own;
use keyfold_core::value::{AttributeValue, Item, Name};
use keyfold_dynamo::{PageRequest, QueryPage, query_page};
use keyfold_edge::Problem;
use keyfold_query_api::Api;
use serde_json::{Value, json};

/// The item with this key: its key attributes in DynamoDB's JSON, or the attributes that its key is folded from.
pub(super) async fn read(api: &Api, table: &str, key: &str) -> Result<Value, Problem> {
    let table = find_table(api.model(), table)?;
    let key = key_of(table, key)?;
    let is = |(name, value): (&Name, &AttributeValue)| {
        Condition::Is(Path::attribute(name.as_str()), Comparison::Equal(value.clone()))
    };
    // A query instead of a read by key, so that the user's role needs only the permission to query.
    let condition = ConditionExpression::of(&Condition::All(key.iter().map(is).collect()));
    let page = PageRequest {
        table: table.name.clone(),
        names: condition.names,
        values: condition.values,
        consistent: true,
        ..PageRequest::default()
    };
    let query = QueryPage { page, key_condition: condition.text, forward: true };
    let found = query_page(api.client(), &query).await?;
    let item = found.items.into_iter().find(|item| !own::is_tombstone(item)).map(|mut item| {
        item.retain(|name, _| !own::is_own(name));
        item
    });
    Ok(json!({
        "table": table.id,
        "name": table.name,
        "key": key,
        "item": item,
        "bytes": item.as_ref().map(item_bytes),
        "places": item.as_ref().map(|item| places(table, item)),
        "misfit": item.as_ref().and_then(|item| table.folded(item).err()).map(|error| with_cause(&error)),
        "consumedReadUnits": found.consumed.units,
    }))
}

/// The primary key in DynamoDB's JSON: given key attributes, and folded ones from their attributes.
fn key_of(table: &Table, text: &str) -> Result<Item, Problem> {
    let given: Item = serde_json::from_str(text).map_err(|_| {
        Problem::malformed("the key must be an object in DynamoDB's JSON, such as {\"id\":{\"S\":\"e1\"}}")
    })?;
    if let Some(key) = table.key_of(&given) {
        return Ok(key);
    }
    let mut made = given.clone();
    if let Ok(folded) = table.folded(&given) {
        let folded =
            folded.into_iter().filter_map(|(name, text)| Some((name.to_owned(), AttributeValue::S(text?))));
        made.extend(folded);
    }
    table.key_of(&made).ok_or_else(|| {
        let names: Vec<&str> = table.key_attributes().map(|key| key.name.as_str()).collect();
        Problem::malformed(format!("this is not a key of table `{}`", table.id)).hint(format!(
            "give `{}` with the type that the manifest declares, or all that it is folded from",
            names.join("` and `")
        ))
    })
}

/// An error with its cause.
fn with_cause(error: &dyn std::error::Error) -> String {
    error.source().map_or_else(|| error.to_string(), |cause| format!("{error}: {cause}"))
}

/// The table and its indexes, each with its keys of this item.
fn places(table: &Table, item: &Item) -> Vec<Value> {
    let wanted = table.folded(item).ok();
    let own = std::iter::once(json!({
        "name": "table",
        "keys": table.key_attributes().map(|key| explained(key, item, wanted.as_deref())).collect::<Vec<_>>(),
    }));
    let index = |index: &Index| {
        json!({
            "name": index.name,
            "keys": index.key_attributes().map(|key| explained(key, item, wanted.as_deref())).collect::<Vec<_>>(),
            "absent": index.absence(item).map(|absence| absence.to_string()),
        })
    };
    own.chain(table.indexes.iter().map(index)).collect()
}

/// A key attribute: its stored value, and, if it is folded, whether the value is correct.
fn explained(key: &KeyAttribute, item: &Item, wanted: Option<&[(&str, Option<String>)]>) -> Value {
    let stored = item.get(&key.name);
    let wanted = wanted.and_then(|all| all.iter().find(|(name, _)| *name == key.name)).map(|(_, text)| text);
    let is_right = wanted.map(|wanted| match (stored, wanted) {
        (Some(AttributeValue::S(stored)), Some(wanted)) => stored == wanted,
        (None, None) => true,
        _ => false,
    });
    json!({ "attribute": key.name, "stored": stored, "folded": key.source != KeySource::Natural, "wanted": wanted, "right": is_right })
}
