//! A parsed template, and the properties that follow from it without an item.

use super::codec::{Codec, KeyMode, KeyRole};
use super::field::Field;

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
    pub(super) text: String,
    pub(super) role: KeyRole,
    pub(super) mode: KeyMode,
    pub(super) parts: Vec<Part>,
    pub(super) elements: Vec<Element>,
    /// The elements at which an attribute appears for the first time.
    pub(super) firsts: Vec<usize>,
}

/// One part of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// Fixed text.
    Literal(String),
    /// An attribute's value.
    Attribute {
        /// Its name.
        name: String,
        /// Its codec.
        codec: Codec,
        /// Is it in an optional tail?
        optional: bool,
    },
}

/// An element of a template, with everything precomputed. `level`: the number of optional tails around it.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Element {
    Literal { text: String, level: usize },
    Field { field: Box<Field>, level: usize },
}

impl Element {
    pub(super) fn level(&self) -> usize {
        match self {
            Element::Literal { level, .. } | Element::Field { level, .. } => *level,
        }
    }
}

impl Template {
    /// The template as written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The role of its keys.
    pub fn role(&self) -> KeyRole {
        self.role
    }

    /// How separators in values are handled.
    pub fn mode(&self) -> KeyMode {
        self.mode
    }

    /// Its parts, in order.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// The attribute's name, if the template is only `{attribute}`.
    pub fn bare(&self) -> Option<&str> {
        match self.parts.as_slice() {
            // Whatever codec follows from its type, the template means the attribute itself.
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

    /// The attributes in the key, without duplicates, in the order of their first appearance.
    pub fn attributes(&self) -> impl Iterator<Item = &str> {
        self.firsts.iter().filter_map(|at| match &self.elements[*at] {
            Element::Field { field, .. } => Some(field.attribute.as_str()),
            Element::Literal { .. } => None,
        })
    }

    /// The literal prefix of every key of this template; empty if it begins with an attribute.
    pub fn literal_prefix(&self) -> &str {
        match self.elements.first() {
            Some(Element::Literal { text, .. }) => text,
            _ => "",
        }
    }

    /// The first attribute of every key, if it is free text: without a test of it, the whole key is open.
    pub(crate) fn first_open(&self) -> Option<&str> {
        let field = self.elements.iter().find_map(|element| match element {
            Element::Field { field, level } => Some((field, *level)),
            Element::Literal { .. } => None,
        });
        let (field, level) = field?;
        let is_open = level == 0 && field.finite.is_none() && field.codec.shards().is_none();
        is_open.then_some(field.attribute.as_str())
    }

    /// Can this attribute be read back from a key, exactly?
    pub fn keeps(&self, attribute: &str) -> bool {
        self.fields().any(|(field, _)| field.attribute == attribute && !field.is_lossy())
    }

    /// Can two different items have the same key? Only if the key drops letter case, or keeps only a shard.
    pub fn is_lossy(&self) -> bool {
        self.fields().any(|(field, _)| !self.keeps(&field.attribute))
    }

    pub(super) fn fields(&self) -> impl Iterator<Item = (&Field, usize)> {
        self.elements.iter().filter_map(|element| match element {
            Element::Field { field, level } => Some((field.as_ref(), *level)),
            Element::Literal { .. } => None,
        })
    }
}

impl Template {
    /// The attributes that order the keys, most significant first, among items with one value for each `fixed`
    /// attribute. Fixed attributes are left out.
    pub fn ascending(&self, fixed: &dyn Fn(&str) -> bool) -> Vec<&str> {
        let mut ascending = Vec::new();
        for element in &self.elements {
            let Element::Field { field, .. } = element else { continue };
            if fixed(&field.attribute) {
                continue;
            }
            if !field.is_ordered() {
                break;
            }
            if !ascending.contains(&field.attribute.as_str()) {
                ascending.push(field.attribute.as_str());
            }
        }
        ascending
    }
}
