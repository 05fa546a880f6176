//! The primary key of a write, as DynamoDB accepts it, in a form in which equal keys compare equal.

use crate::index::ItemError;
use crate::model::Table;
use crate::value::{AttributeValue, Item, Number};

/// An item's primary key, in a form in which equal keys in DynamoDB are equal.
pub type PrimaryKey = Vec<Vec<u8>>;

/// The primary key that these attributes make: a folded one is folded from them. A whole primary key without other
/// attributes is itself.
///
/// ```
/// use keyfold_core::{manifest, value::Item};
/// let text = r#"
/// [tables.visits]
/// partition = "{user}-{place}"
/// [tables.visits.attributes]
/// user = "string"
/// place = "string"
/// "#;
/// let model = manifest::parse("keyfold.toml", text).model.unwrap();
/// let attributes: Item = serde_json::from_str(r#"{"user":{"S":"joe1"},"place":{"S":"harbour"}}"#)?;
/// let key = keyfold_core::write::primary_key(&model.tables[0], &attributes)?;
/// let folded = &model.tables[0].partition.name;
/// assert_eq!(key[folded], keyfold_core::value::AttributeValue::S("joe1-harbour".to_owned()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn primary_key(table: &Table, attributes: &Item) -> Result<Item, ItemError> {
    // A key can hold optional parts that no attribute gives back: folding its readable parts again would make another
    // item's key.
    if let Some(key) = table.key_of(attributes)
        && key.len() == attributes.len()
    {
        return table.check_item(&key).map(|()| key);
    }
    let mut whole = attributes.clone();
    for (name, value) in table.folded(attributes)? {
        if let (true, Some(text)) = (table.key_attributes().any(|key| key.name == name), value) {
            whole.insert(name, AttributeValue::S(text));
        }
    }
    match table.key_of(&whole) {
        Some(key) => table.check_item(&key).map(|()| key),
        // Says which attribute is missing or of another type.
        None => table.check_item(&whole).map(|()| whole),
    }
}

/// The primary key of an item that has one, for comparisons.
pub fn comparable_key(table: &Table, item: &Item) -> PrimaryKey {
    table.key_attributes().map(|key| item.get(&key.name).map(canonical_key).unwrap_or_default()).collect()
}

/// A key attribute's value, so that two spellings of it are equal.
pub fn canonical_key(value: &AttributeValue) -> Vec<u8> {
    match value {
        AttributeValue::S(text) => text.clone().into_bytes(),
        AttributeValue::B(bytes) => bytes.clone(),
        // `1` and `1.0` are one key.
        AttributeValue::N(text) => match text.parse::<Number>() {
            Ok(number) => number.to_string().into_bytes(),
            Err(_) => text.clone().into_bytes(),
        },
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest;

    #[test]
    fn a_whole_key_is_not_folded_again_from_its_readable_parts() {
        let text = r#"
            [tables.things]
            partition = "id"
            sort = { attribute = "SK", fold = "cat:{kind}[::{number:03}]" }
            [tables.things.attributes]
            id = "string"
            kind = { type = "string", from-key = true }
            number = "number"
        "#;
        let model = manifest::model("keyfold.toml", text).expect("a manifest");
        let key: Item = serde_json::from_str(r#"{"id":{"S":"1"},"SK":{"S":"cat:a::002"}}"#).expect("an item");
        assert_eq!(primary_key(&model.tables[0], &key), Ok(key));
    }
}
