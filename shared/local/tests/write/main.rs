//! Writes through the model on the embedded DynamoDB: puts, updates and deletes maintain folded keys.

#![expect(clippy::unwrap_used, reason = "in a test, an error is a failure")]

mod delete;
mod fixture;
mod new;
mod page;
mod race;
mod typed;
mod update;
