//! A switch that moves readers alone: they use the target, and the source's changes are still carried over. Or the way back from that.

use super::context::{Limits, OperationContext, raced};
use super::effect::Reply;
use super::gate_check::GateCheck;
use super::outcome::{End, Outcome};
use super::parts::{Part, PartStep, Passes, Store, Stored};
use super::tidy::TidyMachine;
use crate::retrofit::control::Phase;
use crate::retrofit::gates::Gate;
use crate::retrofit::progress;
use crate::retrofit::step::CompletedStep;

/// A switch of readers, as it was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Readers {
    /// They use the source again.
    pub back: bool,
    /// Its times.
    pub limits: Limits,
}

#[derive(Debug, Clone, PartialEq)]
enum ReadersStage {
    /// Readers must meet no tombstone.
    Tidying(Box<TidyMachine>),
    Gates {
        check: GateCheck,
        compared: bool,
    },
    Comparing(Passes),
    Storing(Box<Store>),
    Over(Box<Outcome>),
}

/// A switch of readers at work.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ReadersMachine {
    back: bool,
    stage: ReadersStage,
}

impl ReadersMachine {
    pub(super) fn new(back: bool, context: &OperationContext) -> ReadersMachine {
        let stage = match back {
            // No gate: the source has all changes, because its writers never left it.
            true => enter(context, Phase::Tidy),
            false if context.head().phase == Phase::CutOver => over(moved(context, false, End::Already)),
            false => ReadersStage::Tidying(Box::new(TidyMachine::new(context))),
        };
        let mut switching = ReadersMachine { back, stage };
        switching.settle(context);
        switching
    }

    pub(super) fn status(&self, context: &OperationContext) -> String {
        match &self.stage {
            ReadersStage::Tidying(tidying) => tidying.status(context),
            ReadersStage::Comparing(passes) => passes.status(),
            _ => "checking what could block the switch".to_owned(),
        }
    }
}

impl Part for ReadersMachine {
    type End = Outcome;

    fn next(&self, context: &OperationContext) -> PartStep<Outcome> {
        if let ReadersStage::Over(outcome) = &self.stage {
            return PartStep::Over((**outcome).clone());
        }
        let effect = match &self.stage {
            ReadersStage::Tidying(tidying) => tidying.next(context).effect(),
            ReadersStage::Gates { check, .. } => check.next(context).effect(),
            ReadersStage::Comparing(passes) => passes.next(context).effect(),
            ReadersStage::Storing(store) => store.next(context).effect(),
            ReadersStage::Over(_) => unreachable!("returned above"),
        };
        match effect {
            Some(effect) => PartStep::Ask(effect),
            None => unreachable!("a stage that asks for nothing is left at once"),
        }
    }

    fn take(&mut self, context: &mut OperationContext, reply: Reply) {
        match &mut self.stage {
            ReadersStage::Tidying(tidying) => tidying.take(context, reply),
            ReadersStage::Gates { check, .. } => check.take(context, reply),
            ReadersStage::Comparing(passes) => passes.take(context, reply),
            ReadersStage::Storing(store) => store.take(context, reply),
            ReadersStage::Over(outcome) => unreachable!("{reply:?} came after `{}`", outcome.code),
        }
        self.settle(context);
    }
}

impl ReadersMachine {
    /// Leaves a stage that asks for nothing.
    fn settle(&mut self, context: &OperationContext) {
        let next = match &self.stage {
            ReadersStage::Tidying(tidying) => match tidying.next(context) {
                // Gates come after the sweep: it stores the row, and a comparison of the former version counts no longer.
                PartStep::Over(outcome) if outcome.is_success() => gates(context, false),
                PartStep::Over(outcome) => over(outcome),
                PartStep::Ask(_) => return,
            },
            ReadersStage::Gates { check, compared } => match check.next(context) {
                PartStep::Over(Ok(report)) => decided(context, report.gates, *compared),
                PartStep::Over(Err(error)) => over(context.control_error(&error)),
                PartStep::Ask(_) => return,
            },
            ReadersStage::Comparing(passes) => match passes.next(context) {
                // All gates are read again: during a scan of hours, an item can go into quarantine or the stream be replaced.
                PartStep::Over(_) => gates(context, true),
                PartStep::Ask(_) => return,
            },
            ReadersStage::Storing(store) => match store.next(context) {
                PartStep::Over(Stored::Done) => over(moved(context, self.back, End::Done)),
                // The gates were read for the former version of the row. They say nothing about the row that another operator stored.
                PartStep::Over(Stored::Raced(there)) => over(raced(context, there.as_deref())),
                PartStep::Ask(_) => return,
            },
            ReadersStage::Over(_) => return,
        };
        self.stage = next;
    }
}

fn gates(context: &OperationContext, compared: bool) -> ReadersStage {
    ReadersStage::Gates { check: GateCheck::of(context), compared }
}

/// A comparison that is missing or too old is made here, once.
fn decided(context: &OperationContext, gates: Vec<Gate>, compared: bool) -> ReadersStage {
    // Only once: a gate that a fresh comparison leaves closed would start the next one, for ever.
    if !compared && gates.iter().any(|gate| matches!(gate, Gate::NotVerified | Gate::Stale { .. })) {
        return ReadersStage::Comparing(Passes::of(progress::comparison(context.mapping.protocol()), false));
    }
    if gates.is_empty() {
        return enter(context, Phase::CutOver);
    }
    let listed: Vec<String> = gates.iter().map(ToString::to_string).collect();
    let message = format!("retrofit `{}` cannot switch: {}", context.mapping.name(), listed.join("; "));
    let next = context.head().next_command(&gates);
    over(Outcome { gates, next, ..Outcome::refused("gates-closed", message) })
}

fn enter(context: &OperationContext, phase: Phase) -> ReadersStage {
    match context.head().to(phase) {
        Ok(next) => ReadersStage::Storing(Box::new(Store::of(context, next))),
        Err(error) => over(context.control_error(&error)),
    }
}

fn moved(context: &OperationContext, back: bool, end: End) -> Outcome {
    let step = if back { CompletedStep::Undone } else { CompletedStep::CutOver };
    Outcome::new(end, context.head().phase.name(), step.message(context.head(), &context.mapping))
}

fn over(outcome: Outcome) -> ReadersStage {
    ReadersStage::Over(Box::new(outcome))
}
