//! Any text is an item, in either notation, or none. An item in DynamoDB's notation is read as itself.
#![no_main]

use keyfold_core::write::{item_of_json, value_of_json};
use keyfold_fuzz::WRITES;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let table = &WRITES.model().tables[0];
    let _ = value_of_json(table, "tags", text);
    let Ok(item) = item_of_json(table, text) else { return };
    let typed = serde_json::to_string(&item).expect("an item is JSON");
    if let Ok(again) = item_of_json(table, &typed) {
        assert_eq!(again, item, "{typed}");
    }
    // Keys are made, or the item is refused; it is never another item.
    if let Ok(written) = table.written(item.clone()) {
        assert!(item.iter().all(|(name, value)| written.get(name) == Some(value) || table.folded_names().any(|folded| folded.as_str() == name.as_str())));
    }
});
