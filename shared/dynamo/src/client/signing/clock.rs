//! The service's clock beside ours. DynamoDB refuses a signature that is five minutes off. The SDK corrects for a
//! clock that is off, by a difference that it tells nobody; so a clock that is off is left to it.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::SystemTime;

use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use aws_smithy_types::DateTime;
use aws_smithy_types::date_time::Format;

/// In seconds: as far apart may the clocks be.
const APART_MAX: u64 = 60;
/// In seconds: so long counts a look at an answer.
const LOOK_COUNTS: u64 = 60;

/// What the last look told.
#[derive(Debug)]
pub(super) struct Clock {
    is_off: AtomicBool,
    looked: AtomicI64,
}

impl Default for Clock {
    fn default() -> Clock {
        Clock { is_off: AtomicBool::new(false), looked: AtomicI64::new(i64::MIN) }
    }
}

impl Clock {
    /// Is our clock too far from the service's, as far as is known?
    pub(super) fn is_off(&self) -> bool {
        self.is_off.load(Ordering::Relaxed)
    }

    /// Looks at every answer that is no success, and at others once a minute.
    pub(super) fn look_at(&self, answer: &HttpResponse, now: SystemTime) {
        let ours = DateTime::from(now).secs();
        let is_due = ours.abs_diff(self.looked.load(Ordering::Relaxed)) >= LOOK_COUNTS;
        if (is_due || !answer.status().is_success())
            && let Some(theirs) = time_of(answer)
        {
            self.looked.store(ours, Ordering::Relaxed);
            self.is_off.store(ours.abs_diff(theirs) > APART_MAX, Ordering::Relaxed);
        }
    }
}

/// When the service answered. One that something on the way kept says nothing.
fn time_of(answer: &HttpResponse) -> Option<i64> {
    let headers = answer.headers();
    let date = headers.get("date").filter(|_| headers.get("age").is_none())?;
    Some(DateTime::from_str(date, Format::HttpDate).ok()?.secs())
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;
    use crate::client::tests::server::answer;

    #[test]
    fn a_clock_is_off_for_as_long_as_answers_say_so() {
        let clock = Clock::default();
        for (now, theirs, status, age, is_off) in [
            // The first answer of all.
            (1000, 1061, 200, false, true),
            // Within a minute, only an answer that is no success says more.
            (1001, 1001, 200, false, true),
            (1002, 1002, 400, true, true),
            (1003, 1063, 400, false, false),
            (1004, 1004 + 600, 200, false, false),
            (1005, 1005 - 61, 503, false, true),
            (1064, 1064, 200, false, true),
            (1065, 1065, 200, false, false),
            // Our clock is put back.
            (900, 1065, 200, false, true),
        ] {
            let mut answer = answer(status, "{}");
            let date = DateTime::from_secs(theirs).fmt(Format::HttpDate).unwrap();
            answer.headers_mut().insert("date", date);
            if age {
                answer.headers_mut().insert("age", "7");
            }
            clock.look_at(&answer, UNIX_EPOCH + Duration::from_secs(now));
            assert_eq!(clock.is_off(), is_off, "at {now}, by {theirs}");
        }
        for date in [None, Some("yesterday")] {
            let mut undated = answer(400, "{}");
            date.map(|date| undated.headers_mut().insert("date", date));
            clock.look_at(&undated, UNIX_EPOCH);
            assert!(clock.is_off(), "{date:?} says nothing");
        }
    }
}
