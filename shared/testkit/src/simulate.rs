//! The retrofit, simulated: one thread, one seed, the core's real code over tables in memory, and everything that can
//! go wrong.
//!
//! A history has writers, a stream with shards, the replicator's invocations and the backfill's segments. All of them
//! take turns, one request at a time, in an order that the seed draws; faults are switched on and off for each history.
//! At its end everything drains, and then the tables must be right: see `check`.
//!
//! - [`scene`] is the retrofit, one for each protocol; `store` and `stream` are what a history plays on;
//! - `world` carries requests out, `tasks` moves tasks on, `play` has the turns, `conclude` the end;
//! - [`fault`] is what goes wrong around the protocol, [`mutant`] how the protocol itself is weakened.

mod check;
mod conclude;
pub mod fault;
pub mod mutant;
mod naive;
mod play;
pub mod scene;
mod store;
mod stream;
mod tasks;
mod work;
mod world;

pub use check::Wrong;
pub use fault::Fault;
pub use mutant::Mutant;
pub use naive::naive;
pub use scene::Scene;

use world::World;

/// What came of a history.
pub struct History {
    /// What is wrong, if anything.
    pub wrong: Option<Wrong>,
    /// How often each fault was hit, in the order of [`Fault::ALL`].
    pub hits: Vec<u64>,
    /// What happened, if it was asked for.
    pub trace: Vec<String>,
}

/// Plays the history of this seed.
pub fn history(scene: &Scene, seed: u64, mutant: Option<Mutant>, trace: bool) -> History {
    let mut world = World::new(scene, seed, mutant, trace);
    let wrong = world.play().err();
    History { wrong, hits: world.faults.hits, trace: world.trace.unwrap_or_default() }
}
