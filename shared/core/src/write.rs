//! Writes of one item: what is written, and the guard without which it must not happen.
//!
//! [`put`] and [`delete`] say what is sent for an item; an [`UpdateTask`] does so for a part of one, and keeps its
//! folded keys right. [`WriteExpressions`] is a write in DynamoDB's words. Nothing here sends anything: every language that
//! writes to a table, and the retrofit, share it.

mod action;
mod expected;
mod expressions;
mod json;
mod primary_key;
mod scope;
mod typed;
mod update;

pub use action::{Action, Guard};
pub use action::{delete, put};
pub use expected::Expected;
pub use expressions::WriteExpressions;
pub use json::{JsonItemError, item_of_json, plain_item_of_json, value_of_json};
pub use primary_key::{PrimaryKey, canonical_key, comparable_key, primary_key};
pub use scope::{ScopeError, WriteScope};
pub use typed::{NotAnItem, item_of};
pub use update::{UPDATE_ATTEMPTS_MAX, Update, UpdateRefusal, UpdateRequest, UpdateTask};
