//! What can come after a part of a key: it decides where a reader sees the part end.

use super::chars::next_char;

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
