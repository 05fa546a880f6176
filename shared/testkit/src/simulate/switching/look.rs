//! What functions remember of the retrofit's row: a look that said yes serves the batches of its stream for a while. So a record can be
//! younger than the look by which it is dealt with.
//!
//! What is written then is safe: its generation is sealed before the row changes. A record is dropped only if the row is seen to be the
//! same still, and a look that says anything but yes is never remembered.

use keyfold_core::retrofit::TaskResult;
use keyfold_core::retrofit::control::{Delivery, Direction};

use super::mutant::SwitchMutant;
use super::world::{World, index};

/// For so many turns a look is remembered.
const LOOK_TURNS: u64 = 60;

/// A look at the retrofit's row.
#[derive(Debug, Clone)]
pub(super) struct Look {
    delivery: Delivery,
    /// The row's version.
    row: u64,
    turn: u64,
}

impl World {
    /// What becomes of records of this side, by a look of now or by one that is remembered. With the version of the row that is
    /// remembered.
    pub(super) fn looked(&mut self, side: Direction) -> (Delivery, Option<u64>) {
        let remembered = self.looks[index(side)].clone();
        if let Some(look) = remembered.filter(|look| self.turns <= look.turn + LOOK_TURNS) {
            self.note(|| format!("by the look of turn {}", look.turn));
            return (look.delivery, Some(look.row));
        }
        let delivery = self.delivery(side);
        let is_yes = matches!(delivery, Delivery::Carry(_));
        let is_kept = self.faults.remembers && (is_yes || self.bites(SwitchMutant::NoRemembered));
        let (row, turn) = (self.head.version, self.turns);
        self.looks[index(side)] = is_kept.then(|| Look { delivery: delivery.clone(), row, turn });
        (delivery, None)
    }

    /// May a record count as dealt with that ended so, by a look at this row?
    pub(super) fn is_dealt_with(
        &mut self,
        side: Direction,
        result: &TaskResult,
        remembered: Option<u64>,
    ) -> bool {
        let Some(row) = remembered else { return result.is_settled() };
        if *result == TaskResult::Written {
            return true;
        }
        self.looks[index(side)] = None;
        result.is_settled() && self.head.version == row
    }
}
