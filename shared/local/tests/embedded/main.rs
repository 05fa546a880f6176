//! keyfold-dynamo and the embedded DynamoDB, over the real protocol.

#![expect(clippy::unwrap_used, reason = "in a test, an error is a failure")]

mod errors;
mod fixture;
mod port;
mod reads;
mod server;
mod tables;
mod writes;
