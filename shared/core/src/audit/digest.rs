//! The digest of an event.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::FORMAT;
use crate::attribute::OWN_ATTRIBUTE_PREFIX;
use crate::model::{KeySource, Table};
use crate::value::{Hex, Item, injective};

/// A SHA-256, shown as 64 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Hash([u8; 32]);

impl Hash {
    /// The hash of these bytes.
    pub fn of(bytes: &[u8]) -> Hash {
        Hash(Sha256::digest(bytes).into())
    }

    /// Its bytes.
    pub fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Hex(&self.0).fmt(f)
    }
}

impl From<Hash> for String {
    fn from(hash: Hash) -> String {
        hash.to_string()
    }
}

impl TryFrom<String> for Hash {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Hash, &'static str> {
        text.parse()
    }
}

impl FromStr for Hash {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Hash, &'static str> {
        let wrong = "a hash has 64 hexadecimal digits in lower case";
        let digit = |byte: u8| char::from(byte).to_digit(16).filter(|_| !byte.is_ascii_uppercase());
        let (pairs, rest) = text.as_bytes().as_chunks::<2>();
        let bytes = pairs.iter().map(|[high, low]| Some(digit(*high)? * 16 + digit(*low)?));
        let bytes: Option<Vec<u8>> = bytes.map(|byte| u8::try_from(byte?).ok()).collect();
        let bytes = bytes.filter(|_| rest.is_empty()).and_then(|bytes| bytes.try_into().ok());
        bytes.map(Hash).ok_or(wrong)
    }
}

/// The digest of an event: of all its attributes, except excluded ones and Keyfold's own. The same content has the same
/// digest in every table.
pub fn event_digest(item: &Item, left_out: &BTreeSet<String>) -> Hash {
    let counts = |name: &str| !left_out.contains(name) && !name.starts_with(OWN_ATTRIBUTE_PREFIX);
    // The prefix separates these hashes from hashes of other data.
    let mut bytes = format!("keyfold-audit-event-v{}\0", FORMAT.version).into_bytes();
    bytes.extend(injective(item.iter().filter(|(name, _)| counts(name))));
    Hash::of(&bytes)
}

/// The attributes of a table that a digest excludes: the folded keys, which differ between tables and manifests.
pub fn left_out(table: &Table) -> BTreeSet<String> {
    let folded = table.every_key().filter(|(_, key)| matches!(key.source, KeySource::Folded(_)));
    folded.map(|(_, key)| key.name.clone()).collect()
}
