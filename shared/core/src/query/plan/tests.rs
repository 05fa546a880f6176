//! Plans that were once wrong: each came from a case that the oracle found.

use serde_json::{Value, json};

use super::{Hydration, Operation, PlanError, QueryPlan, ReadFrom, plan};
use crate::query::check::{Caller, check};
use crate::query::readiness::{Pending, Readiness};

/// The result of a request against a manifest with one table.
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
    assert_eq!(refused.unwrap_err().code(), "needs-sort");
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
    assert_eq!(refused.unwrap_err().code(), "needs-scan", "a dog has no `d1`, so it is not in the index");
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
        attributes = { owner = "string", id = "string" }
        entities.noted = { when = { note = { exists = true } }, attributes.note = { type = "string", required = true } }
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
    assert_eq!(refused.unwrap_err().code(), "needs-scan");
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

const FLIGHTS: &str = r#"
[tables.t]
name = "tableOfTheCase"
partition = { attribute = "PK", fold = "{id}" }
sort = { attribute = "SK" }
attributes = { id = "string", type = "string" }
entities.flight = { when = { type = "flight" }, attributes.number = { type = "string", required = true }, sort = "F#{number}" }
entities.airport = { when = { type = "airport" }, attributes = { number = "string", code = { type = "string", required = true } }, sort = "A#{code}" }
indexes.byNumber = { partition = "number" }
"#;

#[test]
fn conditions_narrow_the_entities() {
    let plan = planned(FLIGHTS, json!({ "table": "t", "where": { "type": "flight", "number": "150" } }));
    assert_eq!(plan.accesses[0].source.index(), Some("byNumber"));
    assert_eq!(filter(&plan).as_deref(), Some("type = \"flight\""), "asked once");
    let or = json!({ "or": [{ "type": "flight", "id": "1" }, { "type": "airport", "id": "2" }] });
    assert_eq!(partitions(&planned(FLIGHTS, json!({ "table": "t", "where": or }))), ["1", "2"]);
}

#[test]
fn clauses_that_exclude_each_other_read_nothing() {
    for asked in [
        json!({ "type": "train" }),
        json!({ "number": { "exists": false }, "type": "flight" }),
        json!([{ "number": "1" }, { "number": "2" }]),
        json!({ "number": { "in": ["1", "2"], ">": "2" } }),
        json!({ "number": "1", "not": { "number": { "<": "3" } } }),
    ] {
        assert_eq!(planned(FLIGHTS, json!({ "table": "t", "where": asked })).accesses, [], "{asked}");
    }
}

#[test]
fn the_values_of_an_in_that_other_clauses_exclude_are_not_read() {
    let manifest = r#"
        [tables.t]
        name = "tableOfTheCase"
        partition = "id"
        attributes = { id = "string" }
    "#;
    let plan =
        planned(manifest, json!({ "table": "t", "where": { "id": { "in": ["a", "b", "c"], ">": "a" } } }));
    assert_eq!(partitions(&plan), ["b", "c"]);
    assert!(plan.accesses[0].recheck.is_always(), "the key says all of it");
}

const SHARED: &str = r#"
[tables.t]
name = "tableOfTheCase"
partition = { attribute = "PK" }
sort = "at"
attributes = { owner = "string", at = "string", kind = "string", note = "string" }
entities.note = { when = { kind = "note" }, partition = "{owner}" }
entities.task = { when = { kind = "task" }, partition = "{owner}" }
entities.done = { when = { kind = "done" }, partition = "{owner}" }
"#;

#[test]
fn a_range_that_two_entities_share_is_read_once() {
    for order in [json!([]), json!("-at")] {
        let plan = planned(
            SHARED,
            json!({ "table": "t", "entity": ["note", "task"], "where": { "owner": "ann" }, "order": order }),
        );
        assert_eq!(plan.accesses.len(), 1, "{plan:?}");
        assert_eq!(filter(&plan).as_deref(), Some("kind IN (\"note\", \"task\")"));
    }
}

#[test]
fn overlapping_ranges_of_an_or_are_read_once() {
    let manifest = r#"
        [tables.t]
        name = "tableOfTheCase"
        partition = "a"
        sort = "b"
        attributes = { a = "string", b = "string", c = "string" }
    "#;
    let or = |first: Value, second: Value| {
        let asked = json!({ "a": "1", "or": [first, second] });
        let plan = planned(manifest, json!({ "table": "t", "where": asked }));
        assert_eq!(plan.accesses.len(), 1, "{plan:?}");
        let key = crate::query::expression::readable_key_condition(&plan.accesses[0].operation);
        (key.unwrap(), crate::query::expression::readable_condition(&plan.accesses[0].recheck))
    };
    let (key, recheck) = or(
        json!({ "b": { "between": ["c", "k"] }, "c": "x" }),
        json!({ "b": { "between": ["f", "p"] }, "c": "y" }),
    );
    assert_eq!(key, "a = \"1\" AND b BETWEEN \"c\" AND \"p\"");
    assert!(recheck.is_some(), "what lies in one range only is asked for by one alternative only");
    let (key, _) = or(json!({ "b": { "beginsWith": "k" } }), json!({ "b": "kk", "c": "y" }));
    assert_eq!(key, "a = \"1\" AND begins_with(b, \"k\")");
}

#[test]
fn of_equal_prices_the_narrower_range_is_taken() {
    let manifest = r#"
        [tables.t]
        name = "tableOfTheCase"
        partition = "a"
        sort = "b"
        expect = { items-per-partition = 5 }
        attributes = { a = "string", b = "string", c = { type = "string", required = true }, d = "string" }
        indexes.all = { partition = "a", sort = "c" }
        indexes.byC = { partition = ["a", "c"] }
    "#;
    let plan = planned(manifest, json!({ "table": "t", "where": { "a": "1", "c": "2" } }));
    assert_eq!(plan.accesses[0].source.index(), Some("all"), "{plan:?}");
}

#[test]
fn an_index_that_is_being_filled_is_not_read() {
    let parsed = crate::manifest::parse("keyfold.toml", FLIGHTS);
    let model = parsed.model.unwrap();
    let mut readiness = Readiness::complete();
    let pending = Pending::Retrofit { retrofit: "fill".to_owned(), progress: "3 of 8 segments".to_owned() };
    readiness.add_index("t", "byNumber", pending);
    let ask = |asked: Value, readiness: &Readiness| {
        let request = serde_json::from_value(json!({ "table": "t", "where": asked })).unwrap();
        plan(&check(&model, &request, &Caller::Trusted).unwrap(), readiness)
    };
    let refused = ask(json!({ "type": "flight", "number": "150" }), &readiness).unwrap_err();
    assert_eq!(refused.code(), "index-pending");
    insta::assert_snapshot!(refused, @"index `byNumber` of table `t` is being filled by retrofit `fill`: 3 of 8 segments");
    insta::assert_snapshot!(refused.hint(), @"ask again after `keyfold retrofit switch fill`, or allow a scan with `scan`");
    // If another path answers, it is used, and the explanation says why the index is not.
    let other = ask(json!({ "type": "flight", "number": "150", "id": "1" }), &readiness).unwrap();
    assert_eq!(other.accesses[0].source, ReadFrom::Table);
    let reason = other.rejected.iter().find(|path| path.index.is_some()).unwrap();
    insta::assert_snapshot!(reason.reason, @"it is being filled by retrofit `fill`: 3 of 8 segments");
    // Nothing of a pending table is read, not even by a scan.
    let mut readiness = Readiness::complete();
    readiness.add_table(
        "t",
        Pending::Retrofit { retrofit: "move".to_owned(), progress: "not started".to_owned() },
    );
    let refused = ask(json!({ "id": "1" }), &readiness).unwrap_err();
    insta::assert_snapshot!(refused, @"table `t` is being filled by retrofit `move`: not started");
}

#[test]
fn a_suggested_index_serves_and_a_sparse_one_is_told_apart() {
    let manifest = r#"
        [tables.t]
        name = "tableOfTheCase"
        partition = "id"
        attributes = { id = "string", owner = "string", status = "string", at = "timestamp" }
        indexes.byOwner = { partition = "owner", sort = ["status", "at"] }
    "#;
    let hint = |asked: Value| outcome(manifest, asked).unwrap_err().hint();
    insta::assert_snapshot!(hint(json!({ "table": "t", "where": { "status": "open" } })), @r#"
    add an index that answers it, or allow a scan with `scan`:

    [tables.t.indexes.byStatus]
    partition = "status"
    "#);
    // The index is there, and lacks the items that have no `at`.
    insta::assert_snapshot!(hint(json!({ "table": "t", "where": { "owner": "ann", "status": "open" } })), @r#"
    add an index that answers it, or ask only for items that have it: `"at": {"exists": true}`, or declare `at` as `required` if every item has it, or make it an optional tail of the sort key of `byOwner`: `sort = "{status}[#{at}]"`, or allow a scan with `scan`:

    [tables.t.indexes.byOwnerStatus]
    partition = ["owner", "status"]
    "#);
    let ordered = hint(json!({ "table": "t", "where": { "owner": "ann" }, "order": "at" }));
    assert!(
        ordered.contains("every item has `at`") && ordered.contains("[tables.t.indexes.byOwnerAt]"),
        "{ordered}"
    );
}

#[test]
fn a_suggested_entity_can_have_the_attribute() {
    let manifest = r#"
        [tables.shop]
        partition = { attribute = "PK" }
        sort = { attribute = "SK" }
        indexes.byOwner = { type = "global", partition = { attribute = "ownerPk" }, sort = "placedAt" }
        [tables.shop.entities.customer]
        when = { SK = { begins-with = "PROFILE" } }
        partition = "c#{owner}"
        sort = "PROFILE"
        attributes = { owner = "string", name = "string" }
        [tables.shop.entities.order]
        when = { SK = { begins-with = "ORDER#" } }
        partition = "c#{owner}"
        sort = "ORDER#{id}"
        attributes = { owner = "string", id = "string", status = "string", placedAt = "timestamp" }
        indexes.byOwner.partition = "{owner}#{status}"
    "#;
    let asked = json!({ "owner": "ann", "status": "open" });
    let refused = outcome(manifest, json!({ "table": "shop", "where": asked, "order": "placedAt" }));
    let hint = refused.unwrap_err().hint();
    // No customer has a `placedAt`: a request for customers would be answered, with nothing.
    assert!(!hint.contains("customer") && hint.contains("declare `placedAt` as `required`"), "{hint}");
}

#[test]
fn names_that_keyfold_keeps_for_itself_are_refused() {
    let parsed = crate::manifest::parse("keyfold.toml", FLIGHTS);
    let model = parsed.model.unwrap();
    for request in [
        json!({ "table": "t", "where": { "keyfold_tombstone": true } }),
        json!({ "table": "t", "order": "keyfold_fence" }),
        json!({ "table": "t", "select": ["keyfold_fence"] }),
    ] {
        let refused = check(&model, &serde_json::from_value(request).unwrap(), &Caller::Trusted).unwrap_err();
        assert_eq!(refused.code(), "reserved-name");
    }
}

#[test]
fn each_branch_of_an_or_names_its_entities() {
    let or = json!({ "or": [{ "entity": "flight", "number": "150" }, { "entity": ["airport"], "id": "2" }] });
    let plan = planned(FLIGHTS, json!({ "table": "t", "where": or }));
    let sources: Vec<_> = plan.accesses.iter().map(|access| access.source.index()).collect();
    assert_eq!(sources, [Some("byNumber"), None]);
    let model = crate::manifest::parse("keyfold.toml", FLIGHTS).model.unwrap();
    let request = serde_json::from_value(json!({ "table": "t", "where": { "entity": "train" } })).unwrap();
    assert_eq!(check(&model, &request, &Caller::Trusted).unwrap_err().code(), "unknown-entity");
}

#[test]
fn what_narrows_the_entities_is_still_asked_of_their_neighbours() {
    // Every item has an entity, because only entities have a sort key. `number` excludes airports, so all remaining
    // entities have one; but airports are in the same partition of the index.
    let manifest = r#"
        [tables.t]
        name = "tableOfTheCase"
        partition = "id"
        sort = { attribute = "SK" }
        attributes = { owner = "string", id = "string", kind = "string" }
        indexes.byOwner = { partition = "owner" }
        entities.flight = { when = { kind = "flight" }, attributes.number = { type = "string", required = true }, sort = "F" }
        entities.train = { when = { kind = "train" }, attributes.number = { type = "string", required = true }, sort = "T" }
        entities.airport = { when = { kind = "airport", number = { exists = false } }, sort = "A" }
    "#;
    let asked = json!({ "owner": "ann", "number": { "exists": true }, "kind": { "in": ["flight", "train", "airport"] } });
    let plan = planned(manifest, json!({ "table": "t", "where": asked }));
    assert!(filter(&plan).unwrap().contains("attribute_exists(number)"), "airports have none: {plan:?}");
}

#[test]
fn what_an_entity_never_has_narrows() {
    // Only flights are in the index: without the promise an airport with this number could be missed.
    let manifest = r#"
        [tables.t]
        name = "tableOfTheCase"
        partition = { attribute = "PK", fold = "{id}" }
        sort = { attribute = "SK" }
        attributes = { id = "string", type = "string" }
        indexes.byNumber = { partition = { attribute = "GSI1PK" } }
        entities.flight = { when = { type = "flight" }, attributes.number = { type = "string", required = true }, sort = "F#{number}", indexes.byNumber.partition = "N#{number}" }
        entities.airport = { when = { type = "airport" }, attributes = { code = { type = "string", required = true } }, sort = "A#{code}" }
    "#;
    let asked = json!({ "table": "t", "where": { "number": "150" } });
    assert_eq!(planned(manifest, asked.clone()).accesses[0].source.index(), Some("byNumber"));
    let refused =
        outcome(&manifest.replace("attributes = { code", "attributes = { number = \"string\", code"), asked)
            .unwrap_err();
    let index = refused.rejected.iter().find(|path| path.index.is_some()).unwrap();
    assert!(matches!(index.reason, super::RejectReason::EntityAbsent { .. }), "{refused:?}");
}

#[test]
fn an_index_has_expectations_of_its_own() {
    let manifest = r#"
        [tables.t]
        name = "tableOfTheCase"
        partition = "id"
        attributes = { id = "string", a = "string", b = "string" }
        indexes.byA = { partition = "a", expect = { items-per-partition = 50_000 } }
        indexes.byB = { partition = "b", expect = { items-per-partition = 2 } }
    "#;
    let plan = planned(manifest, json!({ "table": "t", "where": { "a": "1", "b": "2" } }));
    assert_eq!(plan.accesses[0].source.index(), Some("byB"));
}

#[test]
fn an_index_of_a_table_without_a_sort_key_has_several_items_for_each_key() {
    let manifest = r#"
        [tables.t]
        name = "tableOfTheCase"
        partition = "id"
        expect = { items = 10_000, item-bytes = 800 }
        attributes = { id = "string", owner = "string" }
        indexes.byOwner = { partition = "owner" }
    "#;
    let units = |asked| planned(manifest, asked).estimated_units;
    // 100 items of 800 bytes, and one item of the table.
    assert_eq!(units(json!({ "table": "t", "where": { "owner": "1" }, "limit": 1_000 })), 10.0);
    assert_eq!(units(json!({ "table": "t", "where": { "id": "1" } })), 0.5);
}

#[test]
fn measured_numbers_of_listed_values_size_the_partitions_and_the_filters() {
    let manifest = r#"
        [tables.t]
        name = "tableOfTheCase"
        partition = "id"
        sort = "at"
        expect = { items = 1_000, item-bytes = 800, items-per-partition = 100, values = { status = { open = 100, done = 900 } } }
        attributes.id = "string"
        attributes.at = "string"
        attributes.status = { type = "string", values = ["open", "done"] }
        indexes.byStatus = { partition = "status", sort = "at" }
    "#;
    let units = |asked| planned(manifest, asked).estimated_units;
    let all_of = |status| json!({ "table": "t", "where": { "status": status }, "limit": 1_000 });
    // 100 and 900 items of 800 bytes; without the numbers 500 for each.
    assert_eq!((units(all_of("open")), units(all_of("done"))), (10.0, 88.0));
    // One of ten items of the partition passes the filter, or nearly all do.
    let some_of = |status| json!({ "table": "t", "where": { "id": "1", "status": status }, "limit": 10 });
    assert_eq!((units(some_of("open")), units(some_of("done"))), (10.0, 1.5));
}

#[test]
fn a_range_that_is_read_for_another_branch_is_not_read_again() {
    let manifest = r#"
        [tables.t]
        name = "tableOfTheCase"
        partition = "e1"
        sort = "e2"
        attributes.e1 = { type = "string", values = ["dog", "do"] }
        attributes.e2 = { type = "number", values = [1, 2, 10] }
    "#;
    let asked = json!({ "or": [{ "e2": { "<": 10 } }, { "e1": "dog" }] });
    let plan = planned(manifest, json!({ "table": "t", "where": asked }));
    // The whole partition `dog` includes the keys that the first branch reads one by one.
    assert_eq!(partitions(&plan), ["do", "do", "dog"]);
}

#[test]
fn every_partition_read_to_filter_it_is_a_scan() {
    let manifest = r#"
        [tables.t]
        name = "tableOfTheCase"
        partition = "e1"
        sort = "s1"
        attributes = { s1 = "string", n1 = "number", e1 = { type = "string", values = ["a", "b"] } }
    "#;
    let refused = outcome(manifest, json!({ "table": "t", "where": { "n1": 1 } }));
    assert_eq!(refused.unwrap_err().code(), "needs-scan");
    // A test that the sort key answers makes it no scan.
    assert_eq!(partitions(&planned(manifest, json!({ "table": "t", "where": { "s1": "x" } }))), ["a", "b"]);

    // Without conditions nothing is filtered.
    assert_eq!(partitions(&planned(manifest, json!({ "table": "t" }))), ["a", "b"]);

    // A test that a part of the partition key answers makes it no scan, and neither is one partition a scan.
    let folded =
        |fold: &str| manifest.replace(r#""e1""#, &format!(r#"{{ attribute = "PK", fold = "{fold}" }}"#));
    let asked = json!({ "table": "t", "where": { "n1": 1 } });
    assert_eq!(partitions(&planned(&folded("{e1}#{n1:03}"), asked.clone())), ["a#001", "b#001"]);
    assert_eq!(partitions(&planned(&folded("all"), asked.clone())), ["all"]);
    let refused = outcome(&folded("all#{e1}"), asked.clone());
    assert_eq!(refused.unwrap_err().code(), "needs-scan");

    // A part after an open part of the sort key is not answered by it.
    let sort = r#"sort = { attribute = "SK", fold = "{s1}#{n1:03}" }"#;
    let behind = manifest.replace(r#"sort = "s1""#, sort);
    let refused = outcome(&behind, asked);
    assert_eq!(refused.unwrap_err().code(), "needs-scan");
}

#[test]
fn one_read_does_not_go_up_and_down_at_once() {
    let manifest = r#"
        [tables.t]
        name = "tableOfTheCase"
        partition = "id"
        attributes.id = "string"
        attributes.owner = { type = "string", required = true }
        attributes.status = { type = "string", required = true }
        attributes.at = { type = "timestamp", required = true }
        indexes.byOwner = { partition = "owner", sort = ["status", "at"] }
    "#;
    let order =
        |order: Value| outcome(manifest, json!({ "table": "t", "where": { "owner": "x" }, "order": order }));
    order(json!(["-status", "-at"])).unwrap();
    let refused = order(json!(["status", "-at"]));
    assert_eq!(refused.unwrap_err().code(), "needs-sort");
}

#[test]
fn what_orders_the_answer_is_read_where_it_is() {
    let manifest = r#"
        [tables.t]
        name = "tableOfTheCase"
        partition = "id"
        attributes = { id = "string", owner = "string", note = "string" }
        indexes.byOwner = { partition = "owner", projection = "keys-only" }
    "#;
    let asked = json!({ "table": "t", "where": { "owner": "ann" }, "order": "note", "sortInMemory": 100, "select": ["owner"] });
    assert_eq!(planned(manifest, asked).accesses[0].hydration, Hydration::ByKey, "the index has no notes");
}

#[test]
fn a_range_that_ends_before_it_begins_is_not_asked_for() {
    let manifest = r#"
        [tables.t]
        name = "tableOfTheCase"
        partition = "id"
        sort = "n1"
        attributes = { id = "string", n1 = "number" }
    "#;
    let asked = json!({ "id": "a", "n1": { ">=": 9, "<=": 3 } });
    assert_eq!(planned(manifest, json!({ "table": "t", "where": asked })).accesses, []);
}

#[test]
fn a_longer_prefix_is_a_neighbour() {
    let manifest = r#"
        [tables.t]
        name = "tableOfTheCase"
        partition = "owner"
        sort = { attribute = "SK" }
        attributes = { owner = "string", kind = "string", tag = "string", text = "string" }
        entities.short = { when = { kind = "short" }, sort = "do{text}" }
        entities.dog = { when = { kind = "dog" }, sort = "dog:{tag}" }
    "#;
    let plan = planned(manifest, json!({ "table": "t", "entity": "short", "where": { "owner": "ann" } }));
    assert_eq!(filter(&plan).as_deref(), Some("kind = \"short\""), "`dog:` begins with `do`");
}

#[test]
fn an_attribute_that_only_a_key_has_is_read_where_that_key_is() {
    let manifest = r#"
        [tables.t]
        name = "tableOfTheCase"
        partition = "id"
        attributes = { id = "string", owner = "string", number = { type = "string", from-key = true } }
        indexes.byNumber = { partition = { attribute = "GSI1PK", fold = "N#{number}" } }
        indexes.byOwner = { partition = "owner", projection = "keys-only" }
    "#;
    let asked = json!({ "table": "t", "where": { "owner": "ann" }, "select": ["number"] });
    assert_eq!(planned(manifest, asked).accesses[0].hydration, Hydration::ByKey, "the index has no `GSI1PK`");
}

#[test]
fn values_that_a_key_does_not_tell_apart_are_read_once_in_order_too() {
    // The two reads of one partition are joined, except if an order by an entity's own keys is requested.
    let manifest = r#"
        [tables.t]
        name = "tableOfTheCase"
        partition = { attribute = "PK", fold = "k{s1|lower}" }
        sort = { attribute = "SK" }
        attributes = { s1 = "string", s2 = "string", kind = "string" }
        entities.one = { when = { kind = "one" }, sort = "1{s2}" }
        entities.two = { when = { kind = "two" }, sort = "2{s2}" }
    "#;
    let asked =
        json!({ "table": "t", "entity": "one", "where": { "s1": { "in": ["A", "a", "B"] } }, "order": "s2" });
    assert_eq!(partitions(&planned(manifest, asked)), ["ka", "kb"]);
}

#[test]
fn values_that_a_key_does_not_tell_apart_count_once() {
    let manifest = r#"
        [tables.t]
        name = "tableOfTheCase"
        partition = { attribute = "PK", fold = "k{s1|lower}#{s3|shard:10}" }
        sort = "s2"
        attributes = { s1 = "string", s2 = "string", s3 = "string" }
    "#;
    let case = |at: u32, letter: char| if at == 1 { letter.to_ascii_uppercase() } else { letter };
    let words: Vec<String> = (0..16)
        .map(|number| ('a'..='d').enumerate().map(|(at, letter)| case(number >> at & 1, letter)).collect())
        .collect();
    let plan = planned(manifest, json!({ "table": "t", "where": { "s1": { "in": words } } }));
    assert_eq!(partitions(&plan).len(), 10, "one for each shard, and not 160, which would be too many");
}

#[test]
fn every_shard_is_priced() {
    let asked = json!({ "s2": { ">": "m" } });
    let plan = planned(SHARDED, json!({ "table": "t", "where": asked, "order": "s2", "limit": 10 }));
    assert_eq!(partitions(&plan), ["k0", "k1", "k2"]);
    assert_eq!(plan.estimated_units, 1.5, "half a unit each");
}

/// The keys of shards are built for the plan that reads them. Finding other items in a partition needs its whole key.
const SPREAD: &str = r#"
[tables.t]
name = "tableOfTheCase"
partition = "id"
scope = { org = "jwt.org" }
attributes = { id = "string", org = "string", kind = "string", at = { type = "string", required = true } }
indexes.byOrg = { partition = { attribute = "byOrg_pk" }, sort = "at" }
entities.note = { when = { kind = "note" }, indexes.byOrg.partition = "{org}.{id|shard:4}" }
entities.task = { when = { kind = "task" }, indexes.byOrg.partition = "{org}.{id|shard:4}" }
"#;

#[test]
fn neighbours_are_looked_for_in_the_key_with_its_shard() {
    let asked = json!({ "org": "acme", "at": { ">": "2016" } });
    let plan = planned(SPREAD, json!({ "table": "t", "entity": "note", "where": asked, "order": "at" }));
    assert_eq!(partitions(&plan), ["acme.0", "acme.1", "acme.2", "acme.3"]);
    assert_eq!(filter(&plan).as_deref(), Some("kind = \"note\""), "tasks lie in the same partitions");
}

#[test]
fn a_scope_is_looked_for_in_the_key_with_its_shard() {
    let parsed = crate::manifest::parse("keyfold.toml", SPREAD);
    let model = parsed.model.unwrap_or_else(|| panic!("{:?}", parsed.diagnostics));
    let request =
        json!({ "table": "t", "entity": "note", "where": { "at": { ">": "2016" } }, "order": "at" });
    let claims = Caller::Claims([("jwt.org".to_owned(), "acme".into())].into());
    let request = serde_json::from_value(request).unwrap();
    let plan = plan(&check(&model, &request, &claims).unwrap(), &Readiness::complete()).unwrap();
    assert_eq!(partitions(&plan), ["acme.0", "acme.1", "acme.2", "acme.3"]);
}

/// A shard is left out of a key only where that leaves a key, and where each whole key is one that DynamoDB takes.
#[test]
fn a_shard_by_itself_and_a_long_key_are_read_whole() {
    let manifest = |fold: &str| {
        format!(
            r#"
            [tables.t]
            name = "tableOfTheCase"
            partition = {{ attribute = "PK", fold = "{fold}" }}
            sort = "s2"
            attributes = {{ s1 = "string", s2 = "string", s3 = "string" }}
            "#
        )
    };
    let asked = json!({ "s3": "x", "s2": { ">": "m" } });
    let request = json!({ "table": "t", "where": asked, "order": "s2" });
    assert_eq!(partitions(&planned(&manifest("{s1|shard:3}"), request)), ["0", "1", "2"]);
    // With its two digits a key has a byte more than DynamoDB takes.
    let long = "x".repeat(2046);
    let request = json!({ "table": "t", "where": { "s3": long, "s2": { ">": "m" } }, "order": "s2" });
    assert_eq!(planned(&manifest("{s3}.{s1|shard:20}"), request).accesses, []);
}

#[test]
fn all_shards_of_an_index_that_answers_nothing_are_a_scan() {
    let refused = outcome(SHARDED, json!({ "table": "t", "where": { "n1": { ">": 3 } } }));
    assert_eq!(refused.unwrap_err().code(), "needs-scan");
}

/// Three entities of an owner. In `byTime` two of them have one form of sort key, the third has another.
const TIMELINE: &str = r#"
[tables.t]
name = "tableOfTheCase"
partition = "id"
entity-attribute = "kind"
attributes = { id = "string", owner = { type = "string", required = true }, n = { type = "number", required = true }, kind = "string" }
indexes.byTime = { partition = { attribute = "PK" }, sort = { attribute = "SK" } }
entities.a.indexes.byTime = { partition = "{owner}", sort = "{n:06}" }
entities.b.indexes.byTime = { partition = "{owner}", sort = "{n:06}" }
entities.c.indexes.byTime = { partition = "other-{owner}", sort = "{n:number}" }
"#;

#[test]
fn entities_in_one_range_are_read_once_in_its_order() {
    let asked = json!({ "owner": "ann", "n": { ">=": 7 } });
    for order in [json!([]), json!(["n"]), json!(["owner", "-n"])] {
        let request =
            json!({ "table": "t", "entity": ["a", "b"], "where": asked, "order": order, "limit": 3 });
        let plan = planned(TIMELINE, request);
        assert_eq!(plan.accesses.len(), 1, "{order}");
        assert!(plan.accesses[0].filter.is_always(), "no other entity has such a partition");
        let Operation::Query { sort, .. } = &plan.accesses[0].operation else { panic!("{plan:?}") };
        assert_eq!(sort.len(), 1, "{order}: the range stays");
    }
}

#[test]
fn entities_with_different_orders_in_one_range_are_read_apart() {
    let shared = TIMELINE.replace("other-{owner}", "{owner}");
    let accesses = |manifest: &str, entities: Value, order: Value| {
        let asked = json!({ "owner": "ann" });
        let request = json!({ "table": "t", "entity": entities, "where": asked, "order": order });
        planned(manifest, request).accesses.len()
    };
    assert_eq!(accesses(&shared, json!(["a", "b"]), json!(["n"])), 1, "a filter excludes `c`");
    assert_eq!(
        accesses(&shared, json!(["a", "c"]), json!(["n"])),
        2,
        "`000007` and `7` are sorted differently"
    );
    assert_eq!(accesses(TIMELINE, json!(["a", "b"]), json!(["kind", "n"])), 2, "the kind comes first");
}
