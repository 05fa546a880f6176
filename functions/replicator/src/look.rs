//! A look at the retrofit's row that said yes serves the batches of its stream for a moment longer.
//!
//! Only what is written may rest on it: its writes are guarded, and one may as well have been under way since the look. Before a
//! record is dropped, the row is read again. Commands that change the row wait for this moment too
//! (`keyfold_core::retrofit::control::wait_after_change`).

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use keyfold_dynamo::retrofit::RequestSender;

/// The last look that said yes.
#[derive(Debug)]
pub(crate) struct Looks {
    most: Duration,
    last: Mutex<Option<Look>>,
}

#[derive(Debug)]
struct Look {
    stream: String,
    begun: Begun,
    version: u64,
    sender: Arc<RequestSender>,
}

/// When a look began, by both clocks: a process that Lambda freezes may not see one of them go on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Begun {
    at: Instant,
    on_the_wall: SystemTime,
}

impl Begun {
    /// Is it so young by both clocks? A wall clock that was set back says no.
    fn is_within(&self, most: Duration, now: Begun) -> bool {
        let on_the_wall = now.on_the_wall.duration_since(self.on_the_wall);
        now.at.saturating_duration_since(self.at) < most && on_the_wall.is_ok_and(|past| past < most)
    }
}

impl Looks {
    /// Looks are remembered for so long.
    pub(crate) fn new(most: Duration) -> Looks {
        Looks { most, last: Mutex::default() }
    }

    /// A look begins.
    pub(crate) fn begin(&self) -> Begun {
        Begun { at: Instant::now(), on_the_wall: SystemTime::now() }
    }

    /// What the last look allowed, if it was about this stream and is young enough; and the version of the row that it saw.
    pub(crate) fn of(&self, stream: &str) -> Option<(Arc<RequestSender>, u64)> {
        let now = self.begin();
        let last = self.last();
        let look = last.as_ref().filter(|look| look.stream == stream)?;
        look.begun.is_within(self.most, now).then(|| (Arc::clone(&look.sender), look.version))
    }

    /// A look said yes.
    pub(crate) fn remember(&self, begun: Begun, stream: &str, sender: &Arc<RequestSender>, version: u64) {
        let (stream, sender) = (stream.to_owned(), Arc::clone(sender));
        *self.last() = Some(Look { stream, begun, version, sender });
    }

    /// There is a doubt.
    pub(crate) fn forget(&self) {
        *self.last() = None;
    }

    fn last(&self) -> MutexGuard<'_, Option<Look>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_is_young_by_both_clocks_or_not_at_all() {
        let (at, on_the_wall) = (Instant::now(), SystemTime::now());
        let begun = Begun { at, on_the_wall };
        let ms = Duration::from_millis;
        let within = |monotonic: u64, wall: SystemTime| {
            begun.is_within(ms(1_000), Begun { at: at + ms(monotonic), on_the_wall: wall })
        };
        assert!(within(0, on_the_wall) && within(999, on_the_wall + ms(999)));
        assert!(!within(1_000, on_the_wall) && !within(0, on_the_wall + ms(1_000)));
        assert!(!within(10, on_the_wall - ms(1)), "a clock that was set back proves nothing");
        assert!(!begun.is_within(Duration::ZERO, begun), "nothing is remembered");
    }
}
