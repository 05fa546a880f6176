//! The types that every module shares: items, attribute values, and DynamoDB's numbers.
//!
//! Values are those of `serde_dynamo`: neutral types with conversions to the SDK and to stream events, so that this
//! crate depends on neither.

mod hidden;
mod injective;
mod item;
mod number;
mod same;

pub use hidden::Hex;
pub use hidden::Hidden;
pub(crate) use injective::canonical;
pub use injective::{injective, put_injective};
pub use item::{Attributes, Item, Name};
pub use number::{Number, NumberError};
pub use same::compare;
pub use same::equal;
pub(crate) use same::has_duplicates;
pub use same::type_letter;
pub use serde_dynamo::AttributeValue;
