//! The texts of an attribute with a finite list of values: an enumeration, a boolean, or the codes of a map.

use super::follow::Follow;
use crate::value::{AttributeValue, compare, equal};

/// Values with their texts, in the manifest's order.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Finite {
    pub(super) entries: Vec<(AttributeValue, String)>,
    /// Can the texts stay unescaped, because nothing that follows can be misread as a part of one?
    pub(super) plain: bool,
    /// Is the order of the texts, with all that can follow, the order of the values?
    pub(super) ordered: bool,
}

impl Finite {
    pub(super) fn new(entries: Vec<(AttributeValue, String)>) -> Finite {
        Finite { entries, plain: false, ordered: false }
    }

    /// The text of a value.
    pub(super) fn text(&self, value: &AttributeValue) -> Option<&str> {
        self.entries
            .iter()
            .find(|(known, _)| known == value || equal(known, value))
            .map(|(_, text)| text.as_str())
    }

    /// The texts of all values that pass.
    pub(super) fn texts_where(&self, passes: impl Fn(&AttributeValue) -> bool) -> impl Iterator<Item = &str> {
        self.entries.iter().filter(move |(value, _)| passes(value)).map(|(_, text)| text.as_str())
    }

    /// Is no text the beginning of another?
    pub(super) fn is_prefix_free(&self) -> bool {
        self.pairs().all(|(a, b)| !b.1.starts_with(a.1.as_str()))
    }

    /// Can a reader separate the unescaped texts from anything that follows?
    pub(super) fn is_readable_before(&self, follow: &Follow) -> bool {
        if follow.adjacent {
            return self.is_prefix_free();
        }
        self.pairs().all(|(shorter, longer)| {
            let Some(rest) = longer.1.strip_prefix(shorter.1.as_str()) else { return true };
            let confused =
                |separator: &String| rest.starts_with(separator.as_str()) || separator.starts_with(rest);
            !follow.separators.iter().any(confused)
        })
    }

    /// Is the order of the texts the order of the values, with this following?
    pub(super) fn keeps_order(&self, follow: &Follow) -> bool {
        if !self.plain {
            return false;
        }
        let ends: Vec<&str> = follow
            .separators
            .iter()
            .map(String::as_str)
            .chain((follow.end || follow.separators.is_empty()).then_some(""))
            .collect();
        self.pairs().all(|(a, b)| {
            // If an attribute follows directly, a text that is a prefix of another loses its order.
            if follow.adjacent && (a.1.starts_with(b.1.as_str()) || b.1.starts_with(a.1.as_str())) {
                return false;
            }
            let Some(by_value) = order(&a.0, &b.0) else { return false };
            ends.iter().all(|end_a| {
                ends.iter().all(|end_b| format!("{}{end_a}", a.1).cmp(&format!("{}{end_b}", b.1)) == by_value)
            })
        })
    }

    fn pairs(&self) -> impl Iterator<Item = (&(AttributeValue, String), &(AttributeValue, String))> {
        let all = &self.entries;
        (0..all.len())
            .flat_map(move |i| (0..all.len()).filter(move |j| *j != i).map(move |j| (&all[i], &all[j])))
    }
}

fn order(a: &AttributeValue, b: &AttributeValue) -> Option<std::cmp::Ordering> {
    match (a, b) {
        (AttributeValue::Bool(a), AttributeValue::Bool(b)) => Some(a.cmp(b)),
        _ => compare(a, b),
    }
}
