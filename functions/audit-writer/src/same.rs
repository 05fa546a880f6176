//! Is the stored item this event again?

use keyfold_core::value::{Item, equal};

use crate::Writer;
use crate::event::Draft;

/// Everything that was given counts. Folded keys do not: the manifest may have been another. Nor does the time, where the
/// event says none, nor how it was received: both are others each time.
pub(crate) fn is_same(writer: &Writer, draft: &Draft, stored: &Item) -> bool {
    let counts = |name: &str| {
        !writer.folded.contains(name) && name != writer.received && (draft.timed || name != writer.time)
    };
    let given = draft.item.iter().filter(|(name, _)| counts(name));
    let there = stored.iter().filter(|(name, _)| counts(name)).count();
    given.clone().count() == there
        && given.into_iter().all(|(name, value)| stored.get(name).is_some_and(|stored| equal(stored, value)))
}
