//! How values are written into keys, and which key it is.

use crate::attribute::Precision;

/// Which key a template makes: it decides how long it may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyRole {
    /// At most 2048 bytes.
    Partition,
    /// At most 1024 bytes.
    Sort,
}

impl KeyRole {
    /// The longest key, in bytes.
    ///
    /// <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html>
    pub fn bytes_max(self) -> usize {
        match self {
            KeyRole::Partition => 2048,
            KeyRole::Sort => 1024,
        }
    }
}

/// What happens to a value that contains the separator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyMode {
    /// The separator is escaped; every value can be folded.
    Escaped,
    /// Values are written as they are, and one that contains the separator is refused: for tables joined by hand.
    Verbatim,
}

/// How an attribute's value is written into a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Codec {
    /// Free text: a string, a binary that is text, or a number in plain digits (which does not order it).
    Text,
    /// A whole number, zero-padded to a width.
    Integer {
        /// How many digits.
        width: u32,
    },
    /// Any DynamoDB number, in its order.
    Number,
    /// A timestamp in UTC.
    Timestamp(Precision),
    /// A timestamp in UTC, with `t` and `z` in lower case: its letters stand at fixed places, so the order stays.
    LowerTimestamp(Precision),
    /// A date.
    Date,
    /// Text in lower case.
    Lower,
    /// Text in upper case.
    Upper,
    /// A code for each value, by the map of this name.
    Map(String),
    /// The number of a shard, out of so many.
    Shard(u32),
    /// A whole number's remainder, in plain digits: the shards of tables that others write.
    Modulo(u32),
    /// Bytes as hexadecimal digits.
    Hex,
    /// One of the values that the manifest lists; also `true` and `false`.
    Enumerated,
}

impl Codec {
    /// How many shards there are, if the codec keeps nothing but a shard's number.
    pub fn shards(&self) -> Option<u32> {
        match self {
            Codec::Shard(shards) | Codec::Modulo(shards) => Some(*shards),
            _ => None,
        }
    }
}
