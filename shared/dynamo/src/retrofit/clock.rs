//! The time since 1970. Other than a process's own clock, it goes on while the machine sleeps.

use std::time::{SystemTime, UNIX_EPOCH};

pub(super) fn now_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
}

pub(super) fn now_seconds() -> u64 {
    now_ms() / 1000
}
