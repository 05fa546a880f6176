//! Error contents that are never shown by accident.

use std::fmt;

/// A value that may hold an item's contents: `{:?}` does not show it, so a logged error cannot leak it.
#[derive(Clone, PartialEq, Eq)]
pub struct Hidden<T>(T);

impl<T> Hidden<T> {
    /// Hides a value.
    pub fn new(hidden: T) -> Hidden<T> {
        Hidden(hidden)
    }

    /// The hidden value.
    pub fn reveal(&self) -> &T {
        &self.0
    }

    /// Takes the hidden value.
    pub fn into_revealed(self) -> T {
        self.0
    }
}

impl<T> fmt::Debug for Hidden<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(hidden)")
    }
}

/// Bytes as hexadecimal digits in lower case.
///
/// ```
/// assert_eq!(keyfold_core::value::Hex(&[0, 0xaf]).to_string(), "00af");
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Hex<'b>(pub &'b [u8]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}
