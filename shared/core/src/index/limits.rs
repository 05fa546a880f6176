//! What DynamoDB takes of an item, beside the limits of keys.
//!
//! <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html>

/// The largest item: 400 KB with the names of its attributes.
pub const ITEM_BYTES_MAX: u64 = 400 * 1024;

/// How deep a value may be nested: 31 lists or maps, and what is in the innermost.
pub const NESTING_LEVELS_MAX: u32 = 32;

/// The longest name of an attribute.
/// <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/HowItWorks.NamingRulesDataTypes.html>
pub(crate) const ATTRIBUTE_NAME_BYTES_MAX: usize = 65_535;
