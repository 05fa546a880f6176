//! Proof that an item has the attributes of a scope, where only its keys hold them.

use std::collections::BTreeMap;

use crate::condition::{Comparison, Condition, Path};
use crate::key::{KeyRange, Test, Tests};
use crate::model::{EntityId, FoldRule, Index, KeyAttribute, KeySource, Table};
use crate::value::AttributeValue;

/// How many ranges of keys a condition may list: one for each shard of a key.
const RANGES_MAX: usize = 20;

impl Table {
    /// The condition on a stored item of this entity that proves attribute `name` of the scope: by the first folded key of an
    /// index that the item has and that holds it. `None` if no such key can prove it from these values alone.
    pub(crate) fn proof_by_index_key(
        &self,
        entity: Option<EntityId>,
        name: &str,
        scope: &BTreeMap<String, AttributeValue>,
    ) -> Option<Condition> {
        let tests: Tests<'_> = scope.iter().map(|(name, own)| (name.as_str(), Test::Equal(own))).collect();
        // The primary key was tried before; if it is unreadable, it proves nothing.
        let is_own = |key: &KeyAttribute| self.key_attributes().any(|own| own.name == key.name);
        let mut proofs = Vec::new();
        let mut absent = Vec::new();
        for key in self.indexes.iter().flat_map(Index::key_attributes).filter(|key| !is_own(key)) {
            let Some(template) = rule_of(key, entity).map(|rule| &rule.template) else { continue };
            if !template.keeps(name) {
                continue;
            }
            let selection = template.select(&tests, RANGES_MAX);
            let proves = selection.served.iter().any(|served| served.attribute == name && served.exact);
            let ranges: Option<Vec<_>> =
                selection.ranges.into_iter().map(|range| is_within(&key.name, range)).collect();
            let within = ranges.filter(|_| proves).map(Condition::Any);
            proofs.extend(within.map(|within| Condition::all(absent.iter().cloned().chain([within]))));
            absent.push(Condition::Is(Path::attribute(&key.name), Comparison::Exists(false)));
        }
        (!proofs.is_empty()).then_some(Condition::Any(proofs))
    }

    /// An attribute of the scope that no key proves for any entity. Callers cannot write such a table: they could
    /// change items of others.
    pub(crate) fn unproven_scope(&self) -> Option<&str> {
        // Any value works, because only the form of the keys counts.
        let value = |name: &String| (name.clone(), AttributeValue::S("x".to_owned()));
        let scope: BTreeMap<String, AttributeValue> = self.scope.keys().map(value).collect();
        let is_proven = |entity: Option<EntityId>, name: &str| {
            let holds =
                |key: &KeyAttribute| rule_of(key, entity).is_some_and(|rule| rule.template.keeps(name));
            self.key_attributes().any(holds) || self.proof_by_index_key(entity, name, &scope).is_some()
        };
        self.scope.keys().map(String::as_str).find(|name| {
            let is_from_key = self.attributes.get(*name).is_some_and(|declared| declared.from_key);
            let mut entities = (0..self.entities.len()).map(|at| Some(EntityId(at))).chain([None]);
            is_from_key && !entities.any(|entity| is_proven(entity, name))
        })
    }
}

/// The rule that folds this key for an entity's items.
fn rule_of(key: &KeyAttribute, entity: Option<EntityId>) -> Option<&FoldRule> {
    match &key.source {
        KeySource::Folded(rules) => FoldRule::of(rules, entity),
        KeySource::Natural => None,
    }
}

/// The condition that a key is in this range; `None` for a range with an open side.
fn is_within(key: &str, range: KeyRange) -> Option<Condition> {
    let text = AttributeValue::S;
    let comparison = match range {
        KeyRange::Exact(only) => Comparison::Equal(text(only)),
        KeyRange::BeginsWith(prefix) => Comparison::BeginsWith(text(prefix)),
        KeyRange::Between(low, high) => Comparison::Between(text(low), text(high)),
        KeyRange::All
        | KeyRange::AtLeast(_)
        | KeyRange::Above(_)
        | KeyRange::AtMost(_)
        | KeyRange::Below(_) => return None,
    };
    Some(Condition::Is(Path::attribute(key), comparison))
}
