//! Deletes the target's tombstones before readers move. Each change of the phase is followed by a wait, until every write of the phase
//! before has ended; then the sweep.

use std::collections::BTreeMap;

use super::effect::{Effect, Reply};
use super::gate_check::GateCheck;
use super::known::{Known, Limits, raced};
use super::outcome::{End, Outcome};
use super::parts::{Part, Passes, Rows, Store, Stored, Turn, ask};
use crate::retrofit::control::{self, Phase, RetrofitState, wait_after_change};
use crate::retrofit::gates::Gate;
use crate::retrofit::lease::Lease;
use crate::retrofit::segment::Pass;

/// The pause between two looks at the leases.
const LOOK_MS: u64 = 500;

/// A tidying, as it was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tidy {
    /// Its times.
    pub limits: Limits,
}

#[derive(Debug, Clone, PartialEq)]
enum Stage {
    /// What the row says decides what comes next.
    Deciding,
    Gates(GateCheck),
    Storing(Store),
    /// Workers that may have begun in the phase before.
    Leases(Rows),
    LeaseWait {
        until_ms: u64,
    },
    /// Requests that they may have sent.
    Waiting {
        until_ms: u64,
    },
    Sweeping(Passes),
    Over(Box<Outcome>),
}

/// A tidying at work.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Tidying {
    stage: Stage,
    /// Was the wait of this phase over by this operator's own clock?
    waited: bool,
    /// What the sweep made of items.
    counts: BTreeMap<String, u64>,
}

impl Tidying {
    pub(super) fn new(known: &Known) -> Tidying {
        let mut tidying = Tidying { stage: Stage::Deciding, waited: false, counts: BTreeMap::new() };
        tidying.stage = tidying.decide(known);
        tidying
    }

    pub(super) fn doing(&self, known: &Known) -> String {
        match &self.stage {
            Stage::Waiting { until_ms } => format!(
                "waiting {} s more until nothing of the phase before is in flight",
                until_ms.saturating_sub(known.now_ms).div_ceil(1_000)
            ),
            Stage::Leases(_) | Stage::LeaseWait { .. } => {
                "waiting for workers of the phase before".to_owned()
            }
            Stage::Sweeping(_) => "sweeping tombstones".to_owned(),
            _ => "tidying the target".to_owned(),
        }
    }

    /// The stage that the row leads to.
    fn decide(&mut self, known: &Known) -> Stage {
        let head = known.head();
        let first = match head.tidied_first() {
            Ok(first) => first,
            Err(error) => return over(known.control_error(&error)),
        };
        if head.keeps_rows() && head.swept {
            return over(self.tidy(known, End::Already));
        }
        match (head.phase, head.since) {
            (Phase::Running, _) => Stage::Gates(GateCheck::of(known)),
            (Phase::Tidying | Phase::Tidy, None) => {
                let name = known.mapping.rows_name();
                Stage::Leases(Rows::of(vec![control::leases_partition(name)]))
            }
            (Phase::Tidying | Phase::Tidy, Some(since)) if !self.waited => {
                Stage::Waiting { until_ms: self.until_ms(known, since) }
            }
            (Phase::Tidying, Some(_)) => self.enter(known, Phase::Tidy),
            (Phase::Tidy, Some(_)) if head.leaves_tombstones() => {
                Stage::Sweeping(Passes::of(&[Pass::Tidy], false))
            }
            (Phase::Tidy, Some(_)) => Stage::Storing(Store::of(known, head.swept())),
            _ => over(match head.to(first) {
                Err(error) => known.control_error(&error),
                Ok(_) => unreachable!("only `running` leads there"),
            }),
        }
    }

    /// The row has the second of another operator's clock: it may be off this one's.
    fn until_ms(&self, known: &Known, since: u64) -> u64 {
        let limits = &known.limits;
        let wait = wait_after_change(limits.in_flight_ms.div_ceil(1_000)) * 1_000;
        let since = since * 1_000;
        let by_row = since + wait + limits.clock_skew_ms;
        // A clock that is far ahead holds nobody up for longer than the whole wait.
        by_row.min(known.now_ms + wait + limits.clock_skew_ms)
    }

    fn enter(&mut self, known: &Known, phase: Phase) -> Stage {
        self.waited = false;
        match known.head().to(phase) {
            Ok(next) => Stage::Storing(Store::of(known, next)),
            Err(error) => over(known.control_error(&error)),
        }
    }

    fn tidy(&self, known: &Known, end: End) -> Outcome {
        let message = format!(
            "retrofit `{}` is tidy: readers of table `{}` meet no tombstones",
            known.mapping.name(),
            known.mapping.target().name
        );
        Outcome { counts: self.counts.clone(), ..Outcome::new(end, known.head().phase.name(), message) }
    }

    pub(super) fn next(&self, known: &Known) -> Turn<Outcome> {
        if let Stage::Over(outcome) = &self.stage {
            return Turn::Over((**outcome).clone());
        }
        if known.interrupted {
            let message = "interrupted; the same command goes on";
            return Turn::Over(Outcome::new(End::Interrupted, "interrupted", message));
        }
        let effect = match &self.stage {
            Stage::Gates(check) => ask(check.next(known)),
            Stage::Storing(store) => ask(store.next(known)),
            Stage::Leases(rows) => ask(rows.next(known)),
            Stage::LeaseWait { until_ms } | Stage::Waiting { until_ms } => {
                Some(Effect::Wait { until_ms: *until_ms })
            }
            Stage::Sweeping(passes) => ask(passes.next(known)),
            Stage::Deciding | Stage::Over(_) => unreachable!("decided at once, and looked at above"),
        };
        match effect {
            Some(effect) => Turn::Ask(effect),
            None => unreachable!("a stage that asks for nothing is left at once"),
        }
    }

    pub(super) fn take(&mut self, known: &mut Known, reply: Reply) {
        let stage = std::mem::replace(&mut self.stage, Stage::Deciding);
        self.stage = match (stage, reply) {
            (Stage::Gates(mut check), reply) => {
                check.take(known, reply);
                match check.next(known) {
                    Turn::Ask(_) => Stage::Gates(check),
                    Turn::Over(Err(error)) => over(known.control_error(&error)),
                    Turn::Over(Ok(mut report)) => {
                        // What is still to be carried over costs less before. Workers on a segment are waited for later.
                        report.gates.retain(|gate| matches!(gate, Gate::Backfill { .. } | Gate::Stream));
                        match (report.gates.is_empty(), known.head().tidied_first()) {
                            (true, Ok(first)) => self.enter(known, first),
                            (true, Err(error)) => over(known.control_error(&error)),
                            (false, _) => over(gates_closed(known, report.gates)),
                        }
                    }
                }
            }
            (Stage::Storing(mut store), reply) => {
                store.take(known, reply);
                match store.next(known) {
                    Turn::Ask(_) => Stage::Storing(store),
                    Turn::Over(Stored::Raced(there)) => over(raced(known, there.as_ref())),
                    Turn::Over(Stored::Done) if known.head().swept => over(self.tidy(known, End::Done)),
                    Turn::Over(Stored::Done) => Stage::Deciding,
                }
            }
            (Stage::Leases(mut rows), reply) => {
                rows.take(known, reply);
                match rows.next(known) {
                    Turn::Ask(_) => Stage::Leases(rows),
                    Turn::Over(read) => leases(known, &read[0]),
                }
            }
            (Stage::LeaseWait { .. }, Reply::Done) => Stage::Deciding,
            (Stage::Waiting { until_ms }, Reply::Done) => {
                self.waited = known.now_ms >= until_ms;
                if self.waited { Stage::Deciding } else { Stage::Waiting { until_ms } }
            }
            (Stage::Sweeping(mut passes), reply) => {
                passes.take(known, reply);
                match passes.next(known) {
                    Turn::Ask(_) => Stage::Sweeping(passes),
                    Turn::Over(counts) => {
                        self.counts = counts;
                        Stage::Storing(Store::of(known, known.head().swept()))
                    }
                }
            }
            (stage, reply) => unreachable!("{reply:?} does not answer {stage:?}"),
        };
        if self.stage == Stage::Deciding {
            self.stage = self.decide(known);
        }
    }
}

fn leases(known: &Known, rows: &[crate::value::Item]) -> Stage {
    // A worker renews its lease by its own clock, which may be behind this one.
    let now_ms = known.now_ms.saturating_sub(known.limits.clock_skew_ms);
    match rows.iter().any(|row| Lease::is_held(row, now_ms)) {
        true => Stage::LeaseWait { until_ms: known.now_ms + LOOK_MS },
        false => {
            Stage::Storing(Store::of(known, RetrofitState::effective_since(known.head(), known.seconds())))
        }
    }
}

fn gates_closed(known: &Known, gates: Vec<Gate>) -> Outcome {
    let listed: Vec<String> = gates.iter().map(ToString::to_string).collect();
    let message = format!("retrofit `{}` cannot be tidied yet: {}", known.mapping.name(), listed.join("; "));
    let next = Some(format!("keyfold retrofit run {}", known.mapping.name()));
    Outcome { gates, next, ..Outcome::refused("gates-closed", message) }
}

fn over(outcome: Outcome) -> Stage {
    Stage::Over(Box::new(outcome))
}
