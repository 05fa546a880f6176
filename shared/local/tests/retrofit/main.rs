//! A retrofit's slices against the embedded DynamoDB.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod lease;
