//! The judge: an item and what became of it, held against what was announced.
//!
//! It knows no mapping. Of every attribute that differs it asks whether the announcement has it and explains the change; of every
//! attribute that was announced it asks whether its value is the right one.

use std::collections::{BTreeMap, BTreeSet};

use keyfold_core::key::FoldError;
use keyfold_core::model::{FoldRule, Index, KeyAttribute, KeySource, Remedy, Retrofit, Table};
use keyfold_core::retrofit::attributes::TOMBSTONE_ATTRIBUTE;
use keyfold_core::retrofit::mapping::Announced;
use keyfold_core::retrofit::{Cause, ChangeOf, Mapping, Protocol};
use keyfold_core::value::{AttributeValue, Item, Name, equal};

use super::messy;

/// Counts of one history, or of several.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Items that the judge compared.
    pub judged: u64,
    /// Of these, items that the retrofit had changed.
    pub changed: u64,
    /// Items in quarantine at the end.
    pub quarantined: u64,
    /// Items that were planted wrong, for `verify` to find.
    pub planted: u64,
    /// Items that were carried back, and compared.
    pub back: u64,
    /// Items that were refused on the way back.
    pub refused_back: u64,
}

impl Counts {
    /// The sum of both.
    #[must_use]
    pub fn plus(self, other: Counts) -> Counts {
        Counts {
            judged: self.judged + other.judged,
            changed: self.changed + other.changed,
            quarantined: self.quarantined + other.quarantined,
            planted: self.planted + other.planted,
            back: self.back + other.back,
            refused_back: self.refused_back + other.refused_back,
        }
    }
}

/// Both sides of a retrofit in one direction.
pub struct Judge<'j> {
    /// The announced changes.
    pub announced: &'j Announced,
    /// The retrofit's lines.
    pub retrofit: &'j Retrofit,
    /// The table that items come from.
    pub from: &'j Table,
    /// The table that they go to.
    pub to: &'j Table,
    /// Does it lead back?
    pub back: bool,
}

impl Judge<'_> {
    /// Compares whole tables: the source's items as applications wrote them (`truth`), and those of the target. An item in quarantine, by
    /// its key in the source, may be anywhere.
    pub fn tables<'i>(
        &self,
        mapping: &Mapping,
        truth: &BTreeMap<String, Item>,
        target: impl Iterator<Item = &'i Item>,
        quarantined: &BTreeSet<String>,
    ) -> Result<Counts, String> {
        let mut carried: BTreeMap<String, &Item> = BTreeMap::new();
        for item in target.filter(|item| !item.contains_key(TOMBSTONE_ATTRIBUTE)) {
            let owner = mapping.owner(item).ok_or_else(|| format!("an item without an owner: {item:?}"))?;
            if let Some(other) = carried.insert(owner.to_string(), item) {
                return Err(format!("an item is at two places: {item:?} {other:?}"));
            }
        }
        let mut counts = Counts::default();
        for (key, before) in truth {
            let after = carried.remove(key);
            if quarantined.contains(key) {
                continue;
            }
            let takes = mapping.selects(before);
            let after = match (takes || mapping.protocol() == Protocol::InPlace, after) {
                (true, Some(after)) => messy::without_marks(after),
                (true, None) => return Err(format!("an item is missing: {before:?}")),
                (false, Some(after)) => return Err(format!("an item was not to be taken: {after:?}")),
                (false, None) => continue,
            };
            let fault = if takes { self.fault(before, &after) } else { self.unannounced(before, &after) };
            if let Some(fault) = fault {
                return Err(format!("{fault}\nbefore {before:?}\nafter {after:?}"));
            }
            counts.judged += 1;
            counts.changed += u64::from(*before != after);
        }
        match carried.iter().find(|(key, _)| !quarantined.contains(*key)) {
            Some((_, item)) => Err(format!("an item that the source does not have: {item:?}")),
            None => Ok(counts),
        }
    }

    /// The fault of an item, if what it became is not the item changed as announced, and in nothing else.
    pub fn fault(&self, before: &Item, after: &Item) -> Option<String> {
        let names: BTreeSet<&str> = before.keys().chain(after.keys()).map(Name::as_str).collect();
        names.into_iter().find_map(|name| self.attribute(name, before, after))
    }

    /// The fault of an item that left `only`, where the retrofit may have changed it before: an attribute that was not announced.
    pub fn unannounced(&self, before: &Item, after: &Item) -> Option<String> {
        let changed = keyfold_core::retrofit::diff::changed_attributes(before, after);
        changed.into_iter().find_map(|(name, change)| match self.announced.get(name) {
            None => Some(format!("`{name}` is {}, and was not announced", change.name())),
            // A key that the retrofit made is right, or it is gone.
            Some(causes) if causes.contains(&Cause::FoldedKey) && after.contains_key(name) => {
                self.value(name, causes, before, after)
            }
            Some(_) => None,
        })
    }

    fn attribute(&self, name: &str, before: &Item, after: &Item) -> Option<String> {
        let change = match (before.get(name), after.get(name)) {
            (None, None) => None,
            (Some(_), None) => Some(ChangeOf::Removed),
            (None, Some(_)) => Some(ChangeOf::Added),
            (Some(a), Some(b)) => (!equal(a, b)).then_some(ChangeOf::Changed),
        };
        let Some(causes) = self.announced.get(name) else {
            return change.map(|change| format!("`{name}` is {}, and was not announced", change.name()));
        };
        if let Some(change) = change
            && !causes.iter().any(|cause| cause.explains(change))
        {
            return Some(format!("`{name}` is {}, and {causes:?} do not explain it", change.name()));
        }
        self.value(name, causes, before, after)
    }

    /// Is the value of an announced attribute right?
    fn value(&self, name: &str, causes: &BTreeSet<Cause>, before: &Item, after: &Item) -> Option<String> {
        let now = after.get(name);
        // Of two causes the last one counts, and a remedy changes what the others gave.
        if causes.contains(&Cause::Mended) {
            return None;
        }
        if causes.contains(&Cause::FoldedKey) {
            let key = self.to.key_attributes().chain(self.to.indexes.iter().flat_map(Index::key_attributes));
            let mut key = key.filter(|key| key.name == name && matches!(key.source, KeySource::Folded(_)));
            return key.next().and_then(|key| self.key(key, now, after));
        }
        // In place, an application may have removed the old name after the attribute got the new one.
        let old = causes.iter().find_map(renamed_from);
        if self.from.id == self.to.id && old.is_some_and(|old| !before.contains_key(old)) {
            return None;
        }
        let wanted = if causes.contains(&Cause::Set) {
            self.retrofit.set.get(name).cloned()
        } else if let Some(old) = causes.iter().find_map(renamed_from).filter(|old| before.contains_key(*old))
        {
            before.get(old).cloned()
        } else if causes
            .iter()
            .any(|cause| matches!(cause, Cause::Dropped | Cause::RenamedTo(_) | Cause::Mark))
        {
            None
        } else if causes.contains(&Cause::KeyPart) && !before.contains_key(name) {
            let old = self.retrofit.rename.iter().find(|(_, new)| !self.back && *new == name);
            let old = old.map_or(name, |(old, _)| old.as_str());
            // Stored, or left to the key.
            let told = self.from.with_key_parts(before).get(old).cloned();
            now.and(told).or_else(|| now.cloned())
        } else {
            before.get(name).cloned()
        };
        let same = match (&wanted, now) {
            (None, None) => true,
            (Some(wanted), Some(now)) => equal(wanted, now),
            _ => false,
        };
        (!same).then(|| format!("`{name}` has another value than {causes:?} give"))
    }

    fn key(&self, key: &KeyAttribute, now: Option<&AttributeValue>, after: &Item) -> Option<String> {
        let wanted = match folded(self.to, key, after) {
            Ok(wanted) => wanted.map(AttributeValue::S),
            // A remedy lets what the key is made of count as absent.
            Err(_) => return (!self.has_absent(key)).then(|| format!("`{}` cannot be folded", key.name)),
        };
        (now != wanted.as_ref() && !self.has_absent(key))
            .then(|| format!("`{}` is not folded from the item", key.name))
    }

    fn has_absent(&self, key: &KeyAttribute) -> bool {
        let absent = self.retrofit.misfits.iter().filter(|(_, remedies)| remedies.contains(&Remedy::Absent));
        let mut names = absent.map(|(of, _)| of.attribute.as_str());
        names.any(|name| key.inputs().any(|input| input == name || self.back))
    }
}

fn renamed_from(cause: &Cause) -> Option<&String> {
    match cause {
        Cause::RenamedFrom(old) => Some(old),
        _ => None,
    }
}

/// The folded key that an item should have.
pub(super) fn folded(table: &Table, key: &KeyAttribute, item: &Item) -> Result<Option<String>, FoldError> {
    let KeySource::Folded(rules) = &key.source else { return Ok(None) };
    let whole = table.with_key_parts(item);
    let entity = table.entity_of(&whole).ok().flatten();
    let is_for = |rule: &&FoldRule| rule.entity.is_none() || rule.entity == entity;
    rules.iter().find(is_for).map_or(Ok(None), |rule| rule.template.fold(&whole))
}
