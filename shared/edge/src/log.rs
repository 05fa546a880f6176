//! The log: one JSON line for each event, on standard output.
//!
//! Only Keyfold's own events and warnings of others are written: at lower levels the SDK and the Lambda runtime print
//! whole requests, and with them what items hold.

use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// The target of Keyfold's own events.
pub const TARGET: &str = "keyfold";

/// Starts the log. `AWS_LAMBDA_LOG_LEVEL` sets the level of our own events: `info` if unset.
pub fn start() {
    let level = std::env::var("AWS_LAMBDA_LOG_LEVEL").ok().and_then(|level| level.parse().ok());
    let targets = Targets::new()
        .with_default(LevelFilter::WARN)
        .with_target(TARGET, level.unwrap_or(LevelFilter::INFO));
    let lines = tracing_subscriber::fmt::layer()
        .json()
        .flatten_event(true)
        .with_current_span(false)
        .with_span_list(false);
    // A second start, in one process with others, leaves the first log as it is.
    let _ = tracing_subscriber::registry().with(targets).with(lines).try_init();
}
