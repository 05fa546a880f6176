//! An anchor: the ends of all chains of a day at the time of the anchor.
//!
//! It is a separate file, stored where those who can change the trail cannot change it. Each anchor contains the hash
//! of the previous one.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::digest::Hash;
use super::finding::{Finding, FindingKind};
use super::row::milliseconds_of;

/// An anchor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Anchor {
    /// The version of the format.
    pub v: u32,
    /// The UTC day of its chains.
    pub day: String,
    /// When it was made.
    pub made: String,
    /// Was the day over, so that none of its chains could still grow?
    pub closed: bool,
    /// When the journal began.
    pub since: String,
    /// The hash of the previous anchor; `None` for the first.
    pub previous: Option<Hash>,
    /// The chains.
    pub chains: BTreeMap<String, AnchoredChain>,
}

/// The end of a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnchoredChain {
    /// The number of its rows.
    pub rows: u64,
    /// The hash of the last.
    pub last: Hash,
}

/// Checks that each anchor refers to the previous one. Anchors come with the hash of their text, in any order; they are
/// sorted here. A wrong reference is a finding: an anchor was changed, or one is missing.
pub fn links(anchors: &mut [(Anchor, Hash)]) -> Vec<Finding> {
    // Compared as times: their texts can lack digits.
    anchors.sort_by_key(|(anchor, _)| milliseconds_of(&anchor.made));
    let mut findings = Vec::new();
    let mut before = None;
    for (anchor, hash) in anchors.iter() {
        if anchor.previous != before {
            findings.push(Finding::of_day(FindingKind::AnchorBroken, &anchor.day));
        }
        before = Some(*hash);
    }
    findings
}
