//! Writes through the model on the embedded DynamoDB: folded keys go with whatever is put, changed or deleted.

#![expect(clippy::unwrap_used, reason = "in a test, an error is a failure")]

mod delete;
mod fixture;
mod new;
mod race;
mod tutorial;
mod typed;
mod update;
