//! The entry points of fuzz targets, compiled only for them (`--cfg fuzzing`).

/// Panics if our decoder accepts a body that the SDK's refuses, or reads it differently. Returns whether ours accepts
/// it as a page, a batch, the results of statements, and the answer to a single write.
pub fn answer(body: &[u8]) -> [bool; 4] {
    crate::wire::agrees_with_the_sdk(body)
}
