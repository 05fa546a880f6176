//! The conditions for moving readers and writers to the target.

use std::fmt;

use super::control::{Phase, RetrofitState};
use super::progress::ComparisonResult;
use super::protocol_choice::Protocol;

/// The maximum age of a comparison: an older one says too little about the tables of today.
pub const VERDICT_SECONDS_MAX: u64 = 24 * 60 * 60;

/// The facts about a retrofit that decide whether it can be cut over.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Evidence {
    /// Segments of the backfill that are done in this epoch.
    pub segments_done: u32,
    /// All segments; 0 if the backfill was never started.
    pub segments_total: u32,
    /// The result of the last complete comparison, both ways; `None` if writes came after it.
    pub verdict: Option<ComparisonResult>,
    /// Segments that a worker still has.
    pub leases: u64,
    /// Entries of the quarantine that are not accepted.
    pub quarantined: u64,
    /// Accepted entries.
    pub accepted: u64,
    /// Indexes of the target that are not active.
    pub indexes_not_active: Vec<String>,
    /// The stream that the source has now.
    pub stream: Option<String>,
}

/// A reason not to cut over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Gate {
    /// The backfill is not complete.
    Backfill {
        /// Segments that are done.
        done: u32,
        /// Segments there are.
        total: u32,
    },
    /// The two sides were not compared after the backfill.
    NotVerified,
    /// The last comparison found differences.
    Differences {
        /// How many.
        count: u64,
    },
    /// The last comparison started too long ago.
    Stale {
        /// How long ago.
        hours: u64,
    },
    /// A backfill, a comparison or a repair is still at work.
    AtWork {
        /// On how many segments.
        segments: u64,
    },
    /// There are items in quarantine.
    Quarantine {
        /// How many.
        count: u64,
    },
    /// An index of the target is not active.
    Index {
        /// The index.
        index: String,
    },
    /// The source's stream was replaced or switched off.
    Stream,
    /// Readers of the target would meet tombstones.
    Tombstones,
    /// Writes from before the target was tidied may still arrive.
    Tidying,
    /// The manifest was changed, and workers may still write by the former one.
    Revision,
    /// The source's stream was replaced, and workers may still write by records of the former stream.
    FormerStream,
    /// In place: the replicator has processed no record of the stream yet.
    Replicator,
}

impl Gate {
    /// The code that stays the same, whatever the message says.
    pub fn code(&self) -> &'static str {
        match self {
            Gate::Backfill { .. } => "backfill-incomplete",
            Gate::NotVerified => "not-verified",
            Gate::Differences { .. } => "differences",
            Gate::Stale { .. } => "comparison-stale",
            Gate::AtWork { .. } => "still-at-work",
            Gate::Quarantine { .. } => "quarantine-not-empty",
            Gate::Index { .. } => "index-not-active",
            Gate::Stream => "stream-changed",
            Gate::Tombstones => "tombstones",
            Gate::Tidying => "tidying-incomplete",
            Gate::Revision => "revision-incomplete",
            Gate::FormerStream => "former-stream",
            Gate::Replicator => "replicator-silent",
        }
    }
}

impl fmt::Display for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Gate::Backfill { total: 0, .. } => write!(f, "the backfill was not started: `run` does it"),
            Gate::Backfill { done, total } => {
                write!(f, "{done} of {total} segments are backfilled: `run` goes on")
            }
            Gate::NotVerified => {
                write!(
                    f,
                    "the items were not compared since the last backfill, repair, discarded batch or change of phase: `run` compares them"
                )
            }
            Gate::Differences { count } => {
                write!(f, "the last comparison found {count} items that differ: `run --repair` corrects them")
            }
            Gate::Stale { hours } => write!(
                f,
                "the last comparison started {hours} hours ago, and counts for 24: `run` compares again"
            ),
            Gate::AtWork { segments } => {
                let plural = if *segments == 1 { "" } else { "s" };
                write!(
                    f,
                    "a backfill, a comparison or a repair is still at work on {segments} segment{plural}; \
                     if it was killed, try again in a few minutes"
                )
            }
            Gate::Quarantine { count } => {
                write!(f, "{count} items are in quarantine: `quarantine` lists them")
            }
            Gate::Index { index } => {
                write!(f, "index `{index}` is not active: wait until DynamoDB has filled it")
            }
            Gate::Stream => write!(f, "the source has a new stream: `run` follows it, and backfills again"),
            Gate::Revision => {
                write!(f, "the manifest was changed, and `revise` is not complete: run it again")
            }
            Gate::FormerStream => write!(
                f,
                "the source's stream was replaced, and a function may still write what the former stream brought: `run` waits for it"
            ),
            Gate::Replicator => write!(
                f,
                "the replicator has processed no record of the stream yet: repeat the command in a minute; if that does not help, enable its \
                 event source mapping or, if every writer folds keys itself, use `run --no-stream`"
            ),
            Gate::Tombstones => {
                write!(
                    f,
                    "the target has tombstones (markers of deleted items), which its readers would see: `switch` deletes them first"
                )
            }
            Gate::Tidying => write!(
                f,
                "requests of an earlier phase may still write to the target: `switch` waits for them"
            ),
        }
    }
}

/// Every reason not to cut over or, after a switch, not to move the writers back; empty if all gates are open.
pub fn closed(head: &RetrofitState, evidence: &Evidence) -> Vec<Gate> {
    let mut gates = Vec::new();
    if matches!(head.phase, Phase::Reversed | Phase::Returning) {
        // The way back has no backfill, and the move back looks at what both streams name. An accepted item stays out.
        let count = evidence.quarantined;
        gates.extend((count > 0).then_some(Gate::Quarantine { count }));
        return gates;
    }
    if head.phase == Phase::CutOver && head.protocol == Protocol::InPlace {
        // Queries use the indexes already.
        gates.extend(head.revising.then_some(Gate::Revision));
        return gates;
    }
    let Evidence { segments_done: done, segments_total: total, .. } = *evidence;
    if total == 0 || done < total {
        gates.push(Gate::Backfill { done, total });
    }
    match evidence.verdict {
        None => gates.push(Gate::NotVerified),
        Some(ComparisonResult { differences: 0, age_seconds }) if age_seconds <= VERDICT_SECONDS_MAX => {}
        Some(ComparisonResult { differences: 0, age_seconds }) => {
            gates.push(Gate::Stale { hours: age_seconds / 3600 });
        }
        Some(ComparisonResult { differences: count, .. }) => gates.push(Gate::Differences { count }),
    }
    // A repair that started before the comparison may write after it.
    if evidence.leases > 0 {
        gates.push(Gate::AtWork { segments: evidence.leases });
    }
    if evidence.quarantined > 0 {
        gates.push(Gate::Quarantine { count: evidence.quarantined });
    }
    gates.extend(evidence.indexes_not_active.iter().map(|index| Gate::Index { index: index.clone() }));
    if head.stream.is_some() && head.stream != evidence.stream {
        gates.push(Gate::Stream);
    }
    if head.leaves_tombstones() {
        gates.push(Gate::Tombstones);
    } else if head.is_tidying() {
        gates.push(Gate::Tidying);
    }
    if head.revising {
        gates.push(Gate::Revision);
    }
    gates.extend(head.restreaming.then_some(Gate::FormerStream));
    gates
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::retrofit::tests::job;

    #[test]
    fn every_gate_closes_by_itself() {
        let running = RetrofitState::started(job("moved").mapping(), Some("stream-1"));
        let tidy = running.to(Phase::Tidying).unwrap().to(Phase::Tidy).unwrap();
        let head = tidy.swept();
        let well = Evidence {
            segments_done: 4,
            segments_total: 4,
            verdict: Some(ComparisonResult { differences: 0, age_seconds: VERDICT_SECONDS_MAX }),
            stream: Some("stream-1".to_owned()),
            ..Evidence::default()
        };
        assert_eq!(closed(&head, &well), []);
        let revising = RetrofitState { revising: true, ..head.clone() };
        assert_eq!(closed(&revising, &well), [Gate::Revision]);
        let restreaming = RetrofitState { restreaming: true, ..head.clone() };
        assert_eq!(closed(&restreaming, &well), [Gate::FormerStream]);
        for head in [running, tidy] {
            assert_eq!(closed(&head, &well), [Gate::Tombstones]);
        }
        let ledger = RetrofitState::started(job("rekeyed").mapping(), Some("stream-1"));
        assert_eq!(closed(&ledger, &well), []);
        let ledger = ledger.to(Phase::Tidy).unwrap();
        assert_eq!(closed(&ledger, &well), [Gate::Tidying]);
        assert_eq!(closed(&ledger.swept(), &well), []);
        let found = |differences, age_seconds| Some(ComparisonResult { differences, age_seconds });
        for (code, evidence) in [
            ("backfill-incomplete", Evidence { segments_done: 3, ..well.clone() }),
            ("backfill-incomplete", Evidence { segments_done: 0, segments_total: 0, ..well.clone() }),
            ("not-verified", Evidence { verdict: None, ..well.clone() }),
            ("differences", Evidence { verdict: found(1, 0), ..well.clone() }),
            ("comparison-stale", Evidence { verdict: found(0, VERDICT_SECONDS_MAX + 1), ..well.clone() }),
            ("still-at-work", Evidence { leases: 1, ..well.clone() }),
            ("quarantine-not-empty", Evidence { quarantined: 1, ..well.clone() }),
            ("index-not-active", Evidence { indexes_not_active: vec!["byWho".to_owned()], ..well.clone() }),
            ("stream-changed", Evidence { stream: None, ..well.clone() }),
        ] {
            let codes: Vec<_> = closed(&head, &evidence).iter().map(Gate::code).collect();
            assert_eq!(codes, [code]);
        }
    }

    #[test]
    fn after_a_switch_only_the_quarantine_blocks_the_way_back() {
        let running = RetrofitState::started(job("moved").mapping(), Some("stream-1"));
        let reversed = RetrofitState { phase: Phase::Reversed, ..running };
        assert_eq!(closed(&reversed, &Evidence::default()), [], "it has no backfill");
        let evidence = Evidence { quarantined: 2, ..Evidence::default() };
        assert_eq!(closed(&reversed, &evidence), [Gate::Quarantine { count: 2 }]);
    }

    #[test]
    fn in_place_nothing_is_to_open_after_the_switch() {
        let running = RetrofitState::started(job("inPlace").mapping(), None);
        let open = RetrofitState { phase: Phase::CutOver, ..running };
        assert_eq!(closed(&open, &Evidence::default()), []);
        let command = format!("keyfold retrofit finish {}", open.retrofit);
        assert_eq!(open.next_command(&[]), Some(command));
        let revising = RetrofitState { revising: true, ..open };
        assert_eq!(closed(&revising, &Evidence::default()), [Gate::Revision]);
    }
}
