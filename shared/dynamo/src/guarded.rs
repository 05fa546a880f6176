//! The one way of a write: an action and its guard become a request of their own, a PartiQL statement, or a part of a
//! transaction.
//!
//! Callers (one item, many new ones, a retrofit) say what is written and when. How that is said to DynamoDB stands here, and
//! nowhere else, so that a guard cannot get lost on one way and be kept on another.

mod builder;
mod request;
mod statement;

pub(crate) use request::{Tell, send};
pub(crate) use statement::part_of_transaction;
#[cfg(any(test, fuzzing))]
pub(crate) use statement::sdk_results;
pub use statement::{STATEMENT_CHARS_MAX, STATEMENTS_MAX};
pub(crate) use statement::{
    Statement, StatementResult, execute, insert, insert_chars, put_as_insert, statement,
};
