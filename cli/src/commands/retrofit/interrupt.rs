//! Ctrl-C: the first stops a pass after its page, so that it can continue from there; the second stops it at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::output::Output;

pub(super) use crate::output::INTERRUPTED;

/// A flag that ctrl-C sets.
pub(in crate::commands) fn watched(out: &Output) -> Arc<AtomicBool> {
    let stop = Arc::new(AtomicBool::new(false));
    let (set, out) = (Arc::clone(&stop), out.clone());
    tokio::spawn(async move {
        if tokio::signal::ctrl_c().await.is_err() {
            return;
        }
        set.store(true, Ordering::Relaxed);
        out.note("\nstopping after the current pages; press ctrl-C again to stop at once\n");
        if tokio::signal::ctrl_c().await.is_ok() {
            std::process::exit(i32::from(INTERRUPTED));
        }
    });
    stop
}
