use crate::index::fixture::{forum, include, item, local, thread};
use crate::index::{CollectionLevel, collection_level, item_storage_bytes};
use crate::model::Projection;

const GB: u64 = 1 << 30;

#[test]
fn an_index_entry_takes_keys_and_projected_attributes_and_100_bytes() {
    let index = local("LastPostIndex", "LastPostDateTime", include(&["Replies"]));
    let table_key = ("ForumName".len() + 3) + ("Subject".len() + 1);
    let index_key = "LastPostDateTime".len() + 24;
    let projected = "Replies".len() + 2;
    let expected = u64::try_from(table_key + index_key + projected + 100).unwrap();
    assert_eq!(index.entry_storage_bytes(&forum(vec![]), &thread()), Some(expected));
}

#[test]
fn an_item_that_is_not_in_an_index_takes_nothing_of_it() {
    let index = local("i", "Missing", Projection::All);
    assert_eq!(index.entry_storage_bytes(&forum(vec![]), &thread()), None);
}

#[test]
fn storage_can_double_when_everything_is_projected() {
    let table = forum(vec![local("i", "LastPostDateTime", Projection::All)]);
    assert_eq!(table.storage_bytes(&thread()), 2 * item_storage_bytes(&thread()));
}

#[test]
fn the_estimate_that_dynamodb_returns_has_a_level() {
    let level = |lower, upper| collection_level(lower, upper, 8 * GB).unwrap();
    assert_eq!(level(0.0, 1.0), CollectionLevel::Fine);
    assert_eq!(level(7.0, 8.0), CollectionLevel::Fine);
    assert_eq!(level(8.0, 9.0), CollectionLevel::Warn);
    assert_eq!(level(9.0, 10.0), CollectionLevel::Warn);
    assert_eq!(level(10.0, 11.0), CollectionLevel::Over);
}

#[test]
fn an_estimate_that_is_no_range_has_no_level() {
    for (lower, upper) in [(2.0, 1.0), (-1.0, 1.0), (0.0, f64::NAN), (0.0, f64::INFINITY)] {
        assert_eq!(collection_level(lower, upper, 8 * GB), None);
    }
}

#[test]
fn the_storage_of_an_item_is_its_size_and_100_bytes() {
    assert_eq!(item_storage_bytes(&item(r#"{"id":{"S":"x"}}"#)), 103);
}
