//! Any query string is the parameters of a question, or a refusal.
#![no_main]

use keyfold_fuzz::APIS;
use keyfold_query_api::read_questions;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|query: &str| APIS.iter().for_each(|api| read_questions(api, query)));
