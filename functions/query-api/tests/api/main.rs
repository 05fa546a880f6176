//! The query API as its callers see it: refusals without a database, answers from the real binary.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod answers;
mod budget;
mod description;
mod events;
mod hostile;
mod readiness;
mod refusals;
mod request;
mod secret;
mod tenants;
mod tokens;
mod write_worlds;
mod writes;

/// The manifest of these tests.
const MANIFEST: &str = include_str!("keyfold.toml");
/// A key ring for tests only.
const TOKEN_KEYS: &str = "test:MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";
