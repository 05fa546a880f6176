use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::value::{AttributeValue, NumberError};

/// Any tree, with numbers that no float holds.
fn trees() -> impl Strategy<Value = Json> {
    let number = "-?(0|[1-9][0-9]{0,37})(\\.[0-9]{1,9})?([eE][+-]?[0-9]{1,2})?";
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::Bool),
        number.prop_map(Json::Number),
        any::<String>().prop_map(Json::Text),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        let name = prop_oneof![Just("a".to_owned()), any::<String>()];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Json::List),
            prop::collection::btree_map(name, inner, 0..4).prop_map(Json::Object),
        ]
    })
}

/// Any value in DynamoDB's notation.
fn typed() -> impl Strategy<Value = Json> {
    let of = |letters: &'static str| move |value| Json::Object(BTreeMap::from([(letters.to_owned(), value)]));
    let text = || any::<String>().prop_map(Json::Text);
    let base64 = || "([A-Za-z0-9+/]{4}){0,3}".prop_map(Json::Text);
    let list = |of: BoxedStrategy<Json>| prop::collection::vec(of, 0..3).prop_map(Json::List);
    let leaf = prop_oneof![
        text().prop_map(of("S")),
        "[0-9]{1,38}".prop_map(Json::Text).prop_map(of("N")),
        base64().prop_map(of("B")),
        any::<bool>().prop_map(Json::Bool).prop_map(of("BOOL")),
        any::<bool>().prop_map(Json::Bool).prop_map(of("NULL")),
        list(text().boxed()).prop_map(of("SS")),
        list(base64().boxed()).prop_map(of("BS")),
    ];
    leaf.prop_recursive(3, 16, 3, move |inner| {
        let map = prop::collection::btree_map(any::<String>(), inner.clone(), 0..3).prop_map(Json::Object);
        prop_oneof![
            prop::collection::vec(inner, 0..3).prop_map(Json::List).prop_map(of("L")),
            map.prop_map(of("M"))
        ]
    })
}

/// Tokens that change a text.
const TOKENS: [&str; 18] = [
    "null",
    "true",
    "-1",
    "1e2",
    "01",
    "1.",
    "{}",
    "[]",
    ",",
    ":",
    "\"",
    "\\",
    "\\ud800",
    "\\u0041",
    "\"a\":1,",
    "{\"S\":\"a\"}",
    " ",
    "é",
];

proptest! {
    #[test]
    fn what_is_written_is_read_as_the_same(tree in trees()) {
        prop_assert!(check_laws(&tree.to_string())[0]);
        prop_assert_eq!(Json::parse(&tree.to_string()), Ok(tree));
    }

    #[test]
    fn an_item_is_read_as_serde_reads_it(members in prop::collection::btree_map(any::<String>(), typed(), 0..4)) {
        let item = Json::Object(members).to_string();
        prop_assert!(check_laws(&item)[1], "{}", item);
    }

    #[test]
    fn a_changed_text_is_read_as_what_it_is_or_refused(
        tree in prop_oneof![trees(), prop::collection::btree_map("[ab]", typed(), 0..3).prop_map(Json::Object)],
        changes in prop::collection::vec((any::<prop::sample::Index>(), 0..3_usize, prop::sample::select(TOKENS.to_vec())), 1..3),
    ) {
        let mut text = tree.to_string();
        for (at, cut, token) in changes {
            let places: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
            let from = at.index(places.len());
            text.replace_range(places[from]..places[(from + cut).min(places.len() - 1)], token);
        }
        check_laws(&text);
    }
}

fn reason(text: &str) -> JsonReason {
    Json::parse(text).unwrap_err().reason
}

#[test]
fn a_number_keeps_its_text() {
    for number in ["88.30", "12345678901234567890123456789012345678", "-1E-5", "0", "-0.0e+7", "1e999"] {
        assert_eq!(Json::parse(number), Ok(Json::Number(number.to_owned())));
    }
    for text in ["01", "-", "+1", ".5", "1.", "1e", "1e+", "0x1", "- 1"] {
        assert!(Json::parse(text).is_err(), "{text}");
    }
    let plain = |text: &str| read_plain(text, Bounds::DEFAULT).map_err(|error| error.reason);
    let digits = "12345678901234567890123456789012345.678";
    assert_eq!(plain(digits), Ok(AttributeValue::N(digits.to_owned())));
    assert_eq!(plain(&"1".repeat(39)), Err(JsonReason::Number(NumberError::Digits)));
    assert_eq!(plain("1e999"), Err(JsonReason::Number(NumberError::Magnitude)));
}

#[test]
fn serde_carries_a_number_without_a_float() {
    #[derive(serde::Serialize, serde::Deserialize)]
    struct Carrier {
        value: Json,
    }
    let text = r#"{"value":{"a":[12345678901234567890.5,88.30]}}"#;
    let carrier: Carrier = serde_json::from_str(text).unwrap();
    assert_eq!(serde_json::to_string(&carrier).unwrap(), text);
    let error = serde_json::from_str::<Carrier>(r#"{"value": {"a":1,"a":1}}"#).map(drop).unwrap_err();
    assert_eq!(error.to_string(), "an object has the same member twice at line 1 column 24");
}

#[test]
fn a_member_twice_is_refused_wherever_it_would_be_lost() {
    assert_eq!(reason(r#"{"a":1,"\u0061":2}"#), JsonReason::Duplicate);
    let plain = read_plain(r#"[{"a":1,"a":1}]"#, Bounds::DEFAULT);
    assert_eq!(plain.unwrap_err().reason, JsonReason::Duplicate);
    for item in [r#"{"a":{"S":""},"b":{"S":""},"a":{"S":""}}"#, r#"{"a":{"M":{"b":{"S":""},"b":{"S":""}}}}"#]
    {
        assert_eq!(read_item(item).unwrap_err().reason, JsonReason::Duplicate, "{item}");
    }
    let (mut reader, mut place) = (Reader::new(r#"{"a":1,"b":{"c":1,"c":1},"a":2}"#), None);
    let read = reader.object(|reader, name| match &*name {
        "a" => reader.once(&mut place, Reader::number),
        _ => reader.skip(),
    });
    assert_eq!(read.unwrap_err().to_string(), "an object has the same member twice (line 1, column 30)");
}

#[test]
fn levels_and_values_are_bounded() {
    let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    assert!(Json::parse(&nested(128)).is_ok());
    assert_eq!(reason(&nested(129)), JsonReason::TooDeep(128));
    assert_eq!(reason(&"[".repeat(100_000)), JsonReason::TooDeep(128));
    let typed =
        |levels: usize| format!(r#"{{"a":{}{{"S":""}}{}}}"#, r#"{"L":["#.repeat(levels), "]}".repeat(levels));
    assert!(read_item(&typed(32)).is_ok());
    assert_eq!(read_item(&typed(64)).unwrap_err().reason, JsonReason::TooDeep(128));
    let bounds = Bounds { levels: 2, values: 3 };
    let plain = |text: &str| read_plain(text, bounds).map(drop).map_err(|error| error.reason);
    assert_eq!(plain("[[1]]"), Ok(()));
    assert_eq!(plain("[[[]]]"), Err(JsonReason::TooDeep(2)));
    assert_eq!(plain("[1,2]"), Ok(()));
    assert_eq!(plain("[1,2,3]"), Err(JsonReason::TooManyValues(3)));
}

#[test]
fn an_error_says_what_and_where() {
    for (text, wanted) in [
        ("", "this is not JSON (line 1, column 1)"),
        ("{\"a\": [1,\n 2,, 3]}", "this is not JSON (line 2, column 4)"),
        ("[1] 2", "this is not JSON (line 1, column 5)"),
        ("{1: 2}", "this is not a JSON text (line 1, column 2)"),
        ("[tru]", "this is not a JSON boolean (line 1, column 2)"),
        ("\"\u{1}\"", "this is not JSON (line 1, column 2)"),
    ] {
        assert_eq!(Json::parse(text).unwrap_err().to_string(), wanted, "{text}");
    }
    for (text, wanted) in [
        ("[]", "this is not a JSON object (line 1, column 1)"),
        (r#"{"a": 1}"#, "this is not a value in DynamoDB's notation (line 1, column 7)"),
        (r#"{"a": {"X": 1}}"#, "this is not a value in DynamoDB's notation (line 1, column 12)"),
        (r#"{"a": {"N": 5}}"#, "this is not a JSON text (line 1, column 13)"),
        (r#"{"a": {"S": "x", "N": "1"}}"#, "this is not a value in DynamoDB's notation (line 1, column 16)"),
    ] {
        assert_eq!(read_item(text).unwrap_err().to_string(), wanted, "{text}");
    }
}

#[test]
fn base64_with_escapes_is_read_unless_the_sdk_would_refuse_it() {
    let text = r#"{"a":{"B":"\/w=\u003d"}}"#;
    assert_eq!(read_item(text).unwrap()["a"], AttributeValue::B(vec![0xff]));
    let read = Reader::new(text).with_base64_as_written().item(1);
    assert_eq!(read.unwrap_err().reason, JsonReason::NotTyped);
}
