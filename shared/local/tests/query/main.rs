//! The executor on the embedded DynamoDB: handwritten plans, and all its guarantees.
//!
//! `views` is the table that all tests read, `oracle` computes a plan's answer, `watch` records the requests.

#![expect(clippy::unwrap_used, reason = "in a test, an error is a failure")]

mod asked;
mod cap;
mod count;
mod faults;
mod hydration;
mod laws;
mod merge;
mod one;
mod oracle;
mod plans;
mod sequence;
mod sort;
mod tombstones;
mod top;
mod views;
mod watch;
