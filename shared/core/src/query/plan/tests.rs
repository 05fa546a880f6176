//! Plans that were once wrong: each came from a case that the oracle found.

use serde_json::{Value, json};

use super::{Operation, PlanError, QueryPlan, plan};
use crate::query::check::{Caller, check};

/// What becomes of a request of a manifest's one table.
fn outcome(manifest: &str, request: Value) -> Result<QueryPlan, PlanError> {
    let parsed = crate::manifest::parse("keyfold.toml", manifest);
    let model = parsed.model.unwrap_or_else(|| panic!("{:?}", parsed.diagnostics));
    let request = serde_json::from_value(request).unwrap();
    plan(&check(&model, &request, &Caller::Trusted).unwrap())
}

fn planned(manifest: &str, request: Value) -> QueryPlan {
    outcome(manifest, request).unwrap()
}

fn partitions(plan: &QueryPlan) -> Vec<&str> {
    plan.accesses
        .iter()
        .map(|access| match &access.operation {
            Operation::Query { partition, .. } => match &partition[0].value {
                crate::value::AttributeValue::S(text) => text.as_str(),
                other => panic!("{other:?}"),
            },
            Operation::Scan => "scan",
        })
        .collect()
}

const SHARDED: &str = r#"
[tables.t]
name = "tableOfTheCase"
partition = { attribute = "PK", fold = "k{s1|shard:3}" }
sort = "s2"
attributes = { s1 = "string", s2 = "string", e1 = { type = "string", values = ["a", "b"] }, n1 = "number" }
"#;

#[test]
fn values_that_fall_into_one_shard_are_read_once() {
    let values: Vec<String> = (0..12).map(|number| number.to_string()).collect();
    let plan = planned(SHARDED, json!({ "table": "t", "where": { "s1": { "in": values } } }));
    assert_eq!(partitions(&plan), ["k0", "k1", "k2"]);
    assert!(plan.accesses.iter().all(|access| !access.filter.is_always()), "shards hold other values too");
}

#[test]
fn values_behind_a_range_give_no_order() {
    let manifest = r#"
        [tables.t]
        name = "tableOfTheCase"
        partition = "s1"
        sort = { attribute = "SK", fold = "{n1:010}#{e1}" }
        attributes = { s1 = "string", n1 = "number", e1 = { type = "string", values = ["a", "b", "c"] } }
    "#;
    let asked = json!({ "s1": "x", "n1": { ">": 3 }, "e1": { "in": ["a", "b"] } });
    let refused = outcome(manifest, json!({ "table": "t", "where": asked, "order": "e1" }));
    assert!(matches!(refused, Err(PlanError::Unordered { .. })), "{refused:?}");
}

#[test]
fn a_template_of_one_empty_value_has_no_key_to_ask_for() {
    let manifest = r#"
        [tables.t]
        name = "tableOfTheCase"
        partition = { attribute = "PK", fold = "{x1|hex}" }
        attributes = { x1 = "binary" }
    "#;
    let plan = planned(manifest, json!({ "table": "t", "where": { "x1": { "B": "" } } }));
    assert_eq!(plan.accesses, []);
}

#[test]
fn a_part_of_one_kinds_key_is_not_taken_for_a_part_of_all() {
    let manifest = r#"
        [tables.t]
        name = "tableOfTheCase"
        partition = { attribute = "PK", fold = "{d1}" }
        attributes = { d1 = "date", n1 = "number", t1 = "timestamp", kind = "string" }
        indexes.byTime = { partition = "t1", sort = "d1" }
        entities.dog = { when = { kind = "dog" }, partition = "dog-{n1:number}" }
    "#;
    let asked = json!({ "t1": "2017-04-01T00:00:00.000Z" });
    let refused = outcome(manifest, json!({ "table": "t", "where": asked }));
    assert!(
        matches!(refused, Err(PlanError::Unserved { .. })),
        "a dog has no `d1`, so it is not in the index: {refused:?}"
    );
}
