//! When an invocation ends.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A deadline that has been over for longer than this is none: no invocation lasts as long. `cargo lambda watch` says the
/// same short time since 1970 for each.
const OVER_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// When Lambda ends an invocation, from the milliseconds since 1970 of its context; `None` if nobody does.
pub fn deadline(milliseconds: u64) -> Option<SystemTime> {
    let deadline = UNIX_EPOCH.checked_add(Duration::from_millis(milliseconds))?;
    let over = SystemTime::now().duration_since(deadline).unwrap_or_default();
    (over < OVER_MAX).then_some(deadline)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now_ms() -> u64 {
        u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap()
    }

    #[test]
    fn a_deadline_is_one_even_if_it_is_just_over() {
        for milliseconds in [now_ms() + 30_000, now_ms() - 30_000] {
            assert_eq!(deadline(milliseconds), Some(UNIX_EPOCH + Duration::from_millis(milliseconds)));
        }
    }

    #[test]
    fn what_a_program_says_that_has_no_deadlines_is_none() {
        for milliseconds in [0, 600_000, now_ms() - 2 * 24 * 60 * 60 * 1000] {
            assert_eq!(deadline(milliseconds), None, "{milliseconds}");
        }
    }
}
