//! The sizes of items and values, as DynamoDB counts them.
//!
//! <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html>
//!
//! The documentation is exact except for numbers, where it says "approximately". Those follow measurements against the
//! 400 KB limit, which shows single bytes: see [`value_bytes`].

use crate::value::{AttributeValue, Item, Number};

/// The largest item: 400 KB with the names of its attributes.
///
/// <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html>
pub const ITEM_BYTES_MAX: u64 = 400 * 1024;
/// The longest name of an attribute.
/// <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/HowItWorks.NamingRulesDataTypes.html>
pub(crate) const ATTRIBUTE_NAME_BYTES_MAX: usize = 65_535;
/// Maximum nesting of a value: 31 lists or maps, and a scalar in the innermost.
pub const NESTING_LEVELS_MAX: u32 = 32;

/// The bytes of a list or map before its elements.
const DOCUMENT_BYTES: u64 = 3;
/// The additional bytes of each element of a list or map.
const ELEMENT_BYTES: u64 = 1;

/// The size of an item: the names and values of all its attributes.
///
/// ```
/// use keyfold_core::{index::item_bytes, value::Item};
/// let item: Item = serde_json::from_str(r#"{"id":{"S":"111aaa"},"views":{"N":"27"}}"#)?;
/// assert_eq!(item_bytes(&item), 2 + 6 + 5 + 2);
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn item_bytes(item: &Item) -> u64 {
    item.iter().map(|(name, value)| attribute_bytes(name, value)).sum()
}

/// The size of one attribute: its name in UTF-8, and its value.
pub fn attribute_bytes(name: &str, value: &AttributeValue) -> u64 {
    bytes(name.len()) + value_bytes(value)
}

/// The size of a value without its attribute's name.
///
/// A number takes one byte, one more for each two significant digits, and one more if it is negative; leading and
/// trailing zeros are not significant. Digits before and after the decimal point are paired separately, so `1.5` takes
/// a byte more than `15`. A text that is not a number takes one byte for each two characters, plus one.
pub fn value_bytes(value: &AttributeValue) -> u64 {
    match value {
        AttributeValue::S(text) => bytes(text.len()),
        AttributeValue::N(text) => number_bytes(text),
        AttributeValue::B(binary) => bytes(binary.len()),
        AttributeValue::Bool(_) | AttributeValue::Null(_) => 1,
        AttributeValue::Ss(texts) => texts.iter().map(|text| bytes(text.len())).sum(),
        AttributeValue::Ns(texts) => texts.iter().map(|text| number_bytes(text)).sum(),
        AttributeValue::Bs(binaries) => binaries.iter().map(|binary| bytes(binary.len())).sum(),
        AttributeValue::L(values) => {
            DOCUMENT_BYTES + values.iter().map(|value| ELEMENT_BYTES + value_bytes(value)).sum::<u64>()
        }
        AttributeValue::M(values) => {
            let element = |(name, value): (&String, _)| ELEMENT_BYTES + attribute_bytes(name, value);
            DOCUMENT_BYTES + values.iter().map(element).sum::<u64>()
        }
    }
}

fn number_bytes(text: &str) -> u64 {
    let Ok(number) = text.parse::<Number>() else {
        return bytes(text.len().div_ceil(2)) + 1;
    };
    let digits = i64::from(number.digits());
    let whole = (i64::from(number.magnitude()) + 1).clamp(0, digits).unsigned_abs();
    let fraction = digits.unsigned_abs() - whole;
    1 + whole.div_ceil(2) + fraction.div_ceil(2) + u64::from(number.is_negative())
}

/// A length in memory as a number of bytes; it always fits.
fn bytes(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}
