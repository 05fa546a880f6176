//! The counters of a sender: units read and written, repeated requests, throttles. Its pace follows from that.

use std::time::{Duration, Instant};

use keyfold_core::retrofit::{Rate, ThrottledBy};

use super::clock::now_seconds;
use super::{RequestSender, SliceOptions};
use crate::consumed::Consumed;
use crate::error::DynamoError;

/// The longest sleep at a time: what others of the same sender consume meanwhile counts too.
const SLEEP_MAX: Duration = Duration::from_secs(1);

impl RequestSender {
    /// The current maximum of capacity units per second; `None` for no limit.
    pub fn units_per_second(&self) -> Option<f64> {
        self.pace.as_ref().map(|pace| pace.with(|rate, _| rate.units_per_second()))
    }

    /// Looks at its rate, if one holds it.
    pub(super) fn with_rate<T>(&self, look: impl FnOnce(Option<&Rate>) -> T) -> T {
        match &self.pace {
            Some(pace) => pace.with(|rate, _| look(Some(&*rate))),
            None => look(None),
        }
    }

    /// Counts what was read.
    pub(super) fn has_read(&self, consumed: &Consumed) {
        self.spending().read.add(consumed);
        self.consumes(consumed.units);
    }

    /// Counts what a write consumed.
    pub(super) fn wrote(&self, table: &str, consumed: &Consumed) {
        let mut spent = self.spending();
        let control = table == self.control.name;
        if control { &mut spent.control } else { &mut spent.write }.add(consumed);
        drop(spent);
        self.consumes(consumed.units);
    }

    fn consumes(&self, units: f64) {
        if let Some(pace) = &self.pace {
            pace.with(|rate, now| rate.consumed(units, now));
        }
    }

    /// Notes a failed call that will be sent again.
    pub(super) fn failed(&self, error: &DynamoError) {
        self.spending().resent += 1;
        if let Some(by) = throttled_by(error) {
            self.throttled(by);
        }
    }

    /// Notes that something was throttled.
    pub(super) fn throttled(&self, by: ThrottledBy) {
        self.spending().throttles += 1;
        if let Some(pace) = &self.pace {
            pace.with(|rate, now| rate.throttled(by, now));
        }
    }

    /// How many items the next page should have.
    pub(super) fn page_items(&self, most: u32) -> u32 {
        self.pace.as_ref().map_or(most, |pace| pace.with(|rate, _| rate.page_items(most)))
    }

    /// Notes that a page was dealt with.
    pub(super) fn carried(&self, items: usize) {
        if let Some(pace) = &self.pace {
            pace.with(|rate, _| rate.carried(items as u64));
        }
    }

    /// Waits until the next page may go out; `false` if the slice has to end before.
    pub(super) async fn turn(&self, options: &SliceOptions) -> bool {
        let Some(pace) = &self.pace else { return true };
        if pace.is_to_look() {
            self.yield_to_replicator().await;
        }
        loop {
            let wait = pace.with(Rate::wait);
            if wait.is_zero() {
                return true;
            }
            if options.deadline.is_some_and(|deadline| Instant::now() + wait >= deadline)
                || options.is_stopped()
            {
                return false;
            }
            tokio::time::sleep(wait.min(SLEEP_MAX)).await;
        }
    }

    /// Goes slower while the replicator says that it is behind. A look that fails says nothing.
    async fn yield_to_replicator(&self) {
        if let Ok(Some(lag)) = self.lag().await
            && lag.is_behind(now_seconds())
        {
            self.throttled(ThrottledBy::Replicator);
        }
    }
}

/// The exhausted resource in an error: the worst of several.
fn throttled_by(error: &DynamoError) -> Option<ThrottledBy> {
    match error {
        DynamoError::Throttled { reasons, .. } => {
            let worst = reasons.iter().map(|reason| ThrottledBy::of_reason(&reason.reason)).max();
            Some(worst.unwrap_or(ThrottledBy::Table))
        }
        DynamoError::Unprocessed { .. } => Some(ThrottledBy::Table),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Call, Throttle};

    #[test]
    fn the_worst_reason_of_an_error_counts() {
        let reason = |reason: &str| Throttle { reason: reason.to_owned(), resource: String::new() };
        let error = |reasons| DynamoError::Throttled { call: Call::new("PutItem", "t"), reasons };
        let table = reason("TableWriteProvisionedThroughputExceeded");
        let index = reason("IndexWriteProvisionedThroughputExceeded");
        assert_eq!(throttled_by(&error(vec![index, table])), Some(ThrottledBy::Index));
        assert_eq!(throttled_by(&error(Vec::new())), Some(ThrottledBy::Table));
        assert_eq!(throttled_by(&DynamoError::Conflict { call: Call::new("PutItem", "t") }), None);
    }
}
