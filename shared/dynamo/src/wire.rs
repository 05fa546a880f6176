//! DynamoDB's responses and requests as JSON, read directly into core's types and written from them by core's codec
//! ([`keyfold_core::json`]).
//!
//! The SDK decodes a response into its own items, which are then converted: two maps for each item, with every name and
//! value moved twice. Here the bytes become core's items at once. Only responses in a known form are read here; all
//! others, and every error, go to the SDK's decoder, so a body always has the SDK's meaning. `docs/adr/0016` has the
//! reasons.
//!
//! Requests of reads and writes are written here too, without the SDK's items.
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
pub(crate) use body::{SentRequest, sent_request};
pub(crate) use exchange::{
    BATCH_GET, DELETE, Exchange, Interceptor, PUT, QUERY, SCAN, STATEMENTS, UPDATE, bounded, is_ours, send,
};
#[cfg(fuzzing)]
pub(crate) use oracle::agrees_with_the_sdk;
