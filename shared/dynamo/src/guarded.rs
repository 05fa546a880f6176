//! Sends writes: an action and its guard become a single request, a PartiQL statement, or a part of a transaction.
//!
//! Callers (one item, many new ones, a retrofit) decide what is written and when. Only this module builds the requests,
//! so that no path can lose a guard.

mod builder;
mod request;
mod statement;

pub(crate) use request::{ResponseOptions, send};
pub(crate) use statement::part_of_transaction;
#[cfg(any(test, fuzzing))]
pub(crate) use statement::sdk_results;
pub use statement::{STATEMENT_CHARS_MAX, STATEMENTS_MAX};
pub(crate) use statement::{
    Statement, StatementResult, execute, insert, insert_chars, put_as_insert, statement,
};
