//! What writers wrote, without the tables: the source must hold exactly this, whatever the retrofit does.

use keyfold_core::value::Item;

use super::scenario::KEYS_MAX;

/// How many turns an eventually consistent read may be stale.
const STALE_TURNS: u64 = 12;

/// The violation of a history.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct Violation {
    what: String,
}

impl Violation {
    /// This.
    pub(super) fn new(what: impl Into<String>) -> Violation {
        Violation { what: what.into() }
    }
}

/// The expected target item.
#[derive(Debug, Default)]
pub(super) enum Wanted {
    /// Nothing: there is no item, or it is not selected.
    #[default]
    Nothing,
    /// This item, apart from what the retrofit keeps on it.
    Item(Item),
    /// It cannot be mapped, or the target does not take it.
    Impossible,
}

/// What writers know of each item.
#[derive(Debug, Default)]
pub(super) struct Truth {
    items: [Option<Item>; KEYS_MAX],
    /// The expected target state of each: nothing, an item, or something that cannot be.
    wanted: [Wanted; KEYS_MAX],
    writes: [u32; KEYS_MAX],
    /// Was it ever there?
    known: [bool; KEYS_MAX],
    /// The source's item before its last change, and when that was.
    before: [Option<(u64, Option<Item>)>; KEYS_MAX],
}

impl Truth {
    /// The item as its writers last wrote it, without folded keys.
    pub(super) fn item(&self, number: usize) -> Option<&Item> {
        self.items[number].as_ref()
    }

    /// The expected target item for it.
    pub(super) fn wanted(&self, number: usize) -> &Wanted {
        &self.wanted[number]
    }

    /// How often it was written.
    pub(super) fn writes(&self, number: usize) -> u32 {
        self.writes[number]
    }

    /// Was it ever there?
    pub(super) fn is_known(&self, number: usize) -> bool {
        self.known[number]
    }

    /// A writer writes or deletes it.
    pub(super) fn wrote(&mut self, number: usize, item: Option<Item>, wanted: Wanted) {
        self.known[number] |= item.is_some();
        self.wanted[number] = wanted;
        self.items[number] = item;
        self.writes[number] += 1;
    }

    /// The target should have something else for it: the manifest was mended.
    pub(super) fn judged(&mut self, number: usize, wanted: Wanted) {
        self.wanted[number] = wanted;
    }

    /// The source's item changes.
    pub(super) fn replaced(&mut self, number: usize, turn: u64, old: Option<&Item>) {
        self.before[number] = Some((turn, old.cloned()));
    }

    /// The stale result of an eventually consistent read, if it differs.
    pub(super) fn stale(&self, number: usize, turn: u64) -> Option<&Option<Item>> {
        let (since, item) = self.before[number].as_ref()?;
        (turn < since + STALE_TURNS).then_some(item)
    }
}
