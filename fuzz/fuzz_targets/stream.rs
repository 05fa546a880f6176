//! Any text is a batch of stream records, each a change or unreadable, or no batch.
#![no_main]

use keyfold_fuzz::MODEL;
use keyfold_replicator::fuzzing::records;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    for table in &MODEL.tables {
        records(table, text);
    }
});
