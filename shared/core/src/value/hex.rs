//! Bytes as text.

use std::fmt;

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
