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
//! - `weaken` weakens the operator, `judge` says what is wrong.

mod carry;
mod judge;
mod operate;
mod passes;
mod play;
mod scene;
mod shards;
mod turned;
mod weaken;
mod work;
mod world;

use super::mutant::Mutant;
use super::truth::Violation;

/// Can the target's key move in the history of this seed?
pub(super) fn has_ledger(seed: u64) -> bool {
    scene::Layout::of(seed) != scene::Layout::Fixed
}

/// Plays the history of this seed: the violation, the moves of writers with late writes and those noted, what the weakened protocol
/// made different, and the trace.
pub(super) fn history(
    seed: u64,
    mutant: Option<Mutant>,
    trace: bool,
) -> (Option<Violation>, [u64; 3], u64, Vec<String>) {
    let mut world = world::World::new(seed, mutant, trace);
    let wrong = world.play().err();
    let (late, noted) = world.late_writes();
    (wrong, [world.moves, late, noted], world.bites, world.trace.unwrap_or_default())
}
