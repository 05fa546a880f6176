//! Writers: they know nothing of the retrofit, except that in place some of them fold keys by themselves.

use keyfold_core::index::{ITEM_BYTES_MAX, item_bytes};
use keyfold_core::retrofit::TableRole;
use keyfold_core::value::{AttributeValue, Item};

use super::fault::{Fault, WriterAction};
use super::scenario::{FOLDED, Flaw, NAMES, item, key};
use super::state::SimulationState;
use super::truth::Wanted;
use super::work::short;

/// A writer's item.
enum Written<'w> {
    /// The whole item: whatever else was there goes.
    Whole,
    /// These attributes of it.
    Some(&'w [&'w str]),
}

impl SimulationState<'_> {
    /// A writer does something.
    pub(super) fn write_something(&mut self) {
        let number = self.random.below(self.keys);
        let there = self.truth.item(number).cloned();
        let flaw = self.flaw();
        match (self.random.below(10), there) {
            (0..2, Some(_)) => self.remove(number, false),
            (2, Some(_)) if self.faults.strikes(Fault::Expiry, &mut self.random, 100) => {
                self.remove(number, true);
            }
            (3, Some(there)) if self.faults.strikes(Fault::Swap, &mut self.random, 100) => {
                self.swap(number, &there);
            }
            (3..7, Some(there)) => self.change(number, there, flaw),
            (_, there) => {
                let new = self.made(number, flaw);
                let again = there.is_none() && self.truth.is_known(number);
                self.faults.did(if again { WriterAction::Recreate } else { WriterAction::Put });
                self.store(number, new, &Written::Whole);
            }
        }
    }

    fn made(&mut self, number: usize, flaw: Flaw) -> Item {
        let collides = self.faults.is_on(Fault::Collision);
        item(&mut self.random, number, flaw, collides)
    }

    fn flaw(&mut self) -> Flaw {
        if self.faults.strikes(Fault::Poison, &mut self.random, 5) {
            Flaw::Poison
        } else if self.faults.strikes(Fault::Oversize, &mut self.random, 4) {
            Flaw::Long
        } else if self.faults.is_on(Fault::Huge) && self.random.below(1_000) == 0 {
            self.faults.hit(Fault::Huge);
            Flaw::Huge
        } else if !self.scenario.is_in_place() && self.faults.strikes(Fault::Refused, &mut self.random, 5) {
            Flaw::Refused
        } else {
            Flaw::None
        }
    }

    fn change(&mut self, number: usize, mut there: Item, flaw: Flaw) {
        let new = self.made(number, flaw);
        let name = *self.random.pick(&["a", "b", "v", "kind"]);
        if self.random.chance(12) {
            there.remove(name);
            self.faults.did(WriterAction::Remove);
            return self.store(number, there, &Written::Some(&[name]));
        }
        let Some(value) = new.get(name) else { return };
        there.insert(name.to_owned(), value.clone());
        self.faults.did(if name == "a" || name == "b" { WriterAction::Move } else { WriterAction::Update });
        self.store(number, there, &Written::Some(&[name]));
    }

    fn remove(&mut self, number: usize, expired: bool) {
        self.note(|| format!("k{number} {}", if expired { "expires" } else { "is deleted by a writer" }));
        self.faults.did(if expired { WriterAction::Expire } else { WriterAction::Delete });
        self.truth.wrote(number, None, Wanted::Nothing);
        self.set(TableRole::Source, &key(number), None, expired);
    }

    /// Two items exchange what their target keys are made of.
    fn swap(&mut self, number: usize, one: &Item) {
        let other_number = (number + 1) % self.keys;
        let Some(other) = self.truth.item(other_number).cloned() else { return };
        self.note(|| format!("writer swaps k{number} and k{other_number}"));
        let (mut first, mut second) = (one.clone(), other.clone());
        for name in ["a", "b"] {
            if let (Some(a), Some(b)) = (one.get(name), other.get(name)) {
                first.insert(name.to_owned(), b.clone());
                second.insert(name.to_owned(), a.clone());
            }
        }
        self.faults.did(WriterAction::Swap);
        self.store(number, first, &Written::Some(&["a", "b"]));
        self.store(other_number, second, &Written::Some(&["a", "b"]));
    }

    /// Writes an item as its writer has it.
    fn store(&mut self, number: usize, new: Item, written: &Written<'_>) {
        let Some(stored) = self.as_stored(number, &new, written) else {
            return self.note(|| format!("a writer cannot fold k{number}, and writes nothing"));
        };
        self.note(|| format!("writer: k{number} is {}", short(&stored)));
        let wanted = self.wanted(&new);
        self.truth.wrote(number, Some(new), wanted);
        self.set(TableRole::Source, &key(number), Some(stored), false);
    }

    /// The resulting item of the table; `None` if a writer that folds cannot fold it, or if the table does not take it.
    fn as_stored(&mut self, number: usize, new: &Item, written: &Written<'_>) -> Option<Item> {
        if !self.scenario.is_in_place() {
            return Some(new.clone());
        }
        if self.writer_folds() {
            let folded = self.scenario.mapping().target_item(new).ok()?;
            return folded.filter(|item| item_bytes(item) <= ITEM_BYTES_MAX);
        }
        let mut stored = new.clone();
        if let Written::Some(names) = written
            && let Some(there) = self.source.at(NAMES[number])
        {
            stored = there.clone();
            for name in *names {
                match new.get(*name) {
                    Some(value) => stored.insert((*name).to_owned(), value.clone()),
                    None => stored.remove(*name),
                };
            }
        }
        Some(stored).filter(|item| item_bytes(item) <= ITEM_BYTES_MAX)
    }

    /// Without a stream every writer folds; else some may.
    fn writer_folds(&mut self) -> bool {
        self.unfollowed || self.faults.strikes(Fault::WritersFold, &mut self.random, 50)
    }
}

/// The item without the key that is folded in place.
pub(super) fn natural(item: &Item) -> Item {
    let mut item = item.clone();
    item.remove(FOLDED);
    item
}

/// Is it a text that the key of an item in place could be?
pub(super) fn is_fold(value: &AttributeValue) -> bool {
    matches!(value, AttributeValue::S(text) if !text.is_empty() && text.len() <= 2_048)
}
