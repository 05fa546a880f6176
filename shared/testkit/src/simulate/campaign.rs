//! Many histories, on several threads. Each history has one thread and one seed; what comes out does not depend on how
//! many threads there are.

use std::sync::atomic::{AtomicU64, Ordering};

use super::{Fault, History, HistoryKind, Hits, Mutant, Violation, WriterAction, WriterActions, history};

/// Which histories are played.
#[derive(Debug, Clone, Copy)]
pub struct Campaign {
    /// The first seed.
    pub seed: u64,
    /// How many.
    pub histories: u64,
    /// The weakened protocol, if it is one.
    pub mutant: Option<Mutant>,
    /// On how many threads.
    pub threads: u64,
}

/// Their outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tally {
    /// How many were played, up to the violation.
    pub histories: u64,
    /// How often each fault was hit.
    pub hits: Hits,
    /// How often writers did what.
    pub writer_actions: WriterActions,
    /// How often writers were moved, how many late writes there were, and how many of them are noted.
    pub moves: [u64; 3],
    /// The first seed whose history is wrong, and what is wrong.
    pub wrong: Option<(u64, Violation)>,
}

impl Campaign {
    /// Plays them all, or up to the first that is wrong.
    pub fn play(&self, kind: &HistoryKind) -> Tally {
        // Threads take every n-th seed, and none goes past a seed that is known to be wrong.
        let worst = AtomicU64::new(u64::MAX);
        let tallies = self.on_threads(|first| self.part(kind, first, &worst));
        let wrong = tallies.iter().filter_map(|tally| tally.wrong.clone()).min_by_key(|(seed, _)| *seed);
        let mut sum = Tally::none();
        for tally in tallies {
            sum.add(&tally);
        }
        if let Some((seed, wrong)) = wrong {
            sum.histories = seed - self.seed + 1;
            sum.wrong = Some((seed, wrong));
        }
        sum
    }

    fn part(&self, kind: &HistoryKind, first: u64, worst: &AtomicU64) -> Tally {
        let mut tally = Tally::none();
        let seeds = (self.seed..self.seed + self.histories).filter(|seed| kind.has(*seed));
        for seed in seeds.skip(first as usize).step_by(self.threads as usize) {
            if seed >= worst.load(Ordering::Relaxed) {
                break;
            }
            let History { hits, writer_actions, moves, wrong, .. } = history(kind, seed, self.mutant, false);
            tally.add(&Tally { histories: 1, hits, writer_actions, moves, wrong: None });
            if let Some(wrong) = wrong {
                worst.fetch_min(seed, Ordering::Relaxed);
                tally.wrong = Some((seed, wrong));
            }
        }
        tally
    }

    fn on_threads<T: Send>(&self, part: impl Fn(u64) -> T + Sync) -> Vec<T> {
        let part = &part;
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..self.threads).map(|first| scope.spawn(move || part(first))).collect();
            let join = |thread: std::thread::ScopedJoinHandle<'_, T>| match thread.join() {
                Ok(done) => done,
                Err(panic) => std::panic::resume_unwind(panic),
            };
            threads.into_iter().map(join).collect()
        })
    }
}

impl Tally {
    /// Of no history.
    pub fn none() -> Tally {
        Tally {
            histories: 0,
            hits: [0; Fault::ALL.len()],
            writer_actions: [0; WriterAction::ALL.len()],
            moves: [0; 3],
            wrong: None,
        }
    }

    /// Adds what came of other histories.
    pub fn add(&mut self, other: &Tally) {
        self.histories += other.histories;
        let sums = self
            .hits
            .iter_mut()
            .zip(&other.hits)
            .chain(self.writer_actions.iter_mut().zip(&other.writer_actions))
            .chain(self.moves.iter_mut().zip(&other.moves));
        sums.for_each(|(sum, count)| *sum += count);
    }
}
