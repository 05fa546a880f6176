//! Any body of `/delete` is sent or refused, without an internal error and with an answer.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|body: &[u8]| keyfold_fuzz::write("/delete", body));
