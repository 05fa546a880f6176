//! Values of keys, in the compact form that positions keep.

use crate::value::AttributeValue;
use serde::{Deserialize, Serialize};

/// A value that a key can hold. Of others, which come up only as something to be ordered by, the type is enough:
/// values of one such type have no order.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) enum KeyValue {
    S(String),
    N(String),
    B(Vec<u8>),
    Other(OtherType),
}

/// A type that no key has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) enum OtherType {
    Bool,
    Null,
    M,
    L,
    Ss,
    Ns,
    Bs,
}

impl From<&AttributeValue> for KeyValue {
    fn from(value: &AttributeValue) -> KeyValue {
        let other = match value {
            AttributeValue::S(text) => return KeyValue::S(text.clone()),
            AttributeValue::N(number) => return KeyValue::N(number.clone()),
            AttributeValue::B(bytes) => return KeyValue::B(bytes.clone()),
            AttributeValue::Bool(_) => OtherType::Bool,
            AttributeValue::Null(_) => OtherType::Null,
            AttributeValue::M(_) => OtherType::M,
            AttributeValue::L(_) => OtherType::L,
            AttributeValue::Ss(_) => OtherType::Ss,
            AttributeValue::Ns(_) => OtherType::Ns,
            AttributeValue::Bs(_) => OtherType::Bs,
        };
        KeyValue::Other(other)
    }
}

/// The value again; of a type that no key has, any value.
impl From<&KeyValue> for AttributeValue {
    fn from(value: &KeyValue) -> AttributeValue {
        match value {
            KeyValue::S(text) => AttributeValue::S(text.clone()),
            KeyValue::N(number) => AttributeValue::N(number.clone()),
            KeyValue::B(bytes) => AttributeValue::B(bytes.clone()),
            KeyValue::Other(OtherType::Bool) => AttributeValue::Bool(false),
            KeyValue::Other(OtherType::Null) => AttributeValue::Null(true),
            KeyValue::Other(OtherType::M) => AttributeValue::M([].into()),
            KeyValue::Other(OtherType::L) => AttributeValue::L(Vec::new()),
            KeyValue::Other(OtherType::Ss) => AttributeValue::Ss(Vec::new()),
            KeyValue::Other(OtherType::Ns) => AttributeValue::Ns(Vec::new()),
            KeyValue::Other(OtherType::Bs) => AttributeValue::Bs(Vec::new()),
        }
    }
}
