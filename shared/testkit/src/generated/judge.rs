//! The judge: an item and what became of it, held against what was announced.
//!
//! It knows no mapping. Of every attribute that differs it asks whether the announcement has it and explains the change; of every
//! attribute that was announced it asks whether its value is the right one.

use std::collections::BTreeSet;

use keyfold_core::key::FoldError;
use keyfold_core::model::{FoldRule, Index, KeyAttribute, KeySource, Remedy, Retrofit, Table};
use keyfold_core::retrofit::mapping::Announced;
use keyfold_core::retrofit::{Cause, ChangeOf};
use keyfold_core::value::{AttributeValue, Item, Name, equal};

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
