//! Why a token cannot be opened or made.

/// The longest token: 100 accesses with the longest keys DynamoDB has do not fit, all that are usual do.
pub const TOKEN_CHARS_MAX: usize = 128 * 1024;

/// A token that is not accepted: forged, cut short, expired, or made for another request, caller or model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the page token is not valid")]
pub struct BadToken;

impl BadToken {
    /// The code that stays the same, whatever the message says.
    pub fn code(self) -> &'static str {
        "bad-page-token"
    }

    /// What the reader can do about it.
    pub fn hint(self) -> &'static str {
        "ask again from the first page"
    }
}

/// Why a position cannot be sealed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SealError {
    /// The token would be too long to be accepted again.
    #[error("the page token would be longer than {TOKEN_CHARS_MAX} characters")]
    TooLong,
    /// The system gives no random bytes.
    #[error("the system gives no random bytes")]
    NoRandom,
}

impl SealError {
    /// The code that stays the same, whatever the message says.
    pub fn code(&self) -> &'static str {
        match self {
            SealError::TooLong => "page-token-too-long",
            SealError::NoRandom => "no-random",
        }
    }
}
