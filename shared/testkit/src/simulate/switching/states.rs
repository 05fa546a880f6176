//! Is the target right? Looked at from outside, without the verifier, and by what writers wrote.

use std::collections::BTreeMap;

use keyfold_core::index::{ITEM_BYTES_MAX, item_bytes};
use keyfold_core::retrofit::attributes::{OWN_ATTRIBUTES, OWNER_ATTRIBUTE, TOMBSTONE_ATTRIBUTE};
use keyfold_core::retrofit::control::Direction;
use keyfold_core::retrofit::{LedgerRow, Mapping, Protocol, QuarantineReason, Quarantined, control};
use keyfold_core::value::{AttributeValue, Item};

use super::super::Violation;
use super::super::scenario::FOLDED;
use super::super::store::place;
use super::scene::KEYS;
use super::world::{World, is_foreign, number_of};

/// The expected target item.
pub(super) enum Wanted {
    /// Nothing: there is no item, or it is not selected.
    Nothing,
    /// This item, apart from what the retrofit keeps on it.
    Item(Item),
    /// It cannot be mapped, or the target does not take it.
    Impossible,
}

/// How one source key stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyState {
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
    /// The source is not what its writers wrote.
    Lost,
}

/// The quarantine of each source key.
pub(super) type Known = [Option<Quarantined>; KEYS];

impl World {
    /// How each source key stands.
    pub(super) fn states(&self) -> [KeyState; KEYS] {
        let mut states = [KeyState::Right; KEYS];
        for (number, state) in states.iter_mut().enumerate() {
            *state = self.state_of(number);
        }
        if self.is_in_place() {
            return states;
        }
        for (at, item) in self.table(Direction::Reverse).iter() {
            if item.contains_key(TOMBSTONE_ATTRIBUTE) {
                continue;
            }
            let Some(owner) = self.owner_of(item) else { continue };
            if self.is_ghost(owner, at) {
                states[owner] = KeyState::Ghost;
            }
        }
        states
    }

    /// Is what this item has at this place of the target not what it should have there?
    fn is_ghost(&self, number: usize, at: &str) -> bool {
        match self.wanted_of(number) {
            Wanted::Item(wanted) => place(self.mapping_now().target(), &wanted) != at,
            Wanted::Nothing => true,
            // Whatever there was before stays until the item can be mapped.
            Wanted::Impossible => false,
        }
    }

    /// The number of a target item's source item; `None` if it is another program's.
    pub(super) fn owner_of(&self, item: &Item) -> Option<usize> {
        if is_foreign(item) {
            return None;
        }
        match (self.scene.mapping.protocol(), item.get(OWNER_ATTRIBUTE)) {
            (Protocol::Ledger, Some(AttributeValue::S(owner))) => owner.strip_prefix("S:k")?.parse().ok(),
            (Protocol::Ledger, _) => None,
            (Protocol::InPlace | Protocol::Fenced, _) => Some(number_of(item)),
        }
    }

    /// The expected target item, by what writers wrote.
    pub(super) fn wanted_of(&self, number: usize) -> Wanted {
        self.expected[number].as_ref().map_or(Wanted::Nothing, |item| self.wanted(item))
    }

    /// The expected target item for a writer's item.
    fn wanted(&self, item: &Item) -> Wanted {
        let Ok(wanted) = self.mapping_now().target_item(item) else { return Wanted::Impossible };
        // The item is refused, or there is no room on it for what the retrofit keeps there. In place it keeps nothing there.
        let refused = !self.is_in_place() && matches!(item.get("v"), Some(AttributeValue::S(_)));
        match wanted {
            None => Wanted::Nothing,
            Some(wanted) if refused || item_bytes(&wanted) > ITEM_BYTES_MAX => Wanted::Impossible,
            Some(wanted) => Wanted::Item(wanted),
        }
    }

    /// How this source key stands, at the place where it should be.
    pub(super) fn state_of(&self, number: usize) -> KeyState {
        let stored = self.item(Direction::Forward, number);
        if self.is_in_place() {
            return self.state_in_place(number, stored);
        }
        if stored != self.expected[number].as_ref() {
            return KeyState::Lost;
        }
        let wanted = match self.wanted_of(number) {
            Wanted::Impossible => return KeyState::Unmappable,
            Wanted::Nothing => return KeyState::Right,
            Wanted::Item(wanted) => wanted,
        };
        match self.at(Direction::Reverse, &wanted) {
            None => KeyState::Stale,
            Some(there) if is_foreign(there) => KeyState::Occupied,
            Some(there) if there.contains_key(TOMBSTONE_ATTRIBUTE) => KeyState::Stale,
            Some(there) if self.owner_of(there) != Some(number) => KeyState::Occupied,
            Some(there) if is_bare(there, &wanted) => KeyState::Right,
            Some(_) => KeyState::Stale,
        }
    }

    /// Natural attributes are exactly what writers wrote; the folded key is exactly theirs.
    fn state_in_place(&self, number: usize, stored: Option<&Item>) -> KeyState {
        let (truth, stored) = match (self.expected[number].as_ref(), stored) {
            (None, None) => return KeyState::Right,
            (None, Some(_)) => return KeyState::Ghost,
            (Some(_), None) => return KeyState::Lost,
            (Some(truth), Some(stored)) => (truth, stored),
        };
        let wanted = self.wanted_of(number);
        if matches!(&wanted, Wanted::Item(wanted) if wanted == stored) {
            return KeyState::Right;
        }
        match (unfolded(stored) == *truth, stored.get(FOLDED)) {
            (false, _) => KeyState::Lost,
            // An index would refuse such a key, and the writer with it.
            (true, Some(folded)) if !is_fold(folded) => KeyState::Lost,
            (true, _) if matches!(wanted, Wanted::Impossible) => KeyState::Unmappable,
            (true, _) => KeyState::Stale,
        }
    }

    /// The mapping, or that of the mended manifest.
    pub(super) fn mapping(&self, is_mended: bool) -> &'static Mapping {
        match &self.scene.mended {
            Some(mended) if is_mended => mended,
            _ => &self.scene.mapping,
        }
    }

    /// Was the manifest mended?
    pub(super) fn is_mended(&self) -> bool {
        self.scene.mended.as_ref().is_some_and(|mended| self.head.mapping == *mended.hash())
    }

    /// The mapping by which items are right.
    pub(super) fn mapping_now(&self) -> &'static Mapping {
        self.mapping(self.is_mended())
    }

    /// The entries of the quarantine.
    pub(super) fn entries(&self) -> Vec<Quarantined> {
        self.quarantine(self.scene.mapping.rows_name())
    }

    /// The quarantine, by source key.
    pub(super) fn named_entries(&self) -> Known {
        let mut known = Known::default();
        for entry in self.entries() {
            if let Some(number) = entry.key.as_ref().map(number_of) {
                known[number] = Some(entry);
            }
        }
        known
    }

    /// After draining and before any repair: everything that is not right is known.
    pub(super) fn check_drained(&self) -> Result<(), Violation> {
        let known = self.named_entries();
        for (number, state) in self.states().into_iter().enumerate() {
            let explained = match state {
                KeyState::Right => true,
                KeyState::Lost => false,
                KeyState::Ghost if self.is_in_place() => false,
                // Deleted while there was no stream: no scan finds that.
                KeyState::Ghost if self.fill().unseen[number] => true,
                // A mended manifest is carried over by repairs: what they cannot place is found by verification.
                KeyState::Occupied if self.is_mended() || self.fill().restarted => true,
                // Nor could the place be looked at, if another item has it.
                KeyState::Unmappable if self.fill().restarted && self.is_taken(number) => true,
                // Found by verification, as is what could not be written where it stood.
                KeyState::Occupied | KeyState::Stale | KeyState::Ghost
                    if self.scene.mapping.protocol() == Protocol::Fenced
                        && self.fill().obstructed[number] =>
                {
                    true
                }
                _ => known[number].is_some() || self.is_blotted(number),
            };
            if !explained {
                return Err(Violation::new(format!(
                    "drained, and k{number} is {state:?}, and not in quarantine"
                )));
            }
        }
        self.check_rows()
    }

    /// Is a record of this item in quarantine that did not tell whose it is?
    fn is_blotted(&self, number: usize) -> bool {
        let partition = control::quarantine_partition(self.mapping_now().name());
        let entered = |row: &String| self.row(&control::key(&partition, row)).is_some();
        self.fill().unreadable.iter().any(|(of, row)| *of == number && entered(row))
    }

    /// After repairs: only what cannot be repaired is not right, and that is in quarantine or named by the verifier.
    pub(super) fn check_repaired(&self) -> Result<(), Violation> {
        let known = self.named_entries();
        for (number, state) in self.states().into_iter().enumerate() {
            let entry = known[number].as_ref();
            let explained = match state {
                KeyState::Right => entry.is_none_or(|entry| self.stands_in_the_way(number, entry)),
                KeyState::Unmappable => entry.is_some() || self.is_taken(number),
                // The verifier has named it, see `agree`; it is no repair's to solve.
                KeyState::Occupied => true,
                KeyState::Stale | KeyState::Ghost | KeyState::Lost => false,
            };
            if !explained {
                let entry = entry.map(|entry| &entry.code);
                return Err(Violation::new(format!(
                    "repaired, and k{number} is {state:?}, quarantine: {entry:?}"
                )));
            }
        }
        if self.entries().iter().any(|entry| entry.key.is_none()) {
            return Err(Violation::new(
                "repaired, and a record that could not be read is still in quarantine",
            ));
        }
        self.check_rows()
    }

    /// Has another item the place that this one would have?
    fn is_taken(&self, number: usize) -> bool {
        let item =
            self.expected[number].as_ref().and_then(|item| self.mapping_now().target_item(item).ok()?);
        let there = item.and_then(|item| self.at(Direction::Reverse, &item));
        there.is_some_and(|there| self.owner_of(there) != Some(number))
    }

    /// A deleted item, where another program's item blocks its tombstone.
    fn stands_in_the_way(&self, number: usize, entry: &Quarantined) -> bool {
        self.scene.mapping.protocol() == Protocol::Fenced
            && entry.code == QuarantineReason::Foreign.code()
            && self.fill().foreign.iter().any(|item| number_of(item) == number)
    }

    /// The ledger's rows name exactly what is in the target.
    fn check_rows(&self) -> Result<(), Violation> {
        if self.scene.mapping.protocol() != Protocol::Ledger {
            return Ok(());
        }
        let target = self.mapping_now().target();
        let mut named: BTreeMap<String, Option<usize>> = BTreeMap::new();
        // Not the rows of the target's keys.
        let of_source = format!("ledger#{}#", self.mapping_now().name());
        for (_, row) in self.control.iter().filter(|(place, _)| place.starts_with(&of_source)) {
            let Some(at) = LedgerRow::read(row).and_then(|row| row.target) else { continue };
            let Some(AttributeValue::M(source)) = row.get(control::SOURCE_KEY) else { continue };
            named.insert(place(target, &at).into_owned(), Some(number_of(&Item::from(source.clone()))));
        }
        let held = self.table(Direction::Reverse).iter().filter(|(_, item)| !is_foreign(item));
        let held: BTreeMap<String, Option<usize>> =
            held.map(|(at, item)| (at.to_owned(), self.owner_of(item))).collect();
        if named != held {
            return Err(Violation::new(format!("the ledger names {named:?}, and there is {held:?}")));
        }
        Ok(())
    }

    /// Another program's items are there, and unchanged.
    pub(super) fn check_foreign(&self) -> Result<(), Violation> {
        let there = self.table(Direction::Reverse).iter().filter(|(_, item)| is_foreign(item)).count();
        let same = |item: &Item| self.at(Direction::Reverse, item) == Some(item);
        if there == self.fill().foreign.len() && self.fill().foreign.iter().all(same) {
            return Ok(());
        }
        Err(Violation::new("another program's item was overwritten"))
    }
}

/// Is it the wanted item, apart from what the retrofit keeps on it?
fn is_bare(there: &Item, wanted: &Item) -> bool {
    let marks = OWN_ATTRIBUTES.iter().filter(|name| there.contains_key(**name)).count();
    there.len() == wanted.len() + marks && wanted.iter().all(|(name, value)| there.get(name) == Some(value))
}

/// The item without the key that is folded in place.
pub(super) fn unfolded(item: &Item) -> Item {
    let mut item = item.clone();
    item.remove(FOLDED);
    item
}

/// Is it a text that the key of an item in place could be?
fn is_fold(value: &AttributeValue) -> bool {
    matches!(value, AttributeValue::S(text) if !text.is_empty() && text.len() <= 2_048)
}
