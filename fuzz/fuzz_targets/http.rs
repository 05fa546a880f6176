//! Any text is an event of an HTTP API or not; all its parts are within the text.
#![no_main]

use keyfold_edge::http::HttpEvent;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let Ok(event) = HttpEvent::read(text) else { return };
    let _ = (event.method(), event.path(), event.query(), event.request_id());
    let claims = event.claims();
    assert!(claims.principal().is_none_or(|principal| !principal.is_empty()));
    assert!(event.body(100).is_ok_and(|body| body.len() <= 102) || event.body(100).is_err());
});
