//! The handling of DynamoDB's rarer responses: throttling, unprocessed items, faults, silence. A scripted server
//! replaces DynamoDB, because no local one gives such responses.

#![expect(clippy::unwrap_used, reason = "in a test, an error is a failure")]

mod failures;
mod indexes;
mod inserts;
mod leftovers;
mod requests;
mod retrofit;
mod script;
