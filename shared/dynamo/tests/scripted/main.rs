//! What this crate makes of DynamoDB's rarer answers: throttling, leftovers, faults, silence. A server that reads from a
//! script stands in for DynamoDB, because none on this machine gives such answers.

#![expect(clippy::unwrap_used, reason = "in a test, an error is a failure")]

mod failures;
mod indexes;
mod inserts;
mod leftovers;
mod requests;
mod retrofit;
mod script;
