//! An item's key for error messages: `id="111aaa"`, and nothing else of the item.

use std::fmt::Write;

use crate::model::{KeyAttribute, KeySource, Table};
use crate::value::{AttributeValue, Hex, Item};

/// A longer text is cut here, so that an error stays one line.
const KEY_TEXT_CHARS_MAX: usize = 120;

/// The item's key attributes. A missing one (or one whose type no key has) is shown as `?`; a missing folded one as the
/// attributes it is folded from.
pub(crate) fn key_text(table: &Table, item: &Item) -> String {
    let mut text = String::new();
    for key in table.key_attributes() {
        if item.contains_key(&key.name) || !push_parts(&mut text, key, item) {
            push(&mut text, &key.name, item);
        }
    }
    shortened(text)
}

/// The attributes that a folded key is made of; false if there are none to show.
fn push_parts(text: &mut String, key: &KeyAttribute, item: &Item) -> bool {
    let KeySource::Folded(rules) = &key.source else { return false };
    let mut shown: Vec<&str> = Vec::new();
    for name in rules.iter().flat_map(|rule| rule.template.attributes()) {
        if item.contains_key(name) && !shown.contains(&name) {
            shown.push(name);
            push(text, name, item);
        }
    }
    !shown.is_empty()
}

fn push(text: &mut String, name: &str, item: &Item) {
    if !text.is_empty() {
        text.push_str(", ");
    }
    text.push_str(name);
    text.push('=');
    // Writing to a string cannot fail.
    let _ = match item.get(name) {
        Some(AttributeValue::S(value)) => write!(text, "{value:?}"),
        Some(AttributeValue::N(value)) => write!(text, "{}", value.escape_debug()),
        Some(AttributeValue::B(value)) => write!(text, "{}", Hex(value)),
        _ => write!(text, "?"),
    };
}

fn shortened(mut text: String) -> String {
    if let Some((at, _)) = text.char_indices().nth(KEY_TEXT_CHARS_MAX) {
        text.truncate(at);
        text.push('…');
    }
    text
}
