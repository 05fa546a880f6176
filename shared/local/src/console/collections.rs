//! Entries, grouped by partition key and in the order of the sort key.

use std::cmp::Ordering;

use keyfold_core::model::{KeyAttribute, Table};
use keyfold_core::value::{AttributeValue, Item, compare};
use serde_json::{Value, json};

/// The item collections of these entries, in the order of their keys.
pub(super) fn of(
    table: &Table,
    partition: &[&KeyAttribute],
    sort: &[&KeyAttribute],
    mut items: Vec<Item>,
) -> Vec<Value> {
    let own: Vec<&KeyAttribute> = table.key_attributes().collect();
    // An index may hold several entries with the same key; the table's own key makes their order stable.
    let order =
        |a: &Item, b: &Item| by(partition, a, b).then_with(|| by(sort, a, b)).then_with(|| by(&own, a, b));
    items.sort_by(order);
    let same = |a: &Item, b: &Item| by(partition, a, b) == Ordering::Equal;
    items
        .chunk_by(same)
        .map(|entries| {
            let key: Vec<Option<&AttributeValue>> =
                partition.iter().map(|key| entries[0].get(&key.name)).collect();
            json!({ "key": key, "entries": entries })
        })
        .collect()
}

fn by(keys: &[&KeyAttribute], a: &Item, b: &Item) -> Ordering {
    let one = |key: &&KeyAttribute| match (a.get(&key.name), b.get(&key.name)) {
        (Some(a), Some(b)) => compare(a, b).unwrap_or(Ordering::Equal),
        (a, b) => a.is_some().cmp(&b.is_some()),
    };
    keys.iter().map(one).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
}

#[cfg(test)]
mod tests {
    use keyfold_core::manifest;

    use super::*;

    const MANIFEST: &str = r#"
        [tables.things]
        partition = "p"
        sort = "s"
        attributes = { p = "string", s = "number" }
    "#;

    #[test]
    fn collections_and_their_entries_are_in_dynamodbs_order() {
        let model = manifest::parse("keyfold.toml", MANIFEST).model.unwrap();
        let table = &model.tables[0];
        let item = |p: &str, s: &str| -> Item {
            serde_json::from_value(json!({ "p": { "S": p }, "s": { "N": s } })).unwrap()
        };
        let items =
            ["10", "9", "-1", "1e1"].iter().zip(["b", "b", "b", "a"]).map(|(s, p)| item(p, s)).collect();
        let found = of(table, &[&table.partition], &[table.sort.as_ref().unwrap()], items);
        let shown: Vec<String> = found
            .iter()
            .map(|collection| {
                let sorts = collection["entries"].as_array().unwrap().iter();
                let sorts: Vec<&str> = sorts.map(|entry| entry["s"]["N"].as_str().unwrap()).collect();
                format!("{}: {}", collection["key"][0]["S"].as_str().unwrap(), sorts.join(" "))
            })
            .collect();
        assert_eq!(shown, ["a: 1e1", "b: -1 9 10"]);
    }
}
