//! The replicator as Lambda sees it: the real binary over the Runtime API, on an embedded DynamoDB.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod events;
mod function;
mod hostile;
mod inserts;
mod lag;
mod processes;
mod refusals;
mod start;
mod state_cache;
