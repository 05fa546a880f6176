//! Any text is audit events that can be written, or refusals.
#![no_main]

use keyfold_audit_writer::fuzzing::events;
use keyfold_fuzz::WRITER;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| events(&WRITER, text));
