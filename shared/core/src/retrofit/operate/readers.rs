//! A switch that moves readers alone: they use the target, and the source's changes are still carried over. Or the way back from that.

use super::effect::Reply;
use super::gate_check::GateCheck;
use super::known::{Known, Limits, raced};
use super::outcome::{End, Outcome};
use super::parts::{Part, Passes, Store, Stored, Turn, ask};
use super::tidy::Tidying;
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
enum Stage {
    /// Readers must meet no tombstone.
    Tidying(Box<Tidying>),
    Gates {
        check: GateCheck,
        compared: bool,
    },
    Comparing(Passes),
    Storing(Store),
    Over(Box<Outcome>),
}

/// A switch of readers at work.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SwitchingReaders {
    back: bool,
    stage: Stage,
}

impl SwitchingReaders {
    pub(super) fn new(back: bool, known: &Known) -> SwitchingReaders {
        let stage = match back {
            true => enter(known, known.head().undone()),
            false if known.head().phase == Phase::CutOver => over(moved(known, false, End::Already)),
            false => Stage::Tidying(Box::new(Tidying::new(known))),
        };
        let mut switching = SwitchingReaders { back, stage };
        switching.settle(known);
        switching
    }

    pub(super) fn doing(&self, known: &Known) -> String {
        match &self.stage {
            Stage::Tidying(tidying) => tidying.doing(known),
            Stage::Comparing(passes) => passes.doing(),
            _ => "checking the gates".to_owned(),
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
        let effect = match &self.stage {
            Stage::Tidying(tidying) => ask(tidying.next(known)),
            Stage::Gates { check, .. } => ask(check.next(known)),
            Stage::Comparing(passes) => ask(passes.next(known)),
            Stage::Storing(store) => ask(store.next(known)),
            Stage::Over(_) => unreachable!("returned above"),
        };
        match effect {
            Some(effect) => Turn::Ask(effect),
            None => unreachable!("a stage that asks for nothing is left at once"),
        }
    }

    pub(super) fn take(&mut self, known: &mut Known, reply: Reply) {
        match &mut self.stage {
            Stage::Tidying(tidying) => tidying.take(known, reply),
            Stage::Gates { check, .. } => check.take(known, reply),
            Stage::Comparing(passes) => passes.take(known, reply),
            Stage::Storing(store) => store.take(known, reply),
            Stage::Over(outcome) => unreachable!("{reply:?} came after `{}`", outcome.code),
        }
        self.settle(known);
    }

    /// Leaves a stage that asks for nothing.
    fn settle(&mut self, known: &Known) {
        let next = match &self.stage {
            Stage::Tidying(tidying) => match tidying.next(known) {
                Turn::Over(outcome) if outcome.is_success() => gates(known, false),
                Turn::Over(outcome) => over(outcome),
                Turn::Ask(_) => return,
            },
            Stage::Gates { check, compared } => match check.next(known) {
                Turn::Over(Ok(report)) => decided(known, report.gates, *compared),
                Turn::Over(Err(error)) => over(known.control_error(&error)),
                Turn::Ask(_) => return,
            },
            Stage::Comparing(passes) => match passes.next(known) {
                Turn::Over(_) => gates(known, true),
                Turn::Ask(_) => return,
            },
            Stage::Storing(store) => match store.next(known) {
                Turn::Over(Stored::Done) => over(moved(known, self.back, End::Done)),
                Turn::Over(Stored::Raced(there)) => over(raced(known, there.as_ref())),
                Turn::Ask(_) => return,
            },
            Stage::Over(_) => return,
        };
        self.stage = next;
    }
}

fn gates(known: &Known, compared: bool) -> Stage {
    Stage::Gates { check: GateCheck::of(known), compared }
}

/// A comparison that is missing or too old is made here, once.
fn decided(known: &Known, gates: Vec<Gate>, compared: bool) -> Stage {
    if !compared && gates.iter().any(|gate| matches!(gate, Gate::NotVerified | Gate::Stale { .. })) {
        return Stage::Comparing(Passes::of(progress::comparison(known.mapping.protocol()), false));
    }
    if gates.is_empty() {
        return enter(known, Phase::CutOver);
    }
    let listed: Vec<String> = gates.iter().map(ToString::to_string).collect();
    let message = format!("retrofit `{}` cannot switch: {}", known.mapping.name(), listed.join("; "));
    let next = known.head().next_command(&gates);
    over(Outcome { gates, next, ..Outcome::refused("gates-closed", message) })
}

fn enter(known: &Known, phase: Phase) -> Stage {
    match known.head().to(phase) {
        Ok(next) => Stage::Storing(Store::of(known, next)),
        Err(error) => over(known.control_error(&error)),
    }
}

fn moved(known: &Known, back: bool, end: End) -> Outcome {
    let step = if back { CompletedStep::Undone } else { CompletedStep::CutOver };
    Outcome::new(end, known.head().phase.name(), step.message(known.head(), &known.mapping))
}

fn over(outcome: Outcome) -> Stage {
    Stage::Over(Box::new(outcome))
}
