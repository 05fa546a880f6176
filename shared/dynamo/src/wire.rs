//! DynamoDB's answers and requests as JSON, read straight into core's types and written straight from them by core's codec
//! ([`keyfold_core::json`]).
//!
//! The SDK decodes an answer into its own items, and those are then converted: two maps for each item, with every name and value
//! moved twice. Here the bytes become core's items at once. Only answers that are certain are read here; all others, with every
//! error, go to the SDK's decoder, so a body means what the SDK says it means. `docs/adr/0016` has the reasons.
//!
//! Requests of reads and of writes are written here too: the values go from core's words into the text, and the SDK's items are
//! never made.
//!
//! Start with [`Exchange`] and [`BodyText`].

mod answer;
mod body;
mod exchange;
#[cfg(any(test, fuzzing))]
mod oracle;
#[cfg(test)]
mod tests;

pub(crate) use answer::{BatchAnswer, StatementAnswer, StatementsAnswer};
pub(crate) use body::{
    BATCH_EXECUTE_STATEMENT, BATCH_GET_ITEM, Body, BodyText, DELETE_ITEM, Operation, PUT_ITEM, QUERY_ITEMS,
    SCAN_ITEMS, UPDATE_ITEM,
};
#[cfg(test)]
pub(crate) use body::{Said, said};
pub(crate) use exchange::{
    BATCH_GET, DELETE, Exchange, Interceptor, PUT, QUERY, SCAN, STATEMENTS, UPDATE, bounded, is_ours, send,
};
#[cfg(fuzzing)]
pub(crate) use oracle::agrees_with_the_sdk;
