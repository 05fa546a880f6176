//! The text that can follow a part of a key. It decides where a reader sees the part end.

/// The text that can follow a part.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Follow {
    /// Literals that can come next.
    pub(super) separators: Vec<String>,
    /// Can the key end here?
    pub(super) end: bool,
    /// Does another attribute follow directly?
    pub(super) adjacent: bool,
}

impl Follow {
    /// Is this the last part of every key?
    pub(super) fn is_last(&self) -> bool {
        self.separators.is_empty() && !self.adjacent
    }

    /// Must this character be escaped in a value?
    pub(super) fn begins(&self, letter: char) -> bool {
        self.separators.iter().any(|separator| separator.starts_with(letter))
    }

    /// The first character above all that can begin the text after this part; `None` if no character is above them.
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

/// The first text above all texts with this prefix; `None` if no text is above them.
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
