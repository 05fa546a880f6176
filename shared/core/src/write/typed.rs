//! Structs as items.

use serde::Serialize;

use crate::model::Table;
use crate::value::{AttributeValue, Hidden, Item};

/// A value that is not an item: it has no named fields, or one without a DynamoDB type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the value cannot be converted to an item")]
pub struct NotAnItem {
    /// Serde's message, which can quote values.
    pub detail: Hidden<String>,
}

impl NotAnItem {
    /// The stable error code.
    pub fn code(&self) -> &'static str {
        "not-an-item"
    }
}

/// A serde value as an item. The write adds its folded keys.
///
/// A declared attribute that is `None` counts as absent, because no declared type is NULL. Undeclared ones become NULL;
/// to omit them, use `#[serde(skip_serializing_if = "Option::is_none")]`.
///
/// ```
/// # let text = "[tables.audit]\npartition = \"id\"\n[tables.audit.attributes]\nid = \"string\"\nnote = \"string\"\n";
/// # let model = keyfold_core::manifest::parse("keyfold.toml", text).model.unwrap();
/// # let table = &model.tables[0];
/// #[derive(serde::Serialize)]
/// struct Event { id: String, note: Option<String>, views: u32 }
///
/// let item = keyfold_core::write::item_of(table, &Event { id: "111aaa".to_owned(), note: None, views: 3 })?;
/// assert_eq!(serde_json::to_string(&item["views"])?, r#"{"N":"3"}"#);
/// assert!(!item.contains_key("note"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn item_of<T: Serialize>(table: &Table, value: &T) -> Result<Item, NotAnItem> {
    let mut item: Item =
        serde_dynamo::to_item(value).map_err(|error| NotAnItem { detail: Hidden::new(error.to_string()) })?;
    item.retain(|name, value| {
        !(matches!(value, AttributeValue::Null(_)) && table.attributes.contains_key(name.as_str()))
    });
    Ok(item)
}

/// A serde value as an attribute value.
pub(super) fn value_of<T: Serialize>(value: &T) -> Result<AttributeValue, NotAnItem> {
    serde_dynamo::to_attribute_value(value)
        .map_err(|error| NotAnItem { detail: Hidden::new(error.to_string()) })
}
