//! What fuzz targets call of this crate. It is compiled for them only (`--cfg fuzzing`).

/// Panics if our decoder takes a body that the SDK's refuses, or reads something else in it. Says whether ours takes it as a page,
/// as a batch, as the answers to statements, and as the answer to a single write.
pub fn answer(body: &[u8]) -> [bool; 4] {
    crate::wire::agrees_with_the_sdk(body)
}
