//! In place no writers move: the indexes are opened for queries, or closed again.

use super::{AfterStore, SwitchMachine, SwitchStage, over};
use crate::retrofit::control::Phase;
use crate::retrofit::gates::Gate;
use crate::retrofit::operate::context::OperationContext;
use crate::retrofit::operate::gate_check::{GateCheck, GateReport};
use crate::retrofit::operate::outcome::{End, Outcome};
use crate::retrofit::step::CompletedStep;

impl SwitchMachine {
    pub(super) fn begin_in_place(&self, context: &OperationContext) -> SwitchStage {
        let head = context.head();
        let to = if self.options.back { Phase::Running } else { Phase::CutOver };
        match (self.options.back, head.phase) {
            (true, Phase::CutOver) if self.options.check => over(Outcome::new(
                End::Checked,
                head.phase.name(),
                format!("retrofit `{}` can {}", head.retrofit, self.command()),
            )),
            (false, Phase::Running | Phase::CutOver) => SwitchStage::Gates(GateCheck::of(context)),
            _ => match head.to(to) {
                Ok(next) => Self::store(context, next, AfterStore::InPlace),
                Err(error) => over(context.control_error(&error)),
            },
        }
    }

    pub(super) fn in_place_gates(&mut self, context: &OperationContext, report: GateReport) -> SwitchStage {
        self.gates = report.gates;
        // A table without traffic has no record that the replicator could process: the gate would never open.
        self.gates.retain(|gate| !self.options.unproven || *gate != Gate::Replicator);
        let head = context.head();
        if !self.gates.is_empty() {
            return over(self.closed_gates(context));
        }
        if self.options.check {
            return over(Outcome::new(End::Checked, head.phase.name(), "nothing blocks the switch"));
        }
        let next = match head.phase {
            // After a revision the row still names the former indexes: new ones would stay closed to queries.
            Phase::CutOver => Ok(head.filled_again(&context.mapping)),
            _ => head.to(Phase::CutOver),
        };
        match next {
            Ok(next) => Self::store(context, next, AfterStore::InPlace),
            Err(error) => over(context.control_error(&error)),
        }
    }

    pub(super) fn moved_in_place(&self, context: &OperationContext) -> Outcome {
        let phase = context.head().phase;
        let step = if phase == Phase::CutOver { CompletedStep::CutOver } else { CompletedStep::Undone };
        let message = step.message(context.head(), &context.mapping);
        let outcome = Outcome::new(End::Done, phase.name(), message);
        // A change of the phase ends the last comparison: the next switch needs a new one.
        let next =
            (phase == Phase::Running).then(|| format!("keyfold retrofit run {}", context.mapping.name()));
        Outcome { next, ..outcome }
    }
}
