//! The id of an event that has none: what it says, as a digest.
//!
//! The server's time is no part of it, so that an event that is sent again is the same event. Two events with the same content
//! and neither id nor time may be two: the id of their request or message, and their number in it, tells them apart.

use std::collections::BTreeMap;
use std::fmt::Write;

use keyfold_core::value::{AttributeValue, Item, Number};
use sha2::{Digest, Sha256};

/// How many bytes of the digest an id shows.
const ID_BYTES: usize = 20;

/// The id of what an event says.
pub(crate) fn of_content(item: &Item, mark: Option<&str>) -> String {
    let mut text = Vec::new();
    // The order of the names, whatever the order of the attributes was.
    for (name, value) in item.iter().collect::<BTreeMap<_, _>>() {
        put(&mut text, b'k', name.as_bytes());
        put_value(&mut text, value);
    }
    if let Some(mark) = mark {
        put(&mut text, b'm', mark.as_bytes());
    }
    let digest = Sha256::digest(&text);
    digest.iter().take(ID_BYTES).fold(String::new(), |mut id, byte| {
        // Writing to a string cannot fail.
        let _ = write!(id, "{byte:02x}");
        id
    })
}

/// A letter, a length and the bytes: no two contents have one text.
fn put(text: &mut Vec<u8>, letter: u8, bytes: &[u8]) {
    text.push(letter);
    text.extend((bytes.len() as u64).to_be_bytes());
    text.extend(bytes);
}

fn put_value(text: &mut Vec<u8>, value: &AttributeValue) {
    match value {
        AttributeValue::S(value) => put(text, b'S', value.as_bytes()),
        AttributeValue::N(value) => put(text, b'N', number(value).as_bytes()),
        AttributeValue::B(value) => put(text, b'B', value),
        AttributeValue::Bool(value) => put(text, b'T', &[u8::from(*value)]),
        AttributeValue::Null(_) => put(text, b'0', &[]),
        AttributeValue::L(values) => {
            put(text, b'L', &(values.len() as u64).to_be_bytes());
            values.iter().for_each(|value| put_value(text, value));
        }
        AttributeValue::M(values) => {
            put(text, b'M', &(values.len() as u64).to_be_bytes());
            let mut members: Vec<_> = values.iter().collect();
            members.sort_unstable_by_key(|(name, _)| *name);
            for (name, value) in members {
                put(text, b'k', name.as_bytes());
                put_value(text, value);
            }
        }
        AttributeValue::Ss(values) => put_set(text, values.iter().map(|value| value.clone().into_bytes())),
        AttributeValue::Ns(values) => put_set(text, values.iter().map(|value| number(value).into_bytes())),
        AttributeValue::Bs(values) => put_set(text, values.iter().cloned()),
    }
}

/// A set has no order.
fn put_set(text: &mut Vec<u8>, values: impl Iterator<Item = Vec<u8>>) {
    let mut values: Vec<_> = values.collect();
    values.sort_unstable();
    put(text, b's', &(values.len() as u64).to_be_bytes());
    values.iter().for_each(|value| put(text, b'e', value));
}

fn number(text: &str) -> String {
    text.parse::<Number>().map_or_else(|_| text.to_owned(), |number| number.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(json: &str) -> String {
        of_content(&serde_json::from_str(json).unwrap(), None)
    }

    #[test]
    fn one_content_has_one_id_however_it_is_spelled() {
        let one = id(r#"{"a":{"N":"1.0"},"b":{"SS":["x","y"]},"c":{"M":{"d":{"S":"1"},"e":{"S":"2"}}}}"#);
        let same = id(r#"{"c":{"M":{"e":{"S":"2"},"d":{"S":"1"}}},"b":{"SS":["y","x"]},"a":{"N":"1"}}"#);
        assert_eq!((&one, one.len()), (&same, 2 * ID_BYTES));
    }

    #[test]
    fn two_contents_have_two_ids() {
        let all = [
            id(r#"{"a":{"S":"bc"}}"#),
            id(r#"{"ab":{"S":"c"}}"#),
            id(r#"{"a":{"S":"b"},"c":{"S":""}}"#),
            id(r#"{"a":{"N":"1"}}"#),
            id(r#"{"a":{"S":"1"}}"#),
            id(r#"{"a":{"L":[{"L":[]}]}}"#),
            id(r#"{"a":{"L":[]}}"#),
            of_content(&serde_json::from_str(r#"{"a":{"S":"bc"}}"#).unwrap(), Some("m")),
        ];
        let distinct: std::collections::BTreeSet<_> = all.iter().collect();
        assert_eq!(distinct.len(), all.len());
    }
}
