//! Any query string is the parameters of a question, or a refusal.
#![no_main]

use keyfold_fuzz::APIS;
use keyfold_query_api::fuzzing::questions;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|query: &str| APIS.iter().for_each(|api| questions(api, query)));
