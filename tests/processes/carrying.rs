//! The programs that copy the old items during writes: the command, or the functions as the state machine invokes them.

use std::sync::Arc;

use futures_util::future::join_all;
use serde_json::Value;

use crate::backfill::Backfill;
use crate::deployment::Deployment;
use crate::slices::Slices;

/// The programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Means {
    /// `keyfold retrofit run`.
    Command,
    /// The backfiller, with the verifier in parallel.
    Functions,
}

/// Passes that repeat until they are ended.
pub(crate) enum Carrying {
    Command(Backfill),
    Functions { backfill: Slices, verifiers: Verifiers },
}

impl Carrying {
    /// `both`: there are two tables to compare.
    pub(crate) fn start(
        means: Means,
        deployment: &Arc<Deployment>,
        retrofit: &'static str,
        both: bool,
    ) -> Carrying {
        if means == Means::Command {
            return Carrying::Command(Backfill::start(deployment, retrofit));
        }
        let sides = if both { ["source", "target"].as_slice() } else { &["source"] };
        let verifier = |side: &&'static str| Slices::start(deployment, "verifier", retrofit, Some(*side));
        Carrying::Functions {
            backfill: Slices::start(deployment, "backfiller", retrofit, None),
            verifiers: Verifiers(sides.iter().map(verifier).collect()),
        }
    }

    pub(crate) fn kill_backfill(&self, pick: usize) -> bool {
        match self {
            Carrying::Command(backfill) => backfill.kill(),
            Carrying::Functions { backfill, .. } => backfill.kill(pick),
        }
    }

    pub(crate) fn kill_verifier(&self, pick: usize) -> bool {
        let Carrying::Functions { verifiers: Verifiers(sides), .. } = self else { return false };
        sides[pick % sides.len()].kill(pick)
    }

    /// Ends the backfill after a whole pass; how many there were.
    pub(crate) async fn finish(self) -> (u64, Verifiers) {
        match self {
            Carrying::Command(backfill) => (backfill.finish().await, Verifiers(Vec::new())),
            Carrying::Functions { backfill, verifiers } => (backfill.finish().await.0, verifiers),
        }
    }
}

/// Verifiers that compare all the while, one for each side.
pub(crate) struct Verifiers(Vec<Slices>);

impl Verifiers {
    /// Ends them after a whole pass; how many there were, and the last answers, by side.
    pub(crate) async fn finish(self) -> Vec<(u64, Vec<Value>)> {
        join_all(self.0.into_iter().map(Slices::finish)).await
    }

    /// Compares once more, and finds no difference; how many comparisons there were.
    pub(crate) async fn clean(self) -> u64 {
        let mut compared = 0;
        for (passes, ends) in self.finish().await {
            compared += passes;
            for end in &ends {
                assert_eq!(end["counts"]["same"], end["counts"]["items"], "{end}");
            }
            let items: u64 = ends.iter().filter_map(|end| end["counts"]["items"].as_u64()).sum();
            assert!(items > 0, "nothing was compared");
        }
        compared
    }
}
