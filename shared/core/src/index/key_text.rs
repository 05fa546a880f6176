//! An item's key for error messages: `id="111aaa"`, and nothing else of the item.

use std::fmt::Write;

use crate::model::{KeyAttribute, KeySource, Table};
use crate::value::{AttributeValue, Hex, Item};

/// A longer text is cut here, so that an error stays one line.
const KEY_TEXT_CHARS_MAX: usize = 120;

/// The item's key attributes. A missing one (or one whose type no key has) is shown as `?`; a missing folded one as the
/// attributes it is folded from.
pub(crate) fn key_text(table: &Table, item: &Item) -> String {
    let (mut text, mut shown) = (String::new(), Vec::new());
    for key in table.key_attributes() {
        if item.contains_key(&key.name) || !push_parts(&mut text, &mut shown, key, item) {
            push(&mut text, &key.name, item);
        }
    }
    shortened(text)
}

/// The attributes that a folded key is made of, each once; false if there are none to show.
fn push_parts<'t>(text: &mut String, shown: &mut Vec<&'t str>, key: &'t KeyAttribute, item: &Item) -> bool {
    let KeySource::Folded(rules) = &key.source else { return false };
    let mut found = false;
    for name in rules.iter().flat_map(|rule| rule.template.attributes()) {
        if item.contains_key(name) {
            found = true;
            if !shown.contains(&name) {
                shown.push(name);
                push(text, name, item);
            }
        }
    }
    found
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attribute_of_both_keys_is_shown_once() {
        let model = crate::manifest::model(
            "keyfold.toml",
            "[tables.shop]\nattributes = { id = \"string\", at = \"string\" }\npartition = \"o#{id}\"\nsort = \"{at}#{id}\"",
        );
        let item =
            [("id", "7"), ("at", "now")].map(|(name, value)| (name, AttributeValue::S(value.to_owned())));
        let item: Item = item.into_iter().collect();
        let model = model.unwrap();
        assert_eq!(key_text(&model.tables[0], &item), "id=\"7\", at=\"now\"");
    }
}
