//! Ends a retrofit: the way back first, then everything that it kept on items and in the control table.

use super::context::{Limits, OperationContext, raced, settled_ms};
use super::effect::{Effect, Failure, Reply};
use super::outcome::{End, Outcome};
use super::parts::{Part, PartStep, Passes, Store, Stored, advance};
use super::policies::PolicySync;
use crate::retrofit::control::{ControlError, Phase, RetrofitState};
use crate::retrofit::protocol_choice::Protocol;
use crate::retrofit::segment::Pass;

/// An end, as it was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finish {
    /// Leaves the marks on the items and the rows in the control table.
    pub leave_marks: bool,
    /// Its times.
    pub limits: Limits,
}

#[derive(Debug, Clone, PartialEq)]
enum FinishStage {
    Storing(Box<Store>),
    /// The tables' tags: they reveal a control table restored to an earlier time.
    Tagging(PolicySync),
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
pub(super) struct FinishMachine {
    options: Finish,
    stage: FinishStage,
    waited: bool,
    counts: Option<std::collections::BTreeMap<String, u64>>,
}

impl FinishMachine {
    pub(super) fn new(options: Finish, context: &OperationContext) -> FinishMachine {
        let stage = FinishStage::Waiting { until_ms: 0 };
        let mut machine = FinishMachine { options, stage, waited: false, counts: None };
        machine.stage = machine.decide(context);
        machine
    }

    pub(super) fn status(&self, context: &OperationContext) -> String {
        match &self.stage {
            FinishStage::Waiting { until_ms } => format!(
                "waiting {} s more until functions in progress have ended",
                until_ms.saturating_sub(context.now_ms).div_ceil(1_000)
            ),
            _ => "ending the retrofit".to_owned(),
        }
    }

    fn decide(&mut self, context: &OperationContext) -> FinishStage {
        let head = context.head();
        // Afterwards nothing would keep the folded keys right, which the manifest asks for.
        if context.mapping.keeps_folded() {
            let (retrofit, table) = (head.retrofit.clone(), context.mapping.source().id.clone());
            return over(context.control_error(&ControlError::KeepsFolded { retrofit, table }));
        }
        let passes = needed_passes(self.options.leave_marks, head.protocol);
        match head.phase {
            Phase::Finalised => over(finalised(context, End::Already, self.counts.clone())),
            Phase::Finalising if passes.is_empty() || self.counts.is_some() => {
                self.enter(context, Phase::Finalised)
            }
            Phase::Finalising => match head.since {
                None => store(context, head.effective_since(context.seconds())),
                // A function that read its record before can still write marks: on an item that is cleaned already they would stay.
                Some(since) if !self.waited => FinishStage::Waiting { until_ms: settled_ms(context, since) },
                Some(_) => FinishStage::Cleaning(Passes::of(&passes, false)),
            },
            // The way back ends in a separate row: after a kill here every mark is still there, and `finish` goes on from `settled`.
            Phase::Reversed => self.enter(context, Phase::Settled),
            _ => self.enter(context, Phase::Finalising),
        }
    }

    fn tagged(&mut self, context: &OperationContext) -> FinishStage {
        match context.head().phase {
            Phase::Finalised => over(finalised(context, End::Done, self.counts.clone())),
            _ => self.decide(context),
        }
    }

    /// A tag that cannot be written is no reason not to end. True if one was at hand.
    pub(super) fn skip_tag(&mut self, context: &mut OperationContext, failure: &Failure) -> bool {
        let FinishStage::Tagging(tags) = &mut self.stage else { return false };
        tags.skip_tag(context, failure);
        if let PartStep::Over(_) = tags.next(context) {
            self.stage = self.tagged(context);
        }
        true
    }

    fn enter(&mut self, context: &OperationContext, phase: Phase) -> FinishStage {
        match context.head().to(phase) {
            Ok(next) => store(context, next),
            Err(error) => over(context.control_error(&error)),
        }
    }

    /// `None` if the stage is not over yet.
    fn next_stage(&mut self, context: &mut OperationContext, reply: Reply) -> Option<FinishStage> {
        Some(match (&mut self.stage, reply) {
            (FinishStage::Storing(store), reply) => match advance(&mut **store, context, reply)? {
                Stored::Raced(there) => over(raced(context, there.as_deref())),
                // After each row: by a control table restored to before the end, `switch --back` would begin although the way back is over.
                Stored::Done => FinishStage::Tagging(PolicySync::of_tags()),
            },
            (FinishStage::Tagging(tags), reply) => {
                advance(tags, context, reply)?;
                self.tagged(context)
            }
            (FinishStage::Waiting { until_ms }, Reply::Done) => {
                // An interruption ends a wait early, and proves nothing about what is in flight.
                self.waited = context.now_ms >= *until_ms;
                self.waited.then(|| self.decide(context))?
            }
            (FinishStage::Cleaning(passes), reply) => {
                let counts = advance(passes, context, reply)?;
                match counts.get("changed").copied().unwrap_or(0) {
                    0 => {
                        self.counts = Some(counts);
                        self.decide(context)
                    }
                    // Their segments count as done: unless that is forgotten, the next run would skip the items that are left.
                    left => FinishStage::Forgetting {
                        left,
                        passes: needed_passes(self.options.leave_marks, context.head().protocol),
                    },
                }
            }
            (FinishStage::Forgetting { left, passes }, Reply::Done) => {
                passes.remove(0);
                passes.is_empty().then(|| over(marks_left(context, *left)))?
            }
            (stage, reply) => unreachable!("{reply:?} does not answer {stage:?}"),
        })
    }
}

impl Part for FinishMachine {
    type End = Outcome;

    fn next(&self, context: &OperationContext) -> PartStep<Outcome> {
        PartStep::Ask(match &self.stage {
            FinishStage::Over(outcome) => return PartStep::Over((**outcome).clone()),
            FinishStage::Storing(store) => return store.next(context).pending(),
            FinishStage::Tagging(tags) => return tags.next(context).pending(),
            FinishStage::Cleaning(passes) => return passes.next(context).pending(),
            FinishStage::Waiting { until_ms } => Effect::Wait { until_ms: *until_ms },
            FinishStage::Forgetting { passes, .. } => Effect::ForgetSegments(passes[0]),
        })
    }

    fn take(&mut self, context: &mut OperationContext, reply: Reply) {
        if let Some(stage) = self.next_stage(context, reply) {
            self.stage = stage;
        }
    }
}

/// The passes that are needed. There is no tombstone: the target was tidied before the writers moved.
pub(super) fn needed_passes(leave_marks: bool, protocol: Protocol) -> Vec<Pass> {
    match leave_marks || protocol == Protocol::InPlace {
        true => Vec::new(),
        false => vec![Pass::Finalise, Pass::EmptyLedger],
    }
}

fn store(context: &OperationContext, next: RetrofitState) -> FinishStage {
    FinishStage::Storing(Box::new(Store::of(context, next)))
}

fn marks_left(context: &OperationContext, left: u64) -> Outcome {
    let message = format!("{left} items and rows changed each time they were cleaned, and still carry marks");
    let next = Some(format!("keyfold retrofit finish {}", context.mapping.name()));
    Outcome { next, ..Outcome::new(End::Failed, "marks-left", message) }
}

fn finalised(
    context: &OperationContext,
    end: End,
    counts: Option<std::collections::BTreeMap<String, u64>>,
) -> Outcome {
    let message = format!("retrofit `{}` is over", context.mapping.name());
    Outcome { counts: counts.unwrap_or_default(), ..Outcome::new(end, context.head().phase.name(), message) }
}

fn over(outcome: Outcome) -> FinishStage {
    FinishStage::Over(Box::new(outcome))
}
