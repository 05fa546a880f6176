//! The retrofit, simulated: one thread, one seed, the core's real code over tables in memory, and everything that can
//! go wrong.
//!
//! A history has writers, a stream with shards, the replicator's invocations, the backfill's segments and the verifier.
//! All of them take turns, one request at a time, in an order that the seed draws; faults are switched on and off for
//! each history. At its end everything drains, and then the tables must be right: see `check`.
//!
//! - [`scenario`] is the retrofit, one for each protocol; `store` and `stream` are what a history plays on, `truth` is what
//!   writers wrote;
//! - `play` has the turns, `conclude` the end; `writers`, `invoke`, `scan` and `verifier` are who takes turns;
//! - `look` is what replicators remember of the retrofit's row;
//! - `tasks` moves tasks on, `send` carries requests out, `throttle` does not;
//! - [`fault`] is what goes wrong around the protocol, [`mutant`] how the protocol itself is weakened;
//! - `switching` plays histories of core's operator: the target is tidied, writers move there and back, the retrofit is finished;
//! - [`campaign`] plays many histories, on several threads;
//! - [`exhaustive`] walks every order of a few things that can happen.

pub mod campaign;
mod check;
mod conclude;
mod disturb;
pub mod exhaustive;
pub mod fault;
mod invoke;
mod look;
pub mod mutant;
mod play;
mod scan;
pub mod scenario;
mod send;
mod state;
mod store;
mod stream;
mod switching;
mod tasks;
mod throttle;
mod truth;
mod verifier;
mod work;
mod writers;

pub use campaign::{Campaign, Tally};
pub use exhaustive::{Bounds, Orders, Walked, exhaust};
pub use fault::{Fault, Hits, WriterAction, WriterActions};
pub use mutant::Mutant;
pub use scenario::{HistoryKind, Scenario};
pub use truth::Violation;

use state::SimulationState;

impl HistoryKind {
    /// Is the history of this seed of this kind?
    pub fn has(&self, seed: u64) -> bool {
        match self {
            HistoryKind::Items(_) => true,
            HistoryKind::Switch { ledger } => switching::has_ledger(seed) == *ledger,
        }
    }
}

/// The outcome of a history.
pub struct History {
    /// The violation, if any.
    pub wrong: Option<Violation>,
    /// How often each fault was hit.
    pub hits: Hits,
    /// How often writers did what.
    pub writer_actions: WriterActions,
    /// How often writers were moved, how many late writes there were, and how many of them are noted.
    pub moves: [u64; 3],
    /// How often the weakened protocol made a difference.
    pub bites: u64,
    /// What happened, if it was asked for.
    pub trace: Vec<String>,
}

/// Plays the history of this seed.
pub fn history(kind: &HistoryKind, seed: u64, mutant: Option<Mutant>, trace: bool) -> History {
    let HistoryKind::Items(scenario) = kind else {
        let (wrong, moves, bites, trace) = switching::history(seed, mutant, trace);
        let (hits, writer_actions) = ([0; Fault::ALL.len()], [0; WriterAction::ALL.len()]);
        return History { wrong, hits, writer_actions, moves, bites, trace };
    };
    let mut state = SimulationState::new(scenario, seed, mutant, trace);
    let wrong = state.play().err();
    History {
        wrong,
        hits: state.faults.hits,
        writer_actions: state.faults.writer_actions,
        moves: [0; 3],
        bites: state.bites,
        trace: state.trace.unwrap_or_default(),
    }
}
