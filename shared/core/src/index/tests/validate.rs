use crate::index::fixture::{forum, item, local, thread, value};
use crate::index::{ITEM_BYTES_MAX, ItemError, item_bytes};
use crate::model::{Projection, Table};
use crate::value::{AttributeValue, Item};

fn last_post() -> Table {
    forum(vec![local("LastPostIndex", "LastPostDateTime", Projection::All)])
}

fn refusal(name: &str, value: AttributeValue) -> ItemError {
    last_post().check_item(&with(name, value)).unwrap_err()
}

fn accepted(name: &str, value: AttributeValue) -> bool {
    last_post().check_item(&with(name, value)).is_ok()
}

fn with(name: &str, value: AttributeValue) -> Item {
    let mut item = thread();
    item.insert(name, value);
    item
}

fn text(bytes: usize) -> AttributeValue {
    AttributeValue::S("x".repeat(bytes))
}

#[test]
fn a_usual_item_passes() {
    last_post().check_item(&thread()).unwrap();
}

#[test]
fn an_item_without_its_tables_key_is_refused() {
    let error = last_post().check_item(&item(r#"{"ForumName":{"S":"EC2"}}"#)).unwrap_err();
    assert_eq!(error.code(), "item-key-missing");
    assert_eq!(
        error.to_string(),
        "a key attribute is missing \
         (table `thread`, attribute `Subject`, item ForumName=\"EC2\", Subject=?)"
    );
}

#[test]
fn an_index_key_of_another_type_is_refused() {
    let error = refusal("LastPostDateTime", value(r#"{"N":"20150115"}"#));
    assert_eq!(error.code(), "item-key-type");
    assert_eq!(
        error.to_string(),
        "a key attribute is of type `N`, but the key needs `S` (table `thread`, index `LastPostIndex`, \
         attribute `LastPostDateTime`, item ForumName=\"EC2\", Subject=\"b\")"
    );
}

#[test]
fn an_empty_key_is_refused_and_any_other_empty_string_is_not() {
    assert_eq!(refusal("Subject", text(0)).code(), "item-key-empty");
    assert_eq!(refusal("LastPostDateTime", text(0)).code(), "item-key-empty");
    assert!(accepted("Tags", text(0)));
}

#[test]
fn a_partition_key_has_at_most_2048_bytes_and_a_sort_key_1024() {
    assert!(accepted("ForumName", text(2048)));
    assert_eq!(refusal("ForumName", text(2049)).code(), "item-key-too-long");
    assert!(accepted("Subject", text(1024)));
    assert_eq!(refusal("Subject", text(1025)).code(), "item-key-too-long");
    assert_eq!(refusal("LastPostDateTime", text(1025)).code(), "item-key-too-long");
}

#[test]
fn an_item_has_at_most_400_kb() {
    let name = "Body";
    let room = usize::try_from(ITEM_BYTES_MAX - item_bytes(&thread())).unwrap() - name.len();
    assert!(accepted(name, text(room)));
    assert_eq!(refusal(name, text(room + 1)).code(), "item-too-large");
}

#[test]
fn a_number_that_dynamodb_cannot_hold_is_refused_at_any_depth() {
    let long = "1".repeat(39);
    let values = [
        r#"{"N":"NaN"}"#.to_owned(),
        r#"{"N":"1E126"}"#.to_owned(),
        format!(r#"{{"L":[{{"M":{{"a":{{"N":"{long}"}}}}}}]}}"#),
        format!(r#"{{"NS":["1","{long}"]}}"#),
    ];
    for json in values {
        assert_eq!(refusal("Deep", value(&json)).code(), "item-number", "{json}");
    }
}

#[test]
fn an_empty_set_is_refused_at_any_depth_and_an_empty_list_is_not() {
    for json in [r#"{"SS":[]}"#, r#"{"L":[{"NS":[]}]}"#, r#"{"M":{"a":{"BS":[]}}}"#] {
        assert_eq!(refusal("Deep", value(json)).code(), "item-set-empty", "{json}");
    }
    assert!(accepted("Deep", value(r#"{"L":[]}"#)));
    assert!(accepted("Deep", value(r#"{"M":{}}"#)));
}

#[test]
fn a_set_that_holds_one_element_twice_is_refused() {
    for json in [r#"{"SS":["a","b","a"]}"#, r#"{"NS":["1","1.0"]}"#, r#"{"BS":["AA==","AA=="]}"#] {
        assert_eq!(refusal("Set", value(json)).code(), "item-set-repeated", "{json}");
    }
}

#[test]
fn values_are_nested_at_most_32_levels_deep() {
    let wrapped = |times: usize, list: bool| {
        (0..times).fold(AttributeValue::Bool(true), |inner, _| match list {
            true => AttributeValue::L(vec![inner]),
            false => AttributeValue::M([("n".to_owned(), inner)].into()),
        })
    };
    for list in [true, false] {
        assert!(accepted("Deep", wrapped(31, list)));
        assert_eq!(refusal("Deep", wrapped(32, list)).code(), "item-too-deep");
    }
}

#[test]
fn an_error_names_the_items_key_in_one_short_line_and_nothing_else_of_it() {
    let mut large = with("Secret", AttributeValue::Ss(vec![]));
    large.insert("Subject".to_owned(), AttributeValue::S("line\n".repeat(50)));
    let message = last_post().check_item(&large).unwrap_err().to_string();
    assert!(
        message.contains("ForumName=\"EC2\", Subject=\"line\\nline") && message.contains('…'),
        "{message}"
    );
    assert!(
        !message.contains('\n') && !message.contains("2015") && message.chars().count() < 240,
        "{message}"
    );
}
