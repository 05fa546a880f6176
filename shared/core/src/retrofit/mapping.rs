//! From a source item to the target's: what a retrofit selects, renames, sets, drops and folds, and which protocol
//! keeps the two together.

mod announced;
mod canonical;
mod entity_keys;
mod folded;
mod mend;
mod reverse;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::attributes::{FENCE_ATTRIBUTE, OWN_ATTRIBUTES, OWNER_ATTRIBUTE};
use super::protocol_choice::{Protocol, ProtocolReason, protocol};
use super::source_key::SourceKey;
use crate::attribute::OWN_ATTRIBUTE_PREFIX;
use crate::condition::{Comparison, Condition};
use crate::index::{ItemError, ItemProblem};
use crate::model::{
    FoldRule, Index, KeyAttribute, KeySource, LiveChange, Model, Remedy, Retrofit, StaleKey, Table,
};
use crate::value::{AttributeValue, Item, Name, equal};
pub use announced::{Announced, Cause, ChangeOf};
pub use canonical::MappingHash;
pub(super) use reverse::reverse_name;
pub use reverse::{NO_WAY_BACK, NoWayBack};

/// Why a retrofit cannot be run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MappingError {
    /// The manifest has no such retrofit.
    #[error("the manifest has no retrofit `{name}`")]
    UnknownRetrofit {
        /// The name that was asked for.
        name: String,
        /// Those there are.
        known: Vec<String>,
    },
}

impl MappingError {
    /// The code that stays the same, whatever the message says.
    pub fn code(&self) -> &'static str {
        match self {
            MappingError::UnknownRetrofit { .. } => "unknown-retrofit",
        }
    }

    /// A hint for the reader.
    pub fn hint(&self) -> Option<String> {
        match self {
            MappingError::UnknownRetrofit { known, .. } if known.is_empty() => {
                Some("declare it as [retrofits.NAME] in the manifest".to_owned())
            }
            MappingError::UnknownRetrofit { known, .. } => Some(format!("it has `{}`", known.join("`, `"))),
        }
    }
}

/// A retrofit with its two tables.
#[derive(Debug, Clone, PartialEq)]
pub struct Mapping {
    retrofit: Retrofit,
    source: Table,
    target: Table,
    /// The target as the retrofit writes it. In place, it has only the folded keys of the filled indexes.
    written_table: Table,
    protocol: Protocol,
    reason: ProtocolReason,
    hash: MappingHash,
    /// Every attribute of a stored item that what is written in place depends on.
    inputs: BTreeSet<String>,
    /// Every attribute that may change, with its causes.
    announced: Announced,
    /// The most attributes that a target item has over its source item.
    added_max: usize,
    /// On the way back: the mapping that leads there.
    forward: Option<Arc<Mapping>>,
    /// What its rows are kept under.
    rows_name: String,
}

/// The changes of an item in place.
#[derive(Debug, Clone, PartialEq)]
pub struct InPlaceUpdate {
    /// Attributes that get a value.
    pub set: Vec<(Name, AttributeValue)>,
    /// Attributes that go.
    pub remove: Vec<String>,
    /// All that these are made of is still what was read.
    pub unchanged: Condition,
}

impl Mapping {
    /// The mapping of this retrofit of the model.
    pub fn of(model: &Model, name: &str) -> Result<Mapping, MappingError> {
        let unknown = || MappingError::UnknownRetrofit {
            name: name.to_owned(),
            known: model.retrofits.iter().map(|retrofit| retrofit.name.clone()).collect(),
        };
        let retrofit = model.retrofits.iter().find(|retrofit| retrofit.name == name).ok_or_else(unknown)?;
        match (model.table(&retrofit.from), model.table(&retrofit.to)) {
            (Some(source), Some(target)) => Ok(Mapping::new(retrofit, source, target)),
            _ => unreachable!("the manifest's check finds the tables of every retrofit"),
        }
    }

    pub(super) fn new(retrofit: &Retrofit, source: &Table, target: &Table) -> Mapping {
        let (protocol, reason) = protocol(retrofit, source, target);
        let written_table = match protocol {
            Protocol::InPlace => table_with_filled_keys(target, &retrofit.fills),
            Protocol::Fenced | Protocol::Ledger => target.clone(),
        };
        let text = canonical::text(protocol.name(), retrofit, source, &written_table);
        Mapping {
            retrofit: retrofit.clone(),
            source: source.clone(),
            target: target.clone(),
            protocol,
            reason,
            inputs: inputs(retrofit, target, &written_table),
            announced: announced::announced(retrofit, source, &written_table),
            written_table,
            added_max: retrofit.set.len()
                + retrofit.misfits.len()
                + folded::made(target).len()
                + OWN_ATTRIBUTES.len(),
            hash: MappingHash::of(&text),
            forward: None,
            rows_name: retrofit.name.clone(),
        }
    }

    /// The retrofit's name.
    pub fn name(&self) -> &str {
        &self.retrofit.name
    }

    /// The table that is read.
    pub fn source(&self) -> &Table {
        &self.source
    }

    /// The table that is written.
    pub fn target(&self) -> &Table {
        &self.target
    }

    /// The target with the keys that the retrofit writes.
    pub(super) fn written_table(&self) -> &Table {
        &self.written_table
    }

    /// Which protocol applies.
    pub fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// Why.
    pub fn reason(&self) -> &ProtocolReason {
        &self.reason
    }

    /// The digest of the mapping.
    pub fn hash(&self) -> &MappingHash {
        &self.hash
    }

    /// A digest of what a mended manifest must leave as it is while the retrofit runs.
    pub fn fixed_digest(&self) -> String {
        canonical::hash(&canonical::fixed_text(self.protocol, &self.retrofit, &self.source, &self.target))
    }

    /// Does the replicator keep the folded keys right for good?
    pub fn keeps_folded(&self) -> bool {
        self.retrofit.keep_folded
    }

    /// What changes on the items of a live table besides folded keys: in place only.
    pub fn live_changes(&self) -> Vec<LiveChange> {
        self.retrofit.live_changes()
    }

    /// In place: folded keys that would become stale, because the retrofit changes what they are made of and does not write them.
    pub fn stale_keys(&self) -> Vec<StaleKey> {
        self.retrofit.stale_keys(&self.target)
    }

    /// Is the target's key fixed by the source's, with templates for each entity?
    fn is_by_entity(&self) -> bool {
        self.forward().reason == ProtocolReason::KeyIsFixedByEntity
    }

    /// What may change on an item, attribute by attribute. Nothing else does.
    pub fn announced(&self) -> &Announced {
        &self.announced
    }

    /// Why an attribute changes, in words.
    pub fn causes(&self, attribute: &str) -> Vec<String> {
        self.announced.get(attribute).into_iter().flatten().map(ToString::to_string).collect()
    }

    /// The keys of the target that are stored in this attribute: the names of their indexes, and `table` for the table's own.
    pub fn key_of_indexes(&self, attribute: &str) -> Vec<&str> {
        let keys = self.target.every_key().filter(|(_, key)| key.name == attribute);
        keys.map(|(index, _)| index.unwrap_or("table")).collect()
    }

    /// The remedies of a source item: attributes by their names in the target, each with its new value.
    pub fn mended(&self, source: &Item) -> Vec<(&str, &Remedy)> {
        if self.retrofit.misfits.is_empty() || !self.selects(source) {
            return Vec::new();
        }
        let item = self.renamed(self.source.with_key_parts(source));
        mend::fitted(&self.retrofit, &self.written_table, item, &[]).map(|(_, used)| used).unwrap_or_default()
    }

    /// Does the manifest say that attributes of a live table may change?
    pub fn may_change_live(&self) -> bool {
        self.retrofit.changes_live_attributes
    }

    /// The indexes of the target that lack items until the retrofit is cut over.
    pub fn fills(&self) -> impl Iterator<Item = &str> {
        self.retrofit.fills.iter().map(String::as_str)
    }

    /// Every index of the target with a digest of its keys: what the retrofit fills, whatever the manifest says of it later.
    pub fn filled(&self) -> BTreeMap<String, String> {
        let digest = |index: &Index| canonical::hash(&canonical::index_text(&self.target, index));
        self.target.indexes.iter().map(|index| (index.name.clone(), digest(index))).collect()
    }

    /// Does the retrofit take this source item?
    pub fn selects(&self, source: &Item) -> bool {
        self.retrofit.only.iter().all(|when| when.holds(source))
    }

    /// The target's item for a source item, without any fence; `None` if it is not selected.
    pub fn target_item(&self, source: &Item) -> Result<Option<Item>, ItemError> {
        self.mapped(Cow::Borrowed(source))
    }

    /// The same for an item that is consumed, or that must be copied.
    pub(super) fn mapped(&self, source: Cow<'_, Item>) -> Result<Option<Item>, ItemError> {
        if !self.selects(&source) {
            return Ok(None);
        }
        let parts = self.source.key_parts(&source);
        let mut not_stored = self.not_stored(&source, &parts);
        let key = match &self.forward {
            Some(forward) if self.protocol == Protocol::Fenced => forward.origin(&source),
            // Before the other attributes: the target can tell the entity by how its key begins.
            None if self.is_by_entity() => Some(self.key_by_entity(&source)?),
            _ => None,
        };
        let of_source = match self.protocol {
            Protocol::Ledger => self.source.entity_of(&source).ok().flatten(),
            Protocol::InPlace | Protocol::Fenced => None,
        };
        let whole = match parts.is_empty() {
            true => source,
            false => {
                let mut whole = source.into_owned();
                whole.extend(parts);
                Cow::Owned(whole)
            }
        };
        let mut item = self.renamed(whole);
        if let Some(key) = &key {
            item.extend(key.iter().map(|(name, value)| (name.clone(), value.clone())));
        }
        self.fold_paired_key(of_source, &mut item)?;
        if self.protocol != Protocol::InPlace {
            // A key that is natural in the source can be folded in the target.
            let is_dropped = |name: &Name| self.retrofit.drop.iter().any(|dropped| name == dropped);
            let of_target = self.target.key_parts(&item).into_iter().filter(|(name, _)| !is_dropped(name));
            for (name, value) in of_target.collect::<Vec<_>>() {
                item.insert(name.clone(), value);
                not_stored.push(name);
            }
        }
        let with_value = |name: &Name| Some((name.clone(), item.get(name)?.clone()));
        let values: Vec<_> = not_stored.iter().filter_map(with_value).collect();
        let mut mapped = match self.retrofit.misfits.is_empty() {
            true => self.written_table.with_keys_of(item, &not_stored)?,
            false => mend::fitted(&self.retrofit, &self.written_table, item, &not_stored)?.0,
        };
        // An attribute of the source's key can be stored with another value. A record of a deletion has the key alone, so
        // that item would be found nowhere.
        if self.is_by_entity() && !self.is_reverse() && self.target.key_of(&mapped) != key {
            return Err(self.not_fixed(&mapped));
        }
        match self.protocol {
            Protocol::InPlace => self.target.check_parts_kept(&values, &mapped)?,
            Protocol::Fenced | Protocol::Ledger => self.store_untold(&mut mapped, values),
        }
        Ok(Some(mapped))
    }

    /// Attributes that the source item has only in its keys (`parts`) and that the target does not store, by their names in the
    /// target.
    fn not_stored(&self, source: &Item, parts: &[(Name, AttributeValue)]) -> Vec<Name> {
        let Retrofit { rename, set, .. } = &self.retrofit;
        let is_replaced = |name: &str| {
            set.contains_key(name) || rename.iter().any(|(old, new)| new == name && source.contains_key(old))
        };
        // Attributes that the target declares for its items are stored there.
        let is_stored =
            |name: &str| self.target.attributes.get(name).is_some_and(|declared| !declared.from_key);
        let names =
            parts.iter().map(|(name, _)| rename.get(name.as_str()).map_or_else(|| name.clone(), Name::from));
        names.filter(|name| !is_replaced(name) && !is_stored(name)).collect()
    }

    /// Stores an attribute that was only in the source's keys if no key of the new item has it: it would be lost. A source key that
    /// the item carries along is unknown to the target's writers, so it does not count for an attribute of the target's keys.
    fn store_untold(&self, mapped: &mut Item, values: Vec<(Name, AttributeValue)>) {
        if values.is_empty() {
            return;
        }
        let (by_target, by_source) = (self.target.key_parts(mapped), self.source.key_parts(mapped));
        let entity = self.target.entity_of(mapped).ok().flatten();
        let is_folded = |name: &Name| {
            let mut rules = self.target.every_key().filter_map(|(_, key)| FoldRule::of(key.rules(), entity));
            rules.any(|rule| rule.template.attributes().any(|part| name == part))
        };
        for value in values {
            let is_told = by_target.contains(&value) || (by_source.contains(&value) && !is_folded(&value.0));
            if !mapped.contains_key(&value.0) && !is_told {
                mapped.extend([value]);
            }
        }
    }

    /// The target's key for a source key, where the one fixes the other; `None` where it does not.
    pub fn target_key(&self, source_key: &Item) -> Result<Option<Item>, ItemError> {
        // On the way back the key is read, not folded: it says the other one exactly, whatever entity the item is.
        if let Some(forward) = &self.forward {
            return Ok(forward.origin(source_key).and_then(|key| self.target.key_of(&key)));
        }
        if self.is_by_entity() {
            return self.key_by_entity(source_key).map(Some);
        }
        let mut item = self.renamed(Cow::Borrowed(source_key));
        for key in self.target.key_attributes() {
            let KeySource::Folded(rules) = &key.source else { continue };
            let [FoldRule { entity: None, template }] = rules.as_slice() else { return Ok(None) };
            let text = template.fold(&item).map_err(|error| {
                self.target.item_error(None, Some(&key.name), &item, ItemProblem::Fold(error))
            })?;
            item.extend(text.map(|text| (&key.name, AttributeValue::S(text))));
        }
        Ok(self.target.key_of(&item))
    }

    /// The source item of a target item; `None` if there is no such item.
    pub fn owner(&self, target: &Item) -> Option<SourceKey> {
        match self.protocol {
            Protocol::InPlace => SourceKey::of(&self.source, target),
            Protocol::Ledger => SourceKey::read(target.get(OWNER_ATTRIBUTE)?),
            Protocol::Fenced => {
                target.get(FENCE_ATTRIBUTE)?;
                if self.is_by_entity() {
                    return SourceKey::of(&self.source, &self.origin(target)?);
                }
                SourceKey::by(&self.source, |name| {
                    target.get(self.retrofit.rename.get(name).map_or(name, String::as_str))
                })
            }
        }
    }

    /// The missing changes of an item in place; `None` if it is right. A consumed item is not copied.
    pub fn in_place_update(&self, stored: Cow<'_, Item>) -> Result<Option<InPlaceUpdate>, ItemError> {
        // The mapped item no longer has the former values of the written attributes.
        let has_own = has_own(&stored);
        let written = self.announced.keys().filter(|name| has_own || !is_own(name));
        let written: Vec<_> = written.map(|name| (name, stored.get(name).cloned())).collect();
        let Some(mut wanted) = self.mapped(stored)? else { return Ok(None) };
        let (mut set, mut remove) = (Vec::new(), Vec::new());
        for (name, now) in &written {
            match (wanted.get(*name), now) {
                (Some(value), Some(now)) if equal(now, value) => {}
                (Some(_), _) => set.extend(wanted.remove(name).map(|value| (Name::from(*name), value))),
                (None, Some(_)) => remove.push(String::clone(name)),
                (None, None) => {}
            }
        }
        if set.is_empty() && remove.is_empty() {
            return Ok(None);
        }
        // The mapped item is consumed: its values are moved.
        let same = |name: &String| {
            let before = match written.binary_search_by_key(&name, |(name, _)| name) {
                Ok(at) => written[at].1.clone(),
                Err(_) => wanted.remove(name),
            };
            super::request::is(name, before.map_or(Comparison::Exists(false), Comparison::Equal))
        };
        let unchanged = Condition::all(self.inputs.iter().map(same));
        Ok(Some(InPlaceUpdate { set, remove, unchanged }))
    }

    /// In place, with `only`: the folded keys of an item that an update could make wrong for ever, with their values. These are the keys
    /// of an item that the retrofit takes, and the right keys of any other item.
    pub(super) fn keys_at_risk(&self, stored: &Item) -> Vec<(Name, AttributeValue)> {
        if self.protocol != Protocol::InPlace || self.retrofit.only.is_empty() {
            return Vec::new();
        }
        let wrong = match self.selects(stored) {
            true => Vec::new(),
            false => self.written_table.misfolded(&self.target.with_key_parts(stored)),
        };
        let is_key = |name: &Name| {
            let causes = self.announced.get(name.as_str());
            causes.is_some_and(|causes| causes.contains(&Cause::FoldedKey)) && !wrong.contains(&name.as_str())
        };
        let keys = stored.iter().filter(|(name, _)| is_key(name));
        keys.map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    /// Removes those of these keys that an item outside `only` still has and that are wrong: the retrofit does not correct them.
    pub(super) fn without_keys(
        &self,
        stored: &Item,
        keys: &[(Name, AttributeValue)],
    ) -> Option<InPlaceUpdate> {
        let wrong = self.written_table.misfolded(&self.target.with_key_parts(stored));
        let is_left = |(name, value): &&(Name, AttributeValue)| {
            stored.get(name) == Some(value) && wrong.contains(&name.as_str())
        };
        let remove: Vec<String> = keys.iter().filter(is_left).map(|(name, _)| name.to_string()).collect();
        let mut rest = stored.clone();
        remove.iter().for_each(|name| drop(rest.remove(name)));
        // A key can be the only one to hold an attribute.
        let is_kept = self.target.check_parts_kept(&self.target.key_parts(stored), &rest).is_ok();
        let same = |name: &String| {
            super::request::is(
                name,
                stored.get(name).cloned().map_or(Comparison::Exists(false), Comparison::Equal),
            )
        };
        let unchanged = Condition::all(self.inputs.iter().chain(&remove).map(same));
        (is_kept && !remove.is_empty()).then(|| InPlaceUpdate { set: Vec::new(), remove, unchanged })
    }

    /// The item with its attributes renamed, set and dropped, and without what an earlier retrofit left on it.
    fn renamed(&self, source: Cow<'_, Item>) -> Item {
        let Retrofit { rename, set, drop, .. } = &self.retrofit;
        let mut item = source.into_owned();
        let moved: Vec<_> = rename.iter().filter_map(|(old, new)| Some((new, item.remove(old)?))).collect();
        let has_own = has_own(&item);
        let own = OWN_ATTRIBUTES.into_iter().filter(|_| has_own);
        for name in own.chain(drop.iter().map(String::as_str)) {
            item.remove(name);
        }
        // Room for all that will be on it: an item that grows is copied.
        item.reserve(self.added_max);
        item.extend(moved);
        item.extend(set.iter().map(|(name, value)| (name, value.clone())));
        item
    }
}

/// Does an item carry anything that retrofits keep on items? Few do, and one pass over all names costs less than a lookup of each.
fn has_own(item: &Item) -> bool {
    item.keys().any(|name| is_own(name))
}

fn is_own(name: &str) -> bool {
    name.starts_with(OWN_ATTRIBUTE_PREFIX)
}

/// The table with the folded keys of these indexes. Its own key and native keys stay as they are stored, and other folded keys are
/// no concern of the retrofit.
fn table_with_filled_keys(table: &Table, fills: &[String]) -> Table {
    let is_folded = |key: &KeyAttribute| matches!(key.source, KeySource::Folded(_));
    let mut written = table_with_stored_key(table);
    written.indexes.retain(|index| fills.contains(&index.name) || !index.key_attributes().any(is_folded));
    written
}

/// The table, whose own key stays as it is stored.
fn table_with_stored_key(table: &Table) -> Table {
    let mut written = table.clone();
    let own: Vec<&str> = table.key_attributes().map(|key| key.name.as_str()).collect();
    let of_indexes =
        written.indexes.iter_mut().flat_map(|index| index.partition.iter_mut().chain(&mut index.sort));
    for key in std::iter::once(&mut written.partition).chain(&mut written.sort).chain(of_indexes) {
        if own.contains(&key.name.as_str()) {
            key.source = KeySource::Natural;
        }
    }
    written
}

/// Every attribute of a stored item that what is written in place depends on.
fn inputs(retrofit: &Retrofit, target: &Table, written_table: &Table) -> BTreeSet<String> {
    let renamed = retrofit.rename.iter().flat_map(|(old, new)| [old.as_str(), new.as_str()]);
    let selecting = retrofit.only.iter().map(|when| when.attribute.as_str());
    let mended = retrofit.misfits.keys().map(|of| of.attribute.as_str());
    let all: Vec<&str> =
        written_table.key_inputs().into_iter().chain(renamed).chain(selecting).chain(mended).collect();
    let read_from = all.iter().flat_map(|name| target.key_part_sources(name));
    all.iter().copied().chain(read_from).map(str::to_owned).collect()
}

/// Are these the same item, apart from the given attributes?
pub(crate) fn same_item(a: &Item, b: &Item, apart_from: &[&str]) -> bool {
    let counts = |(name, _): &(&Name, _)| !apart_from.contains(&name.as_str());
    let (mut a, mut b) = (a.iter().filter(counts), b.iter().filter(counts));
    loop {
        match (a.next(), b.next()) {
            (None, None) => return true,
            (Some((name, value)), Some((other, theirs))) if name == other && equal(value, theirs) => {}
            _ => return false,
        }
    }
}
