//! The JSON codec: items and values in DynamoDB's notation (`{"S": "a"}`) and in plain JSON, read and written.
//!
//! - Numbers are exact: a number is its digits as text, never a float.
//! - An object with a repeated member is refused, because one of its values would be lost. Skipped objects are not
//!   checked.
//! - [`Bounds`] limits levels and values. The caller limits the length of the text.
//! - A [`JsonError`] has a position, and shows none of the text.
//!
//! [`Reader`] reads a text in one pass and builds no tree; DynamoDB's responses are read with it. [`Json`] is a whole
//! text as a tree. `serde_json`, whose numbers have 64 bits, handles JSON without item values.

mod error;
mod item;
#[cfg(any(test, fuzzing))]
mod laws;
mod plain;
mod reader;
#[cfg(test)]
mod tests;
mod tree;
mod unescaped;
pub mod write;

pub use error::{JsonError, JsonErrorDetails, JsonKind, JsonReason};
pub use item::read_item;
#[cfg(any(test, fuzzing))]
pub use laws::check_laws;
pub use plain::{is_typed, read_plain};
pub use reader::{Bounds, Reader};
pub use tree::Json;
