//! The verifier as its callers see it: the real binary over Lambda's Runtime API, on an embedded DynamoDB.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod carried;
mod events;
mod expired;
mod gates;
mod hostile;
mod inputs;

/// The function of these tests.
const BINARY: &str = env!("CARGO_BIN_EXE_verifier");
