use crate::index::fixture::{item, value};
use crate::index::{item_bytes, value_bytes};
use crate::value::AttributeValue;

fn number(text: &str) -> u64 {
    value_bytes(&AttributeValue::N(text.to_owned()))
}

#[test]
fn a_name_and_a_string_count_their_utf8_bytes() {
    assert_eq!(item_bytes(&item(r#"{"größe":{"S":"naïve"}}"#)), 7 + 6);
    assert_eq!(value_bytes(&value(r#"{"S":""}"#)), 0);
}

#[test]
fn a_binary_counts_its_bytes_and_not_its_base64() {
    assert_eq!(value_bytes(&AttributeValue::B(vec![0; 10])), 10);
}

#[test]
fn null_and_booleans_take_one_byte() {
    assert_eq!(value_bytes(&AttributeValue::Null(true)), 1);
    assert_eq!(value_bytes(&AttributeValue::Bool(false)), 1);
}

#[test]
fn a_list_or_map_takes_three_bytes_and_one_for_each_element() {
    assert_eq!(value_bytes(&value(r#"{"L":[]}"#)), 3);
    assert_eq!(value_bytes(&value(r#"{"M":{}}"#)), 3);
    assert_eq!(value_bytes(&value(r#"{"L":[{"S":"ab"},{"BOOL":true}]}"#)), 3 + (1 + 2) + (1 + 1));
    assert_eq!(value_bytes(&value(r#"{"M":{"k":{"L":[{"S":"a"}]}}}"#)), 3 + (1 + 1 + (3 + (1 + 1))));
}

#[test]
fn a_set_is_the_sum_of_its_elements() {
    assert_eq!(value_bytes(&value(r#"{"SS":["pizza","burger"]}"#)), 11);
    assert_eq!(value_bytes(&value(r#"{"NS":["1","-12345"]}"#)), 2 + 5);
    assert_eq!(value_bytes(&AttributeValue::Bs(vec![vec![1, 2], vec![3]])), 3);
}

/// Measured on DynamoDB by bisecting its 400 KB limit, which shows single bytes.
#[test]
fn numbers_have_the_sizes_that_were_measured() {
    let measured = [
        ("0", 1),
        ("-0", 1),
        ("1", 2),
        ("12", 2),
        ("123", 3),
        ("1234567891", 6),
        ("12345678901234567890123456789012345678", 20),
        ("0042", 2),
        ("100", 2),
        ("1010", 3),
        ("0.0000001", 2),
        ("1E125", 2),
        ("1E-100", 2),
        ("1.5", 3),
        ("1.200", 3),
        ("1.234", 4),
        ("3.14159", 5),
        ("100.5", 4),
        ("0.15", 2),
        ("-42", 3),
        ("-12345", 5),
        ("-1E125", 3),
        ("-0.15", 3),
    ];
    for (text, bytes) in measured {
        assert_eq!(number(text), bytes, "{text}");
    }
}

#[test]
fn a_text_that_is_no_number_has_a_size_all_the_same() {
    assert_eq!(number("NaN"), 3);
    assert_eq!(number(""), 1);
    assert_eq!(number(&"9".repeat(39)), 21);
}
