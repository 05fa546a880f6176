//! Items to and from the SDK's maps. The conversions are `serde_dynamo`'s; this module refuses values of unknown types,
//! for which it would panic.

use std::collections::{BTreeMap, HashMap};

use aws_sdk_dynamodb::types::AttributeValue as SdkValue;
use keyfold_core::value::{AttributeValue, Item, Name};

/// The SDK's item.
pub(crate) type SdkItem = HashMap<String, SdkValue>;

/// A value of an unknown type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UnknownType;

/// The item as the SDK wants it.
pub(crate) fn to_sdk(item: Item) -> SdkItem {
    item.into()
}

/// A copy of the item as the SDK wants it, made in one pass.
pub(crate) fn copy_to_sdk(item: &Item) -> SdkItem {
    item.iter().map(|(name, value)| (name.to_string(), value.clone().into())).collect()
}

/// The values of an expression in the SDK's form; `None` if there are no values, because DynamoDB refuses an empty map.
pub(crate) fn values_to_sdk(values: &BTreeMap<String, AttributeValue>) -> Option<SdkItem> {
    let values = values.iter().map(|(name, value)| (name.clone(), value.clone().into()));
    Some(values.collect::<SdkItem>()).filter(|values| !values.is_empty())
}

/// The names of an expression in the SDK's form; `None` without names.
pub(crate) fn names_to_sdk(names: &BTreeMap<String, String>) -> Option<HashMap<String, String>> {
    (!names.is_empty()).then(|| names.iter().map(|(name, value)| (name.clone(), value.clone())).collect())
}

/// An item that the SDK returned.
pub(crate) fn from_sdk(item: SdkItem) -> Result<Item, UnknownType> {
    // Looked at and converted in one pass: a page can hold a thousand items.
    let mut known = Vec::with_capacity(item.len());
    for (name, value) in item {
        if !is_known(&value) {
            return Err(UnknownType);
        }
        known.push((Name::from(name), AttributeValue::from(value)));
    }
    Ok(known.into())
}

fn is_known(value: &SdkValue) -> bool {
    match value {
        SdkValue::M(map) => map.values().all(is_known),
        SdkValue::L(list) => list.iter().all(is_known),
        SdkValue::S(_)
        | SdkValue::N(_)
        | SdkValue::B(_)
        | SdkValue::Bool(_)
        | SdkValue::Null(_)
        | SdkValue::Ss(_)
        | SdkValue::Ns(_)
        | SdkValue::Bs(_) => true,
        _ => false,
    }
}
