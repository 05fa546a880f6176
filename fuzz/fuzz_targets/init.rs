//! Any text is a source that becomes a manifest without errors, or a refusal.
#![no_main]

use keyfold_core::manifest;
use keyfold_init::{Options, Source, init, read};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let source = Source { name: "fuzz".to_owned(), text: text.to_owned() };
    let Ok(draft) = read(&source) else { return };
    if let Ok(report) = init(vec![("fuzz".to_owned(), draft)], &Options::default()) {
        let _ = manifest::parse("keyfold.toml", &report.manifest);
    }
});
