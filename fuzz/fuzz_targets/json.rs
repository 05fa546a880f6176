//! Any text: the JSON codec takes what is JSON within its bounds, reads in it what `serde_json` reads, and reads what it writes.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    keyfold_core::json::check_laws(text);
});
