//! What fuzz targets call of the replicator that needs no table. It is compiled for them only (`--cfg fuzzing`).

use keyfold_core::model::Table;
use keyfold_core::retrofit::{Received, SourceKey};

use crate::change::received;
use crate::event::{RawBatch, check_readers, set_aside};

/// Reads an event as a batch of records of this table's stream.
///
/// # Panics
/// If a change is read whose new image has another key than the change, or two readers do not agree.
pub fn records(source: &Table, event: &str) {
    let _ = set_aside(event);
    check_readers(event);
    let Ok(batch) = RawBatch::read(event) else { return };
    for record in &batch.records {
        let _ = record.seconds();
        if let Received::Change(change) = received(source, record, true)
            && let Some(new) = &change.new
        {
            assert!(
                SourceKey::of(source, new) == SourceKey::of(source, &change.key),
                "a change of another item"
            );
        }
    }
}
