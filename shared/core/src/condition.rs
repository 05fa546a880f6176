//! Conditions on attributes, and their evaluation for one item.
//!
//! A [`Condition`] means what DynamoDB's filter expression means: a comparison with a missing attribute, or with a
//! value of another type, is false; `not` makes it true.

use std::cmp::Ordering;
use std::fmt;

use crate::value::{AttributeValue, Item, compare, equal};

/// An attribute, or a value inside a map: `PromotionInfo.Rotation`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Path {
    /// The attribute's name.
    pub root: String,
    /// The names of map members after it. Nearly always empty, without an allocation.
    pub inner: Vec<String>,
}

impl Path {
    /// A whole attribute.
    pub fn attribute(name: impl Into<String>) -> Path {
        Path { root: name.into(), inner: Vec::new() }
    }

    /// The attribute's name, if the path has no members.
    pub fn as_attribute(&self) -> Option<&str> {
        self.inner.is_empty().then_some(self.root.as_str())
    }

    /// The value at this place of an item.
    pub fn find<'a>(&self, item: &'a Item) -> Option<&'a AttributeValue> {
        self.inner.iter().try_fold(item.get(&self.root)?, |value, name| match value {
            AttributeValue::M(map) => map.get(name),
            _ => None,
        })
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.root)?;
        self.inner.iter().try_for_each(|name| write!(f, ".{name}"))
    }
}

/// A comparison of one attribute.
#[derive(Debug, Clone, PartialEq)]
pub enum Comparison {
    /// `=`
    Equal(AttributeValue),
    /// `<`
    Less(AttributeValue),
    /// `<=`
    LessOrEqual(AttributeValue),
    /// `>`
    Greater(AttributeValue),
    /// `>=`
    GreaterOrEqual(AttributeValue),
    /// `between`, both ends included
    Between(AttributeValue, AttributeValue),
    /// `beginsWith`
    BeginsWith(AttributeValue),
    /// `contains`: a part of a text, a member of a set or list
    Contains(AttributeValue),
    /// `in`
    In(Vec<AttributeValue>),
    /// `exists`: true or false
    Exists(bool),
}

impl Comparison {
    /// Does every item that passes have the attribute?
    pub fn implies_presence(&self) -> bool {
        !matches!(self, Comparison::Exists(false))
    }

    /// The result for a value, or for a missing one.
    pub fn holds(&self, value: Option<&AttributeValue>) -> bool {
        let Some(value) = value else { return matches!(self, Comparison::Exists(false)) };
        let ordered = |bound: &AttributeValue, accepted: &[Ordering]| {
            compare(value, bound).is_some_and(|order| accepted.contains(&order))
        };
        match self {
            Comparison::Equal(wanted) => equal(value, wanted),
            Comparison::Less(bound) => ordered(bound, &[Ordering::Less]),
            Comparison::LessOrEqual(bound) => ordered(bound, &[Ordering::Less, Ordering::Equal]),
            Comparison::Greater(bound) => ordered(bound, &[Ordering::Greater]),
            Comparison::GreaterOrEqual(bound) => ordered(bound, &[Ordering::Greater, Ordering::Equal]),
            Comparison::Between(low, high) => {
                ordered(low, &[Ordering::Greater, Ordering::Equal])
                    && ordered(high, &[Ordering::Less, Ordering::Equal])
            }
            Comparison::BeginsWith(prefix) => begins_with(value, prefix),
            Comparison::Contains(part) => contains(value, part),
            Comparison::In(values) => values.iter().any(|wanted| equal(value, wanted)),
            Comparison::Exists(wanted) => *wanted,
        }
    }
}

/// Does a text begin with a text, or bytes with bytes?
pub(crate) fn begins_with(value: &AttributeValue, prefix: &AttributeValue) -> bool {
    match (value, prefix) {
        (AttributeValue::S(value), AttributeValue::S(prefix)) => value.starts_with(prefix),
        (AttributeValue::B(value), AttributeValue::B(prefix)) => value.starts_with(prefix),
        _ => false,
    }
}

fn contains(value: &AttributeValue, part: &AttributeValue) -> bool {
    match (value, part) {
        (AttributeValue::S(value), AttributeValue::S(part)) => value.contains(part),
        (AttributeValue::B(value), AttributeValue::B(part)) => {
            part.is_empty() || value.windows(part.len()).any(|window| window == part)
        }
        (AttributeValue::Ss(set), AttributeValue::S(member)) => set.contains(member),
        (AttributeValue::Bs(set), AttributeValue::B(member)) => set.contains(member),
        (AttributeValue::Ns(set), AttributeValue::N(_)) => {
            set.iter().any(|member| equal(&AttributeValue::N(member.clone()), part))
        }
        (AttributeValue::L(list), _) => list.iter().any(|member| equal(member, part)),
        _ => false,
    }
}

/// A condition on an item.
#[derive(Debug, Clone, PartialEq)]
pub enum Condition {
    /// One attribute, one comparison.
    Is(Path, Comparison),
    /// All of these; true if empty.
    All(Vec<Condition>),
    /// At least one of these; false if empty.
    Any(Vec<Condition>),
    /// Not this.
    Not(Box<Condition>),
}

impl Condition {
    /// The condition that every item fulfils.
    pub fn always() -> Condition {
        Condition::All(Vec::new())
    }

    /// Is this the condition that every item fulfils?
    pub fn is_always(&self) -> bool {
        matches!(self, Condition::All(parts) if parts.is_empty())
    }

    /// Is this the condition that no item fulfils?
    pub fn is_never(&self) -> bool {
        matches!(self, Condition::Any(parts) if parts.is_empty())
    }

    /// The same condition without redundant parts: only the whole can still be "always" or "never".
    #[must_use]
    pub fn simplified(self) -> Condition {
        match self {
            Condition::Is(..) => self,
            Condition::All(parts) => {
                let parts: Vec<_> =
                    parts.into_iter().map(Condition::simplified).filter(|part| !part.is_always()).collect();
                if parts.iter().any(Condition::is_never) {
                    Condition::Any(Vec::new())
                } else {
                    Condition::all(parts)
                }
            }
            Condition::Any(parts) => {
                let mut parts: Vec<_> =
                    parts.into_iter().map(Condition::simplified).filter(|part| !part.is_never()).collect();
                match parts.len() {
                    _ if parts.iter().any(Condition::is_always) => Condition::always(),
                    1 => parts.remove(0),
                    _ => Condition::Any(parts),
                }
            }
            Condition::Not(inner) => match inner.simplified() {
                Condition::Not(again) => *again,
                inner if inner.is_always() => Condition::Any(Vec::new()),
                inner if inner.is_never() => Condition::always(),
                inner => Condition::Not(Box::new(inner)),
            },
        }
    }

    /// Does this item fulfil it?
    pub fn holds(&self, item: &Item) -> bool {
        match self {
            Condition::Is(path, comparison) => comparison.holds(path.find(item)),
            Condition::All(parts) => parts.iter().all(|part| part.holds(item)),
            Condition::Any(parts) => parts.iter().any(|part| part.holds(item)),
            Condition::Not(inner) => !inner.holds(item),
        }
    }

    /// Calls `visit` with every comparison.
    pub fn each<'a>(&'a self, visit: &mut dyn FnMut(&'a Path, &'a Comparison)) {
        match self {
            Condition::Is(path, comparison) => visit(path, comparison),
            Condition::All(parts) | Condition::Any(parts) => parts.iter().for_each(|part| part.each(visit)),
            Condition::Not(inner) => inner.each(visit),
        }
    }

    /// Do all its attributes pass this test?
    pub fn only_uses(&self, allowed: &dyn Fn(&str) -> bool) -> bool {
        let mut all = true;
        self.each(&mut |path, _| all &= allowed(&path.root));
        all
    }

    /// All of these as one condition, flat.
    pub fn all(parts: impl IntoIterator<Item = Condition>) -> Condition {
        let parts = parts.into_iter();
        let mut flat = Vec::with_capacity(parts.size_hint().0);
        for part in parts {
            match part {
                Condition::All(inner) => flat.extend(inner),
                other => flat.push(other),
            }
        }
        match flat.len() {
            1 => flat.remove(0),
            _ => Condition::All(flat),
        }
    }
}
