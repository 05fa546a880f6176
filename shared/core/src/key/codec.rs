//! How values are written into keys, and the roles of keys.

use crate::attribute::Precision;

/// The role of a key: it limits the key's length.
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
    /// Values are written unchanged, and a value that contains the separator is refused: for tables joined by hand.
    Verbatim,
}

/// How an attribute's value is written into a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Codec {
    /// Free text: a string, a binary that is text, or a number in plain digits (not in numeric order).
    Text,
    /// A whole number, zero-padded to a width.
    Integer {
        /// The number of digits.
        width: u32,
    },
    /// Any DynamoDB number, in its order.
    Number,
    /// A timestamp in UTC.
    Timestamp(Precision),
    /// A timestamp in UTC with `t` and `z` in lower case. Their places are fixed, so the order is kept.
    LowerTimestamp(Precision),
    /// A date.
    Date,
    /// Text in lower case.
    Lower,
    /// Text in upper case.
    Upper,
    /// A code for each value, by the map with this name.
    Map(String),
    /// A shard number, out of this number of shards.
    Shard(u32),
    /// An integer's remainder in plain digits: shards of tables written by other programs.
    Modulo(u32),
    /// Bytes as hexadecimal digits.
    Hex,
    /// One of the values that the manifest lists; also `true` and `false`.
    Enumerated,
}

impl Codec {
    /// The number of shards, if the codec keeps only a shard number.
    pub fn shards(&self) -> Option<u32> {
        match self {
            Codec::Shard(shards) | Codec::Modulo(shards) => Some(*shards),
            _ => None,
        }
    }
}
