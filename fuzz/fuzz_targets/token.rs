//! Only sealed texts are valid page tokens, and they open with the sealed content.
#![no_main]

use std::sync::LazyLock;

use keyfold_core::query::QueryRequest;
use keyfold_dynamo::{Binding, Position, TokenKeys, model_version};
use libfuzzer_sys::fuzz_target;

const NOW: u64 = 1_700_000_000;

static KEYS: LazyLock<TokenKeys> = LazyLock::new(|| {
    TokenKeys::parse("a:MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=").expect("a ring of keys")
});
static BINDING: LazyLock<Binding> = LazyLock::new(|| {
    let request: QueryRequest = serde_json::from_str(r#"{"table":"audit","where":{"id":"e1"}}"#).expect("a request");
    Binding::new(&request, "caller", &model_version("a manifest"))
});

fuzz_target!(|input: (&str, &[u8])| {
    let (text, position) = input;
    assert!(KEYS.open(text, &BINDING, NOW).is_err(), "a forged token opens");
    let _ = TokenKeys::parse(text);
    // A token's content is read only after decryption; even with a leaked key it must be safe to parse.
    let Ok(position) = serde_json::from_slice::<Position>(position) else { return };
    if let Ok(token) = KEYS.seal(&position, &BINDING, NOW, 60) {
        assert!(KEYS.open(&token, &BINDING, NOW).is_ok_and(|opened| opened == position));
        assert!(KEYS.open(&token, &BINDING, NOW + 60).is_err(), "an expired token opens");
    }
});
