//! The rules that hold after every turn, and at the end.

use std::collections::BTreeSet;

use keyfold_core::retrofit::attributes::{OWN_ATTRIBUTES, TOMBSTONE_ATTRIBUTE};
use keyfold_core::retrofit::control::{self, Direction, Phase};
use keyfold_core::retrofit::drain::is_before_rows;
use keyfold_core::retrofit::{ChangeRecord, Fence, LedgerRow};
use keyfold_core::value::{AttributeValue, Item};

use super::super::Violation;
use super::super::work::short;
use super::scene::{KEYS, Layout, index, other};
use super::world::{LateWrite, Published, World, natural};

impl World {
    /// The open table holds what its last writer wrote, and no reader of it meets a tombstone.
    pub(super) fn check(&mut self) -> Result<(), Violation> {
        if std::mem::take(&mut self.changed) && !self.is_in_place() {
            (0..KEYS).for_each(|number| self.check_item(number));
            if !self.is_filling() {
                self.check_filled();
            }
        }
        self.wrong.take().map_or(Ok(()), Err)
    }

    /// Whenever every change was carried over, both sides are the same: what goes wrong while the target is tidied is put right by the item's next
    /// change, and would not be seen later.
    fn check_filled(&mut self) {
        let is_filled = matches!(self.head.phase, Phase::Tidying | Phase::Tidy | Phase::CutOver);
        let is_left = |record: &Published| !record.dealt_with;
        if !is_filled || self.head.was_reversed() || self.lost_at.is_some() || !self.works.is_empty() {
            return;
        }
        if self.streams[0].iter().any(is_left)
            || !self.is_followed(Direction::Forward)
            || !self.quarantined().is_empty()
        {
            return;
        }
        if let Some(number) = (0..KEYS).find(|number| !self.is_same(Direction::Forward, *number)) {
            self.fail(format!("every change was carried over, and k{number} is not the same on both sides"));
        }
    }

    /// Does the table that follows say the same of an item, or is the item in quarantine?
    fn is_same(&self, open: Direction, number: usize) -> bool {
        let natural_of = |side: Direction| {
            let item = self.item(side, number).filter(|item| !item.contains_key(TOMBSTONE_ATTRIBUTE));
            item.map(natural)
        };
        let wanted = self.carried(open, natural_of(open).as_ref());
        let same = wanted == self.seen(other(open), natural_of(other(open)).as_ref());
        (same && self.places(number).count() <= 1)
            || self.is_parked(other(open), &self.key(other(open), number))
            || self.copied_late[number]
    }

    fn check_item(&mut self, number: usize) {
        let side = self.truth_of;
        let there = self.item(side, number).map(natural);
        // Once the direction is turned, a table follows the other one, though that has no writers yet.
        let leads = self.head.phase.direction() == Some(side) || self.is_for_good();
        if leads && there != self.expected[number] {
            let said = |item: &Option<Item>| item.as_ref().map_or("nothing".to_owned(), short);
            let (there, wanted) = (said(&there), said(&self.expected[number]));
            self.fail(format!("k{number} of {side:?} is {there}, and its last writer wrote {wanted}"));
        }
        // A late writer of the target can put it at another place, until that is put right. Not while readers are there.
        let is_late = |(of, at): &(usize, usize)| *of == 1 && self.streams[1][*at].number == number;
        let can_be_late = side != Direction::Reverse && self.leaked.iter().any(is_late);
        if self.places(number).count() > 1 && !can_be_late {
            self.fail(format!("k{number} is at two places of the target"));
        }
        if self.is_filling() {
            return;
        }
        let buried =
            self.item(Direction::Reverse, number).is_some_and(|item| item.contains_key(TOMBSTONE_ATTRIBUTE));
        if buried && !self.head.leaves_tombstones() {
            self.fail(format!("a reader of the target meets a tombstone at k{number}"));
        }
        let mut late = std::mem::take(&mut self.late);
        for write in late.iter_mut().filter(|write| write.number == number && write.side == other(side)) {
            // Where keys can move, an item that is elsewhere by now does not say that it was deleted here.
            let says = write.new.is_some() || self.scene.layout == Layout::Fixed || self.is_gone(number);
            let seen = self.seen(write.side, write.new.as_ref());
            write.said |= says && self.said_at(&write.key, number) == seen;
        }
        self.late = late;
    }

    /// This place of the other table as the open table's items require it; the item of this number first.
    fn said_at(&self, key: &Item, number: usize) -> Option<Item> {
        let (side, table) = (self.truth_of, self.model(other(self.truth_of)));
        let all = std::iter::once(number).chain(0..KEYS);
        let all = all.filter_map(|number| self.carried(side, self.expected[number].as_ref()));
        all.into_iter().find(|item| table.key_of(item).as_ref() == Some(key))
    }

    /// Has the open table nothing of this item that the other one would have?
    fn is_gone(&self, number: usize) -> bool {
        self.carried(self.truth_of, self.expected[number].as_ref()).is_none()
    }

    /// Everything has drained.
    pub(super) fn conclude(&mut self) -> Result<(), Violation> {
        let Some(open) = self.open else { return Err(Violation::new("no table is open")) };
        // After a switch for good, writes to the source do not matter.
        if self.head.phase == Phase::Finalised {
            return self.check_clean();
        }
        // Until the target is tidy, the backfill may be to come.
        if !self.head.swept {
            return Ok(());
        }
        for number in 0..KEYS {
            if !self.is_same(open, number) {
                return Err(Violation::new(format!("at rest, k{number} is not the same on both sides")));
            }
        }
        for write in &self.late {
            // In quarantine it stands where a person sees it: no switch begins before it is dealt with.
            let is_known = write.said
                || self.is_noted(write)
                || self.is_parked(write.side, &write.key)
                || self.looks_own(write)
                || self.is_of_others(write);
            if !is_known {
                return Err(Violation::new(format!(
                    "a late write of k{} to {:?} in turn {}, record {}, is neither carried over nor noted, nor in quarantine",
                    write.number, write.side, write.turn, write.at
                )));
            }
        }
        self.check_ledger()?;
        self.check_notes()
    }

    /// A limit: an old copy was put back and deleted by the retrofit, so a late deletion of what it is a copy of is taken for its own.
    fn looks_own(&self, write: &LateWrite) -> bool {
        let old = self.record_of(write).old.as_ref();
        write.new.is_none() && old.is_some_and(|old| self.looks_removed(write.side, write.number, old))
    }

    /// Where keys can move: the source's programs go on to write what the retrofit does not take, at keys that no item of the target has.
    fn is_of_others(&self, write: &LateWrite) -> bool {
        let is_taken = |item: &Item| self.scene.mapping.selects(item);
        let record = self.record_of(write);
        let none_is_taken = ![&record.old, &record.new].into_iter().flatten().any(is_taken);
        self.scene.layout != Layout::Fixed && write.side == Direction::Forward && none_is_taken
    }

    fn record_of(&self, write: &LateWrite) -> &ChangeRecord {
        &self.streams[index(write.side)][write.at].record
    }

    /// No item has a mark and the ledger no row, unless they were to stay or an application put a mark back.
    fn check_clean(&self) -> Result<(), Violation> {
        if !self.keeps_marks && self.control.within("ledger#").next().is_some() {
            return Err(Violation::new("the retrofit is over, and the ledger has rows"));
        }
        let has_marks = |item: &Item| OWN_ATTRIBUTES.iter().any(|name| item.contains_key(*name));
        let mut items = self.table(Direction::Reverse).iter().map(|(_, item)| item);
        let kept = self.keeps_marks || self.copied[1].contains(&true);
        match items.find(|item| has_marks(item)).filter(|_| !kept) {
            Some(item) => {
                Err(Violation::new(format!("the retrofit is over, and {} has its marks", short(item))))
            }
            None => Ok(()),
        }
    }

    /// Each row of a ledger says where its item is.
    fn check_ledger(&self) -> Result<(), Violation> {
        for number in (0..KEYS).filter(|_| self.scene.layout != Layout::Fixed) {
            let named = |side: Direction, key: &Item| {
                self.row_of_key(side, key).and_then(LedgerRow::read).and_then(|row| row.target)
            };
            let own = self.scene.source_key(number);
            // Two rows that name each other.
            let place = named(Direction::Forward, own)
                .filter(|place| named(Direction::Reverse, place).as_ref() == Some(own));
            let there = self.item(Direction::Reverse, number);
            let there = there.and_then(|item| self.scene.mapping.target().key_of(item));
            if place != there && !self.copied_late[number] {
                return Err(Violation::new(format!("the ledger does not say where k{number} is")));
            }
        }
        Ok(())
    }

    /// Is the item in the quarantine of the direction that leads from this side? Only a person empties it: the next
    /// switch waits for that.
    fn is_parked(&self, side: Direction, key: &Item) -> bool {
        let entries = self.quarantine(self.scene.mapping_from(side).rows_name());
        entries.iter().any(|entry| entry.key.as_ref() == Some(key))
    }

    /// Each note is of a late write, or of one that came after a stop.
    fn check_notes(&self) -> Result<(), Violation> {
        let mut noted = BTreeSet::new();
        for row in self.notes() {
            let of = [control::TABLE, control::SOURCE_KEY].map(|name| format!("{:?}", row.get(name)));
            let sequence = row.get(control::SORT).map(|sort| format!("{sort:?}"));
            let sequence = sequence.and_then(|sort| Some(sort.rsplit_once('#')?.1.to_owned()));
            if !noted.insert((of, sequence)) {
                return Err(Violation::new(format!("{} is noted twice", short(row))));
            }
            let fits = |side: Direction| {
                let records = self.streams[index(side)].iter().enumerate();
                let fits = |(_, record): &(usize, &Published)| {
                    is_of(row, record.record.sequence.padded())
                        && row.get(control::SOURCE_KEY) == Some(&map(&record.record.key))
                };
                records.filter(fits).any(|(at, record)| self.may_be_late(side, record.number, at))
            };
            if !fits(Direction::Forward) && !fits(Direction::Reverse) {
                return Err(Violation::new(format!("{} is noted, and was not late", short(row))));
            }
        }
        Ok(())
    }

    fn may_be_late(&self, side: Direction, number: usize, at: usize) -> bool {
        let published = &self.streams[index(side)][at];
        let ChangeRecord { sequence, key, .. } = &*published.record;
        // A limit: changes of the first phase left no row.
        if is_before_rows(&self.head, published.written_at) {
            return true;
        }
        // A limit: while the tidying begins, an item can be written without a row. Its fence is newer than that of its row then, and the
        // retrofit's own next write can be noted.
        let fence = |image: &Option<Item>| image.as_ref().and_then(Fence::on);
        if fence(&published.record.new).is_some_and(|now| Some(now) < fence(&published.record.old)) {
            return true;
        }
        let known =
            |write: &LateWrite| write.side == side && write.key == *key && write.sequence == *sequence;
        // A limit: an old copy's fence can hide that what came after it is the retrofit's own.
        if self.is_copied(side, number) {
            return true;
        }
        // Of an item with a late write, a deletion of the retrofit's own may be noted too.
        let leaked =
            |(of, at): &(usize, usize)| *of == index(side) && self.streams[*of][*at].place == published.place;
        self.late.iter().any(known) || self.leaked.iter().any(leaked)
    }

    fn notes(&self) -> impl Iterator<Item = &Item> {
        let partition = format!("{}|", control::late_partition(self.scene.mapping.name()));
        self.control.within(&partition).collect::<Vec<_>>().into_iter()
    }

    fn is_noted(&self, write: &LateWrite) -> bool {
        let key = map(&write.key);
        let image = |row: &Item, name: &str| match row.get(name) {
            Some(AttributeValue::M(image)) => Some(natural(&Item::from(image.clone()))),
            _ => None,
        };
        let old = self.record_of(write).old.as_ref().map(natural);
        let is = |row: &Item| {
            row.get(control::SOURCE_KEY) == Some(&key)
                && is_of(row, write.sequence.padded())
                && image(row, control::NEW) == write.new
                && image(row, control::OLD) == old
        };
        self.notes().any(is)
    }

    /// How many late writes there were, and how many are noted.
    pub(super) fn late_writes(&self) -> (u64, u64) {
        (self.late.len() as u64, self.notes().count() as u64)
    }
}

fn is_of(row: &Item, sequence: &str) -> bool {
    matches!(row.get(control::SORT), Some(AttributeValue::S(sort)) if sort.contains(sequence))
}

fn map(key: &Item) -> AttributeValue {
    AttributeValue::M(key.iter().map(|(name, value)| (name.to_string(), value.clone())).collect())
}
