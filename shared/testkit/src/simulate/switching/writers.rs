//! Writers while a target is filled: they know nothing of the retrofit, except that in place some of them fold keys by themselves.

use keyfold_core::index::{ITEM_BYTES_MAX, item_bytes};
use keyfold_core::retrofit::control::Direction;
use keyfold_core::value::Item;

use super::super::fault::{Fault, WriterAction};
use super::super::scenario::{Flaw, item, key};
use super::super::work::short;
use super::scene::KEYS;
use super::world::World;

impl World {
    /// A writer does something.
    pub(super) fn write_something(&mut self) {
        let number = self.random.below(KEYS);
        let there = self.expected[number].clone();
        let flaw = self.flaw();
        match (self.random.below(10), there) {
            (0..2, Some(_)) => self.remove(number, false),
            (2, Some(_)) if self.strikes(Fault::Expiry, 100) => {
                self.remove(number, true);
            }
            (3, Some(there)) if self.strikes(Fault::Swap, 100) => {
                self.swap(number, &there);
            }
            (3..7, Some(there)) => self.change(number, there, flaw),
            (_, there) => {
                let new = self.made_anew(number, flaw);
                let again = there.is_none() && self.fill().known[number];
                self.fill_mut().faults.did(if again { WriterAction::Recreate } else { WriterAction::Put });
                self.store(number, new, None);
            }
        }
    }

    fn made_anew(&mut self, number: usize, flaw: Flaw) -> Item {
        let collides = self.is_on(Fault::Collision);
        item(&mut self.random, number, flaw, collides)
    }

    fn flaw(&mut self) -> Flaw {
        if self.strikes(Fault::Poison, 5) {
            Flaw::Poison
        } else if self.strikes(Fault::Oversize, 4) {
            Flaw::Long
        } else if self.is_on(Fault::Huge) && self.random.below(1_000) == 0 {
            self.hit(Fault::Huge);
            Flaw::Huge
        } else if !self.is_in_place() && self.strikes(Fault::Refused, 5) {
            Flaw::Refused
        } else {
            Flaw::None
        }
    }

    fn change(&mut self, number: usize, mut there: Item, flaw: Flaw) {
        let new = self.made_anew(number, flaw);
        let name = *self.random.pick(&["a", "b", "v", "kind"]);
        if self.random.chance(12) {
            there.remove(name);
            self.fill_mut().faults.did(WriterAction::Remove);
            return self.store(number, there, Some(&[name]));
        }
        let Some(value) = new.get(name) else { return };
        there.insert(name.to_owned(), value.clone());
        self.fill_mut().faults.did(if name == "a" || name == "b" {
            WriterAction::Move
        } else {
            WriterAction::Update
        });
        self.store(number, there, Some(&[name]));
    }

    fn remove(&mut self, number: usize, expired: bool) {
        self.note(|| format!("k{number} {}", if expired { "expires" } else { "is deleted by a writer" }));
        self.fill_mut().faults.did(if expired { WriterAction::Expire } else { WriterAction::Delete });
        self.wrote(number, None);
        self.expiring = expired;
        self.set(Direction::Forward, &key(number), None);
        self.expiring = false;
    }

    /// Two items exchange what their target keys are made of.
    fn swap(&mut self, number: usize, one: &Item) {
        let other_number = (number + 1) % KEYS;
        let Some(other) = self.expected[other_number].clone() else { return };
        self.note(|| format!("writer swaps k{number} and k{other_number}"));
        let (mut first, mut second) = (one.clone(), other.clone());
        for name in ["a", "b"] {
            if let (Some(a), Some(b)) = (one.get(name), other.get(name)) {
                first.insert(name.to_owned(), b.clone());
                second.insert(name.to_owned(), a.clone());
            }
        }
        self.fill_mut().faults.did(WriterAction::Swap);
        self.store(number, first, Some(&["a", "b"]));
        self.store(other_number, second, Some(&["a", "b"]));
    }

    /// Writes an item as its writer has it: these attributes of it, or the whole item, and whatever else was there goes.
    fn store(&mut self, number: usize, new: Item, written: Option<&[&str]>) {
        let Some(stored) = self.as_stored(number, &new, written) else {
            return self.note(|| format!("a writer cannot fold k{number}, and writes nothing"));
        };
        self.note(|| format!("writer: k{number} is {}", short(&stored)));
        self.wrote(number, Some(new));
        self.set(Direction::Forward, &key(number), Some(stored));
    }

    /// A writer's item is the truth from now on.
    fn wrote(&mut self, number: usize, item: Option<Item>) {
        let fill = self.fill_mut();
        fill.writes[number] += 1;
        fill.known[number] |= item.is_some();
        self.expected[number] = item;
    }

    /// The resulting item of the table; `None` if a writer that folds cannot fold it, or if the table does not take it.
    fn as_stored(&mut self, number: usize, new: &Item, written: Option<&[&str]>) -> Option<Item> {
        if !self.is_in_place() {
            return Some(new.clone());
        }
        if self.writer_folds() {
            let folded = self.scene.mapping.target_item(new).ok()?;
            return folded.filter(|item| item_bytes(item) <= ITEM_BYTES_MAX);
        }
        let mut stored = new.clone();
        if let Some(names) = written
            && let Some(there) = self.item(Direction::Forward, number)
        {
            stored = there.clone();
            for name in names {
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
        self.fill().unfollowed || self.strikes(Fault::WritersFold, 50)
    }
}
