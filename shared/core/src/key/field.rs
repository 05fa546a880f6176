//! One attribute of a template, with what may follow it.

use super::finite::Finite;
use super::{Codec, KeyMode};
use crate::attribute::AttributeKind;

/// One attribute of a template.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Field {
    pub(super) attribute: String,
    pub(super) kind: AttributeKind,
    pub(super) codec: Codec,
    /// The values and their texts, where they are few and listed.
    pub(super) finite: Option<Finite>,
    pub(super) follow: Follow,
    pub(super) mode: KeyMode,
}

/// What can come after a part.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Follow {
    /// Literals that can come next.
    pub(super) separators: Vec<String>,
    /// Can the key end here?
    pub(super) end: bool,
    /// Does another attribute come at once?
    pub(super) adjacent: bool,
}

impl Follow {
    /// Can nothing but the end come next?
    pub(super) fn is_last(&self) -> bool {
        self.separators.is_empty() && !self.adjacent
    }

    /// Must this character be escaped in a value?
    pub(super) fn begins(&self, letter: char) -> bool {
        self.separators.iter().any(|separator| separator.starts_with(letter))
    }

    /// The character above all with which that can begin that follows, if there is such a one.
    pub(super) fn above(&self) -> Option<char> {
        if self.adjacent {
            return None;
        }
        next_char(self.separators.iter().filter_map(|separator| separator.chars().next()).max()?)
    }
}

/// The next character in the order of UTF-8.
pub(super) fn next_char(letter: char) -> Option<char> {
    (u32::from(letter) + 1..=u32::from(char::MAX)).find_map(char::from_u32)
}

/// The first text after all that begin with this one; `None` if there is none.
pub(crate) fn after_all(prefix: &str) -> Option<String> {
    let kept = prefix.trim_end_matches(char::MAX);
    let last = kept.chars().next_back()?;
    let mut text = kept[..kept.len() - last.len_utf8()].to_owned();
    text.push(next_char(last)?);
    Some(text)
}

/// The character before in the order of UTF-8.
pub(super) fn previous_char(letter: char) -> Option<char> {
    (0..u32::from(letter)).rev().find_map(char::from_u32)
}

impl Field {
    /// Does the text show by itself where it ends?
    pub(super) fn is_self_delimiting(&self) -> bool {
        match &self.codec {
            Codec::Integer { .. } | Codec::Number | Codec::Timestamp(_) | Codec::Date | Codec::Shard(_) => {
                true
            }
            Codec::Enumerated | Codec::Map(_) => self.finite.as_ref().is_some_and(Finite::is_prefix_free),
            Codec::Text | Codec::Lower | Codec::Upper | Codec::Hex => false,
        }
    }

    /// Are separators in its text escaped?
    pub(super) fn escapes(&self) -> bool {
        self.mode == KeyMode::Escaped
            && !self.follow.is_last()
            && match &self.finite {
                Some(finite) => !finite.plain,
                None => matches!(self.codec, Codec::Text | Codec::Lower | Codec::Upper),
            }
    }

    /// Does byte order of the text (and what follows it) equal value order, whatever follows?
    pub(super) fn is_ordered(&self) -> bool {
        match &self.codec {
            Codec::Integer { .. } | Codec::Number | Codec::Timestamp(_) | Codec::Date => true,
            Codec::Text => self.kind != AttributeKind::Number && self.follow.is_last(),
            Codec::Hex => self.follow.is_last(),
            Codec::Enumerated | Codec::Map(_) => {
                self.finite.as_ref().is_some_and(|finite| finite.is_ordered(&self.follow))
            }
            Codec::Lower | Codec::Upper | Codec::Shard(_) => false,
        }
    }

    /// Does the key keep less than the value?
    pub(super) fn is_lossy(&self) -> bool {
        matches!(self.codec, Codec::Lower | Codec::Upper | Codec::Shard(_))
    }
}
