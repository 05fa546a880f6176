//! Any text: the JSON codec accepts JSON within its bounds, reads the same as `serde_json`, and reads its own output.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    keyfold_core::json::check_laws(text);
});
