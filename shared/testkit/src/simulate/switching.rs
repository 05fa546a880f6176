//! The whole way of a retrofit, simulated: the core's real code over tables in memory, one thread, one seed.
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
//!
//! Histories that fill move no writers. They have items that cannot be carried over, other programs' items, discarded records, throttled
//! requests, mended manifests, abandoned retrofits, and retrofits in place. Once everything has drained, each item is right or known to be wrong.
//!
//! - `filling` has their turns and commands, `conclude` their end, `states` how each item is; `fill` is what only they have;
//! - `writers`, `batches`, `pages` and `checks` are who takes turns, `disturb`, `throttle` and `send` what happens to them.

mod batches;
mod carry;
mod checks;
mod conclude;
mod disturb;
mod fill;
mod filling;
mod judge;
mod operate;
mod pages;
mod passes;
mod play;
pub(super) mod scene;
mod send;
mod shards;
mod states;
mod throttle;
mod turned;
mod weaken;
mod work;
mod world;
mod writers;

use keyfold_core::retrofit::TableRole;
use keyfold_core::value::Item;

use super::mutant::Mutant;
use super::outcome::{History, Violation};
use super::scenario::HistoryKind;

impl HistoryKind {
    /// Is the history of this seed of this kind?
    pub fn has(&self, seed: u64) -> bool {
        match self {
            HistoryKind::Fill(_) => true,
            HistoryKind::Switch { ledger } => (scene::Layout::of(seed) != scene::Layout::Fixed) == *ledger,
        }
    }
}

/// Plays the history of this seed.
pub fn history(kind: &HistoryKind, seed: u64, mutant: Option<Mutant>, trace: bool) -> History {
    let (mut world, wrong);
    match kind {
        HistoryKind::Fill(protocol) => {
            world = world::World::filling(*protocol, seed, mutant, trace);
            wrong = world.play_filling().err();
        }
        HistoryKind::Switch { .. } => {
            world = world::World::new(seed, mutant, trace);
            wrong = world.play().err();
        }
    }
    let (late, noted) = world.late_writes();
    let (hits, writer_actions) = world.hits();
    History {
        wrong,
        hits,
        writer_actions,
        moves: [world.moves, late, noted],
        bites: world.bites,
        trace: world.trace.unwrap_or_default(),
    }
}

/// The violation of tables that hold these items when everything has drained. `truth` has the items as writers wrote them.
pub(super) fn end<'i>(
    protocol: keyfold_core::retrofit::Protocol,
    truth: &[Option<Item>],
    held: impl Iterator<Item = (TableRole, &'i Item)>,
) -> Result<(), Violation> {
    world::World::drained(protocol, truth, held).conclude_filling()
}
