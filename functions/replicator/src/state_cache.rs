//! A cache of the retrofit's head: a head that allowed writes serves the batches of its stream for a moment longer.
//!
//! Only writes may rely on it: they are guarded, and one could have been in flight since the read. Before a record is dropped, the row
//! is read again. Commands that change the row wait for this moment too
//! (`keyfold_core::retrofit::control::wait_after_change`).

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use keyfold_dynamo::retrofit::RequestSender;

/// The head that was read last, if it allowed writes.
#[derive(Debug)]
pub(crate) struct HeadCache {
    most: Duration,
    last: Mutex<Option<CachedHead>>,
}

#[derive(Debug)]
struct CachedHead {
    stream: String,
    started: ReadAt,
    version: u64,
    sender: Arc<RequestSender>,
}

/// The start of a read on both clocks: one of them may stand still while Lambda freezes the process.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReadAt {
    at: Instant,
    on_the_wall: SystemTime,
}

impl ReadAt {
    /// Is it recent on both clocks? False if the wall clock was set back.
    fn is_within(&self, most: Duration, now: ReadAt) -> bool {
        let on_the_wall = now.on_the_wall.duration_since(self.on_the_wall);
        now.at.saturating_duration_since(self.at) < most && on_the_wall.is_ok_and(|past| past < most)
    }
}

impl HeadCache {
    /// A cache whose head expires after this time.
    pub(crate) fn new(most: Duration) -> HeadCache {
        HeadCache { most, last: Mutex::default() }
    }

    /// A read begins.
    pub(crate) fn begin(&self) -> ReadAt {
        ReadAt { at: Instant::now(), on_the_wall: SystemTime::now() }
    }

    /// The sender of the cached head and the row's version, if the head is of this stream and has not expired.
    pub(crate) fn of(&self, stream: &str) -> Option<(Arc<RequestSender>, u64)> {
        let now = self.begin();
        let last = self.last();
        let head = last.as_ref().filter(|head| head.stream == stream)?;
        head.started.is_within(self.most, now).then(|| (Arc::clone(&head.sender), head.version))
    }

    /// Caches a head that allowed writes.
    pub(crate) fn remember(&self, started: ReadAt, stream: &str, sender: &Arc<RequestSender>, version: u64) {
        let (stream, sender) = (stream.to_owned(), Arc::clone(sender));
        *self.last() = Some(CachedHead { stream, started, version, sender });
    }

    /// Drops the cached head.
    pub(crate) fn forget(&self) {
        *self.last() = None;
    }

    fn last(&self) -> MutexGuard<'_, Option<CachedHead>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cached_row_is_recent_only_if_both_clocks_say_so() {
        let (at, on_the_wall) = (Instant::now(), SystemTime::now());
        let started = ReadAt { at, on_the_wall };
        let ms = Duration::from_millis;
        let within = |monotonic: u64, wall: SystemTime| {
            started.is_within(ms(1_000), ReadAt { at: at + ms(monotonic), on_the_wall: wall })
        };
        assert!(within(0, on_the_wall) && within(999, on_the_wall + ms(999)));
        assert!(!within(1_000, on_the_wall) && !within(0, on_the_wall + ms(1_000)));
        assert!(!within(10, on_the_wall - ms(1)), "a clock that was set back proves nothing");
        assert!(!started.is_within(Duration::ZERO, started), "nothing is remembered");
    }
}
