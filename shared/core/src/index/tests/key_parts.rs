//! Entities recognised by how a key begins, and attributes that only a key has.

use crate::index::fixture::item;
use crate::manifest::parse;
use crate::model::Table;
use crate::value::{AttributeValue, Item};

fn shop() -> Table {
    let text = r##"
[tables.shop]
partition = { attribute = "PK" }
sort = { attribute = "SK" }
[tables.shop.attributes]
customerId = { type = "string", from-key = true }
orderId = { type = "string", from-key = true }
state = "string"
[tables.shop.indexes.byState]
partition = { attribute = "GPK" }
sort = { attribute = "GSK" }
[tables.shop.entities.customer]
when = { SK = { begins-with = "PROFILE" } }
partition = "c#{customerId}"
sort = "PROFILE"
[tables.shop.entities.order]
when = { SK = { begins-with = "o#" } }
partition = "c#{customerId}"
sort = "o#{orderId}"
indexes.byState = { partition = "{state}", sort = "{orderId}" }
"##;
    let parsed = parse("keyfold.toml", text);
    assert_eq!(parsed.diagnostics, []);
    parsed.model.unwrap().tables.remove(0)
}

#[test]
fn what_only_a_key_has_is_read_from_it() {
    let stored = item(r##"{"PK":{"S":"c#7"},"SK":{"S":"o#42"},"state":{"S":"open"}}"##);
    let table = shop();
    let whole = table.with_key_parts(&stored);
    assert_eq!(whole.get("customerId"), Some(&AttributeValue::S("7".to_owned())));
    assert_eq!(whole.get("orderId"), Some(&AttributeValue::S("42".to_owned())));
    let written = table.written(stored).unwrap();
    for (name, key) in [("GPK", "open"), ("GSK", "42")] {
        assert_eq!(written[name], AttributeValue::S(key.to_owned()), "keys of indexes are made of it too");
    }
}

#[test]
fn it_is_never_added_to_an_item_and_never_removed_from_one() {
    let table = shop();
    let names = |item: &Item| {
        let mut names: Vec<String> = item.keys().map(ToString::to_string).collect();
        names.sort_unstable();
        names
    };
    let given = item(r##"{"customerId":{"S":"7"},"orderId":{"S":"42"},"state":{"S":"open"}}"##);
    let written = table.written(table.as_entity(given, "order").unwrap()).unwrap();
    assert_eq!(names(&written), ["GPK", "GSK", "PK", "SK", "customerId", "orderId", "state"]);
    assert_eq!(written.get("SK"), Some(&AttributeValue::S("o#42".to_owned())));
    assert_eq!(table.written(written.clone()).unwrap(), written, "writing it again changes nothing");
    let lacking = item(r##"{"PK":{"S":"c#7"},"SK":{"S":"o#42"},"state":{"S":"open"}}"##);
    assert_eq!(names(&table.written(lacking).unwrap()), ["GPK", "GSK", "PK", "SK", "state"]);
}

#[test]
fn an_item_is_of_the_entity_that_its_key_begins_like() {
    let table = shop();
    let of = |sort: &str| {
        let stored = item(&format!(r##"{{"PK":{{"S":"c#7"}},"SK":{{"S":"{sort}"}}}}"##));
        table.entity_of(&stored).unwrap().map(|id| table.entities[id.0].name.clone())
    };
    assert_eq!(of("o#1").as_deref(), Some("order"));
    assert_eq!(of("PROFILE").as_deref(), Some("customer"));
    assert_eq!(of("x"), None);
    let wrong = item(r##"{"customerId":{"S":"7"},"SK":{"S":"PROFILE"}}"##);
    assert_eq!(table.as_entity(wrong, "order").unwrap_err().code(), "item-not-this-entity");
}

#[test]
fn reading_it_needs_the_keys_that_have_it_and_what_tells_entities_apart() {
    let table = shop();
    let sources = |name| {
        let mut sources: Vec<_> = table.key_part_sources(name).map(str::to_owned).collect();
        sources.sort_unstable();
        sources.dedup();
        sources
    };
    assert_eq!(sources("customerId"), ["PK", "SK"]);
    assert_eq!(sources("orderId"), ["GSK", "SK"]);
    assert_eq!(sources("state"), [""; 0]);
}
