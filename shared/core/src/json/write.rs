//! Items and values as JSON texts, in DynamoDB's notation and plain.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::unescaped::unescaped;
use crate::value::{AttributeValue, Item, Number};

/// Writes a text.
pub fn string(out: &mut String, text: &str) {
    out.push('"');
    inside(out, text);
    out.push('"');
}

/// Writes a part of a text, without quotation marks around it.
pub fn inside(out: &mut String, text: &str) {
    let mut rest = text;
    loop {
        let length = unescaped(rest.as_bytes());
        out.push_str(&rest[..length]);
        match rest.as_bytes().get(length) {
            None => return,
            Some(b'"') => out.push_str("\\\""),
            Some(b'\\') => out.push_str("\\\\"),
            Some(b'\n') => out.push_str("\\n"),
            Some(byte) => out.push_str(&format!("\\u{byte:04x}")),
        }
        rest = &rest[length + 1..];
    }
}

/// Writes an item or a key.
pub fn item(out: &mut String, item: &Item) {
    members(out, item.iter(), value);
}

/// Writes a value.
pub fn value(out: &mut String, given: &AttributeValue) {
    match given {
        AttributeValue::S(text) => typed(out, "S", |out| string(out, text)),
        AttributeValue::N(number) => typed(out, "N", |out| string(out, number)),
        AttributeValue::B(bytes) => typed(out, "B", |out| binary(out, bytes)),
        AttributeValue::Bool(is) => typed(out, "BOOL", |out| boolean(out, *is)),
        AttributeValue::Null(is) => typed(out, "NULL", |out| boolean(out, *is)),
        AttributeValue::Ss(texts) | AttributeValue::Ns(texts) => {
            let letters = if matches!(given, AttributeValue::Ss(_)) { "SS" } else { "NS" };
            typed(out, letters, |out| elements(out, texts, |out, text| string(out, text)));
        }
        AttributeValue::Bs(all) => {
            typed(out, "BS", |out| elements(out, all, |out, bytes| binary(out, bytes)));
        }
        AttributeValue::L(list) => typed(out, "L", |out| elements(out, list, value)),
        AttributeValue::M(map) => {
            typed(out, "M", |out| members(out, map.iter(), value));
        }
    }
}

/// Writes an item in plain JSON.
pub fn plain_item(out: &mut String, item: &Item) {
    members(out, item.iter(), plain);
}

/// Writes a value in plain JSON: a number with every digit, a binary as base64, a set as a list.
pub fn plain(out: &mut String, given: &AttributeValue) {
    match given {
        AttributeValue::S(text) => string(out, text),
        AttributeValue::N(text) => number(out, text),
        AttributeValue::B(bytes) => binary(out, bytes),
        AttributeValue::Bool(is) => boolean(out, *is),
        AttributeValue::Null(_) => out.push_str("null"),
        AttributeValue::L(list) => elements(out, list, plain),
        AttributeValue::Ss(texts) => elements(out, texts, |out, text| string(out, text)),
        AttributeValue::Ns(texts) => elements(out, texts, |out, text| number(out, text)),
        AttributeValue::Bs(all) => elements(out, all, |out, bytes| binary(out, bytes)),
        AttributeValue::M(map) => {
            // In order, so that one item is always one text.
            let mut sorted: Vec<_> = map.iter().collect();
            sorted.sort_unstable_by_key(|(name, _)| *name);
            members(out, sorted.into_iter(), plain);
        }
    }
}

/// A number in DynamoDB's form. Another text has no place in DynamoDB, and stays a text.
fn number(out: &mut String, text: &str) {
    match text.parse::<Number>() {
        Ok(number) => out.push_str(&number.to_string()),
        Err(_) => string(out, text),
    }
}

/// Writes a list.
pub fn elements<T>(out: &mut String, all: impl IntoIterator<Item = T>, write: impl Fn(&mut String, T)) {
    out.push('[');
    for (at, element) in all.into_iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        write(out, element);
    }
    out.push(']');
}

/// Writes a map.
pub fn members<N: AsRef<str>, T>(
    out: &mut String,
    all: impl Iterator<Item = (N, T)>,
    write: impl Fn(&mut String, T),
) {
    out.push('{');
    for (at, (name, member)) in all.enumerate() {
        if at > 0 {
            out.push(',');
        }
        string(out, name.as_ref());
        out.push(':');
        write(out, member);
    }
    out.push('}');
}

fn typed(out: &mut String, letters: &str, write: impl FnOnce(&mut String)) {
    out.push_str("{\"");
    out.push_str(letters);
    out.push_str("\":");
    write(out);
    out.push('}');
}

fn binary(out: &mut String, bytes: &[u8]) {
    out.push('"');
    STANDARD.encode_string(bytes, out);
    out.push('"');
}

pub(super) fn boolean(out: &mut String, is: bool) {
    out.push_str(if is { "true" } else { "false" });
}
