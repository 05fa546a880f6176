//! Is the target right? Looked at from outside, without the verifier, and then compared with what it says.

use std::collections::{BTreeMap, BTreeSet};

use keyfold_core::retrofit::mapping::{OWN_ATTRIBUTES, OWNER_ATTRIBUTE, TOMBSTONE_ATTRIBUTE};
use keyfold_core::retrofit::{LedgerRow, Place, Protocol, SourceKey};
use keyfold_core::value::Item;

use super::scene::{REFUSED, text};
use super::store::place;
use super::world::World;

/// What is wrong with a history.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct Wrong {
    what: String,
}

impl Wrong {
    /// This.
    pub(super) fn new(what: impl Into<String>) -> Wrong {
        Wrong { what: what.into() }
    }
}

/// How one source key stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// As it should be.
    Right,
    /// Not mappable, or not accepted: it must be in quarantine.
    Unmappable,
    /// Another item has its place.
    Occupied,
    /// The target lacks it or has it otherwise.
    Stale,
    /// The source has no such item, and the target has.
    Ghost,
}

impl World<'_> {
    /// How each source key stands.
    pub(super) fn states(&self) -> BTreeMap<String, State> {
        let table = self.scene.mapping().source();
        let mut states: BTreeMap<String, State> = BTreeMap::new();
        for (key, item) in self.source.iter() {
            states.insert(key.clone(), self.state_of(item));
        }
        if self.scene.is_in_place() {
            return states;
        }
        for (at, item) in self.target.iter() {
            if is_foreign(item) || item.contains_key(TOMBSTONE_ATTRIBUTE) {
                continue;
            }
            let owner = self.owner_text(item);
            let Some(source) = self.source.iter().find(|(key, _)| **key == owner).map(|(_, item)| item)
            else {
                states.insert(owner, State::Ghost);
                continue;
            };
            let wanted = self.wanted(source);
            let here = match &wanted {
                Ok(Some(wanted)) => place(self.scene.mapping().target(), wanted) == *at,
                Ok(None) => false,
                // Whatever there was before stays until the item can be mapped.
                Err(()) => true,
            };
            if !here {
                states.insert(place(table, source), State::Ghost);
            }
        }
        states
    }

    fn owner_text(&self, item: &Item) -> String {
        let owner = match self.scene.protocol {
            Protocol::Ledger => item.get(OWNER_ATTRIBUTE).and_then(SourceKey::read),
            _ => SourceKey::of(self.scene.mapping().source(), item),
        };
        owner.map_or_else(|| "nobody".to_owned(), |owner| owner.to_string())
    }

    fn wanted(&self, item: &Item) -> Result<Option<Item>, ()> {
        let wanted = self.scene.mapping().target_item(item).map_err(|_| ())?;
        let refused = !self.scene.is_in_place() && item.get("v") == Some(&text(REFUSED));
        if refused && wanted.is_some() { Err(()) } else { Ok(wanted) }
    }

    fn state_of(&self, item: &Item) -> State {
        let there = match self.wanted(item) {
            Err(()) => return State::Unmappable,
            Ok(None) => return State::Right,
            Ok(Some(wanted)) if self.scene.is_in_place() => {
                return if wanted == *item { State::Right } else { State::Stale };
            }
            Ok(Some(wanted)) => (self.get(Place::Target, &wanted).cloned(), wanted),
        };
        match there {
            (None, _) => State::Stale,
            (Some(there), _) if is_foreign(&there) => State::Occupied,
            (Some(there), _) if there.contains_key(TOMBSTONE_ATTRIBUTE) => State::Stale,
            (Some(there), _) if self.owner_text(&there) != place(self.scene.mapping().source(), item) => {
                State::Occupied
            }
            (Some(there), wanted) if bare(&there) == wanted => State::Right,
            _ => State::Stale,
        }
    }

    /// The source keys in quarantine.
    pub(super) fn quarantined(&self) -> BTreeSet<String> {
        let table = self.scene.mapping().source();
        self.quarantine().iter().filter_map(|entry| Some(place(table, entry.key.as_ref()?))).collect()
    }

    /// After draining and before any repair: everything that is not right is known.
    pub(super) fn check_drained(&self) -> Result<(), Wrong> {
        let known = self.quarantined();
        for (key, state) in self.states() {
            let explained = match state {
                State::Right => true,
                // Found by verification.
                State::Occupied if self.scene.protocol == Protocol::Fenced => true,
                // Deleted while there was no stream.
                State::Ghost if self.epoch > 0 => true,
                _ => known.contains(&key),
            };
            if !explained {
                return Err(Wrong::new(format!("drained, and {key} is {state:?}, and not in quarantine")));
            }
        }
        self.check_ledger()
    }

    /// After repairs: only what cannot be repaired is not right.
    pub(super) fn check_repaired(&self) -> Result<(), Wrong> {
        let table = self.scene.mapping().source();
        let known = self.quarantined();
        let states = self.states();
        for (key, state) in &states {
            let explained = match state {
                State::Right => true,
                State::Unmappable => known.contains(key),
                State::Occupied => known.contains(key) || self.scene.protocol == Protocol::Fenced,
                State::Stale | State::Ghost => false,
            };
            if !explained {
                return Err(Wrong::new(format!("repaired, and {key} is {state:?}")));
            }
        }
        let genuine = |key: &&String| {
            // Where somebody else's item stands, not even a tombstone can be put.
            let in_the_way = || {
                let id = |item: &Item| SourceKey::of(table, item).map(|id| id.to_string());
                let mut foreign = self.target.iter().filter(|(_, item)| is_foreign(item));
                foreign.any(|(_, item)| id(item).as_ref() == Some(*key))
            };
            matches!(states.get(*key), Some(State::Unmappable | State::Occupied))
                || (self.scene.protocol == Protocol::Fenced && in_the_way())
        };
        if let Some(key) = known.iter().find(|key| !genuine(key)) {
            return Err(Wrong::new(format!("repaired, and {key} is in quarantine for nothing")));
        }
        self.check_ledger()
    }

    /// The ledger's rows name exactly what is in the target.
    fn check_ledger(&self) -> Result<(), Wrong> {
        if self.scene.protocol != Protocol::Ledger {
            return Ok(());
        }
        let target = self.scene.mapping().target();
        let mut named: BTreeMap<String, String> = BTreeMap::new();
        for (_, row) in self.control.iter() {
            let Some(known) = LedgerRow::read(row).filter(|row| row.target.is_some()) else { continue };
            let (Some(at), Some(keyfold_core::value::AttributeValue::M(source))) =
                (known.target, row.get(keyfold_core::retrofit::control::SOURCE_KEY))
            else {
                continue;
            };
            let source = place(self.scene.mapping().source(), &Item::from(source.clone()));
            named.insert(place(target, &at), source);
        }
        let held = self.target.iter().filter(|(_, item)| !is_foreign(item));
        let held: BTreeMap<String, String> =
            held.map(|(at, item)| (at.clone(), self.owner_text(item))).collect();
        if named != held {
            return Err(Wrong::new(format!("the ledger names {named:?}, and there is {held:?}")));
        }
        Ok(())
    }

    /// After finalising: nothing of the retrofit is left, and items are what they are mapped to.
    pub(super) fn check_finalised(&self, foreign: &[Item]) -> Result<(), Wrong> {
        let mut wanted: BTreeSet<String> = BTreeSet::new();
        for (key, item) in self.source.iter() {
            let Ok(Some(mapped)) = self.wanted(item) else { continue };
            match self.get(Place::Target, &mapped) {
                Some(there) if *there == mapped => {
                    wanted.insert(place(self.scene.mapping().target(), &mapped));
                }
                _ if self.quarantined().contains(key) || self.scene.protocol == Protocol::Fenced => {}
                _ => return Err(Wrong::new(format!("finalised, and {key} is not there"))),
            }
        }
        for (at, item) in self.target.iter() {
            if OWN_ATTRIBUTES.iter().any(|name| item.contains_key(*name)) {
                return Err(Wrong::new(format!("finalised, and {at} still has marks")));
            }
        }
        let left: Vec<Item> = self.target.items().into_iter().filter(is_foreign).collect();
        if left != foreign {
            return Err(Wrong::new("somebody else's item has changed"));
        }
        let rows = self.control.iter().filter(|(_, row)| LedgerRow::read(row).is_some());
        let rows = rows.filter(|(at, _)| at.contains("ledger#")).count();
        if rows > 0 { Err(Wrong::new("finalised, and the ledger has rows")) } else { Ok(()) }
    }
}

fn bare(item: &Item) -> Item {
    let mut item = item.clone();
    for name in OWN_ATTRIBUTES {
        item.remove(name);
    }
    item
}

/// Is it an item of somebody else?
pub(super) fn is_foreign(item: &Item) -> bool {
    item.contains_key("foreign")
}
