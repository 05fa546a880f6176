//! The keys that seal and open tokens.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use chacha20poly1305::{KeyInit, XChaCha20Poly1305};

use sha2::{Digest, Sha256};

use super::envelope::SealError;
use super::envelope::{self, Envelope};
use crate::secret::SecretVersion;

/// Maximum keys in one ring.
pub const KEYS_MAX: usize = 16;

/// The least characters of a generated secret: 40 of 62 are more than 230 bits.
pub const SECRET_CHARS_MIN: usize = 40;

const KEY_BYTES: usize = 32;
/// Domain separation from any other use of the secret.
const SECRET_PURPOSE: &[u8] = b"keyfold page token key";
const ID_BYTES_MAX: usize = 64;

/// A ring of keys: the first one seals, every one opens. To change keys, put the new one first and leave the old one
/// until its tokens have expired.
#[derive(Clone)]
pub struct TokenKeys {
    first: TokenKey,
    others: Vec<TokenKey>,
}

#[derive(Clone)]
pub(super) struct TokenKey {
    pub(super) id: String,
    pub(super) cipher: XChaCha20Poly1305,
}

/// Why a text is no ring of keys. It shows no part of the text but ids.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the fields are the names that the messages show")]
pub enum KeysParseError {
    /// There is no key.
    #[error("no key for page tokens")]
    Empty,
    /// There are too many.
    #[error("more than {KEYS_MAX} keys for page tokens")]
    TooMany,
    /// A part is not of the form `id:key`, or its id is empty or too long.
    #[error("key number {number} for page tokens is not of the form `id:key`")]
    Form { number: usize },
    /// A key is not 32 bytes in base64.
    #[error("key `{id}` for page tokens is not 32 bytes in base64")]
    Key { id: String },
    /// A version of the secret is not JSON with a key, or the key is too short.
    #[error(
        "version `{id}` of the secret is not JSON with a `key` of {SECRET_CHARS_MIN} characters at least"
    )]
    Secret { id: String },
    /// Two keys have one id.
    #[error("two keys for page tokens have the id `{id}`")]
    Twice { id: String },
}

impl TokenKeys {
    /// Reads `id1:key1,id2:key2`, each key 32 bytes in base64 (either alphabet, with padding or without).
    ///
    /// ```
    /// use keyfold_dynamo::TokenKeys;
    /// let keys = TokenKeys::parse("2026-07:dGhpcnR5LXR3byBieXRlcyBmb3IgYW4gZXhhbXBsZSE=");
    /// assert!(keys.is_ok());
    /// ```
    pub fn parse(text: &str) -> Result<TokenKeys, KeysParseError> {
        if text.trim().is_empty() {
            return Err(KeysParseError::Empty);
        }
        let mut keys: Vec<TokenKey> = Vec::new();
        for (at, part) in text.split(',').enumerate() {
            if at == KEYS_MAX {
                return Err(KeysParseError::TooMany);
            }
            let key = parse_key(at + 1, part.trim())?;
            if keys.iter().any(|known| known.id == key.id) {
                return Err(KeysParseError::Twice { id: key.id });
            }
            keys.push(key);
        }
        Ok(TokenKeys { first: keys.remove(0), others: keys })
    }

    /// The ring of a secret's versions, the newest first. Each is JSON with a member `key`, a text of at least
    /// [`SECRET_CHARS_MIN`] random characters.
    pub fn of_versions(versions: &[SecretVersion]) -> Result<TokenKeys, KeysParseError> {
        let mut keys = versions.iter().map(version_key);
        let first = keys.next().ok_or(KeysParseError::Empty)??;
        Ok(TokenKeys { first, others: keys.collect::<Result<_, _>>()? })
    }

    /// Does the token name one of these keys? False for invalid tokens.
    pub fn know(&self, token: &str) -> bool {
        let Ok(bytes) = envelope::decode(token) else { return false };
        Envelope::read(&bytes).is_ok_and(|envelope| self.find(envelope.key_id).is_some())
    }

    /// A ring with one random key: its tokens are valid as long as the process lives.
    pub fn random() -> Result<TokenKeys, SealError> {
        let mut key = [0; KEY_BYTES];
        getrandom::fill(&mut key).map_err(|_| SealError::NoRandom)?;
        Ok(TokenKeys { first: TokenKey::new("random", &key), others: Vec::new() })
    }

    pub(super) fn first(&self) -> &TokenKey {
        &self.first
    }

    pub(super) fn find(&self, id: &str) -> Option<&TokenKey> {
        std::iter::once(&self.first).chain(&self.others).find(|key| key.id == id)
    }
}

/// The ids alone.
impl fmt::Debug for TokenKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entry(&self.first.id).entries(self.others.iter().map(|key| &key.id)).finish()
    }
}

impl TokenKey {
    fn new(id: &str, key: &[u8; KEY_BYTES]) -> TokenKey {
        TokenKey { id: id.to_owned(), cipher: XChaCha20Poly1305::new(key.into()) }
    }
}

/// The key of one version. The text is a password of any alphabet: its digest is the key, and the version's id its name.
fn version_key(version: &SecretVersion) -> Result<TokenKey, KeysParseError> {
    #[derive(serde::Deserialize)]
    struct Generated {
        key: String,
    }
    let generated = serde_json::from_str::<Generated>(&version.text).ok();
    let long = generated.filter(|Generated { key }| key.chars().count() >= SECRET_CHARS_MIN);
    let Some(Generated { key }) = long.filter(|_| version.id.len() <= ID_BYTES_MAX) else {
        return Err(KeysParseError::Secret { id: version.id.clone() });
    };
    let digest = Sha256::new().chain_update(SECRET_PURPOSE).chain_update(key.as_bytes()).finalize();
    Ok(TokenKey::new(&version.id, &digest.into()))
}

fn parse_key(number: usize, text: &str) -> Result<TokenKey, KeysParseError> {
    let (id, key) = text.split_once(':').ok_or(KeysParseError::Form { number })?;
    if id.is_empty() || id.len() > ID_BYTES_MAX {
        return Err(KeysParseError::Form { number });
    }
    let key = key.trim_end_matches('=');
    let bytes = STANDARD_NO_PAD.decode(key).or_else(|_| URL_SAFE_NO_PAD.decode(key)).unwrap_or_default();
    let bytes: [u8; KEY_BYTES] = bytes.try_into().map_err(|_| KeysParseError::Key { id: id.to_owned() })?;
    Ok(TokenKey::new(id, &bytes))
}
