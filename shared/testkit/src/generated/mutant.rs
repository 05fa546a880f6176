//! Faults of mapping, writes, verification and plan: the judge is good for something only if it sees each of them.

use keyfold_core::model::{Index, KeyAttribute, KeySource, Table};
use keyfold_core::retrofit::mapping::Announced;
use keyfold_core::retrofit::{Action, Cause, Mapping, TableRole, Write};
use keyfold_core::value::{AttributeValue, Item, Name};

use super::judge::folded;

/// A fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mutant {
    /// Attributes that can be read from a key are removed from the item.
    LeaveInKeys,
    /// A folded key of an index that `fills` does not name is written.
    OtherIndex,
    /// On the way back, keys are made by the template of another entity.
    SwappedInverse,
    /// A write in place puts the whole item as it was read: the world does that.
    WholeItem,
    /// `verify` compares keys only.
    VerifyKeys,
    /// The diff leaves an attribute out.
    DiffLeavesOut,
}

impl Mutant {
    /// Every fault.
    pub const ALL: [Mutant; 6] = [
        Mutant::LeaveInKeys,
        Mutant::OtherIndex,
        Mutant::SwappedInverse,
        Mutant::WholeItem,
        Mutant::VerifyKeys,
        Mutant::DiffLeavesOut,
    ];

    /// The announced changes.
    pub(super) fn announced(mutant: Option<Mutant>, mapping: &Mapping) -> Announced {
        let mut announced = mapping.announced().clone();
        if mutant == Some(Mutant::DiffLeavesOut) {
            let key = announced.iter().find(|(_, causes)| causes.contains(&Cause::FoldedKey));
            let key = key.map(|(name, _)| name.clone());
            key.iter().for_each(|name| drop(announced.remove(name)));
        }
        announced
    }

    /// The write that the fault makes of a write; `there` is the item that it meets.
    pub(super) fn write(self, mapping: &Mapping, write: &mut Write, there: Option<&Item>) {
        if write.role == TableRole::Control {
            return;
        }
        let target = mapping.target();
        match (self, &mut write.action) {
            (Mutant::LeaveInKeys, Action::Put(item)) => {
                for name in told_by_keys(target, item) {
                    item.remove(&name);
                }
            }
            (Mutant::LeaveInKeys, Action::Update { remove, .. }) => {
                remove.extend(there.into_iter().flat_map(|item| told_by_keys(target, item)));
            }
            (Mutant::OtherIndex, Action::Update { set, .. }) => {
                let Some(item) = there else { return };
                let own: Vec<&str> = target.key_attributes().map(|key| key.name.as_str()).collect();
                let unannounced = |key: &&KeyAttribute| {
                    !mapping.announced().contains_key(&key.name) && !own.contains(&key.name.as_str())
                };
                let indexes = target.indexes.iter().flat_map(Index::key_attributes);
                let other = indexes.filter(unannounced).find_map(|key| {
                    let text = folded(target, key, item).ok()??;
                    Some((Name::from(&key.name), AttributeValue::S(text)))
                });
                set.extend(other);
            }
            (Mutant::SwappedInverse, Action::Put(item)) if mapping.is_reverse() => swap(target, item),
            _ => {}
        }
    }
}

/// The attributes of an item that its keys tell as well.
fn told_by_keys(table: &Table, item: &Item) -> Vec<String> {
    let names = table.attributes.values().filter(|known| known.from_key).map(|known| &known.name);
    let mut told = Vec::new();
    for name in names.filter(|name| item.contains_key(*name)) {
        let mut without = item.clone();
        without.remove(name);
        if table.with_key_parts(&without).get(name) == item.get(name) {
            told.push(name.clone());
        }
    }
    told
}

/// Each key by the template of another entity.
fn swap(table: &Table, item: &mut Item) {
    let keys: Vec<&KeyAttribute> = table.indexes.iter().flat_map(Index::key_attributes).collect();
    for key in keys {
        let KeySource::Folded(rules) = &key.source else { continue };
        let own = item.get(&key.name).cloned();
        let others = rules.iter().filter_map(|rule| rule.template.fold(item).ok().flatten());
        let other = others.map(AttributeValue::S).find(|text| Some(text) != own.as_ref());
        item.extend(other.map(|text| (key.name.as_str(), text)));
    }
}
