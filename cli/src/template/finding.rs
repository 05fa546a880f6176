//! What is wrong with a template.

use std::fmt;

/// Something that is wrong with a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finding {
    /// The line; 0 where something is missing altogether.
    pub(crate) line: usize,
    /// The code that stays the same.
    pub(crate) code: &'static str,
    /// What it is.
    pub(crate) message: String,
}

impl Finding {
    pub(crate) fn new(line: usize, code: &'static str, message: impl Into<String>) -> Finding {
        Finding { line, code, message: message.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}
