//! The names that DynamoDB JSON gives to types.

use serde_dynamo::AttributeValue;

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
