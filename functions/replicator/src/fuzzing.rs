//! The entry points of fuzz targets that need no table, compiled only for them (`--cfg fuzzing`).

use keyfold_core::model::Table;
use keyfold_core::retrofit::{Received, SourceKey};

use crate::change::received;
use crate::event::{StreamBatch, set_aside};

/// Reads an event as a batch of records of this table's stream.
///
/// # Panics
/// If a change is read whose new image has another key than the change.
pub fn records(source: &Table, event: &str) {
    let _ = set_aside(event);
    let Ok(mut batch) = StreamBatch::read(event) else { return };
    for record in &mut batch.records {
        let _ = record.happened();
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
