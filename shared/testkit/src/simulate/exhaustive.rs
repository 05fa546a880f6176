//! Small and exhaustive: two source keys, a few changes, a few faults, and every order in which they can happen.
//!
//! The walk goes depth first over all that can happen next. States that were met before are not walked again; the number of
//! interleavings counts them as often as there are ways to them. Steps of the two keys that touch nothing in common come
//! to the same in either order, and are walked in one of them (see `transition`). At every end, the simulator's own checks run:
//! as it has drained, after repairs, and after finalising.

mod compact_state;
pub(super) mod hash;
mod open_task;
mod tables;
mod task_table;
mod transition;

use std::collections::{HashMap, HashSet};

use keyfold_core::retrofit::Protocol;

use super::{Mutant, Violation};
pub use compact_state::Bounds;
pub use task_table::Orders;

use compact_state::CompactState;
use task_table::TaskTable;
use transition::Transition;

/// The explored part.
#[derive(Debug, Clone, Default)]
pub struct Walked {
    /// States that differ.
    pub states: usize,
    /// Ways through them, from the beginning to an end.
    pub interleavings: f64,
    /// Ends that differ in what the tables hold.
    pub ends: usize,
    /// The bound on states was reached.
    pub cut_short: bool,
    /// The violation, and the steps to it.
    pub wrong: Option<(Violation, Vec<String>)>,
}

/// Why a walk ends early.
enum End {
    Violation(Violation),
    TooMany,
}

struct Walk {
    tasks: TaskTable,
    bounds: Bounds,
    /// For each state: in how many ways it goes on to an end.
    ways: HashMap<u64, f64>,
    /// Ends that were met.
    ends: HashSet<u64>,
    /// Are the ends checked?
    checked: bool,
    path: Vec<Transition>,
}

/// Walks the interleavings of this protocol, from tables in which both source items exist.
pub fn exhaust(protocol: Protocol, bounds: Bounds, orders: Orders, mutant: Option<Mutant>) -> Walked {
    let mut walk = Walk::new(TaskTable::new(protocol, mutant, orders), bounds, true);
    let ended = walk.from(&CompactState::new(&walk.tasks, bounds));
    let mut walked = Walked { states: walk.ways.len(), ends: walk.ends.len(), ..Walked::default() };
    match ended {
        Ok(ways) => walked.interleavings = ways,
        Err(End::TooMany) => walked.cut_short = true,
        Err(End::Violation(wrong)) => {
            walked.wrong =
                Some((wrong, walk.path.iter().map(|transition| format!("{transition:?}")).collect()));
        }
    }
    walked
}

impl Walk {
    fn new(tasks: TaskTable, bounds: Bounds, checked: bool) -> Walk {
        Walk { tasks, bounds, ways: HashMap::new(), ends: HashSet::new(), checked, path: Vec::new() }
    }

    fn from(&mut self, state: &CompactState) -> Result<f64, End> {
        let hash = state.hash(self.tasks.walked);
        if let Some(ways) = self.ways.get(&hash) {
            return Ok(*ways);
        }
        if self.ways.len() >= self.bounds.states {
            return Err(End::TooMany);
        }
        // A way that returns to a state on it is no new way.
        self.ways.insert(hash, 0.0);
        let mut ways = 0.0;
        if state.stopped == [true; 2] {
            if self.ends.insert(state.tables_hash(&self.tasks)) && self.checked {
                state.check(&self.tasks).map_err(End::Violation)?;
            }
            ways += 1.0;
        }
        for transition in state.steps(&mut self.tasks) {
            self.path.push(transition);
            let next = state.after(transition, &mut self.tasks);
            ways += self.from(&next)?;
            self.path.pop();
        }
        self.ways.insert(hash, ways);
        Ok(ways)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::Mutant::{
        LedgerUnguarded, NoFence, NoGuard, NoInputs, NoLedger, NoOwner, NoTombstone, Stub,
    };

    /// Where a walk of these orders can end, and through how many states.
    fn ends(
        protocol: Protocol,
        mutant: Option<Mutant>,
        bounds: Bounds,
        orders: Orders,
    ) -> (HashSet<u64>, usize) {
        let mut walk = Walk::new(TaskTable::new(protocol, mutant, orders), bounds, false);
        assert!(walk.from(&CompactState::new(&walk.tasks, bounds)).is_ok());
        (walk.ends, walk.ways.len())
    }

    /// Weakened protocols have ends that the right one has not: an order that is missing is seen there first.
    #[test]
    fn orders_that_are_left_out_come_to_no_other_end() {
        let few = [(2, 1, 0, 1), (2, 0, 1, 0), (1, 1, 2, 1)];
        let walks: [(_, &[_]); 3] = [
            (Protocol::InPlace, &[None, Some(NoInputs), Some(Stub)]),
            (Protocol::Fenced, &[None, Some(NoTombstone), Some(NoGuard), Some(NoFence)]),
            (Protocol::Ledger, &[None, Some(NoOwner), Some(NoLedger), Some(LedgerUnguarded)]),
        ];
        for (protocol, mutants) in walks {
            for mutant in mutants {
                for (changes, crashes, duplicates, discards) in few {
                    let bounds = Bounds { changes, crashes, duplicates, discards, states: 10_000_000 };
                    let (all, states) = ends(protocol, *mutant, bounds, Orders::All);
                    let (distinct, fewer) = ends(protocol, *mutant, bounds, Orders::Distinct);
                    assert_eq!(all, distinct, "{protocol:?}, {mutant:?}, {bounds:?}");
                    assert!(fewer < states, "{protocol:?}: nothing is left out of {states} states");
                }
            }
        }
    }
}
