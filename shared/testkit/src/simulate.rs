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
pub mod exhaustive;
pub mod fault;
pub mod mutant;
mod outcome;
pub mod scenario;
mod store;
mod switching;
mod work;

pub use campaign::{Campaign, Tally};
pub use exhaustive::{Bounds, Orders, Walked, exhaust};
pub use fault::{Fault, Hits, WriterAction, WriterActions};
pub use mutant::Mutant;
pub use outcome::{History, Violation};
pub use scenario::{HistoryKind, Scenario};

impl HistoryKind {
    /// Is the history of this seed of this kind?
    pub fn has(&self, seed: u64) -> bool {
        match self {
            HistoryKind::Fill(_) => true,
            HistoryKind::Switch { ledger } => switching::has_ledger(seed) == *ledger,
        }
    }
}

/// Plays the history of this seed.
pub fn history(kind: &HistoryKind, seed: u64, mutant: Option<Mutant>, trace: bool) -> History {
    switching::history(*kind, seed, mutant, trace)
}
