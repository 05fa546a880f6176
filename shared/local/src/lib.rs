//! Keyfold on one machine: an embedded DynamoDB that speaks the real protocol, and a runtime for the functions.
//!
//! [`EmbeddedDynamo`] serves a SQLite database, in memory or in a file, as DynamoDB on a port of this machine, for any
//! client; [`EmbeddedDynamo::client`] returns a suitable one. [`LocalFunction`] runs a function's binary as Lambda
//! does, over [`runtime_api`]; a [`StreamPoller`] feeds it with a table's stream, as an event source mapping does. It
//! is meant for tests, for the command line and for experiments; `docs/adr/0003-embedded-dynamodb.md` lists the
//! differences from DynamoDB.

#[cfg(feature = "stack")]
mod console;
mod embedded;
mod function;
mod hosts;
mod poller;
mod port;
#[cfg(feature = "stack")]
mod query_api;
pub mod runtime_api;
#[cfg(feature = "stack")]
mod stack;

#[cfg(feature = "stack")]
pub use console::{ConsoleError, ConsoleOptions, ConsoleServer};
pub use dynoxide::Database;
pub use embedded::{EmbeddedDynamo, EmbeddedError, EmbeddedOptions, SHUTDOWN_WAIT_MAX, Store};
pub use function::{FunctionOptions, LocalFunction};
pub use hosts::AllowedHosts;
pub use keyfold_dynamo::Client;
pub use poller::{
    BATCH_RECORDS_MAX, Handler, PAYLOAD_BYTES_MAX, PollerCounts, PollerError, PollerOptions, Start,
    StreamPoller,
};
pub use port::ListenError;
#[cfg(feature = "stack")]
pub use stack::{
    AUDIT_TABLE, CONTROL_TABLE, InProcessReplicator, MissingIndex, Stack, StackError, StackOptions,
};
