//! A row of the journal.
//!
//! The body is JSON text, and the hash is the hash of exactly these bytes, so a row can be checked with `sha256sum`.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::FORMAT;
use super::digest::Hash;
use crate::format::{UnknownFormat, VERSION_NAME};
use crate::retrofit::control::{self, PARTITION, SORT};
use crate::value::{AttributeValue, Item};

/// The shards of a day's rows, each a partition.
pub const JOURNAL_SHARDS: [char; 16] =
    ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];

/// The row's JSON text.
const BODY: &str = "body";
/// The hash of the text.
const HASH: &str = "hash";
/// The key of the row that stores when the journal began.
const SINCE: &str = "since";

/// The primary key of an event, or the attributes it is folded from.
pub type Key = BTreeMap<String, AttributeValue>;

/// A row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The version of the format.
    pub v: u32,
    /// The chain's id.
    pub chain: String,
    /// The chain's UTC day: `2026-11-23`.
    pub day: String,
    /// The row's number in its chain, from 0.
    pub seq: u64,
    /// The hash of the previous row; for the first, of the chain's name.
    pub prev: Hash,
    /// When it was made.
    pub at: String,
    /// The content.
    #[serde(flatten)]
    pub content: Content,
}

/// The content of a row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Content {
    /// Intended writes.
    Begin {
        /// The table's id in the manifest.
        table: String,
        /// The attribute with the events' ids.
        #[serde(rename = "idAttribute")]
        id_attribute: String,
        /// The attributes that digests exclude; only in the first row of a chain.
        #[serde(default, rename = "leftOut", skip_serializing_if = "Option::is_none")]
        left_out: Option<BTreeSet<String>>,
        /// The events.
        events: Vec<Entry>,
    },
    /// The outcomes of the events in an earlier row of the chain.
    End {
        /// The number of that row.
        of: u64,
        /// One letter for each of its events: see [`OutcomeLetter`].
        outcomes: String,
        /// Existing items, by the number of the event that found them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        found: Vec<Found>,
    },
}

/// An event to be written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Its id.
    pub id: String,
    /// Its digest.
    pub digest: Hash,
    /// The other attributes of its primary key.
    #[serde(default, skip_serializing_if = "Key::is_empty")]
    pub key: Key,
    /// When DynamoDB may delete it, in seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<u64>,
}

/// An existing item, found when an event arrived.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Found {
    /// The number of the event in its row.
    pub event: usize,
    /// The item's digest.
    pub digest: Hash,
    /// When DynamoDB may delete it, in seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<u64>,
}

/// The outcome of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum OutcomeLetter {
    /// `w`: written as a new item.
    Written,
    /// `r`: not written, because its key was taken or the item was refused.
    Refused,
    /// `u`: an error left the outcome unknown.
    Unknown,
}

impl OutcomeLetter {
    /// Its letter.
    pub fn letter(self) -> char {
        match self {
            OutcomeLetter::Written => 'w',
            OutcomeLetter::Refused => 'r',
            OutcomeLetter::Unknown => 'u',
        }
    }

    /// The outcome with this letter; unknown for an invalid letter.
    pub fn of(letter: char) -> OutcomeLetter {
        match letter {
            'w' => OutcomeLetter::Written,
            'r' => OutcomeLetter::Refused,
            _ => OutcomeLetter::Unknown,
        }
    }
}

/// A row as stored, not yet verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredRow {
    /// The chain in its key.
    pub chain: String,
    /// The number in its key.
    pub seq: u64,
    pub(super) body: String,
    pub(super) hash: Option<Hash>,
}

impl StoredRow {
    /// Reads an item of the journal's table. `None` if its key is not a row's.
    pub fn read(item: &Item) -> Option<StoredRow> {
        let text = |name: &str| match item.get(name) {
            Some(AttributeValue::S(text)) => Some(text.as_str()),
            _ => None,
        };
        let (chain, number) = text(SORT)?.split_once('#')?;
        Some(StoredRow {
            chain: chain.to_owned(),
            seq: number.parse().ok()?,
            body: text(BODY).unwrap_or_default().to_owned(),
            hash: text(HASH).and_then(|text| text.parse().ok()),
        })
    }
}

/// The partition of a chain's rows.
pub fn partition(day: &str, shard: char) -> String {
    format!("{day}#{shard}")
}

pub(super) fn item(day: &str, chain: &str, seq: u64, body: &str, hash: Hash) -> Item {
    let shard = chain.chars().next().filter(|shard| JOURNAL_SHARDS.contains(shard)).unwrap_or('0');
    let texts = [
        (PARTITION, partition(day, shard)),
        (SORT, format!("{chain}#{seq:010}")),
        (BODY, body.to_owned()),
        (HASH, hash.to_string()),
    ];
    texts.map(|(name, text)| (name, AttributeValue::S(text))).into_iter().collect()
}

/// The key of the row that stores when the journal began.
pub fn since_key() -> Item {
    control::key(SINCE, SINCE)
}

/// That row.
pub fn since_item(at: &str) -> Item {
    let mut item = since_key();
    item.insert(BODY, AttributeValue::S(at.to_owned()));
    item.insert(VERSION_NAME, FORMAT.attribute());
    item
}

/// The time when the journal began.
pub fn since_of(item: &Item) -> Result<Option<String>, UnknownFormat> {
    FORMAT.check_row(item)?;
    Ok(match item.get(BODY) {
        Some(AttributeValue::S(at)) if milliseconds_of(at).is_some() => Some(at.clone()),
        _ => None,
    })
}

/// The UTC day of a time as Keyfold writes it.
pub fn day_of(time: &str) -> &str {
    time.get(..10).unwrap_or_default()
}

/// A time in milliseconds since 1970.
pub fn milliseconds_of(time: &str) -> Option<i64> {
    time.parse::<Timestamp>().ok().map(Timestamp::as_millisecond)
}
