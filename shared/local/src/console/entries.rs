//! Some entries of a table or an index, as stored, by item collection.

use std::collections::BTreeMap;

use keyfold_core::index::item_bytes;
use keyfold_core::model::{Index, KeyAttribute, Table};
use keyfold_core::query::check::find_table;
use keyfold_core::query::own;
use keyfold_core::value::Item;
use keyfold_dynamo::{Client, DynamoError, PageRequest, ScanPage, scan_page};
use keyfold_edge::Problem;
use keyfold_query_api::Api;
use serde_json::{Value, json};

use super::collections;

/// Maximum displayed entries of a table or an index.
pub(super) const ENTRIES_MAX: u32 = 200;
/// After this many bytes of entries, no further page is read.
const ENTRIES_BYTES_MAX: u64 = 1024 * 1024;
/// Maximum pages read for one view: a page may be empty.
const PAGES_MAX: u32 = 8;

/// The first entries of a table or an index.
#[derive(Default)]
struct Held {
    items: Vec<Item>,
    /// The keys of tombstones.
    deleted: Vec<Item>,
    more: bool,
    /// The start of the next view, if there is more.
    next: Option<Item>,
    read_units: f64,
}

/// The contents of a table or an index. `from`: the key of the last displayed entry, in DynamoDB's JSON.
pub(super) async fn read(
    api: &Api,
    table: &str,
    index: Option<&str>,
    from: Option<&str>,
) -> Result<Value, Problem> {
    let (client, table) = (api.client(), find_table(api.model(), table)?);
    let index = index.map(|name| find_index(table, name)).transpose()?;
    let from = from.map(|text| start_key(table, index, text)).transpose()?;
    let is_first = from.is_none();
    let mut held = scan(client, table, index, from).await?;
    let mut read_units = held.read_units;
    let mut absent = None;
    if let Some(index) = index.filter(|_| is_first) {
        let whole = scan(client, table, None, None).await?;
        absent = Some(absent_of(index, &whole));
        held.leave_out(table, &whole.deleted);
        read_units += whole.read_units;
    }
    let (partition, sort): (Vec<&KeyAttribute>, Vec<&KeyAttribute>) = match index {
        Some(index) => (index.partition.iter().collect(), index.sort.iter().collect()),
        None => (vec![&table.partition], table.sort.iter().collect()),
    };
    Ok(json!({
        "table": table.id,
        "index": index.map(|index| &index.name),
        "partition": names(&partition),
        "sort": names(&sort),
        "entries": held.items.len(),
        "more": held.more,
        "next": held.next,
        "consumedReadUnits": read_units,
        "absent": absent,
        "collections": collections::of(table, &partition, &sort, held.items),
    }))
}

/// The number of the table's items that are not in the index, by reason.
fn absent_of(index: &Index, table: &Held) -> Value {
    let mut reasons = BTreeMap::<String, u64>::new();
    for absence in table.items.iter().filter_map(|item| index.absence(item)) {
        *reasons.entry(absence.to_string()).or_default() += 1;
    }
    let absent: u64 = reasons.values().sum();
    let reasons: Vec<Value> =
        reasons.into_iter().map(|(reason, items)| json!({ "reason": reason, "items": items })).collect();
    json!({ "items": table.items.len(), "absent": absent, "more": table.more, "reasons": reasons })
}

/// The exclusive start key after this entry: the index's key attributes and the table's.
fn position(table: &Table, index: Option<&Index>, entry: &Item) -> Item {
    let mut key = entry.clone();
    key.retain(|name, _| position_names(table, index).any(|key| key == name));
    key
}

fn position_names<'t>(table: &'t Table, index: Option<&'t Index>) -> impl Iterator<Item = &'t str> {
    let of_index = index.into_iter().flat_map(Index::key_attributes);
    of_index.chain(table.key_attributes()).map(|key| key.name.as_str())
}

/// The position from a previous view. DynamoDB would refuse one with other attributes.
fn start_key(table: &Table, index: Option<&Index>, text: &str) -> Result<Item, Problem> {
    let given: Item = serde_json::from_str(text).unwrap_or_default();
    let is_whole = position_names(table, index).all(|name| given.contains_key(name));
    match is_whole && position(table, index, &given).len() == given.len() {
        true => Ok(given),
        false => Err(Problem::malformed("`from` must be the position that the page before gave")),
    }
}

fn names<'a>(keys: &[&'a KeyAttribute]) -> Vec<&'a str> {
    keys.iter().map(|key| key.name.as_str()).collect()
}

fn find_index<'t>(table: &'t Table, name: &str) -> Result<&'t Index, Problem> {
    table.index(name).ok_or_else(|| {
        let known: Vec<&str> = table.indexes.iter().map(|index| index.name.as_str()).collect();
        let hint = (!known.is_empty()).then(|| format!("it has `{}`", known.join("`, `")));
        let detail = format!("table `{}` declares no index `{name}`", table.id);
        Problem::new(404, "index-not-declared", detail).maybe_hint(hint)
    })
}

impl Held {
    /// Adds a page, without Keyfold's own attributes.
    fn add(&mut self, table: &Table, items: Vec<Item>) {
        for mut item in items {
            if own::is_tombstone(&item) {
                self.deleted.extend(table.key_of(&item));
            } else {
                item.retain(|name, _| !own::is_own(name));
                self.items.push(item);
            }
        }
    }

    /// Removes the entries of tombstones: an index that does not contain their mark shows them as items.
    fn leave_out(&mut self, table: &Table, deleted: &[Item]) {
        self.items.retain(|item| table.key_of(item).is_none_or(|key| !deleted.contains(&key)));
    }
}

/// The first entries in DynamoDB's own order, in which item collections are contiguous. One more than displayed is
/// requested, to see whether there is more.
async fn scan(
    client: &Client,
    table: &Table,
    index: Option<&Index>,
    from: Option<Item>,
) -> Result<Held, DynamoError> {
    let most = ENTRIES_MAX as usize;
    let mut held = Held::default();
    let (mut bytes, mut start_key) = (0, from);
    for _ in 0..PAGES_MAX {
        let page = PageRequest {
            table: table.name.clone(),
            index: index.map(|index| index.name.clone()),
            limit: u32::try_from(most + 1 - held.items.len()).ok(),
            start_key,
            ..PageRequest::default()
        };
        let page = scan_page(client, &ScanPage { page, segment: None }).await?;
        held.read_units += page.consumed.units;
        bytes += page.items.iter().map(item_bytes).sum::<u64>();
        held.add(table, page.items);
        start_key = page.last_key;
        held.more = start_key.is_some();
        if !held.more || held.items.len() > most || bytes >= ENTRIES_BYTES_MAX {
            break;
        }
    }
    held.next = start_key;
    if held.items.len() > most {
        held.items.truncate(most);
        held.more = true;
        held.next = held.items.last().map(|last| position(table, index, last));
    }
    Ok(held)
}

#[cfg(test)]
mod tests {
    use keyfold_core::manifest;

    use super::*;

    #[test]
    fn what_a_retrofit_keeps_is_not_shown() {
        let text = "[tables.things]\npartition = \"id\"\nattributes = { id = \"string\" }\n";
        let table = &manifest::parse("keyfold.toml", text).model.unwrap().tables[0];
        let item = |value: Value| serde_json::from_value::<Item>(value).unwrap();
        let fence = json!({ "S": "1.2" });
        let kept = item(json!({ "id": { "S": "1" }, "keyfold_fence": fence }));
        let gone = item(
            json!({ "id": { "S": "2" }, "keyfold_fence": fence, "keyfold_tombstone": { "BOOL": true } }),
        );
        let mut whole = Held::default();
        whole.add(table, vec![kept, gone]);
        assert_eq!(whole.items, [item(json!({ "id": { "S": "1" } }))]);
        // A keys-only index does not contain the mark.
        let mut index = Held::default();
        index.add(table, vec![item(json!({ "id": { "S": "1" } })), item(json!({ "id": { "S": "2" } }))]);
        index.leave_out(table, &whole.deleted);
        assert_eq!(index.items, whole.items);
    }
}
