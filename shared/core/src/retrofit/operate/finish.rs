//! Ends a retrofit: the way back first, then everything that it kept on items and in the control table.

use super::doors::Enforcing;
use super::effect::{Effect, Failure, Reply};
use super::known::{Known, Limits, raced};
use super::outcome::{End, Outcome};
use super::parts::{Part, Passes, Store, Stored, Turn, ask};
use crate::retrofit::control::{ControlError, Phase, RetrofitState, wait_after_change};
use crate::retrofit::protocol_choice::Protocol;
use crate::retrofit::segment::Pass;

/// An end, as it was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finish {
    /// Leaves the marks on the items and the rows in the control table. Tombstones are deleted all the same.
    pub leave_marks: bool,
    /// Its times.
    pub limits: Limits,
}

#[derive(Debug, Clone, PartialEq)]
enum Stage {
    Deciding,
    Storing(Store),
    /// The tables' tags: a control table of before the end is noticed by them.
    Tagging(Enforcing),
    Waiting {
        until_ms: u64,
    },
    Cleaning(Passes),
    /// A new run looks for the items that changed while they were cleaned.
    Forgetting {
        left: u64,
        passes: Vec<Pass>,
    },
    Over(Box<Outcome>),
}

/// An end at work.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Finishing {
    options: Finish,
    stage: Stage,
    waited: bool,
    counts: Option<std::collections::BTreeMap<String, u64>>,
}

impl Finishing {
    pub(super) fn new(options: Finish, known: &Known) -> Finishing {
        let mut finishing = Finishing { options, stage: Stage::Deciding, waited: false, counts: None };
        finishing.stage = finishing.decide(known);
        finishing
    }

    pub(super) fn doing(&self, known: &Known) -> String {
        match &self.stage {
            Stage::Waiting { until_ms } => format!(
                "waiting {} s more until functions in progress have ended",
                until_ms.saturating_sub(known.now_ms).div_ceil(1_000)
            ),
            _ => "ending the retrofit".to_owned(),
        }
    }

    /// The passes that are needed. Tombstones are always deleted: readers of the target would meet them for ever.
    fn passes(&self, head: &RetrofitState) -> Vec<Pass> {
        let between_tables = head.protocol != Protocol::InPlace;
        let has_rows = head.protocol == Protocol::Ledger || head.keeps_rows();
        match self.options.leave_marks {
            true => head.leaves_tombstones().then_some(Pass::Tidy).into_iter().collect(),
            false => {
                let target = between_tables.then_some(Pass::Finalise);
                target.into_iter().chain(has_rows.then_some(Pass::EmptyLedger)).collect()
            }
        }
    }

    fn decide(&mut self, known: &Known) -> Stage {
        let head = known.head();
        if known.mapping.keeps_folded() {
            let (retrofit, table) = (head.retrofit.clone(), known.mapping.source().id.clone());
            return over(known.control_error(&ControlError::KeepsFolded { retrofit, table }));
        }
        let passes = self.passes(head);
        match head.phase {
            Phase::Finalised => over(finalised(known, End::Already, self.counts.clone())),
            Phase::Finalising if passes.is_empty() || self.counts.is_some() => {
                self.enter(known, Phase::Finalised)
            }
            Phase::Finalising => match head.since {
                None => Stage::Storing(Store::of(known, head.effective_since(known.seconds()))),
                Some(since) if !self.waited => Stage::Waiting { until_ms: self.until_ms(known, since) },
                Some(_) => Stage::Cleaning(Passes::of(&passes, false)),
            },
            Phase::Reversed => self.enter(known, Phase::Settled),
            _ => self.enter(known, Phase::Finalising),
        }
    }

    fn until_ms(&self, known: &Known, since: u64) -> u64 {
        let limits = &known.limits;
        let wait = wait_after_change(limits.in_flight_ms.div_ceil(1_000)) * 1_000;
        (since * 1_000 + wait + limits.clock_skew_ms).min(known.now_ms + wait + limits.clock_skew_ms)
    }

    fn after_tag(&mut self, known: &Known, tags: Enforcing) -> Stage {
        match tags.next(known) {
            Turn::Ask(_) => Stage::Tagging(tags),
            Turn::Over(_) if known.head().phase == Phase::Finalised => {
                over(finalised(known, End::Done, self.counts.clone()))
            }
            Turn::Over(_) => Stage::Deciding,
        }
    }

    /// A tag that cannot be written is no reason not to end. True if one was at hand.
    pub(super) fn skip_tag(&mut self, known: &mut Known, failure: &Failure) -> bool {
        let Stage::Tagging(mut tags) = self.stage.clone() else { return false };
        tags.skip_tag(known, failure);
        self.stage = self.after_tag(known, tags);
        self.decide_on(known);
        true
    }

    fn decide_on(&mut self, known: &Known) {
        if self.stage == Stage::Deciding {
            self.stage = self.decide(known);
        }
    }

    fn enter(&mut self, known: &Known, phase: Phase) -> Stage {
        match known.head().to(phase) {
            Ok(next) => Stage::Storing(Store::of(known, next)),
            Err(error) => over(known.control_error(&error)),
        }
    }

    pub(super) fn next(&self, known: &Known) -> Turn<Outcome> {
        if let Stage::Over(outcome) = &self.stage {
            return Turn::Over((**outcome).clone());
        }
        if known.interrupted {
            let message = "interrupted; the same command goes on";
            return Turn::Over(Outcome::new(End::Interrupted, "interrupted", message));
        }
        let turn = match &self.stage {
            Stage::Storing(store) => ask(store.next(known)),
            Stage::Tagging(tags) => ask(tags.next(known)),
            Stage::Waiting { until_ms } => Some(Effect::Wait { until_ms: *until_ms }),
            Stage::Cleaning(passes) => ask(passes.next(known)),
            Stage::Forgetting { passes, .. } => passes.first().map(|pass| Effect::ForgetSegments(*pass)),
            Stage::Deciding | Stage::Over(_) => unreachable!("decided at once, and looked at above"),
        };
        match turn {
            Some(effect) => Turn::Ask(effect),
            None => unreachable!("a stage that asks for nothing is left at once"),
        }
    }

    pub(super) fn take(&mut self, known: &mut Known, reply: Reply) {
        let stage = std::mem::replace(&mut self.stage, Stage::Deciding);
        self.stage = match (stage, reply) {
            (Stage::Storing(mut store), reply) => {
                store.take(known, reply);
                match store.next(known) {
                    Turn::Ask(_) => Stage::Storing(store),
                    Turn::Over(Stored::Raced(there)) => over(raced(known, there.as_ref())),
                    Turn::Over(Stored::Done) => Stage::Tagging(Enforcing::of_tags()),
                }
            }
            (Stage::Tagging(mut tags), reply) => {
                if tags.take(known, reply).is_err() {
                    unreachable!("only a policy can be unusable");
                }
                self.after_tag(known, tags)
            }
            (Stage::Waiting { until_ms }, Reply::Done) => {
                self.waited = known.now_ms >= until_ms;
                if self.waited { Stage::Deciding } else { Stage::Waiting { until_ms } }
            }
            (Stage::Cleaning(mut passes), reply) => {
                passes.take(known, reply);
                match passes.next(known) {
                    Turn::Ask(_) => Stage::Cleaning(passes),
                    Turn::Over(counts) => match counts.get("changed").copied().unwrap_or(0) {
                        0 => {
                            self.counts = Some(counts);
                            Stage::Deciding
                        }
                        left => Stage::Forgetting { left, passes: self.passes(known.head()) },
                    },
                }
            }
            (Stage::Forgetting { left, mut passes }, Reply::Done) => {
                passes.remove(0);
                match passes.is_empty() {
                    true => over(marks_left(known, left)),
                    false => Stage::Forgetting { left, passes },
                }
            }
            (stage, reply) => unreachable!("{reply:?} does not answer {stage:?}"),
        };
        self.decide_on(known);
    }
}

fn marks_left(known: &Known, left: u64) -> Outcome {
    let message = format!("{left} items and rows changed each time they were cleaned, and still carry marks");
    let next = Some(format!("keyfold retrofit finish {}", known.mapping.name()));
    Outcome { next, ..Outcome::new(End::Failed, "marks-left", message) }
}

fn finalised(known: &Known, end: End, counts: Option<std::collections::BTreeMap<String, u64>>) -> Outcome {
    let message = format!("retrofit `{}` is over", known.mapping.name());
    Outcome { counts: counts.unwrap_or_default(), ..Outcome::new(end, known.head().phase.name(), message) }
}

fn over(outcome: Outcome) -> Stage {
    Stage::Over(Box::new(outcome))
}
