//! Any text is a manifest or has errors, and never both.
#![no_main]

use keyfold_core::manifest;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let parsed = manifest::parse("fuzz.toml", text);
    let errors = parsed.diagnostics.iter().any(|found| found.severity == manifest::Severity::Error);
    assert_eq!(parsed.model.is_none(), errors);
    let _ = parsed.render(text, false);
});
