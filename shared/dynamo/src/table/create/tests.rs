use std::collections::BTreeMap;

use aws_sdk_dynamodb::types::AttributeDefinition;
use keyfold_core::model::{Index, KeyAttribute, KeySource, Projection, ScalarType};

use super::*;

fn key(name: &str) -> KeyAttribute {
    KeyAttribute { name: name.to_owned(), scalar: ScalarType::S, source: KeySource::Natural }
}

fn table(index: Index) -> Table {
    Table {
        id: "visits".to_owned(),
        name: "VisitsOfPlaces".to_owned(),
        partition: key("user"),
        sort: Some(key("at")),
        attributes: BTreeMap::new(),
        entity_attribute: None,
        entities: Vec::new(),
        indexes: vec![index],
        scope: BTreeMap::new(),
        written_by: BTreeMap::new(),
        expect: Default::default(),
        ttl: None,
        collection_bytes_warn: 0,
        facts: Default::default(),
    }
}

fn index(kind: IndexKind, partition: &[&str], sort: &[&str], projection: Projection) -> Index {
    let keys = |names: &[&str]| names.iter().map(|name| key(name)).collect();
    let (name, expect) = ("byPlace".to_owned(), Default::default());
    Index { name, kind, partition: keys(partition), sort: keys(sort), projection, expect }
}

fn request(index: Index) -> CreateTableInputBuilder {
    create_table_input(&table(index), TableOptions { stream: true }).unwrap()
}

#[test]
fn every_key_attribute_is_defined_once_and_no_other() {
    let request =
        request(index(IndexKind::Local, &["user"], &["place"], Projection::Include(vec!["note".to_owned()])));
    let names = request
        .get_attribute_definitions()
        .iter()
        .flatten()
        .map(AttributeDefinition::attribute_name)
        .collect::<Vec<_>>();
    assert_eq!(names, ["at", "place", "user"]);
}

#[test]
fn a_native_key_is_all_hash_elements_and_then_all_range_elements() {
    let request = request(index(IndexKind::Global, &["a", "b"], &["c", "d"], Projection::All));
    let indexes = request.get_global_secondary_indexes().clone().unwrap();
    let elements: Vec<_> =
        indexes[0].key_schema().iter().map(|one| (one.attribute_name(), one.key_type().as_str())).collect();
    assert_eq!(elements, [("a", "HASH"), ("b", "HASH"), ("c", "RANGE"), ("d", "RANGE")]);
    assert!(request.get_local_secondary_indexes().is_none());
}

#[test]
fn keys_are_left_out_of_a_projection() {
    let include = |names: &[&str]| Projection::Include(names.iter().map(|&name| name.to_owned()).collect());
    for (names, sent) in
        [(&["user", "note", "place"][..], Some(&["note".to_owned()][..])), (&["at"][..], None)]
    {
        let request = request(index(IndexKind::Local, &["user"], &["place"], include(names)));
        let indexes = request.get_local_secondary_indexes().clone().unwrap();
        let projection = indexes[0].projection().unwrap();
        assert_eq!(projection.non_key_attributes.as_deref(), sent);
    }
}

#[test]
fn the_table_is_on_demand_and_has_a_stream_with_both_images() {
    let request = request(index(IndexKind::Global, &["place"], &[], Projection::KeysOnly));
    assert_eq!(request.get_billing_mode(), &Some(BillingMode::PayPerRequest));
    let stream = request.get_stream_specification().clone().unwrap();
    assert_eq!(stream.stream_view_type(), Some(&StreamViewType::NewAndOldImages));
}
