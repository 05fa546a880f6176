//! The three protocols, and which one a retrofit needs.

use std::collections::BTreeSet;
use std::fmt;

use crate::key::{Codec, Part};
use crate::model::{FoldRule, KeyAttribute, KeySource, Retrofit, Table};

/// How a retrofit keeps the target right while writers go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Protocol {
    /// The same table: folded keys are set where the attributes they are made of are still what was read.
    InPlace,
    /// Another table, and the target's key is fixed by the source's: a fence on each item, tombstones for deleted ones.
    Fenced,
    /// Another table, and the target's key can move: a ledger says where each source item is.
    Ledger,
}

impl Protocol {
    /// Its name in control rows and messages.
    pub fn name(self) -> &'static str {
        match self {
            Protocol::InPlace => "in place",
            Protocol::Fenced => "fence and tombstone",
            Protocol::Ledger => "ledger",
        }
    }
}

/// Why a protocol applies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProtocolReason {
    /// Source and target are one table.
    SameTable,
    /// The target's key is made of the source's key and of constants, and says which item it is.
    KeyIsFixed,
    /// The target's key is made of an attribute that can change.
    KeyCanChange {
        /// The attribute, by its name in the target.
        attribute: String,
    },
    /// The target's key depends on what entity the item is.
    KeyByEntity,
    /// Two source items could have one target key: this part of the source's key is not in it, or not exactly.
    KeyNotUnique {
        /// The attribute of the source's key.
        attribute: String,
    },
}

impl fmt::Display for ProtocolReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProtocolReason::SameTable => write!(f, "the retrofit reads and writes one table"),
            ProtocolReason::KeyIsFixed => write!(f, "the source's key determines the target's key"),
            ProtocolReason::KeyCanChange { attribute } => {
                write!(f, "the target's key contains `{attribute}`, which can change")
            }
            ProtocolReason::KeyByEntity => write!(f, "the target's key depends on the item's entity"),
            ProtocolReason::KeyNotUnique { attribute } => {
                write!(f, "the target's key does not keep `{attribute}` of the source's key exactly")
            }
        }
    }
}

/// Which protocol a retrofit needs, and why.
pub(super) fn protocol(retrofit: &Retrofit, source: &Table, target: &Table) -> (Protocol, ProtocolReason) {
    if retrofit.from == retrofit.to {
        return (Protocol::InPlace, ProtocolReason::SameTable);
    }
    match key_is_fixed(retrofit, source, target) {
        Ok(()) => (Protocol::Fenced, ProtocolReason::KeyIsFixed),
        Err(reason) => (Protocol::Ledger, reason),
    }
}

/// Does the source's key alone decide the target's, and does no other source key give the same one?
fn key_is_fixed(retrofit: &Retrofit, source: &Table, target: &Table) -> Result<(), ProtocolReason> {
    let name_in_target = |name: &str| retrofit.rename.get(name).cloned().unwrap_or_else(|| name.to_owned());
    let source_key: BTreeSet<String> = source.key_attributes().map(|key| name_in_target(&key.name)).collect();
    // Two attributes of the source's key with one name in the target: one of them is lost.
    if source_key.len() < source.key_attributes().count() {
        let attribute = source.key_attributes().last().map_or_else(String::new, |key| key.name.clone());
        return Err(ProtocolReason::KeyNotUnique { attribute });
    }
    let mut kept: BTreeSet<String> = BTreeSet::new();
    for key in target.key_attributes() {
        for (name, exact) in key_parts(key)? {
            let constant = retrofit.set.contains_key(&name);
            // Another attribute is renamed onto the key's name, and takes its place.
            let replaces = |(old, new): (&String, &String)| {
                *new == name && source.key_attributes().all(|key| key.name != *old)
            };
            if retrofit.rename.iter().any(replaces) {
                return Err(ProtocolReason::KeyCanChange { attribute: name });
            }
            if !constant && !source_key.contains(&name) {
                return Err(ProtocolReason::KeyCanChange { attribute: name });
            }
            if exact && !constant {
                kept.insert(name);
            }
        }
    }
    // The attribute must be on the target item too: from it the source item is found again.
    let lost = |name: &&String| !kept.contains(*name) || retrofit.drop.contains(*name);
    match source_key.iter().find(lost) {
        Some(attribute) => Err(ProtocolReason::KeyNotUnique { attribute: attribute.clone() }),
        None => Ok(()),
    }
}

/// The attributes a key is made of, each with whether the key keeps its value exactly.
fn key_parts(key: &KeyAttribute) -> Result<Vec<(String, bool)>, ProtocolReason> {
    match &key.source {
        KeySource::Natural => Ok(vec![(key.name.clone(), true)]),
        KeySource::Folded(rules) => match rules.as_slice() {
            [FoldRule { entity: None, template }] => {
                let part = |part: &Part| match part {
                    Part::Literal(_) => None,
                    Part::Attribute { name, codec, .. } => Some((name.clone(), keeps(codec))),
                };
                Ok(template.parts().iter().filter_map(part).collect())
            }
            _ => Err(ProtocolReason::KeyByEntity),
        },
    }
}

/// Does a key written so say exactly which value it is? Two texts of one instant have one timestamp.
fn keeps(codec: &Codec) -> bool {
    match codec {
        Codec::Lower
        | Codec::Upper
        | Codec::Shard(_)
        | Codec::Modulo(_)
        | Codec::Timestamp(_)
        | Codec::LowerTimestamp(_) => false,
        Codec::Text
        | Codec::Integer { .. }
        | Codec::Number
        | Codec::Date
        | Codec::Map(_)
        | Codec::Hex
        | Codec::Enumerated => true,
    }
}
