//! Ctrl-C: a pass ends at its page, so that it goes on from there; once more, and it ends at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::output::Output;

/// The exit code of a program that was interrupted.
pub(super) const INTERRUPTED: u8 = 130;

/// What is set when somebody presses ctrl-C.
pub(super) fn watched(out: &Output) -> Arc<AtomicBool> {
    let stop = Arc::new(AtomicBool::new(false));
    let (set, out) = (Arc::clone(&stop), out.clone());
    tokio::spawn(async move {
        if tokio::signal::ctrl_c().await.is_err() {
            return;
        }
        set.store(true, Ordering::Relaxed);
        out.note("\nending after the pages that are under way; ctrl-C again ends at once\n");
        if tokio::signal::ctrl_c().await.is_ok() {
            std::process::exit(i32::from(INTERRUPTED));
        }
    });
    stop
}
