//! The turns of a history, and its end.

use keyfold_core::retrofit::Quarantined;
use keyfold_core::retrofit::control::{Direction, Phase};

use super::super::Violation;
use super::super::scenario::text;
use super::scene::{KEYS, Layout, VALUES, index};
use super::world::{MOVES_MAX, Operator, SwitchFaults, World};

/// Turns of a history.
const TURNS_MAX: usize = 1_200;
/// Turns until everything must have drained.
const END_TURNS_MAX: usize = 20_000;
/// Turns after a switch for good.
const SETTLED_TURNS_MAX: u64 = 300;

impl World {
    /// Plays the history to its end.
    pub(super) fn play(&mut self) -> Result<(), Violation> {
        let turns = self.random.between(200, TURNS_MAX);
        let mut settled_for = 0;
        for _ in 0..turns {
            if settled_for >= SETTLED_TURNS_MAX {
                break;
            }
            settled_for += u64::from(self.is_for_good());
            self.turn();
            self.check()?;
        }
        let SwitchFaults { lost, full, clocks, empty_pages, .. } = self.faults;
        self.faults = SwitchFaults { lost, full, clocks, empty_pages, ..SwitchFaults::default() };
        self.doubts = 2;
        self.ending = true;
        self.operators[1] = Operator::default();
        for _ in 0..END_TURNS_MAX {
            if self.is_at_rest() {
                return self.conclude();
            }
            self.last_turn();
            self.check()?;
        }
        Err(Violation::new("it never comes to rest"))
    }

    /// Has the way back ended?
    pub(super) fn is_for_good(&self) -> bool {
        matches!(self.head.phase, Phase::Settled | Phase::Finalising | Phase::Finalised)
    }

    pub(super) fn moves_left(&self) -> u64 {
        if self.ending { 0 } else { MOVES_MAX.saturating_sub(self.moves) }
    }

    fn turn(&mut self) {
        self.turns += 1;
        self.refresh_open();
        match self.random.below(100) {
            99 if self.faults.splits => self.split_a_shard(),
            98 if self.faults.restores => self.restore(),
            // After the last description of the tables no operator can notice it.
            97 if self.faults.streams
                && self.head.phase == Phase::Closing
                && !self.described
                && self.random.chance(10) =>
            {
                let side = *self.random.pick(&[Direction::Forward, Direction::Reverse]);
                self.replace_stream(side);
            }
            0..12 => {
                let idle = self.faults.flood && self.random.chance(75);
                if let Some(side) = self.open.filter(|_| !idle) {
                    self.application_writes(side);
                }
            }
            12..14 if self.faults.leaks => self.leak(),
            68..76 if self.faults.flood => self.leak(),
            64..66 if self.faults.expiry => {
                let side = *self.random.pick(&[Direction::Forward, Direction::Reverse]);
                if self.may_leak(side) {
                    self.expire(side);
                }
            }
            66..68 if self.faults.old_copies => {
                let side = *self.random.pick(&[Direction::Forward, Direction::Reverse]);
                if self.open == Some(side) || (self.faults.leaks && self.may_leak(side)) {
                    self.put_old_copy(side);
                }
            }
            14..34 => self.deliver_something(),
            34..36 if self.faults.duplicates => {
                let side = *self.random.pick(&[Direction::Forward, Direction::Reverse]);
                self.deliver_again(side);
            }
            36..38 => self.repair(),
            52..60 if self.faults.hesitant => self.repair(),
            38..40 => self.carry_out_late(),
            40..52 => {
                let at = self.random.below(self.operators.len());
                self.operate(at);
            }
            _ => self.advance_any(),
        }
    }

    /// A writer who should have stopped writes.
    fn leak(&mut self) {
        let side = *self.random.pick(&[Direction::Forward, Direction::Reverse]);
        if self.may_leak(side) {
            self.application_writes(side);
        }
    }

    /// Writers go on where they were; a table is known once its writers were let in.
    pub(super) fn may_leak(&self, side: Direction) -> bool {
        let leads = self.head.phase.direction();
        let was_open = side == Direction::Forward || self.head.was_reversed();
        was_open && (leads != Some(side) || self.truth_of == side)
    }

    fn deliver_something(&mut self) {
        let side = *self.random.pick(&[Direction::Forward, Direction::Reverse]);
        let records = self.deliverable(side);
        if let Some(&at) = self.random.any(&records) {
            self.deliver(side, at);
        }
    }

    /// Nothing new begins; all that is under way ends.
    fn last_turn(&mut self) {
        self.turns += 1;
        self.refresh_open();
        match self.random.below(10) {
            0..2 => self.operate(0),
            2..5 => self.deliver_something(),
            5 => self.mend(),
            6 => self.carry_out_late(),
            _ => self.advance_any(),
        }
    }

    /// Writers of the target write items without a way back again, and a person takes them out of the quarantine.
    fn mend(&mut self) {
        let names = [self.scene.mapping.rows_name().to_owned(), self.scene.mapping.other_rows_name()];
        // Many changes and repairs of one item would keep each other from coming to an end.
        if names.iter().all(|name| self.quarantine(name).is_empty()) || self.works.len() >= KEYS {
            return;
        }
        match self.open.filter(|_| !self.quarantined().is_empty()) {
            Some(Direction::Reverse) => self.mend_target(),
            Some(Direction::Forward) if self.scene.layout == Layout::Crowded => self.mend_source(),
            _ => {}
        }
        // An entry of the other direction goes once both sides agree: a switch waits for that.
        self.repair();
    }

    /// No two items want one place.
    fn mend_source(&mut self) {
        let side = Direction::Forward;
        for (number, value) in VALUES.iter().enumerate().take(KEYS) {
            let Some(there) = self.item(side, number).filter(|there| there["a"] != text(value)) else {
                continue;
            };
            let mut item = there.clone();
            item.insert("a".to_owned(), text(value));
            let item = self.keyed(side, number, item);
            self.application_writes_this(side, number, Some(&item));
        }
    }

    /// Where the source has an item that the retrofit does not take, the target's goes; else it is one that has a way back.
    fn mend_target(&mut self) {
        let side = Direction::Reverse;
        for number in 0..KEYS {
            let occupied =
                self.item(Direction::Forward, number).is_some_and(|item| !self.scene.mapping.selects(item));
            let item = self.made(side);
            let new = (!occupied).then(|| self.keyed(side, number, item));
            self.application_writes_this(side, number, new.as_ref());
        }
    }

    pub(super) fn is_at_rest(&self) -> bool {
        // Once the retrofit is over, no function gets changes.
        let is_over = self.head.phase == Phase::Finalised;
        let dealt_with =
            |side: Direction| is_over || self.streams[index(side)].iter().all(|record| record.dealt_with);
        self.open.is_some()
            && !self.must_fill()
            && (!self.is_for_good() || self.head.phase == Phase::Finalised)
            && self.works.is_empty()
            && self.zombies.is_empty()
            && dealt_with(Direction::Forward)
            && dealt_with(Direction::Reverse)
            && self.quarantined().is_empty()
    }

    /// The entries of the direction in which changes are carried now. Those that a late task entered for the other one do not matter.
    pub(super) fn quarantined(&self) -> Vec<Quarantined> {
        let mapping = &self.scene.mapping;
        match self.head.phase.direction() {
            Some(Direction::Forward) => self.quarantine(mapping.rows_name()),
            Some(Direction::Reverse) => self.quarantine(&mapping.other_rows_name()),
            None => Vec::new(),
        }
    }
}
