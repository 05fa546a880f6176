//! The one JSON codec: items and values in DynamoDB's notation (`{"S": "a"}`) and in plain JSON, read and written.
//!
//! - Numbers are exact: a number is its digits as text, and never a float.
//! - An object with the same member twice is refused, because one of its values would be lost. Skipped objects are not checked for that.
//! - Levels and values are bounded by [`Bounds`]. The caller bounds the length of the text.
//! - A [`JsonError`] has its position, and shows nothing of the text.
//!
//! [`Reader`] walks a text once and builds nothing by itself; DynamoDB's answers are read with it. [`Json`] is a whole text as a tree.
//! `serde_json`, whose numbers have 64 bits, reads and writes what holds no values of items.

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
