//! The words that every module shares: items, attribute values, and DynamoDB's numbers.
//!
//! Items and values are those of `serde_dynamo`: neutral types with conversions to the SDK and to stream events, so
//! that neither is known here.

mod canonical;
mod compare;
mod number;
mod same;

pub(crate) use canonical::canonical;
pub use compare::compare;
pub use number::{Number, NumberError};
pub use same::equal;
pub(crate) use same::has_duplicates;
pub use serde_dynamo::{AttributeValue, Item};

/// The DynamoDB type of a value, by the letter that DynamoDB JSON uses: `S`, `N`, `B`, `BOOL`, ...
pub fn type_letter(value: &AttributeValue) -> &'static str {
    match value {
        AttributeValue::S(_) => "S",
        AttributeValue::N(_) => "N",
        AttributeValue::B(_) => "B",
        AttributeValue::Bool(_) => "BOOL",
        AttributeValue::Null(_) => "NULL",
        AttributeValue::M(_) => "M",
        AttributeValue::L(_) => "L",
        AttributeValue::Ss(_) => "SS",
        AttributeValue::Ns(_) => "NS",
        AttributeValue::Bs(_) => "BS",
    }
}
