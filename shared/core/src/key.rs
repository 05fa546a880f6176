//! Key templates: how several attributes become one key, and how a key is read back and selected.
//!
//! A [`Template`] is read once ([`Template::parse`]); then it folds items into keys ([`Template::fold`]), reads keys back
//! ([`Template::unfold`]), and tells which keys items can have that pass some tests ([`Template::select`]).
//! `docs/key-format.md` has the format, exactly. Its laws:
//!
//! - *injective*: two different tuples never fold into one key;
//! - *prefix-safe*: the first parts select exactly their members;
//! - *ordered*: where a part has an ordered encoding, byte order is value order;
//! - *readable*: ordinary values look as a plain join has them;
//! - *bounded*: never empty, never longer than DynamoDB takes.

mod ascending;
mod bounds;
mod digest;
mod encode;
mod error;
mod field;
mod finite;
mod fold;
mod ordered;
mod parse;
mod select;
mod shard;
mod time;
mod unfold;

use std::ops::Bound;

use crate::attribute::Precision;
use crate::value::AttributeValue;

pub use error::{FoldError, FoldProblem, TemplateError, TemplateProblem, UnfoldError, UnfoldProblem};

use field::Field;
pub(crate) use field::after_all;

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

/// A parsed key template.
///
/// ```
/// use keyfold_core::key::{KeyMode, KeyRole, Template};
/// use keyfold_core::model::{Attribute, AttributeKind};
/// # use keyfold_core::value::{AttributeValue, Item};
/// let attributes = ["resourceId", "action", "accessedBy"]
///     .map(|name| (name.to_owned(), Attribute::new(name, AttributeKind::String)))
///     .into();
/// let template =
///     Template::parse("{resourceId}-{action}-{accessedBy}", &attributes, KeyRole::Partition, KeyMode::Escaped).unwrap();
/// # let item = |values: [&str; 3]| -> Item {
/// #     let names = ["resourceId", "action", "accessedBy"];
/// #     std::collections::HashMap::from_iter(
/// #         names.into_iter().zip(values).map(|(name, value)| (name.to_owned(), AttributeValue::S(value.to_owned())))).into()
/// # };
/// assert_eq!(template.fold(&item(["123ccc", "viewed", "joe1"]))?.as_deref(), Some("123ccc-viewed-joe1"));
/// assert_eq!(template.fold(&item(["db-read", "all", "sam"]))?.as_deref(), Some("db%2Dread-all-sam"));
/// # Ok::<(), keyfold_core::key::FoldError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Template {
    text: String,
    role: KeyRole,
    mode: KeyMode,
    parts: Vec<Part>,
    elements: Vec<Element>,
}

/// One part of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// Text that every key has here.
    Literal(String),
    /// An attribute's value.
    Attribute {
        /// Its name.
        name: String,
        /// How it is written.
        codec: Codec,
        /// Is it in an optional tail?
        optional: bool,
    },
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
    /// Bytes as hexadecimal digits.
    Hex,
    /// One of the values that the manifest lists; also `true` and `false`.
    Enumerated,
}

/// What a template is made of, with everything precomputed. `level` counts the optional tails around it.
#[derive(Debug, Clone, PartialEq)]
enum Element {
    Literal { text: String, level: usize },
    Field { field: Box<Field>, level: usize },
}

impl Element {
    fn level(&self) -> usize {
        match self {
            Element::Literal { level, .. } | Element::Field { level, .. } => *level,
        }
    }
}

/// What one part of a key says of an attribute.
#[derive(Debug, Clone, PartialEq)]
pub enum Unfolded {
    /// The attribute's value, exactly.
    Value(AttributeValue),
    /// What the key keeps of it: a case-mapped text.
    Lossy(String),
    /// The number of its shard.
    Shard(u32),
    /// The item lacks it.
    Absent,
}

/// What a request says of one attribute, as far as a key can use it.
#[derive(Debug, Clone, PartialEq)]
pub enum Test {
    /// It is this value.
    Equal(AttributeValue),
    /// It lies between these, as DynamoDB compares.
    Range {
        /// The lower end.
        low: Bound<AttributeValue>,
        /// The upper end.
        high: Bound<AttributeValue>,
    },
    /// It begins with this text (or these bytes).
    BeginsWith(AttributeValue),
    /// The item does not have it.
    Absent,
}

/// A condition on one string key, in a form that DynamoDB's key conditions can say.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum KeyRange {
    /// Every key.
    All,
    /// This key.
    Exact(String),
    /// Keys that begin so.
    BeginsWith(String),
    /// Both ends included, as DynamoDB's BETWEEN.
    Between(String, String),
    /// `>=`
    AtLeast(String),
    /// `>`
    Above(String),
    /// `<=`
    AtMost(String),
    /// `<`
    Below(String),
}

impl KeyRange {
    /// Does a key lie in the range?
    pub fn contains(&self, key: &str) -> bool {
        match self {
            KeyRange::All => true,
            KeyRange::Exact(only) => key == only,
            KeyRange::BeginsWith(prefix) => key.starts_with(prefix),
            KeyRange::Between(low, high) => (low.as_str()..=high).contains(&key),
            KeyRange::AtLeast(low) => key >= low.as_str(),
            KeyRange::Above(low) => key > low.as_str(),
            KeyRange::AtMost(high) => key <= high.as_str(),
            KeyRange::Below(high) => key < high.as_str(),
        }
    }
}

/// The keys that can belong to items which pass the tests.
#[derive(Debug, Clone, PartialEq)]
pub struct Selection<'t> {
    /// Disjoint and ascending. Empty: no key of this template can match.
    pub ranges: Vec<KeyRange>,
    /// The tested attributes that narrow the ranges.
    pub served: Vec<Served<'t>>,
}

/// A tested attribute that narrows a selection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Served<'t> {
    /// The attribute, as the template names it.
    pub attribute: &'t str,
    /// Do all keys of this template within the ranges pass the test? If not, the test must be applied to the items too.
    pub exact: bool,
}

impl Template {
    /// The template as written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Which key it makes.
    pub fn role(&self) -> KeyRole {
        self.role
    }

    /// What happens to separators in values.
    pub fn mode(&self) -> KeyMode {
        self.mode
    }

    /// Its parts, in order.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// The attribute's name, if the template is nothing but `{attribute}`.
    pub fn bare(&self) -> Option<&str> {
        match self.parts.as_slice() {
            // Whatever its type makes of it, the attribute by itself is meant.
            [
                Part::Attribute {
                    name,
                    optional: false,
                    codec: Codec::Text | Codec::Enumerated | Codec::Timestamp(_) | Codec::Date,
                },
            ] => Some(name),
            _ => None,
        }
    }

    /// The attributes that the key is made of, each once, in the order of their first appearance.
    pub fn attributes(&self) -> impl Iterator<Item = &str> {
        let names = || self.fields().map(|(field, _)| field.attribute.as_str());
        let is_first = move |(at, name): &(usize, &str)| !names().take(*at).any(|before| before == *name);
        names().enumerate().filter(is_first).map(|(_, name)| name)
    }

    /// The text that every key of this template begins with; empty if it begins with an attribute.
    pub fn literal_prefix(&self) -> &str {
        match self.elements.first() {
            Some(Element::Literal { text, .. }) => text,
            _ => "",
        }
    }

    /// The first attribute of every key, if it can have any text: untested, it leaves the whole key open.
    pub(crate) fn first_open(&self) -> Option<&str> {
        let field = self.elements.iter().find_map(|element| match element {
            Element::Field { field, level } => Some((field, *level)),
            Element::Literal { .. } => None,
        });
        let (field, level) = field?;
        let is_open = level == 0 && field.finite.is_none() && !matches!(field.codec, Codec::Shard(_));
        is_open.then_some(field.attribute.as_str())
    }

    /// Can two different items have one key? A key that keeps no letter case, or only a shard, allows it.
    pub fn is_lossy(&self) -> bool {
        let kept =
            |wanted: &str| self.fields().any(|(field, _)| field.attribute == wanted && !field.is_lossy());
        self.fields().any(|(field, _)| !kept(&field.attribute))
    }

    fn fields(&self) -> impl Iterator<Item = (&Field, usize)> {
        self.elements.iter().filter_map(|element| match element {
            Element::Field { field, level } => Some((field.as_ref(), *level)),
            Element::Literal { .. } => None,
        })
    }
}

#[cfg(test)]
mod tests;
