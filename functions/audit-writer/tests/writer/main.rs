//! The audit writer as its callers see it: the real binary over Lambda's Runtime API, on an embedded DynamoDB.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod events;
mod function;
mod hostile;
mod inputs;
mod memory;
mod scoped;
mod start;
mod trail;
