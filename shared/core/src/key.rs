//! Key templates: how several attributes become one key, and how a key is read back, compared and selected.

use std::collections::BTreeMap;
use std::ops::{Bound, Range};

use crate::model::Attribute;
use crate::value::{AttributeValue, Item};

/// Which key a template makes: it decides how long it may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyRole {
    /// At most 2048 bytes.
    Partition,
    /// At most 1024 bytes.
    Sort,
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
#[derive(Debug, Clone, PartialEq)]
pub struct Template {
    text: String,
}

/// One part of a template, in its order. The separator of an optional part is a literal before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// Text that every key has at this place.
    Literal(String),
    /// An attribute's value.
    Attribute {
        /// The attribute.
        name: String,
        /// How its value is written.
        codec: Codec,
        /// May an item lack it?
        optional: bool,
    },
}

/// How an attribute's value is written in a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Codec {
    /// As it is.
    Text,
    /// Zero-padded: `{words:06}`.
    Integer {
        /// The number of digits.
        width: u32,
    },
    /// Any number of DynamoDB's, in order: `{price:number}`.
    Number,
    /// In UTC with this precision.
    Timestamp(crate::model::Precision),
    /// `2017-03-01`.
    Date,
    /// In lower case: `{city|lower}`.
    Lower,
    /// In upper case: `{city|upper}`.
    Upper,
    /// By the value map of this name: `{action|map:short}`.
    Map(String),
    /// As one of this many shards: `{id|shard:10}`.
    Shard(u32),
    /// A binary's bytes: `{hash|hex}`.
    Hex,
    /// One of the values that the attribute lists.
    Enumerated,
}

/// A mistake in a template's text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("placeholder")]
pub struct TemplateError {
    /// Where, in bytes of the template's text.
    pub span: Range<usize>,
}

impl TemplateError {
    /// What to do about it, where there is something to say.
    pub fn hint(&self) -> Option<String> {
        None
    }
}

/// Why an item's key cannot be folded. Never holds an item's contents.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("placeholder")]
pub struct FoldError {}

/// Why a text is not a key of this template.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("placeholder")]
pub struct UnfoldError {}

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

/// The keys that can belong to items which pass the tests.
#[derive(Debug, Clone, PartialEq)]
pub struct Selection {
    /// Disjoint and ascending. Empty: no key of this template can match.
    pub ranges: Vec<KeyRange>,
    /// The tested attributes that narrow the ranges.
    pub served: Vec<Served>,
}

/// A tested attribute that narrows a selection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Served {
    /// The attribute.
    pub attribute: String,
    /// Do all keys of this template within the ranges pass the test? If not, the test must be applied to the items too.
    pub exact: bool,
}

impl Template {
    /// Reads a template. All mistakes are reported, not the first alone.
    pub fn parse(
        text: &str,
        attributes: &BTreeMap<String, Attribute>,
        role: KeyRole,
        mode: KeyMode,
    ) -> Result<Template, Vec<TemplateError>> {
        let _ = (attributes, role, mode);
        Ok(Template { text: text.to_owned() })
    }

    /// The template as written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The parts, in order.
    pub fn parts(&self) -> &[Part] {
        &[]
    }

    /// The attribute's name, if the template is nothing but `{attribute}`.
    pub fn bare(&self) -> Option<&str> {
        None
    }

    /// The attributes that the key is made of, each once, in the order of their first appearance.
    pub fn attributes(&self) -> impl Iterator<Item = &str> {
        std::iter::empty()
    }

    /// The text that every key of this template begins with; empty if it begins with an attribute.
    pub fn literal_prefix(&self) -> &str {
        ""
    }

    /// The key of an item; `None` if the item lacks a part, and so is not in the index.
    pub fn fold(&self, item: &Item) -> Result<Option<String>, FoldError> {
        let _ = item;
        Ok(None)
    }

    /// Reads a key back into its parts: attribute name and what the key says of it, in the template's order.
    pub fn unfold(&self, key: &str) -> Result<Vec<(&str, Unfolded)>, UnfoldError> {
        let _ = key;
        Ok(Vec::new())
    }

    /// The keys that items can have which pass the tests. `tests` holds one test for an attribute; attributes without
    /// one are open. An open part with few values (an enumeration, a shard) is tried value by value if a later part is
    /// tested and at most `fan_out_max` ranges come of it.
    pub fn select(&self, tests: &BTreeMap<&str, Test>, fan_out_max: usize) -> Selection {
        let _ = (tests, fan_out_max);
        Selection { ranges: vec![KeyRange::All], served: Vec::new() }
    }

    /// The attributes by whose values the keys ascend, outermost first, among items in which the `fixed` attributes
    /// have one value each. Fixed attributes are left out.
    pub fn ascending(&self, fixed: &dyn Fn(&str) -> bool) -> Vec<&str> {
        let _ = fixed;
        Vec::new()
    }
}
