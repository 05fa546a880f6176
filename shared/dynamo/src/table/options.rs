//! What is wanted of a table that the model does not say.

/// What a table has besides what the model says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TableOptions {
    /// A stream with both images.
    pub stream: bool,
}
