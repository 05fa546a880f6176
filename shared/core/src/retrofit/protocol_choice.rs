//! The three protocols, and which one a retrofit needs.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::key::{Codec, Part, Template};
use crate::model::{Entity, EntityId, FoldRule, KeyAttribute, KeySource, Retrofit, Table, When};

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
    /// The same for keys with a template for each entity: the source's key also determines the entity.
    KeyIsFixedByEntity,
    /// The target's key is made of an attribute that can change.
    KeyCanChange {
        /// The attribute, by its name in the target.
        attribute: String,
    },
    /// The target's key depends on the entity, and the source has no entity with this name.
    KeyByEntity,
    /// The target's key depends on the entity, which an update of this attribute of the source changes.
    EntityCanChange {
        /// The attribute.
        attribute: String,
    },
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
            ProtocolReason::KeyIsFixedByEntity => {
                write!(f, "the source's key determines the entity and the target's key")
            }
            ProtocolReason::KeyByEntity => {
                write!(
                    f,
                    "the target's key depends on the item's entity, and the source declares no entity of that name"
                )
            }
            ProtocolReason::EntityCanChange { attribute } => write!(
                f,
                "the target's key depends on the item's entity, which the source recognizes by `{attribute}`, which can change"
            ),
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
    let reasons = moving_keys(retrofit, source, target);
    match reasons.into_values().next() {
        None if has_entity_keys(target) => (Protocol::Fenced, ProtocolReason::KeyIsFixedByEntity),
        None => (Protocol::Fenced, ProtocolReason::KeyIsFixed),
        Some(reason) => (Protocol::Ledger, reason),
    }
}

/// Why the target's key can move, by entity of the target; empty if no key can.
pub(super) fn moving_keys<'t>(
    retrofit: &Retrofit,
    source: &Table,
    target: &'t Table,
) -> BTreeMap<Option<&'t str>, ProtocolReason> {
    if !has_entity_keys(target) {
        let reason = key_is_fixed(retrofit, source, target).err();
        return reason.map(|reason| (None, reason)).into_iter().collect();
    }
    let of_entity = |(at, entity): (usize, &'t Entity)| {
        let reason = entity_key_is_fixed(retrofit, source, target, EntityId(at)).err()?;
        Some((Some(entity.name.as_str()), reason))
    };
    target.entities.iter().enumerate().filter_map(of_entity).collect()
}

/// True if a template of the target's primary key is for one entity only.
pub(super) fn has_entity_keys(target: &Table) -> bool {
    target.key_attributes().flat_map(KeyAttribute::rules).any(|rule| rule.entity.is_some())
}

/// Checks, for one entity of the target, that the source's key determines the target's key and can be computed from it again.
fn entity_key_is_fixed(
    retrofit: &Retrofit,
    source: &Table,
    target: &Table,
    entity: EntityId,
) -> Result<(), ProtocolReason> {
    let Some((of_source, _)) = source.entity(&target.entities[entity.0].name) else {
        return Err(ProtocolReason::KeyByEntity);
    };
    if let Some(attribute) = decides_between_keys(source, target, of_source) {
        return Err(ProtocolReason::EntityCanChange { attribute: attribute.to_owned() });
    }
    let said = said_by_key(source, of_source);
    let in_target = |name: &str| retrofit.rename.get(name).map_or(name, String::as_str).to_owned();
    let is_said = |name: &str| {
        said.iter().any(|(key, parts)| *key == name || parts.iter().flatten().any(|part| *part == name))
    };
    let is_replaced = |name: &str| retrofit.rename.iter().any(|(old, new)| new == name && !is_said(old));
    let (mut kept, mut kept_exactly) = (BTreeSet::new(), BTreeSet::new());
    for key in target.key_attributes() {
        let rule = FoldRule::of(key.rules(), Some(entity));
        let parts = match (&key.source, rule) {
            (KeySource::Natural, _) => vec![(key.name.clone(), true)],
            (KeySource::Folded(_), Some(rule)) => template_parts(&rule.template),
            (KeySource::Folded(_), None) => return Err(ProtocolReason::KeyByEntity),
        };
        for (name, exact) in parts {
            if retrofit.set.contains_key(&name) {
                continue;
            }
            let is_fixed = said
                .iter()
                .flat_map(|(key, parts)| parts.iter().flatten().chain([key]))
                .any(|one| in_target(one) == name);
            if !is_fixed || is_replaced(&name) {
                return Err(ProtocolReason::KeyCanChange { attribute: name });
            }
            if rule.is_none_or(|rule| rule.template.keeps(&name)) {
                kept.insert(name.clone());
            }
            kept_exactly.extend(exact.then_some(name));
        }
    }
    // A part of a source's folded key has one text for each value, so a timestamp says it exactly.
    let is_kept = |(key, parts): &&(&str, Option<Vec<&str>>)| {
        let is_made_again = |parts: &Vec<&str>| parts.iter().all(|part| kept.contains(&in_target(part)));
        kept_exactly.contains(&in_target(key)) || parts.as_ref().is_some_and(is_made_again)
    };
    match said.iter().find(|one| !is_kept(one)) {
        Some((attribute, _)) => Err(ProtocolReason::KeyNotUnique { attribute: (*attribute).to_owned() }),
        None => Ok(()),
    }
}

/// A non-key attribute that distinguishes this entity from one with other keys. An update of it would move the item.
fn decides_between_keys<'s>(source: &'s Table, target: &Table, entity: EntityId) -> Option<&'s str> {
    let is_key = |when: &When| source.key_attributes().any(|key| key.name == when.attribute);
    let rules = |table: &'_ Table, id: EntityId| {
        let templates = table.key_attributes().map(|key| FoldRule::of(key.rules(), Some(id)));
        templates.map(|rule| rule.map(|rule| rule.template.clone())).collect::<Vec<_>>()
    };
    let keys = |id: EntityId| {
        let of_target = target.entity(&source.entities[id.0].name).map(|(id, _)| rules(target, id));
        (rules(source, id), of_target)
    };
    let own = &source.entities[entity.0];
    source.entities.iter().enumerate().find_map(|(at, other)| {
        let tells = |one: &When| is_key(one) && other.when.iter().any(|two| one.excludes(two));
        let is_apart = at == entity.0 || own.when.iter().any(tells) || keys(EntityId(at)) == keys(entity);
        let when = own.when.iter().chain(&other.when).find(|when| !is_key(when))?;
        (!is_apart).then_some(when.attribute.as_str())
    })
}

/// The source's key attributes, each with the attributes that an entity's template folds into it; `None` if they cannot be read back.
fn said_by_key(source: &Table, entity: EntityId) -> Vec<(&str, Option<Vec<&str>>)> {
    let mut said = Vec::new();
    for key in source.key_attributes() {
        let rule = FoldRule::of(key.rules(), Some(entity)).filter(|rule| !rule.template.is_lossy());
        said.push((key.name.as_str(), rule.map(|rule| rule.template.attributes().collect())));
    }
    said
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
        for (name, exact) in key_parts(key) {
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
fn key_parts(key: &KeyAttribute) -> Vec<(String, bool)> {
    match key.rules() {
        [] => vec![(key.name.clone(), true)],
        rules => rules.iter().flat_map(|rule| template_parts(&rule.template)).collect(),
    }
}

fn template_parts(template: &Template) -> Vec<(String, bool)> {
    let part = |part: &Part| match part {
        Part::Literal(_) => None,
        Part::Attribute { name, codec, .. } => Some((name.clone(), keeps(codec))),
    };
    template.parts().iter().filter_map(part).collect()
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
