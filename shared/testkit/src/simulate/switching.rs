//! Writers move to the target and back, simulated: the core's real code over tables in memory, one thread, one seed.
//!
//! A history begins with an empty target, or with one that is tidy. Writers of the open table, both streams, the functions that carry changes and
//! operators who switch and return take turns, one request at a time. Operators die and repeat; requests are carried out long
//! after their senders are gone; records come twice, or are published late; writers that should have stopped go on.
//!
//! What holds after every turn: the open table holds what its last writer wrote. At the end both tables say the same, and each late
//! write was carried over or is noted with what it wrote.
//!
//! - `scene` is the retrofit, `world` are tables, streams and what writers wrote, `shards` the streams' shards;
//! - `carry` moves the functions on, `operate` drives the core's own operator, `passes` are backfills and comparisons, `turned` is what
//!   a turn means for writers;
//! - [`mutant`] is how the protocol is weakened; `weaken` does it to the operator, `judge` says what is wrong.

mod carry;
mod judge;
pub mod mutant;
mod operate;
mod passes;
mod play;
mod scene;
mod shards;
mod turned;
mod weaken;
mod work;
mod world;

use std::collections::BTreeMap;

pub use mutant::SwitchMutant;

use super::Violation;

/// What came of a history.
pub struct SwitchHistory {
    /// The violation, if there is one.
    pub wrong: Option<Violation>,
    /// How often writers were moved, in either direction.
    pub moves: u64,
    /// How many late writes there were, and how many of them are noted.
    pub late: (u64, u64),
    /// How often the weakened protocol made a difference.
    pub bites: u64,
    /// How operations ended, by the kind of end and its code.
    pub outcomes: BTreeMap<String, u64>,
    /// What happened, if it was asked for.
    pub trace: Vec<String>,
}

/// Can the target's key move in the history of this seed?
pub fn has_ledger(seed: u64) -> bool {
    scene::Layout::of(seed) != scene::Layout::Fixed
}

/// Plays the history of this seed.
pub fn history(seed: u64, mutant: Option<SwitchMutant>, trace: bool) -> SwitchHistory {
    let mut world = world::World::new(seed, mutant, trace);
    let wrong = world.play().err();
    SwitchHistory {
        wrong,
        moves: world.moves,
        late: world.late_writes(),
        bites: world.bites,
        outcomes: world.outcomes,
        trace: world.trace.unwrap_or_default(),
    }
}
