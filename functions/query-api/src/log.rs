//! One JSON line for each request.
//!
//! Only this crate's own events and warnings of others are written: at lower levels the SDK and the Lambda runtime print
//! whole requests, and with them what items hold.

use tracing::Level;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::Record;

/// The name of this crate's events.
const TARGET: &str = "keyfold";

/// Starts the log on standard output. `AWS_LAMBDA_LOG_LEVEL` sets the level of our own events: `info` if unset.
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

/// Writes the line of one request.
pub fn write(record: &Record) {
    // The macro fixes an event's level where it is written, so there are two events.
    macro_rules! line {
        ($level:expr) => {
            tracing::event!(
                target: TARGET,
                $level,
                request_id = record.request_id,
                route = record.route,
                table = record.table,
                question = record.question,
                sources = record.sources.join(", "),
                reads = record.reads,
                status = record.status,
                code = record.code,
                consumed_read_units = record.consumed_read_units,
                items_read = record.items_read,
                items_returned = record.items_returned,
                requests = record.requests,
                duration_ms = record.duration_ms(),
                "request"
            )
        };
    }
    if record.status < 500 { line!(Level::INFO) } else { line!(Level::ERROR) }
}
