//! Only the number of items: all accesses at once, to their ends.

use super::answer::{Answer, Run};
use super::error::AnswerError;
use super::lane::Lane;
use super::reader::Reader;
use super::seen::Seen;

pub(super) struct Counted {
    count: u64,
    seen: Seen,
}

impl Counted {
    pub(super) fn new(accesses: usize) -> Counted {
        Counted { count: 0, seen: Seen::among(accesses) }
    }

    /// Counts what has arrived.
    pub(super) fn arrived(&mut self, reader: &Reader, lane: &mut Lane) -> Result<(), AnswerError> {
        for item in lane.drain() {
            self.count += u64::from(self.seen.is_new(&reader.shape, &item)?);
        }
        Ok(())
    }

    pub(super) fn finish(&self, run: &Run<'_>) -> Result<Answer, AnswerError> {
        let by_number = run.lanes.lanes.iter().map(Lane::counted).sum::<u64>();
        run.finish(Vec::new(), self.count + by_number)
    }
}
