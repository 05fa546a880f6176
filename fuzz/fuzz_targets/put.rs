//! Any body of `/put` is a request that can be sent, or a refusal: never a failure of ours, and never nothing.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|body: &[u8]| keyfold_fuzz::write("/put", body));
