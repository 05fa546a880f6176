//! How a token is written: version, key id, nonce and sealed content, as base64url without padding.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::error::{BadToken, SealError, TOKEN_CHARS_MAX};

pub(super) const NONCE_BYTES: usize = 24;

/// The version of this form and of the position that is sealed in it. It is part of what is authenticated.
pub(super) const VERSION: u8 = 1;

/// A token's parts.
pub(super) struct Envelope<'a> {
    /// Not secret: it says which key opens the token. At most 255 bytes.
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

/// The bytes of a token. There is one way only to write them.
pub(super) fn decode(token: &str) -> Result<Vec<u8>, BadToken> {
    if token.len() > TOKEN_CHARS_MAX {
        return Err(BadToken);
    }
    URL_SAFE_NO_PAD.decode(token).map_err(|_| BadToken)
}
