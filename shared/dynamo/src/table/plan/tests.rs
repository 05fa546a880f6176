use aws_sdk_dynamodb::types::{
    GlobalSecondaryIndexDescription, IndexStatus, StreamSpecification, StreamViewType,
};
use keyfold_core::manifest;

use super::super::schema::{IndexSchema, Schema};
use super::*;

const STREAM: TableOptions = TableOptions { stream: true };

fn orders() -> Table {
    let text = "[tables.orders]\npartition = \"id\"\nattributes = { id = \"string\", day = \"string\" }\n\
                [tables.orders.indexes.byDay]\npartition = \"day\"\n";
    manifest::parse("keyfold.toml", text).model.unwrap().tables.remove(0)
}

/// A matching table, except for its stream's view and its index's status.
fn found(view: Option<StreamViewType>, status: IndexStatus) -> TableDescription {
    let schema = Schema::of_model(&orders());
    let IndexSchema { keys, projected, .. } = &schema.indexes["byDay"];
    let index = GlobalSecondaryIndexDescription::builder()
        .index_name("byDay")
        .set_key_schema(Some(keys.elements().unwrap()))
        .projection(projected.to_sdk())
        .index_status(status)
        .build();
    let stream = view.map(|view| {
        StreamSpecification::builder().stream_enabled(true).stream_view_type(view).build().unwrap()
    });
    TableDescription::builder()
        .set_key_schema(Some(schema.keys.elements().unwrap()))
        .set_attribute_definitions(Some(schema.definitions().unwrap()))
        .global_secondary_indexes(index)
        .set_stream_specification(stream)
        .build()
}

fn told(plan: &TablePlan) -> (Vec<String>, Vec<String>) {
    let obstacles = plan.obstacles.iter().map(ToString::to_string).collect();
    (plan.steps.iter().map(ToString::to_string).collect(), obstacles)
}

#[test]
fn a_stream_that_holds_less_is_never_replaced() {
    let plan =
        TablePlan::of(&orders(), STREAM, &found(Some(StreamViewType::KeysOnly), IndexStatus::Active), None);
    let obstacle = "its stream holds `KEYS_ONLY` instead of both images".to_owned();
    assert_eq!(told(&plan), (vec![], vec![obstacle]));
    assert_eq!(plan.check(&orders()).unwrap_err().code(), "table-differs");
    let none = TablePlan::of(&orders(), STREAM, &found(None, IndexStatus::Active), None);
    assert_eq!(none.steps, [TableStep::Stream]);
}

#[test]
fn an_index_that_is_made_already_is_waited_for_and_one_that_goes_is_made_anew() {
    let of = |status| TablePlan::of(&orders(), TableOptions::default(), &found(None, status), None).steps;
    let index = || "byDay".to_owned();
    assert_eq!(of(IndexStatus::Active), []);
    assert_eq!(of(IndexStatus::Creating), [TableStep::Await { index: index() }]);
    assert_eq!(of(IndexStatus::Deleting), [TableStep::Add { index: index() }]);
}

#[test]
fn a_time_to_live_that_the_manifest_does_not_mention_is_left_on() {
    let plan = |ttl: Option<&str>, expires: Option<&str>| {
        let table = Table { ttl: ttl.map(str::to_owned), ..orders() };
        TablePlan::of(
            &table,
            TableOptions::default(),
            &found(None, IndexStatus::Active),
            expires.map(str::to_owned),
        )
    };
    assert!(plan(None, None).is_done() && plan(Some("gone"), Some("gone")).is_done());
    assert!(plan(None, Some("day")).is_done() && plan(None, Some("day")).extras.len() == 1);
    assert_eq!(plan(Some("gone"), None).steps.len(), 1);
    assert_eq!(plan(Some("gone"), Some("day")).obstacles.len(), 1);
}
