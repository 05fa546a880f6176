//! Keyfold on one machine: an embedded DynamoDB that speaks the real protocol.
//!
//! [`EmbeddedDynamo`] serves a SQLite database, in memory or in a file, as DynamoDB on a port of this machine. Any client
//! can use it; [`EmbeddedDynamo::client`] gives one that fits. It is for tests, for the command line and for trying
//! things out: where it differs from DynamoDB is written down in `docs/adr/0003-embedded-dynamodb.md`.

mod embedded;

pub use dynoxide::Database;
pub use embedded::{EmbeddedDynamo, EmbeddedError, SHUTDOWN_WAIT_MAX, Store};
