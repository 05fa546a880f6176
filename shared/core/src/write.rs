//! Writes of one item: the action, and the guard that must hold for it.
//!
//! [`put`] and [`delete`] build the writes of whole items; an [`UpdateTask`] updates some attributes and keeps the
//! folded keys correct. [`WriteExpressions`] is a write as DynamoDB expressions. Nothing here sends anything: all
//! language bindings and the retrofit share this code.

mod action;
mod expected;
mod expressions;
mod json;
mod operation;
mod primary_key;
mod repair;
mod scope;
mod typed;
mod update;

pub use action::{Action, Guard};
pub use action::{delete, put};
pub use expected::Expected;
pub use expressions::WriteExpressions;
pub use json::{JsonItemError, item_of_json, plain_item_of_json, value_of_json};
pub use operation::AttributeOperation;
pub use primary_key::{PrimaryKey, canonical_key, comparable_key, primary_key};
pub use repair::repair;
pub use scope::{ScopeError, WriteScope};
pub use typed::{NotAnItem, item_of};
pub use update::{UPDATE_ATTEMPTS_MAX, Update, UpdateRefusal, UpdateRequest, UpdateTask};
