//! Plans that were once wrong: each came from a case that the oracle found.

use serde_json::{Value, json};

use super::{Operation, PlanError, QueryPlan, plan};
use crate::query::check::{Caller, check};
use crate::query::readiness::Readiness;

/// What becomes of a request of a manifest's one table.
fn outcome(manifest: &str, request: Value) -> Result<QueryPlan, PlanError> {
    let parsed = crate::manifest::parse("keyfold.toml", manifest);
    let model = parsed.model.unwrap_or_else(|| panic!("{:?}", parsed.diagnostics));
    let request = serde_json::from_value(request).unwrap();
    plan(&check(&model, &request, &Caller::Trusted).unwrap(), &Readiness::complete())
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

fn filter(plan: &QueryPlan) -> Option<String> {
    crate::query::expression::readable_condition(&plan.accesses[0].filter)
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

#[test]
fn an_entitys_conditions_are_kept_where_others_keys_can_look_like_its_own() {
    let manifest = r#"
        [tables.t]
        name = "tableOfTheCase"
        partition = "owner"
        sort = { attribute = "SK" }
        attributes = { owner = "string", kind = "string", tag = "string", text = "string" }
        entities.tagged = { when = { kind = "a" }, sort = "{kind}:{tag}" }
        entities.free = { when = { kind = "b" }, sort = "{text}" }
    "#;
    let plan = planned(manifest, json!({ "table": "t", "entity": "tagged", "where": { "owner": "ann" } }));
    assert_eq!(filter(&plan).as_deref(), Some("kind = \"a\""), "`a:` can begin a free text too");
}

#[test]
fn what_an_entity_promises_is_still_asked_of_its_neighbours() {
    let manifest = r#"
        [tables.t]
        name = "tableOfTheCase"
        partition = "owner"
        sort = "id"
        attributes = { owner = "string", id = "string", note = "string" }
        entities.noted = { when = { note = { exists = true } }, requires = ["note"] }
        entities.bare = { when = { note = { exists = false } } }
    "#;
    let plan = planned(manifest, json!({ "table": "t", "entity": "noted", "where": { "owner": "ann" } }));
    assert_eq!(filter(&plan).as_deref(), Some("attribute_exists(note)"));
}

#[test]
fn several_values_in_few_shards_are_a_range_of_each_shard() {
    let manifest = r#"
        [tables.t]
        name = "tableOfTheCase"
        partition = { attribute = "PK", fold = "{day}.{id|shard:2}" }
        sort = "id"
        expect = { items-per-partition = 3 }
        attributes = { day = "string", id = "string" }
    "#;
    let asked = json!({ "day": "1", "id": { "in": ["5", "2", "9", "4"] } });
    let plan = planned(manifest, json!({ "table": "t", "where": asked, "order": "id" }));
    assert_eq!(partitions(&plan), ["1.0", "1.1"]);
    assert!(
        plan.accesses.iter().all(|access| !access.recheck.is_always()),
        "the range holds other values too"
    );
}

#[test]
fn of_equal_prices_the_one_in_order_is_taken() {
    let manifest = r#"
        [tables.t]
        name = "tableOfTheCase"
        partition = "a"
        sort = "b"
        expect = { items-per-partition = 3 }
        attributes = { a = "string", b = "string", c = { type = "number", required = true } }
        indexes.byC = { type = "local", sort = "c" }
    "#;
    let plan =
        planned(manifest, json!({ "table": "t", "where": { "a": "1" }, "order": "-c", "sortInMemory": 100 }));
    assert_eq!((plan.accesses[0].source.index(), plan.delivery), (Some("byC"), super::Delivery::Sequential));
}

#[test]
fn a_sparse_index_is_the_smaller_one_to_scan() {
    let manifest = r#"
        [tables.t]
        name = "tableOfTheCase"
        partition = "a"
        sort = "b"
        attributes = { a = "string", b = "string", c = { type = "number", required = true }, d = "string" }
        indexes.byC = { type = "local", sort = "c" }
        indexes.byD = { partition = "d", sort = "b" }
    "#;
    let plan = planned(manifest, json!({ "table": "t", "where": { "d": { "exists": true } }, "scan": true }));
    assert_eq!(plan.accesses[0].source.index(), Some("byD"));
}

#[test]
fn where_no_listed_value_passes_nothing_is_read_though_the_partition_is_open() {
    let manifest = r#"
        [tables.t]
        name = "tableOfTheCase"
        partition = "id"
        sort = "size"
        attributes = { id = "string", size = { type = "number", values = [1, 2, 10] } }
    "#;
    let plan = planned(manifest, json!({ "table": "t", "where": { "size": { "<": 1 } } }));
    assert_eq!(plan.accesses, []);
    let refused = outcome(manifest, json!({ "table": "t", "where": { "size": { "<": 2 } } }));
    assert!(matches!(refused, Err(PlanError::Unserved { .. })), "{refused:?}");
}

#[test]
fn shards_that_differ_only_in_their_number_are_each_paid_for() {
    let plan =
        planned(SHARDED, json!({ "table": "t", "where": { "s1": { "in": ["0", "1", "2", "3", "4"] } } }));
    let one = planned(SHARDED, json!({ "table": "t", "where": { "s1": "0" } }));
    #[expect(clippy::cast_precision_loss, reason = "three shards")]
    let shards = plan.accesses.len() as f64;
    assert!(shards > 1.0);
    assert_eq!(plan.estimated_units, one.estimated_units * shards);
}
