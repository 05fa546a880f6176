//! The items of a table that are not in an index, counted by why.

use std::collections::BTreeMap;

use keyfold_core::model::Index;
use keyfold_core::value::Item;
use serde_json::{Value, json};

/// How many of these items are not in the index. `more`: the table has others, which were not looked at.
pub(super) fn from(index: &Index, items: &[Item], more: bool) -> Value {
    let mut reasons = BTreeMap::<String, u64>::new();
    for absence in items.iter().filter_map(|item| index.absence(item)) {
        *reasons.entry(absence.to_string()).or_default() += 1;
    }
    let absent: u64 = reasons.values().sum();
    let reasons: Vec<Value> =
        reasons.into_iter().map(|(reason, items)| json!({ "reason": reason, "items": items })).collect();
    json!({ "items": items.len(), "absent": absent, "more": more, "reasons": reasons })
}
