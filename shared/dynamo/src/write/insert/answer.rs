//! What one request came to.

use crate::consumed::Consumed;
use crate::guarded::StatementResult;
use crate::write::collection::Collection;

/// What one request came to, or several that became of it.
#[derive(Debug, Default)]
pub(super) struct InsertAnswer {
    /// Each item's place among those given, and what became of it.
    pub(super) results: Vec<(usize, StatementResult)>,
    pub(super) consumed: Consumed,
    pub(super) requests: u64,
    pub(super) collection: Option<Collection>,
}
