//! How a token is written: version, key id, nonce and sealed content, as base64url without padding.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

pub(super) const NONCE_BYTES: usize = 24;

/// The version of this form and of the encrypted position. It is authenticated.
pub(super) const VERSION: u8 = 1;

/// A token's parts.
pub(super) struct Envelope<'a> {
    /// The id of the token's key, not secret. At most 255 bytes.
    pub(super) key_id: &'a str,
    pub(super) nonce: [u8; NONCE_BYTES],
    pub(super) sealed: &'a [u8],
}

impl<'a> Envelope<'a> {
    pub(super) fn write(&self) -> Result<String, SealError> {
        let id = self.key_id.as_bytes();
        let id_length = u8::try_from(id.len()).map_err(|_| SealError::TooLong)?;
        let mut bytes = Vec::with_capacity(2 + id.len() + NONCE_BYTES + self.sealed.len());
        bytes.extend([VERSION, id_length]);
        bytes.extend(id);
        bytes.extend(self.nonce);
        bytes.extend(self.sealed);
        let token = URL_SAFE_NO_PAD.encode(bytes);
        if token.len() > TOKEN_CHARS_MAX { Err(SealError::TooLong) } else { Ok(token) }
    }

    pub(super) fn read(bytes: &'a [u8]) -> Result<Envelope<'a>, BadToken> {
        let [VERSION, id_length, rest @ ..] = bytes else { return Err(BadToken) };
        let (id, rest) = rest.split_at_checked(usize::from(*id_length)).ok_or(BadToken)?;
        let (nonce, sealed) = rest.split_first_chunk().ok_or(BadToken)?;
        let key_id = std::str::from_utf8(id).map_err(|_| BadToken)?;
        Ok(Envelope { key_id, nonce: *nonce, sealed })
    }
}

/// The bytes of a token. Only its canonical encoding is accepted.
pub(super) fn decode(token: &str) -> Result<Vec<u8>, BadToken> {
    if token.len() > TOKEN_CHARS_MAX {
        return Err(BadToken);
    }
    URL_SAFE_NO_PAD.decode(token).map_err(|_| BadToken)
}

/// The longest token: 100 accesses with the longest keys DynamoDB has do not fit, all that are usual do.
pub const TOKEN_CHARS_MAX: usize = 128 * 1024;

/// A token that is not accepted: forged, cut short, expired, or made for another request, caller or model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the page token is not valid")]
pub struct BadToken;

impl BadToken {
    /// The stable error code.
    pub fn code(self) -> &'static str {
        "bad-page-token"
    }

    /// A suggestion.
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
    /// The stable error code.
    pub fn code(&self) -> &'static str {
        match self {
            SealError::TooLong => "page-token-too-long",
            SealError::NoRandom => "no-random",
        }
    }
}
