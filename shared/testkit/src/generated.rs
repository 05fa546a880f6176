//! Retrofits of generated tables: random manifests with messy items, in all three protocols, there and back.
//!
//! The decisions are core's own tasks, and their requests are carried out in memory, in any order, between the writes of applications.
//! The judge knows what the plan announced, and nothing else: it compares whole items, attribute by attribute.
//!
//! [`draw`] makes a retrofit from a seed, [`entities`] the tables of one whose entities have keys of their own, [`messy`] makes its items, [`history`](mod@history) plays one history, [`judge`] compares,
//! [`mutant`] has the faults that the judge must see.

pub mod draw;
pub mod entities;
pub mod history;
pub mod judge;
pub mod messy;
pub mod mutant;
pub mod world;

/// How many histories one manifest has.
const HISTORIES_PER_MANIFEST: u64 = 20;

/// Plays histories from this seed on, until one is wrong: with the seed, and what is wrong.
pub fn play(
    shape: Shape,
    first: u64,
    histories: u64,
    mutant: Option<Mutant>,
) -> Result<Counts, (u64, String)> {
    let mut counts = Counts::default();
    let mut drawn = DrawnRetrofit::new(first / HISTORIES_PER_MANIFEST, shape);
    for seed in first..first + histories {
        if seed % HISTORIES_PER_MANIFEST == 0 {
            drawn = DrawnRetrofit::new(seed / HISTORIES_PER_MANIFEST, shape);
        }
        counts = counts.plus(history(&drawn, seed, mutant).map_err(|fault| (seed, fault))?);
    }
    Ok(counts)
}

pub use draw::{DrawnRetrofit, Shape};
pub use history::history;
pub use judge::{Counts, Judge};
pub use mutant::Mutant;
