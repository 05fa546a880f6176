//! The executor on the embedded DynamoDB: plans made by hand, and everything that it promises of them.
//!
//! `views` is the table that all tests read, `oracle` says what a plan's answer is, `watch` sees what is sent.

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
