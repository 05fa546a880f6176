//! The wait before a retry: capped exponential backoff with full jitter, as a pure schedule.
//!
//! <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Programming.Errors.html#Programming.Errors.RetryAndBackoff>

use std::time::Duration;

/// Maximum first wait.
pub const BACKOFF_BASE: Duration = Duration::from_millis(50);
/// Maximum wait.
pub const BACKOFF_CAP: Duration = Duration::from_secs(5);
/// Maximum attempts to send one batch before the rest is reported.
pub const BACKOFF_ATTEMPTS_MAX: u32 = 10;

/// The number of doublings after which every wait is at the cap.
const DOUBLINGS_MAX: u32 = 16;

/// The wait after the failed attempt number `attempt` (from 0), for a `random01` in 0..=1.
///
/// The wait is `random01` times the ceiling of the attempt, which doubles from [`BACKOFF_BASE`] to [`BACKOFF_CAP`], so
/// that callers that were throttled together retry at different times. `random01` is clamped to 0..=1.
///
/// ```
/// use keyfold_dynamo::{BACKOFF_BASE, BACKOFF_CAP, delay};
/// assert_eq!(delay(0, 1.0), BACKOFF_BASE);
/// assert_eq!(delay(1, 0.5), BACKOFF_BASE);
/// assert_eq!(delay(u32::MAX, 1.0), BACKOFF_CAP);
/// ```
pub fn delay(attempt: u32, random01: f64) -> Duration {
    let share = if random01.is_nan() { 1.0 } else { random01.clamp(0.0, 1.0) };
    ceiling(attempt).mul_f64(share)
}

/// Maximum wait after an attempt.
fn ceiling(attempt: u32) -> Duration {
    BACKOFF_BASE.saturating_mul(1 << attempt.min(DOUBLINGS_MAX)).min(BACKOFF_CAP)
}

/// Waits for the [`delay`] of an attempt, with random jitter.
pub(crate) async fn pause(attempt: u32) {
    tokio::time::sleep(delay(attempt, fastrand::f64())).await;
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_ceiling_doubles_up_to_the_cap() {
        let millis: Vec<_> = (0..9).map(|attempt| delay(attempt, 1.0).as_millis()).collect();
        assert_eq!(millis, [50, 100, 200, 400, 800, 1600, 3200, 5000, 5000]);
    }

    #[test]
    fn a_share_that_is_no_share_still_gives_a_wait() {
        assert_eq!(delay(2, f64::NAN), delay(2, 1.0));
        assert_eq!(delay(2, -3.0), Duration::ZERO);
        assert_eq!(delay(2, f64::INFINITY), delay(2, 1.0));
    }

    proptest! {
        #[test]
        fn no_wait_is_longer_than_the_cap(attempt: u32, share: f64) {
            prop_assert!(delay(attempt, share) <= BACKOFF_CAP);
        }

        #[test]
        fn a_later_attempt_never_waits_less(attempt in 0u32..1000, share in 0.0f64..=1.0) {
            prop_assert!(delay(attempt, share) <= delay(attempt + 1, share));
        }

        #[test]
        fn a_larger_share_never_waits_less(attempt: u32, a in 0.0f64..=1.0, b in 0.0f64..=1.0) {
            prop_assert_eq!(a <= b, delay(attempt, a) <= delay(attempt, b) && (a <= b));
        }
    }
}
