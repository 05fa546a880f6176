//! What an item is known again by, where records tell of it later.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::retrofit::fence::Fence;
use crate::retrofit::mapping::FENCE_ATTRIBUTE;
use crate::retrofit::source_key::hex;
use crate::value::{Item, canonical};

/// An item's fence as a text; empty if it has none, which is before all others.
pub(in crate::retrofit) fn fence_text(item: Option<&Item>) -> String {
    match item.and_then(|item| Fence::read(item.get(FENCE_ATTRIBUTE)?)) {
        Some(fence) => fence.to_string(),
        None => String::new(),
    }
}

/// An item's fence; of an item without one, a digest of it.
pub(in crate::retrofit) fn mark(item: &Item) -> String {
    match fence_text(Some(item)) {
        fence if fence.is_empty() => {
            let mut parts: Vec<_> =
                item.iter().map(|(name, value)| json!([name, canonical(value)])).collect();
            parts.sort_by_cached_key(Value::to_string);
            hex(&Sha256::digest(Value::Array(parts).to_string())[..16])
        }
        fence => fence,
    }
}
