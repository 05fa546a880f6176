//! The input of a mapping's digest: everything that decides which bytes a retrofit writes, and where.
//!
//! Nothing else is in it. A new name of a table in the manifest, an expectation, a question, an index with natural keys, a
//! projection: none of them changes what is written, so a retrofit that runs goes on. Neither does what the manifest only
//! refuses (`required`, the attributes of entities, listed values of attributes that are in no folded key): an item that was refused is in
//! quarantine, and `repair` carries it over under the manifest at hand. Where a remedy changes what would be refused, it counts.
//!
//! So the digest in a retrofit's row is also the digest of all that `plan` [announced](super::announced): a worker whose manifest
//! announces anything else has another digest, and is refused.
//!
//! Control rows and checkpoints hold these digests. A change of this file that changes a text of today raises
//! [`FORMAT`](crate::retrofit::control::FORMAT).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::folded::is_told_by_key;
use crate::model::{
    Attribute, FoldRule, Index, KeyAttribute, KeySource, MisfitOf, Remedy, Retrofit, Table, When, WhenTest,
};
use crate::retrofit::protocol_choice::{Protocol, has_entity_keys};
use crate::value::{Hex, canonical as value};

/// A digest of everything that decides which bytes are written where: work of two different ones must not mix.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct MappingHash(String);

impl MappingHash {
    /// The digest of a mapping's canonical [`text`].
    pub(super) fn of(text: &str) -> MappingHash {
        MappingHash(hash(text))
    }

    /// A hash as it was stored.
    pub fn stored(text: &str) -> MappingHash {
        MappingHash(text.to_owned())
    }

    /// Its text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for MappingHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Half of a canonical text's SHA-256, in hexadecimal digits, as it is stored.
pub(super) fn hash(text: &str) -> String {
    Hex(&Sha256::digest(text)[..16]).to_string()
}

/// The mapping in its canonical form. Arrays alone: the order of an object's members is not guaranteed.
pub(super) fn text(protocol: &str, retrofit: &Retrofit, source: &Table, target: &Table) -> String {
    let set: Vec<_> = retrofit.set.iter().map(|(name, constant)| json!([name, value(constant)])).collect();
    let rename: Vec<_> = retrofit.rename.iter().map(|(old, new)| json!([old, new])).collect();
    let drop = sorted(retrofit.drop.iter().map(|name| json!(name)));
    let mut parts = vec![
        json!(["protocol", protocol]),
        json!(["source", place(source)]),
        json!(["target", place(target)]),
        json!(["select", conditions(&retrofit.only)]),
        json!(["rename", rename]),
        json!(["set", set]),
        json!(["drop", drop]),
        json!(["keys", keys(target, target.every_key().map(|(_, key)| key))]),
    ];
    // Attributes read from keys are left out of written items, unless the target stores it.
    let from_key = |table: &Table| {
        let names = |attributes: &BTreeMap<String, Attribute>| {
            let declared = attributes.values().filter(|attribute| attribute.from_key);
            declared.map(|attribute| json!(attribute.name)).collect::<Vec<_>>()
        };
        let of_all = names(&table.attributes);
        // Entities that store some of them.
        let own = table.entities.iter().map(|entity| (&entity.name, names(&entity.attributes)));
        let own = own.filter(|(_, names)| *names != of_all).map(|(entity, names)| json!([entity, names]));
        of_all.iter().cloned().chain(own).collect::<Vec<_>>()
    };
    if source.has_key_parts() || target.has_key_parts() {
        let in_target = |name: &String| retrofit.rename.get(name).unwrap_or(name).clone();
        let is_stored = |name: &String| target.attributes.get(name).is_some_and(|known| !known.from_key);
        let parts_of_source = source.attributes.values().filter(|attribute| attribute.from_key);
        let stored = parts_of_source.map(|attribute| in_target(&attribute.name)).filter(is_stored);
        let stored: Vec<_> = stored.collect();
        parts.push(json!(["from-key", from_key(source), from_key(target), stored]));
        parts.push(json!(["read-from", keys(source, source.every_key().map(|(_, key)| key))]));
    }
    let is_paired = || {
        target
            .entities
            .iter()
            .any(|entity| is_told_by_key(target, entity) && source.entity(&entity.name).is_some())
    };
    let by_entity = match protocol {
        protocol if protocol == Protocol::Fenced.name() => has_entity_keys(target),
        protocol => protocol == Protocol::Ledger.name() && is_paired(),
    };
    parts.extend(by_entity.then(|| entity_keys(source, target)));
    if !retrofit.misfits.is_empty() {
        let misfits = retrofit.misfits.iter().map(|(of, given)| misfit(target, of, given));
        parts.push(json!(["misfits", misfits.collect::<Vec<_>>()]));
    }
    Value::Array(parts).to_string()
}

/// The entities whose keys are made of each other, and what the source's are made of.
fn entity_keys(source: &Table, target: &Table) -> Value {
    let pairs = source.entities.iter().filter_map(|entity| {
        let (_, paired) = target.entity(&entity.name)?;
        Some(json!([conditions(&entity.when), conditions(&paired.when)]))
    });
    json!(["entity-keys", sorted(pairs), keys(source, source.key_attributes())])
}

/// What becomes of an attribute's values that do not fit, and which do not.
fn misfit(target: &Table, of: &MisfitOf, remedies: &[Remedy]) -> Value {
    let remedy = |remedy: &Remedy| match remedy {
        Remedy::Default(constant) => json!([remedy.word(), value(constant)]),
        _ => json!([remedy.word()]),
    };
    let remedies: Vec<_> = remedies.iter().map(remedy).collect();
    let entity = of.entity.as_ref().and_then(|name| target.entity(name));
    let fact = |known: &Attribute| {
        let values = known.values.as_ref().map(|values| sorted(values.iter().map(value)));
        json!([known.kind.name(), known.required, values])
    };
    let declared = target.attributes.get(&of.attribute);
    let said = target.entities.iter().filter_map(|entity| {
        let own = entity.attributes.get(&of.attribute);
        (own != declared).then(|| json!([conditions(&entity.when), own.map(fact)]))
    });
    let keys = target.indexes.iter().flat_map(|index| {
        let natural = |key: &&KeyAttribute| key.name == of.attribute;
        let sort = index.sort.iter().filter(natural).map(|_| json!("sort"));
        index.partition.iter().filter(natural).map(|_| json!("partition")).chain(sort)
    });
    let keys: BTreeSet<String> = keys.map(|key| key.to_string()).collect();
    json!([
        of.attribute,
        remedies,
        entity.map(|(_, entity)| conditions(&entity.when)),
        declared.map(fact),
        sorted(said),
        keys
    ])
}

/// The part of the manifest that must stay the same while the retrofit runs: the two tables, and where the source's key alone decides the
/// target's, how it does so. Items that were carried over under other keys would never be found again.
pub(super) fn fixed_text(protocol: Protocol, retrofit: &Retrofit, source: &Table, target: &Table) -> String {
    let tables = json!([protocol.name(), place(source), place(target)]);
    if protocol != Protocol::Fenced {
        return json!([tables]).to_string();
    }
    let names = source.key_attributes().chain(target.key_attributes()).map(|key| key.name.as_str());
    let inputs: BTreeSet<&str> =
        names.chain(target.key_attributes().flat_map(KeyAttribute::inputs)).collect();
    let is_input = |name: &String| inputs.contains(name.as_str());
    let rename = retrofit.rename.iter().filter(|(old, new)| is_input(old) || is_input(new));
    let set = retrofit.set.iter().filter(|(name, _)| is_input(name));
    let rename: Vec<_> = rename.map(|(old, new)| json!([old, new])).collect();
    let set: Vec<_> = set.map(|(name, constant)| json!([name, value(constant)])).collect();
    let mut parts = vec![tables, json!(rename), json!(set), keys(target, target.key_attributes())];
    parts.extend(has_entity_keys(target).then(|| entity_keys(source, target)));
    Value::Array(parts).to_string()
}

/// The table, and its key.
fn place(table: &Table) -> Value {
    let key = |key: &KeyAttribute| json!([key.name, key.scalar.letter()]);
    json!([table.name, table.key_attributes().map(key).collect::<Vec<_>>()])
}

/// The keys of one index: what decides which items are in it, and where.
pub(super) fn index_text(target: &Table, index: &Index) -> String {
    let natural = index.key_attributes().filter(|key| key.source == KeySource::Natural);
    let natural = sorted(natural.map(|key| json!([key.name, key.scalar.letter()])));
    json!([natural, keys(target, index.key_attributes())]).to_string()
}

/// Folded keys, each with its rules.
fn keys<'t>(target: &Table, of: impl Iterator<Item = &'t KeyAttribute>) -> Value {
    let mut seen: Vec<&str> = Vec::new();
    let mut keys = Vec::new();
    for key in of {
        let KeySource::Folded(rules) = &key.source else { continue };
        // An attribute that is in several indexes is folded once, as in `Table::folded`.
        if !seen.contains(&key.name.as_str()) {
            seen.push(&key.name);
            keys.push(json!([key.name, sorted(rules.iter().map(|one| rule(target, one)))]));
        }
    }
    sorted(keys.into_iter())
}

/// A rule with what an item must be for it. An item is of one entity at most, so the order of rules does not matter; the
/// entity's name and number do not either. The rule for all other items has `null`.
fn rule(table: &Table, rule: &FoldRule) -> Value {
    let when = rule.entity.map(|id| conditions(&table.entities[id.0].when));
    json!([when, rule.template.canonical()])
}

/// Conditions that must all hold.
fn conditions(conditions: &[When]) -> Value {
    sorted(conditions.iter().map(|When { attribute, test }| match test {
        WhenTest::In(values) => json!([attribute, "in", sorted(values.iter().map(value))]),
        WhenTest::Exists(exists) => json!([attribute, "exists", exists]),
        WhenTest::BeginsWith(prefix) => json!([attribute, "begins-with", prefix]),
    }))
}

fn sorted(values: impl Iterator<Item = Value>) -> Value {
    let mut values: Vec<_> = values.collect();
    values.sort_by_key(Value::to_string);
    json!(values)
}
