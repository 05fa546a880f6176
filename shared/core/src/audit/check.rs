//! Verifies a chain row by row: the hash, the sequence number, and the hash of the previous row.

use std::collections::BTreeMap;

use super::FORMAT;
use super::anchor::{Anchor, AnchoredChain};
use super::chain::first;
use super::digest::Hash;
use super::finding::{Finding, FindingKind};
use super::judge::{Intent, Seen, Weight};
use super::row::{Content, Entry, Found, Key, OutcomeLetter, Row, StoredRow, day_of, milliseconds_of};
use crate::value::AttributeValue;

/// The journal's record of one event.
#[derive(Debug, Clone, PartialEq)]
pub enum Mark {
    /// It was to be written.
    Intent(Intent),
    /// An item with its key existed.
    Seen(Seen),
}

/// A chain, as far as it was read.
#[derive(Debug, Clone)]
pub struct ChainCheck {
    day: String,
    chain: String,
    next: u64,
    last: Hash,
    /// Events without an outcome so far.
    open: BTreeMap<u64, Open>,
    /// The chain's ends in anchors, and whether each anchor was made after the end of the day.
    anchored: Vec<(AnchoredChain, bool)>,
    /// Is there an anchor, made after the end of the day, without this chain?
    added: bool,
    left_out: Vec<String>,
}

#[derive(Debug, Clone)]
struct Open {
    id_attribute: String,
    entries: Vec<Entry>,
    at_ms: i64,
    weight: Weight,
}

impl ChainCheck {
    /// The check of a chain, before its first row, with the anchors of its day.
    pub fn new<'a>(day: &str, chain: &str, anchors: impl Iterator<Item = &'a Anchor>) -> ChainCheck {
        let (mut anchored, mut added) = (Vec::new(), false);
        for anchor in anchors.filter(|anchor| anchor.day == day) {
            match anchor.chains.get(chain) {
                Some(end) => anchored.push((*end, anchor.closed)),
                None => added |= anchor.closed,
            }
        }
        let (day, chain) = (day.to_owned(), chain.to_owned());
        let (last, open, left_out) = (first(&chain, &day), BTreeMap::new(), Vec::new());
        ChainCheck { day, chain, next: 0, last, open, anchored, added, left_out }
    }

    /// Its end, for an anchor.
    pub fn end(&self) -> AnchoredChain {
        AnchoredChain { rows: self.next, last: self.last }
    }

    /// The attributes that its digests exclude.
    pub fn left_out(&self) -> &[String] {
        &self.left_out
    }

    /// Takes the next existing row. A row that was taken before is skipped.
    pub fn take(
        &mut self,
        stored: &StoredRow,
        weight: Weight,
        marks: &mut Vec<Mark>,
        findings: &mut Vec<Finding>,
    ) {
        if stored.seq < self.next {
            return;
        }
        let mut report =
            |kind, row| findings.push(Finding::of_chain(kind, &self.day, &self.chain, Some(row)));
        let (in_order, follows) = (stored.seq == self.next, self.last);
        if !in_order {
            report(FindingKind::RowMissing, self.next);
        }
        let hash = Hash::of(stored.body.as_bytes());
        self.next = stored.seq + 1;
        self.last = hash;
        for (end, _) in self.anchored.iter().filter(|(end, _)| end.rows == stored.seq + 1) {
            if end.last != hash {
                report(FindingKind::ChainTruncated, stored.seq);
            }
        }
        // A row is trusted only with its hash, and parsed only in a known version.
        if stored.hash == Some(hash) && FORMAT.check_json(stored.body.as_bytes()).is_err() {
            return report(FindingKind::UnknownFormat, stored.seq);
        }
        let row = serde_json::from_str::<Row>(&stored.body).ok();
        let Some(row) = row.filter(|_| stored.hash == Some(hash)) else {
            return report(FindingKind::RowChanged, stored.seq);
        };
        if (&row.chain, &row.day, row.seq) != (&self.chain, &self.day, stored.seq) {
            return report(FindingKind::RowMoved, stored.seq);
        }
        if in_order && row.prev != follows {
            report(FindingKind::ChainBroken, stored.seq);
        }
        self.believe(row, weight, marks, findings);
    }

    fn believe(&mut self, row: Row, weight: Weight, marks: &mut Vec<Mark>, findings: &mut Vec<Finding>) {
        match row.content {
            Content::Begin { left_out, events, id_attribute, .. } => {
                let at_ms = milliseconds_of(&row.at).unwrap_or_default();
                if day_of(&row.at) != self.day {
                    let kind = FindingKind::BackDated;
                    findings.push(Finding::of_chain(kind, &self.day, &self.chain, Some(row.seq)));
                }
                self.left_out.extend(left_out.into_iter().flatten());
                self.open.insert(row.seq, Open { id_attribute, entries: events, at_ms, weight });
            }
            Content::End { of, outcomes, found } => {
                let Some(open) = self.open.remove(&of) else { return };
                let letters = outcomes.chars().map(OutcomeLetter::of);
                let weight = weight.max(open.weight);
                seen(&open, &found, weight, marks);
                marks.extend(intents(open, letters, weight));
            }
        }
    }

    /// Ends the chain. Events without an outcome were possibly not written.
    pub fn finish(&mut self, marks: &mut Vec<Mark>, findings: &mut Vec<Finding>) {
        for open in std::mem::take(&mut self.open).into_values() {
            let weight = open.weight;
            marks.extend(intents(open, std::iter::empty(), weight));
        }
        let mut report = |kind| findings.push(Finding::of_chain(kind, &self.day, &self.chain, None));
        if self.anchored.iter().any(|(end, _)| self.next < end.rows) {
            report(FindingKind::ChainTruncated);
        }
        let grown = self.anchored.iter().any(|(end, closed)| *closed && self.next > end.rows);
        if grown || self.added {
            report(FindingKind::ChainAdded);
        }
    }
}

/// The event's whole natural key.
fn key_of(id_attribute: &str, entry: &Entry) -> Key {
    let mut key = entry.key.clone();
    key.insert(id_attribute.to_owned(), AttributeValue::S(entry.id.clone()));
    key
}

fn intents(
    open: Open,
    letters: impl Iterator<Item = OutcomeLetter>,
    weight: Weight,
) -> impl Iterator<Item = Mark> {
    let letters = letters.chain(std::iter::repeat(OutcomeLetter::Unknown));
    open.entries.into_iter().zip(letters).map(move |(entry, outcome)| {
        let key = key_of(&open.id_attribute, &entry);
        let Entry { id, digest, expires, .. } = entry;
        Mark::Intent(Intent { id, digest, outcome, at_ms: open.at_ms, weight, expires, key })
    })
}

fn seen(open: &Open, found: &[Found], weight: Weight, marks: &mut Vec<Mark>) {
    for Found { event, digest, expires } in found {
        if let Some(entry) = open.entries.get(*event) {
            let (id, key) = (entry.id.clone(), key_of(&open.id_attribute, entry));
            marks.push(Mark::Seen(Seen { id, digest: *digest, weight, expires: *expires, key }));
        }
    }
}
