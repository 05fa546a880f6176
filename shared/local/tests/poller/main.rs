//! The stream poller, with handlers in this process.

#![expect(clippy::unwrap_used, reason = "in a test, an error is a failure")]

mod fixture;
mod order;
mod refused;
