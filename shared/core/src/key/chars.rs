//! The neighbours of characters and texts in the order of UTF-8, which is the order of keys.

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
