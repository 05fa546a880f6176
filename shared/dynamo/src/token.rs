//! Page tokens: the position of the next page, encrypted so that only the same caller can continue the same request.
//!
//! A token is encrypted and authenticated (XChaCha20-Poly1305): it reveals no key of an item and cannot be changed. It
//! is bound to the request, the caller and the model, and expires. Every invalid token causes the same error,
//! [`BadToken`], so that guessing reveals nothing. The caller supplies the time.
//!
//! ```
//! use keyfold_core::query::QueryRequest;
//! use keyfold_dynamo::{Binding, TokenKeys, model_version};
//! let keys = TokenKeys::random()?;
//! let binding = Binding::new(&QueryRequest::default(), "joe1", &model_version("[tables.audit]"));
//! assert!(keys.open("not a token", &binding, 1_700_000_000).is_err());
//! # Ok::<(), keyfold_dynamo::SealError>(())
//! ```

mod binding;
mod envelope;
mod keys;

use chacha20poly1305::aead::{Aead, Payload};
use serde::{Deserialize, Serialize};

use crate::query::Position;
use envelope::{Envelope, NONCE_BYTES};

pub use binding::{Binding, model_version};
pub use envelope::{BadToken, SealError, TOKEN_CHARS_MAX};
pub use keys::{KEYS_MAX, KeysParseError, SECRET_CHARS_MIN, TokenKeys};

/// The encrypted content.
#[derive(Serialize, Deserialize)]
struct Content<P> {
    expires_seconds: u64,
    position: P,
}

impl TokenKeys {
    /// Seals a position with the first key. `now_seconds`: since 1970, as for [`TokenKeys::open`].
    pub fn seal(
        &self,
        position: &Position,
        binding: &Binding,
        now_seconds: u64,
        ttl_seconds: u64,
    ) -> Result<String, SealError> {
        let key = self.first();
        let mut nonce = [0; NONCE_BYTES];
        getrandom::fill(&mut nonce).map_err(|_| SealError::NoRandom)?;
        let content = Content { expires_seconds: now_seconds.saturating_add(ttl_seconds), position };
        let content = postcard::to_stdvec(&content).map_err(|_| SealError::TooLong)?;
        let aad = binding.associated_data(&key.id);
        let sealed = key
            .cipher
            .encrypt(&nonce.into(), Payload { msg: &content, aad: &aad })
            .map_err(|_| SealError::TooLong)?;
        Envelope { key_id: &key.id, nonce, sealed: &sealed }.write()
    }

    /// Opens a token that was sealed with any of the keys.
    pub fn open(&self, token: &str, binding: &Binding, now_seconds: u64) -> Result<Position, BadToken> {
        let bytes = envelope::decode(token)?;
        let envelope = Envelope::read(&bytes)?;
        let key = self.find(envelope.key_id).ok_or(BadToken)?;
        let aad = binding.associated_data(&key.id);
        let content = key
            .cipher
            .decrypt(&envelope.nonce.into(), Payload { msg: envelope.sealed, aad: &aad })
            .map_err(|_| BadToken)?;
        let content: Content<Position> = postcard::from_bytes(&content).map_err(|_| BadToken)?;
        if now_seconds < content.expires_seconds { Ok(content.position) } else { Err(BadToken) }
    }
}

#[cfg(test)]
mod tests;
