use crate::cost::WriteUnits;
use crate::index::fixture::{forum, global, include, item, local, table, thread, value};
use crate::index::{IndexAction, IndexWrite, changes};
use crate::model::{Projection, Table};
use crate::value::{AttributeValue, Item};

fn last_post(projection: Projection) -> Table {
    forum(vec![local("LastPostIndex", "LastPostDateTime", projection)])
}

fn with(mut item: Item, name: &str, json: &str) -> Item {
    item.insert(name, value(json));
    item
}

fn without(mut item: Item, name: &str) -> Item {
    item.remove(name);
    item
}

fn text(bytes: usize) -> AttributeValue {
    AttributeValue::S("x".repeat(bytes))
}

/// The effect on the only index.
fn index_write(table: &Table, old: Option<&Item>, new: Option<&Item>) -> (IndexAction, u64) {
    let IndexWrite { action, units, .. } = changes(table, old, new).indexes[0];
    (action, units.get())
}

#[test]
fn a_new_item_with_the_indexed_attribute_takes_one_index_write() {
    let table = last_post(Projection::KeysOnly);
    assert_eq!(index_write(&table, None, Some(&thread())), (IndexAction::Put, 1));
}

#[test]
fn an_update_that_defines_the_indexed_attribute_takes_one_index_write() {
    let table = last_post(Projection::KeysOnly);
    let before = without(thread(), "LastPostDateTime");
    assert_eq!(index_write(&table, Some(&before), Some(&thread())), (IndexAction::Put, 1));
}

#[test]
fn a_changed_key_takes_two_index_writes() {
    let table = last_post(Projection::KeysOnly);
    let after = with(thread(), "LastPostDateTime", r#"{"S":"2016"}"#);
    assert_eq!(index_write(&table, Some(&thread()), Some(&after)), (IndexAction::DeleteThenPut, 2));
}

#[test]
fn a_removed_indexed_attribute_takes_one_index_write() {
    let table = last_post(Projection::KeysOnly);
    let after = without(thread(), "LastPostDateTime");
    assert_eq!(index_write(&table, Some(&thread()), Some(&after)), (IndexAction::Delete, 1));
    assert_eq!(index_write(&table, Some(&thread()), None), (IndexAction::Delete, 1));
}

#[test]
fn an_item_that_is_in_the_index_neither_before_nor_after_costs_the_index_nothing() {
    let table = last_post(Projection::All);
    let before = without(thread(), "LastPostDateTime");
    let after = with(before.clone(), "Replies", r#"{"N":"13"}"#);
    assert_eq!(index_write(&table, Some(&before), Some(&after)), (IndexAction::None, 0));
    assert_eq!(index_write(&table, None, None), (IndexAction::None, 0));
}

#[test]
fn a_change_to_what_is_not_projected_costs_the_index_nothing() {
    let table = last_post(include(&["Replies"]));
    let after = with(thread(), "Tags", r#"{"SS":["z"]}"#);
    assert_eq!(index_write(&table, Some(&thread()), Some(&after)), (IndexAction::None, 0));
}

#[test]
fn a_change_to_a_projected_attribute_takes_one_index_write() {
    let table = last_post(include(&["Replies"]));
    for after in [with(thread(), "Replies", r#"{"N":"13"}"#), without(thread(), "Replies")] {
        assert_eq!(index_write(&table, Some(&thread()), Some(&after)), (IndexAction::Put, 1));
    }
}

#[test]
fn a_write_of_the_same_in_another_form_costs_the_index_nothing() {
    let table = last_post(Projection::All);
    let after = with(with(thread(), "Replies", r#"{"N":"12.0"}"#), "Tags", r#"{"SS":["y","x"]}"#);
    assert_eq!(index_write(&table, Some(&thread()), Some(&after)), (IndexAction::None, 0));
    let after = with(thread(), "Tags", r#"{"L":[{"S":"x"},{"S":"y"}]}"#);
    assert_eq!(index_write(&table, Some(&thread()), Some(&after)), (IndexAction::Put, 1));
}

#[test]
fn an_entry_beyond_one_kb_takes_more() {
    let table = last_post(Projection::All);
    let mut large = thread();
    large.insert("Body".to_owned(), text(2900));
    assert_eq!(index_write(&table, None, Some(&large)), (IndexAction::Put, 3));
    assert_eq!(index_write(&last_post(Projection::KeysOnly), None, Some(&large)), (IndexAction::Put, 1));
}

#[test]
fn an_overwritten_entry_counts_by_the_larger_of_old_and_new() {
    let table = last_post(include(&["Body"]));
    let mut large = thread();
    large.insert("Body".to_owned(), text(2900));
    let small = with(thread(), "Body", r#"{"S":"short"}"#);
    for (old, new) in [(&large, &small), (&small, &large)] {
        assert_eq!(index_write(&table, Some(old), Some(new)), (IndexAction::Put, 3));
    }
}

#[test]
fn a_moved_entry_is_rounded_up_on_either_side() {
    let table = last_post(include(&["Body"]));
    let mut before = thread();
    before.insert("Body".to_owned(), text(1400));
    let after = with(before.clone(), "LastPostDateTime", r#"{"S":"2016"}"#);
    assert_eq!(index_write(&table, Some(&before), Some(&after)), (IndexAction::DeleteThenPut, 4));
}

#[test]
fn the_table_counts_by_the_larger_of_old_and_new() {
    let table = last_post(Projection::KeysOnly);
    let mut large = thread();
    large.insert("Body".to_owned(), text(2900));
    for (old, new) in [(Some(&large), Some(&thread())), (None, Some(&large)), (Some(&large), None)] {
        assert_eq!(changes(&table, old, new).table_units, WriteUnits::new(3));
    }
    assert_eq!(changes(&table, Some(&thread()), Some(&thread())).table_units, WriteUnits::new(1));
}

#[test]
fn deleting_what_is_not_there_costs_the_table_one_unit() {
    let write = changes(&last_post(Projection::All), None, None).total();
    assert_eq!(write, WriteUnits::new(1));
    assert_eq!(write, WriteUnits::new(1));
}

#[test]
fn the_cost_of_a_write_is_the_table_and_all_indexes_together() {
    let table = forum(vec![
        local("LastPostIndex", "LastPostDateTime", Projection::All),
        local("RepliesIndex", "Missing", Projection::All),
        global("byTag", &["Tag"], &[], Projection::KeysOnly),
    ]);
    let before = with(thread(), "Tag", r#"{"S":"a"}"#);
    let after = with(thread(), "Tag", r#"{"S":"b"}"#);
    let write = changes(&table, Some(&before), Some(&after));
    let units: Vec<u64> = write.indexes.iter().map(|index| index.units.get()).collect();
    assert_eq!((units, write.total()), (vec![1, 0, 2], WriteUnits::new(1 + 1 + 2)));
}

#[test]
fn a_transaction_doubles_the_tables_units_and_not_those_of_indexes() {
    let table = last_post(Projection::All);
    let write = changes(&table, None, Some(&thread())).transactional();
    assert_eq!(write.table_units, WriteUnits::new(2));
    assert_eq!(write.indexes[0].units, WriteUnits::new(1));
}

#[test]
fn two_items_with_different_keys_are_a_delete_and_a_put() {
    let table = table("t", "id", None, vec![global("g", &["g"], &[], Projection::All)]);
    let old = item(r#"{"id":{"S":"1"},"g":{"S":"x"}}"#);
    let new = item(r#"{"id":{"S":"2"},"g":{"S":"x"}}"#);
    let write = changes(&table, Some(&old), Some(&new));
    assert_eq!(write.table_units, WriteUnits::new(2));
    assert_eq!(write.indexes[0].action, IndexAction::DeleteThenPut);
}
