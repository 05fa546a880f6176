//! The turn of the direction, as the writers see it: what the former table's writers wrote must be in the other one now, but for what came
//! too late.

use keyfold_core::retrofit::control::Direction;
use keyfold_core::value::Item;

use super::scene::{KEYS, index};
use super::world::{LateWrite, Published, TrueWrite, World, natural};

impl World {
    /// The writers of this table may write from now on; it was looked last at this turn whether all had arrived.
    pub(super) fn let_in(&mut self, side: Direction, looked: u64) {
        self.let_in_at = self.turns;
        if self.truth_of == side {
            return;
        }
        self.note(|| format!("writers of {side:?} may write, all was looked at in turn {looked}"));
        let former = self.truth_of;
        for number in 0..KEYS {
            self.take_over(former, side, number, looked);
        }
        self.truth_of = side;
        self.changed = true;
    }

    /// Writes of the former table must be in this one now, except for those that came too late.
    fn take_over(&mut self, former: Direction, side: Direction, number: usize, looked: u64) {
        let there = self.item(side, number).map(natural);
        let written = std::mem::take(&mut self.written[number]);
        let stream = &self.streams[index(former)];
        // A write that was not in the stream by then, or came after the stop, may be too late.
        let on_time = |write: &TrueWrite| !write.leaked && stream[write.at].visible_at <= looked;
        let from = written.iter().rposition(on_time);
        let before = match from {
            Some(at) => written[at].new.clone(),
            None => self.started(former, number, &written),
        };
        let late = written[from.map_or(0, |at| at + 1)..].to_vec();
        // A scan or a repair can have carried it: then its record is noted although it was not late.
        self.leaked.extend(late.iter().map(|write| (index(former), write.at)));
        let states = std::iter::once(before).chain(late.iter().map(|write| write.new.clone()));
        let agrees =
            |state: &Option<Item>| self.carried(former, state.as_ref()) == self.seen(side, there.as_ref());
        let arrived = states.collect::<Vec<_>>().iter().rposition(agrees);
        // What came to this table after the last look is an ordinary write of it from now on; and what was not in its stream by
        // then, unless the former table's writers wrote the item too: then both sides were compared. It makes no difference where only late
        // writers wrote the item here since.
        let of_item = self.streams[index(side)].iter().filter(|record| record.number == number);
        let newest = of_item.map(|record| (&record.record.key, &record.record.sequence)).next_back();
        let of_late = self.late.iter().filter(|write| write.side == side && write.number == number);
        let intact = of_late.map(|write| (&write.key, &write.sequence)).next_back() == newest;
        // A limit of the protocol: an old copy can pass for the retrofit's own item.
        let stream = &self.streams[index(side)];
        let last_at = |key: &Item| stream.iter().rfind(|record| record.record.key == *key);
        let copied = self.copied_late[number];
        let is_copy = |write: &LateWrite| {
            copied && last_at(&write.key).is_some_and(|last| last.record.sequence == write.sequence)
        };
        let early: Vec<&mut LateWrite> = self
            .late
            .iter_mut()
            .filter(|write| write.side == side && write.number == number)
            .filter(|write| {
                let unseen = write.visible_at > looked && (from.is_none() || intact);
                write.turn > looked || unseen || is_copy(write)
            })
            .collect();
        if early.last().is_some_and(|write| write.new == there) {
            early.into_iter().for_each(|write| write.said = true);
            self.expected[number] = there;
            return;
        }
        let Some(arrived) = arrived else {
            return self
                .fail(format!("writers of {side:?} are let in, and k{number} is not what was written"));
        };
        for write in late.into_iter().skip(arrived) {
            let Published { record, visible_at, dealt_with, .. } = &self.streams[index(former)][write.at];
            // A function has carried the item over already. Each later write has its own record.
            if *dealt_with {
                continue;
            }
            let (key, sequence, visible_at) = (record.key.clone(), record.sequence.clone(), *visible_at);
            self.late.push(LateWrite {
                side: former,
                at: write.at,
                number,
                key,
                sequence,
                new: write.new,
                visible_at,
                turn: self.turns,
                said: write.as_retrofit,
            });
        }
        self.expected[number] = there;
    }

    /// The item before the first of these writes.
    fn started(&self, side: Direction, number: usize, written: &[TrueWrite]) -> Option<Item> {
        match written.first() {
            Some(first) => self.streams[index(side)][first.at].record.old.as_ref().map(natural),
            None => self.expected[number].clone(),
        }
    }

    /// The item of the other table for an item of this one; the same for all items without a place there.
    pub(super) fn carried(&self, side: Direction, state: Option<&Item>) -> Option<Item> {
        self.scene.mapping_from(side).target_item(state?).ok().flatten()
    }

    /// An item of a table as far as the other one concerns it: items of the source that are not selected do not.
    pub(super) fn seen(&self, side: Direction, item: Option<&Item>) -> Option<Item> {
        item.filter(|item| side == Direction::Reverse || self.scene.mapping.selects(item)).cloned()
    }
}
