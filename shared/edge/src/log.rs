//! The log: one JSON line for each event, on standard output.
//!
//! Only Keyfold's own events and warnings of other crates are written. At lower levels the SDK and the Lambda runtime
//! log whole requests, including the contents of items.

use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// The target of Keyfold's own events.
pub const TARGET: &str = "keyfold";

/// Starts the log. `AWS_LAMBDA_LOG_LEVEL` sets the level of our own events: `info` if unset.
pub(crate) fn start() {
    let level = std::env::var("AWS_LAMBDA_LOG_LEVEL").ok().and_then(|level| level.parse().ok());
    let targets = Targets::new()
        .with_default(LevelFilter::WARN)
        .with_target(TARGET, level.unwrap_or(LevelFilter::INFO));
    let lines = tracing_subscriber::fmt::layer()
        .json()
        .flatten_event(true)
        .with_current_span(false)
        .with_span_list(false);
    // A log that was started earlier in this process is kept.
    let _ = tracing_subscriber::registry().with(targets).with(lines).try_init();
}

/// Writes the log line of an invocation, as an error if it failed. `tracing` fixes an event's level at compile time, so
/// there are two events with the same fields.
#[macro_export]
macro_rules! log_line {
    ($failed:expr, $($fields:tt)*) => {
        if $failed {
            $crate::tracing::event!(target: $crate::log::TARGET, $crate::tracing::Level::ERROR, $($fields)*);
        } else {
            $crate::tracing::event!(target: $crate::log::TARGET, $crate::tracing::Level::INFO, $($fields)*);
        }
    };
}
