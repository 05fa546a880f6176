//! The verifier as its callers see it: the real binary over Lambda's Runtime API, on an embedded DynamoDB.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod events;
mod expired;
mod function;
mod gates;
mod inputs;
