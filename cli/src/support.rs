//! Helpers of many commands: the runtime, the clock, ctrl-C, standard input, exit codes.

use std::io::Read;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Context;

use crate::output::Output;

/// The exit code of a program that ctrl-C has stopped.
pub(crate) const INTERRUPTED: u8 = 130;

/// 0 for a yes, 1 for a no.
pub(crate) fn exit_code(yes: bool) -> ExitCode {
    ExitCode::from(u8::from(!yes))
}

/// Runs the part of a command that waits for answers. One thread is enough.
pub(crate) fn block_on<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(work)
}

/// Seconds since 1970.
pub(crate) fn now_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// The argument, or standard input for `-`.
pub(crate) fn argument_or_stdin(argument: &str, bytes_max: u64) -> anyhow::Result<String> {
    if argument != "-" {
        return Ok(argument.to_owned());
    }
    let mut text = String::new();
    std::io::stdin()
        .lock()
        .take(bytes_max)
        .read_to_string(&mut text)
        .context("cannot read standard input")?;
    Ok(text)
}

/// A flag that ctrl-C sets, so that the work ends where it can continue. A second ctrl-C ends the program at once.
pub(crate) fn stop_flag(out: &Output) -> Arc<AtomicBool> {
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
