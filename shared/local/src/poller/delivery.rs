//! Chooses the next delivery of some records: whole batches, the rest of one, halves of a failed one. Pure.

use std::collections::VecDeque;
use std::ops::Range;

use super::batch_result::BatchResult;
use super::options::PollerOptions;

/// Records in delivery, by position.
#[derive(Debug)]
pub(super) struct Delivery {
    portions: VecDeque<Portion>,
    retries_max: u32,
    bisect: bool,
}

#[derive(Debug, Clone, PartialEq)]
struct Portion {
    places: Range<usize>,
    retries: u32,
}

/// The consequence of a result.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum After {
    /// Continue at once.
    GoOn,
    /// Deliver the same records again, after the pause of this retry.
    Again(u32),
    /// Skip these records.
    GiveUp(Range<usize>),
}

impl Delivery {
    /// Delivers these portions, one after the other.
    pub(super) fn new(portions: impl IntoIterator<Item = Range<usize>>, options: &PollerOptions) -> Delivery {
        let portions = portions.into_iter().map(|places| Portion { places, retries: 0 }).collect();
        Delivery { portions, retries_max: options.retries_max, bisect: options.bisect }
    }

    /// The next portion; `None` if all are processed.
    pub(super) fn next(&self) -> Option<Range<usize>> {
        self.portions.front().map(|portion| portion.places.clone())
    }

    /// Records the result of a delivery.
    pub(super) fn ended(&mut self, result: BatchResult) -> After {
        let Some(Portion { places, retries }) = self.portions.pop_front() else { return After::GoOn };
        let several = self.bisect && places.len() > 1;
        match result {
            BatchResult::Done => After::GoOn,
            // A split does not count as a retry.
            BatchResult::From(first) if first > 0 => {
                self.push(places.start + first..places.end, retries);
                After::GoOn
            }
            BatchResult::Failed if several => {
                let middle = places.start + places.len() / 2;
                self.push(middle..places.end, retries);
                self.push(places.start..middle, retries);
                After::GoOn
            }
            BatchResult::From(_) | BatchResult::Failed if retries < self.retries_max => {
                self.push(places, retries + 1);
                After::Again(retries + 1)
            }
            // The first record was named, so it is the failing one.
            BatchResult::From(_) if several => {
                self.push(places.start + 1..places.end, 0);
                After::GiveUp(places.start..places.start + 1)
            }
            BatchResult::From(_) | BatchResult::Failed => After::GiveUp(places),
        }
    }

    fn push(&mut self, places: Range<usize>, retries: u32) {
        if !places.is_empty() {
            self.portions.push_front(Portion { places, retries });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delivery(bisect: bool) -> Delivery {
        let portions = [Range { start: 0, end: 4 }, Range { start: 4, end: 6 }];
        Delivery::new(portions, &PollerOptions { bisect, retries_max: 1, ..PollerOptions::default() })
    }

    /// Every portion that is delivered to a handler that fails for record 2, and the skipped records.
    fn played(bisect: bool, partial: bool) -> (Vec<Range<usize>>, Vec<Range<usize>>) {
        let mut delivery = delivery(bisect);
        let (mut delivered, mut given_up) = (Vec::new(), Vec::new());
        while let Some(places) = delivery.next() {
            let result = match places.clone().position(|place| place == 2) {
                None => BatchResult::Done,
                Some(at) if partial => BatchResult::From(at),
                Some(_) => BatchResult::Failed,
            };
            delivered.push(places);
            if let After::GiveUp(places) = delivery.ended(result) {
                given_up.push(places);
            }
            assert!(delivered.len() < 100, "it never ends");
        }
        (delivered, given_up)
    }

    #[test]
    fn a_bad_record_is_found_by_halving_and_given_up_alone() {
        let (delivered, given_up) = played(true, false);
        assert_eq!(delivered, [0..4, 0..2, 2..4, 2..3, 2..3, 3..4, 4..6]);
        assert_eq!(given_up, [Range { start: 2, end: 3 }]);
    }

    #[test]
    fn a_named_record_is_given_up_alone_after_its_retries() {
        let (delivered, given_up) = played(true, true);
        assert_eq!(delivered, [0..4, 2..4, 2..4, 3..4, 4..6]);
        assert_eq!(given_up, [Range { start: 2, end: 3 }]);
    }

    #[test]
    fn without_halving_good_records_are_given_up_with_the_bad_one() {
        assert_eq!(played(false, false).1, [Range { start: 0, end: 4 }]);
        assert_eq!(played(false, true).1, [Range { start: 2, end: 4 }]);
    }

    #[test]
    fn retries_are_counted_for_each_record_that_is_left() {
        let mut delivery = delivery(false);
        assert_eq!(delivery.ended(BatchResult::Failed), After::Again(1));
        assert_eq!(delivery.ended(BatchResult::From(1)), After::GoOn);
        assert_eq!(delivery.ended(BatchResult::From(0)), After::GiveUp(1..4));
        assert_eq!(delivery.next(), Some(4..6));
    }
}
