//! Projection compared with a plain clone of the item: `cargo bench -p keyfold-core --bench index`.
//!
//! An ALL projection needs at least a clone. Sizes and changes copy nothing.

use std::collections::BTreeMap;

use divan::{Bencher, black_box};
use keyfold_core::index::{changes, item_bytes};
use keyfold_core::model::{Expect, Index, IndexKind, KeyAttribute, KeySource, Projection, ScalarType, Table};
use keyfold_core::value::{AttributeValue, Item};

fn main() {
    divan::main();
}

#[divan::bench]
fn clone_of_the_item(bencher: Bencher) {
    let item = audit_item();
    bencher.bench_local(|| black_box(&item).clone());
}

#[divan::bench]
fn entry_keys_only(bencher: Bencher) {
    entry(bencher, Projection::KeysOnly);
}

#[divan::bench]
fn entry_include_two(bencher: Bencher) {
    entry(bencher, Projection::Include(vec!["resourceName".to_owned(), "action".to_owned()]));
}

#[divan::bench]
fn entry_all(bencher: Bencher) {
    entry(bencher, Projection::All);
}

#[divan::bench]
fn entry_bytes(bencher: Bencher) {
    let (table, item) = (audit(Projection::All), audit_item());
    bencher.bench_local(|| table.indexes[0].entry_bytes(black_box(&table), black_box(&item)));
}

#[divan::bench]
fn size_of_the_item(bencher: Bencher) {
    let item = audit_item();
    bencher.bench_local(|| item_bytes(black_box(&item)));
}

#[divan::bench]
fn change_of_one_projected_attribute(bencher: Bencher) {
    let (table, old, mut new) = (audit(Projection::All), audit_item(), audit_item());
    new.insert("resourceName".to_owned(), AttributeValue::S("Thing3".to_owned()));
    bencher.bench_local(|| changes(black_box(&table), Some(black_box(&old)), Some(black_box(&new))).total());
}

#[divan::bench]
fn check_as_a_write_would(bencher: Bencher) {
    let (table, item) = (audit(Projection::All), audit_item());
    bencher.bench_local(|| table.check_item(black_box(&item)).is_ok());
}

fn entry(bencher: Bencher, projection: Projection) {
    let (table, item) = (audit(projection), audit_item());
    bencher.bench_local(|| table.indexes[0].entry(black_box(&table), black_box(&item)));
}

/// An audit record of eight attributes, its folded key among them.
fn audit_item() -> Item {
    let json = r#"{"id":{"S":"111aae"},"byUserKey":{"S":"123ccc-viewed-joe1"},"resourceId":{"S":"123ccc"},
        "resourceName":{"S":"Thing2"},"action":{"S":"viewed"},"accessedBy":{"S":"joe1"},
        "timestamp":{"S":"2017-05-01T00:01:48.000Z"},"duration":{"N":"12.5"}}"#;
    serde_json::from_str(json).unwrap_or_else(|_| unreachable!("the text above is an item"))
}

fn audit(projection: Projection) -> Table {
    let key = |name: &str| KeyAttribute {
        name: name.to_owned(),
        scalar: ScalarType::S,
        source: KeySource::Natural,
    };
    let index = Index {
        name: "byUser".to_owned(),
        kind: IndexKind::Global,
        partition: vec![key("byUserKey")],
        sort: vec![key("timestamp")],
        projection,
        expect: Expect::default(),
    };
    Table {
        id: "audit".to_owned(),
        name: "ResourceAccessAudit".to_owned(),
        partition: key("id"),
        sort: None,
        attributes: BTreeMap::new(),
        entity_attribute: None,
        entities: Vec::new(),
        indexes: vec![index],
        scope: BTreeMap::new(),
        written_by: BTreeMap::new(),
        expect: Expect::default(),
        ttl: None,
        collection_bytes_warn: 8 << 30,
        facts: Default::default(),
    }
}
