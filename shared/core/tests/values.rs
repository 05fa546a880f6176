//! Which values a request may ask for: a value that no item can have is a mistake, and an empty answer would hide it.

use std::collections::BTreeMap;

use keyfold_core::manifest::parse;
use keyfold_core::query::check;
use keyfold_core::query::check::{Caller, RequestError};
use serde_json::{Value, json};

const EVENTS: &str = r#"
[tables.events]
partition = "id"
scope = { org = "jwt.org" }
attributes = { id = "string", org = { type = "string", values = ["acme", "bolt"] }, day = "date", at = "timestamp", size = { type = "number", values = [1, 2, 10] }, more = "map" }
"#;

fn checked(manifest: &str, conditions: &Value, caller: &Caller) -> Result<(), RequestError> {
    let parsed = parse("keyfold.toml", manifest);
    let model = parsed.model.unwrap_or_else(|| panic!("{:?}", parsed.diagnostics));
    let request = serde_json::from_value(json!({ "table": "events", "where": conditions }));
    check(&model, &request.unwrap_or_else(|error| panic!("{error}")), caller).map(drop)
}

fn code(conditions: &Value) -> &'static str {
    checked(EVENTS, conditions, &Caller::Trusted).map_or_else(|error| error.code(), |()| "fine")
}

#[test]
fn equality_asks_for_a_value_that_an_item_can_have() {
    for (conditions, wanted) in [
        (json!({ "day": "2017-03-01" }), "fine"),
        (json!({ "day": "2017-03" }), "invalid-value"),
        (json!({ "day": { "<>": "2017-03" } }), "invalid-value"),
        (json!({ "at": { "in": ["2017-03-01T08:00:00Z", "2017-03-01"] } }), "invalid-value"),
        (json!({ "at": { "S": "2017-03-01" } }), "invalid-value"),
        (json!({ "size": 10.0 }), "fine"),
        (json!({ "size": 3 }), "unlisted-value"),
        (json!({ "org": { "in": ["acme", "bold"] } }), "unlisted-value"),
    ] {
        assert_eq!(code(&conditions), wanted, "{conditions}");
    }
}

#[test]
fn bounds_prefixes_and_values_inside_of_a_map_are_free() {
    for conditions in [
        json!({ "day": { "beginsWith": "2017-03" } }),
        json!({ "at": { "between": ["2017", "2018~"] } }),
        json!({ "size": { ">": 3 } }),
        json!({ "org": { "beginsWith": "ac" } }),
        json!({ "more.org": "nobody" }),
    ] {
        assert_eq!(code(&conditions), "fine", "{conditions}");
    }
}

#[test]
fn an_unlisted_value_is_told_what_there_is() {
    let hint = |manifest: &str, conditions: &Value| {
        checked(manifest, conditions, &Caller::Trusted).unwrap_err().hint().unwrap_or_default()
    };
    assert_eq!(hint(EVENTS, &json!({ "org": "acne" })), "did you mean `acme`?");
    assert_eq!(hint(EVENTS, &json!({ "size": 300 })), "it lists 1, 2, 10");
    let many: Vec<String> = (0..100).map(|number| format!("\"colour-of-many-{number:03}\"")).collect();
    let manifest = format!(
        "[tables.events]\npartition = \"id\"\n[tables.events.attributes]\nid = \"string\"\n\
         colour = {{ type = \"string\", values = [{}] }}\n",
        many.join(", ")
    );
    let shown = hint(&manifest, &json!({ "colour": "x" }));
    assert_eq!(shown.matches("colour-of-many").count(), 20, "{shown}");
}

#[test]
fn a_claim_that_no_item_can_have_is_a_right_to_nothing() {
    let of = |claim: &str| Caller::Claims(BTreeMap::from([("jwt.org".to_owned(), claim.to_owned())]));
    let code = |claim| {
        checked(EVENTS, &json!({ "id": "1" }), &of(claim)).map_or_else(|error| error.code(), |()| "fine")
    };
    assert_eq!([code("acme"), code("nobody")], ["fine", "claim-mismatch"]);
}
