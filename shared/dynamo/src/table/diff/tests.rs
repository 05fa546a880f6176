use aws_sdk_dynamodb::types::ScalarAttributeType;
use keyfold_core::model::IndexKind;

use super::*;
use crate::table::schema::Projected;

fn keys(partition: &[&str], sort: &[&str]) -> KeyNames {
    let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    KeyNames { partition: names(partition), sort: names(sort) }
}

fn schema() -> Schema {
    let index =
        IndexSchema { kind: IndexKind::Global, keys: keys(&["a"], &["b"]), projected: Projected::All };
    Schema {
        keys: keys(&["id"], &[]),
        types: [("id".to_owned(), ScalarAttributeType::S), ("a".to_owned(), ScalarAttributeType::S)].into(),
        indexes: [("byA".to_owned(), index)].into(),
    }
}

/// The differences after one change to a table that was as it should be.
fn after(change: impl FnOnce(&mut Schema, &mut IndexSchema)) -> String {
    let (wanted, mut found) = (schema(), schema());
    let mut index = found.indexes["byA"].clone();
    change(&mut found, &mut index);
    found.indexes.entry("byA".to_owned()).and_modify(|found| *found = index);
    TableDiff { differences: schema_differences(&wanted, &found) }.to_string()
}

#[test]
fn a_table_as_it_should_be_has_no_differences() {
    assert_eq!(after(|_, _| {}), "");
}

#[test]
fn each_difference_is_named() {
    for (text, expected) in [
        (
            after(|table, _| table.keys = keys(&["id"], &["at"])),
            "its key is partition `id`, sort `at` instead of partition `id`",
        ),
        (
            after(|table, _| drop(table.types.insert("id".to_owned(), ScalarAttributeType::N))),
            "key attribute `id` is of type `N` instead of `S`",
        ),
        (after(|table, _| table.indexes.clear()), "index `byA` is missing"),
        (
            after(|_, index| index.keys = keys(&["b"], &["a"])),
            "the key of index `byA` is partition `b`, sort `a` instead of partition `a`, sort `b`",
        ),
        (
            after(|_, index| index.kind = IndexKind::Local),
            "index `byA` is of the other kind (local or global)",
        ),
        (
            after(|_, index| index.projected = Projected::Include(["note".to_owned()].into())),
            "index `byA` holds keys and `note` instead of everything",
        ),
        (
            after(|table, index| drop(table.indexes.insert("byB".to_owned(), index.clone()))),
            "index `byB` is not in the manifest",
        ),
    ] {
        assert_eq!(text, expected);
    }
}

#[test]
fn only_an_unknown_index_is_compatible() {
    let unknown = Difference::UnknownIndex { index: "byB".to_owned() };
    assert!(TableDiff { differences: vec![unknown.clone()] }.is_compatible());
    assert!(!TableDiff { differences: vec![unknown, Difference::NoStream] }.is_compatible());
}
