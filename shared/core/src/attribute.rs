//! Declared attributes and their types, as templates and conditions use them.

use std::collections::BTreeMap;

use crate::value::AttributeValue;

/// The prefix of Keyfold's own attributes: a retrofit stores them on items, and readers never see them.
pub const OWN_ATTRIBUTE_PREFIX: &str = "keyfold_";
/// Marks a tombstone in a retrofit's target.
pub const TOMBSTONE_ATTRIBUTE: &str = "keyfold_tombstone";

/// One declared attribute.
#[derive(Debug, Clone, PartialEq)]
pub struct Attribute {
    /// Its name in the item.
    pub name: String,
    /// Its type.
    pub kind: AttributeKind,
    /// The only values it takes, if the manifest lists them, in the manifest's order. String and number attributes only.
    pub values: Option<Vec<AttributeValue>>,
    /// Named value maps that templates may use: map name -> (value -> code). Both sides are unique.
    pub maps: BTreeMap<String, BTreeMap<String, String>>,
    /// Is it required of every item of the table, or of the declaring entity? Writes without it are refused.
    pub required: bool,
    /// Is it stored only in a folded key? Stored items then lack it; it is read from the key.
    pub from_key: bool,
}

impl Attribute {
    /// Do both have the same type and the same value maps?
    pub(crate) fn is_same_type(&self, other: &Attribute) -> bool {
        self.kind == other.kind && self.maps == other.maps
    }

    /// An attribute with only a type.
    pub fn new(name: &str, kind: AttributeKind) -> Attribute {
        Attribute {
            name: name.to_owned(),
            kind,
            values: None,
            maps: BTreeMap::new(),
            required: false,
            from_key: false,
        }
    }
}

/// The type of a declared attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttributeKind {
    /// DynamoDB's S.
    String,
    /// DynamoDB's N.
    Number,
    /// DynamoDB's B.
    Binary,
    /// DynamoDB's BOOL. Not a key by itself, but allowed as a part of a folded key.
    Boolean,
    /// An S that holds an ISO 8601 timestamp; UTC with this precision in folded keys.
    Timestamp(Precision),
    /// An S that holds an ISO 8601 date, `2017-03-01`.
    Date,
    /// A list, map or set: never part of a key.
    List,
    /// A map.
    Map,
    /// A set of strings.
    StringSet,
    /// A set of numbers.
    NumberSet,
    /// A set of binaries.
    BinarySet,
}

impl AttributeKind {
    /// The DynamoDB type that a value of this kind has, by its letter.
    pub fn type_letter(self) -> &'static str {
        match self {
            AttributeKind::String | AttributeKind::Timestamp(_) | AttributeKind::Date => "S",
            AttributeKind::Number => "N",
            AttributeKind::Binary => "B",
            AttributeKind::Boolean => "BOOL",
            AttributeKind::List => "L",
            AttributeKind::Map => "M",
            AttributeKind::StringSet => "SS",
            AttributeKind::NumberSet => "NS",
            AttributeKind::BinarySet => "BS",
        }
    }

    /// The type's name, as the manifest writes it.
    pub fn name(self) -> &'static str {
        match self {
            AttributeKind::String => "string",
            AttributeKind::Number => "number",
            AttributeKind::Binary => "binary",
            AttributeKind::Boolean => "boolean",
            AttributeKind::Timestamp(_) => "timestamp",
            AttributeKind::Date => "date",
            AttributeKind::List => "list",
            AttributeKind::Map => "map",
            AttributeKind::StringSet => "string-set",
            AttributeKind::NumberSet => "number-set",
            AttributeKind::BinarySet => "binary-set",
        }
    }

    /// The type as a key attribute, for those that can be one.
    pub fn scalar(self) -> Option<ScalarType> {
        match self.type_letter() {
            "S" => Some(ScalarType::S),
            "N" => Some(ScalarType::N),
            "B" => Some(ScalarType::B),
            _ => None,
        }
    }
}

/// The number of decimal places of a timestamp's seconds in a folded key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Precision {
    /// `2017-03-01T08:00:00Z`
    Seconds,
    /// `2017-03-01T08:00:00.000Z`, the default
    Milliseconds,
    /// `2017-03-01T08:00:00.000000Z`
    Microseconds,
    /// `2017-03-01T08:00:00.000000000Z`
    Nanoseconds,
}

impl Precision {
    /// Its name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Precision::Seconds => "seconds",
            Precision::Milliseconds => "milliseconds",
            Precision::Microseconds => "microseconds",
            Precision::Nanoseconds => "nanoseconds",
        }
    }
}

/// The type of a key attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScalarType {
    /// String.
    S,
    /// Number.
    N,
    /// Binary.
    B,
}

impl ScalarType {
    /// `S`, `N` or `B`.
    pub fn letter(self) -> &'static str {
        match self {
            ScalarType::S => "S",
            ScalarType::N => "N",
            ScalarType::B => "B",
        }
    }
}
