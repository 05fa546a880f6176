//! DynamoDB's JSON, read straight into core's words.
//!
//! The SDK decodes an answer into its own items, and those are then converted: two maps for each item, with every name and value
//! moved twice. Here the bytes become core's items at once. Only answers that are certain are read here; all others, with every
//! error, go to the SDK's decoder, so a body means what the SDK says it means. `docs/adr/0016` has the reasons.
//!
//! Start with [`Decoder`].

mod answer;
mod decoder;
mod item;
mod json;
#[cfg(any(test, fuzzing))]
mod oracle;
#[cfg(test)]
mod tests;

pub(crate) use answer::BatchAnswer;
pub(crate) use decoder::{BATCH_GET, Decoder, QUERY, SCAN};
#[cfg(fuzzing)]
pub(crate) use oracle::agrees_with_the_sdk;
