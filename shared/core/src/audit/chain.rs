//! A chain as it grows.

use super::FORMAT;
use super::digest::Hash;
use super::row::{self, Content, Row};
use crate::value::Item;

/// A chain and its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chain {
    id: String,
    day: String,
    next: u64,
    last: Hash,
}

/// A row with its hash.
#[derive(Debug, Clone, PartialEq)]
pub struct SealedRow {
    /// The row as an item of the journal's table.
    pub item: Item,
    /// Its number.
    pub seq: u64,
    hash: Hash,
}

impl Chain {
    /// A chain without rows. The id is 32 random hexadecimal digits.
    pub fn new(id: &str, day: &str) -> Chain {
        Chain { id: id.to_owned(), day: day.to_owned(), next: 0, last: first(id, day) }
    }

    /// Its UTC day.
    pub fn day(&self) -> &str {
        &self.day
    }

    /// Has it no row yet?
    pub fn is_new(&self) -> bool {
        self.next == 0
    }

    /// The next row. The chain does not change until [`advance`](Self::advance) confirms the write.
    pub fn row(&self, at: &str, content: Content) -> Result<SealedRow, serde_json::Error> {
        let (chain, day) = (self.id.clone(), self.day.clone());
        let row = Row {
            v: FORMAT.version,
            chain,
            day,
            seq: self.next,
            prev: self.last,
            at: at.to_owned(),
            content,
        };
        let body = serde_json::to_string(&row)?;
        let hash = Hash::of(body.as_bytes());
        Ok(SealedRow { item: row::item(&self.day, &self.id, self.next, &body, hash), seq: self.next, hash })
    }

    /// The row was written.
    pub fn advance(&mut self, row: &SealedRow) {
        self.next = row.seq + 1;
        self.last = row.hash;
    }
}

/// The previous hash of the first row.
pub(super) fn first(id: &str, day: &str) -> Hash {
    Hash::of(format!("keyfold-journal-v{}\0{day}\0{id}", FORMAT.version).as_bytes())
}
