//! The words that every module shares: items, attribute values, and DynamoDB's numbers.
//!
//! Values are those of `serde_dynamo`: neutral types with conversions to the SDK and to stream events, so that neither is known
//! here. Items convert to and from its items.

mod canonical;
mod compare;
mod hex;
mod hidden;
mod injective;
mod item;
mod number;
mod same;
mod type_letter;

pub(crate) use canonical::canonical;
pub use compare::compare;
pub use hex::Hex;
pub use hidden::Hidden;
pub use injective::{injective, put_injective};
pub use item::{Attributes, Item, Name};
pub use number::{Number, NumberError};
pub use same::equal;
pub(crate) use same::has_duplicates;
pub use serde_dynamo::AttributeValue;
pub use type_letter::type_letter;
