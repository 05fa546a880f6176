//! Writers move to the target and back, simulated: the core's real code over tables in memory, one thread, one seed.
//!
//! A history begins with a target that is tidy. Writers of the open table, both streams, the functions that carry changes and
//! operators who switch and return take turns, one request at a time. Operators die and repeat; requests are carried out long
//! after their senders are gone; records come twice, or are published late; writers that should have stopped go on.
//!
//! What holds after every turn: the open table holds what its last writer wrote. At the end both tables say the same, and each late
//! write was carried over or is noted with what it wrote.
//!
//! - `scene` is the retrofit, `world` are tables, streams and what writers wrote; `work` is who is at work: `carry` moves the functions on, `operate` the operators;
//! - `choices` are drawn from the seed; `walk` takes each of them once, for one item;
//! - [`mutant`] is how the protocol is weakened; `judge` says what is wrong.

mod carry;
mod choices;
mod judge;
pub mod mutant;
mod operate;
mod play;
mod scene;
mod walk;
mod work;
mod world;

pub use mutant::SwitchMutant;
pub use walk::{WalkBounds, WalkEnd, walk};

use super::Violation;

/// What came of a history.
pub struct SwitchHistory {
    /// What is wrong, if anything.
    pub wrong: Option<Violation>,
    /// How often writers were moved, in either direction.
    pub moves: u64,
    /// How many late writes there were, and how many of them are noted.
    pub late: (u64, u64),
    /// How often the weakened protocol made a difference.
    pub bites: u64,
    /// What happened, if it was asked for.
    pub trace: Vec<String>,
}

/// Can the target's key move in the history of this seed? Then writers move once and for all.
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
        trace: world.trace.unwrap_or_default(),
    }
}
