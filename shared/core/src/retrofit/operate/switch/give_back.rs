//! The end of a stop that is not completed, and what becomes of failures: seals, the row, the policies.

use super::{AfterPolicies, AfterStore, GiveBackReason, SwitchMachine, SwitchStage, over};
use crate::retrofit::control::RetrofitState;
use crate::retrofit::operate::context::{OnFailure, OperationContext, failure_outcome};
use crate::retrofit::operate::effect::{Failure, FailureKind};
use crate::retrofit::operate::outcome::Outcome;
use crate::retrofit::operate::parts::Seals;

/// How long giving a stop back, or what follows a turn, is tried at least.
const GIVE_BACK_MS_MIN: u64 = 120_000;

impl SwitchMachine {
    /// Everything becomes as it was before the stop, in the next generation. No generation ends unsealed: a worker of it could write after
    /// the next turn. So the seals come before the row.
    pub(super) fn give_back(&mut self, context: &OperationContext, reason: GiveBackReason) -> SwitchStage {
        // Who asked for it has what was asked for, whatever failed before.
        self.reason = Some(if self.options.take_back { GiveBackReason::Asked } else { reason });
        self.ending_since_ms = Some(context.now_ms);
        SwitchStage::GivingBackSeals(Seals::of(context.head()))
    }

    pub(super) fn give_back_sealed(&self, context: &OperationContext) -> SwitchStage {
        match context.head().to(self.from) {
            Ok(next) => Self::store(context, next, AfterStore::GiveBack),
            Err(error) => over(context.control_error(&error)),
        }
    }

    /// A stop is to be taken back, and the row has none.
    pub(super) fn taken_back_before(&self, context: &OperationContext, head: &RetrofitState) -> Outcome {
        if head.phase == self.from && !head.exempt.is_empty() {
            // The row was taken back before; the policies were made right before this command began.
            return self.given_back(context);
        }
        let message = format!(
            "retrofit `{}` is in phase `{}`: there is no stop to take back",
            head.retrofit,
            head.phase.name()
        );
        Outcome::refused("nothing-to-take-back", message)
    }

    /// What becomes of a failure.
    pub(in crate::retrofit::operate) fn on_failure(
        &mut self,
        context: &mut OperationContext,
        failure: &Failure,
    ) -> OnFailure {
        // A tag only helps to notice a restored control table: a failure of it must not keep a table closed.
        if self.skip_tag(context, failure) {
            return OnFailure::Handled;
        }
        if matches!(self.stage, SwitchStage::Tidying(_) | SwitchStage::Comparing(_)) {
            return match failure.kind {
                FailureKind::Passing => OnFailure::Retry,
                _ => OnFailure::End(Box::new(failure_outcome(failure))),
            };
        }
        if self.must_be_completed() {
            let since = *self.ending_since_ms.get_or_insert(context.now_ms);
            let most = context.limits.stop_max_ms.max(GIVE_BACK_MS_MIN);
            return match context.now_ms >= since + most {
                // Not earlier than two minutes: an end here leaves a table closed until the next command.
                true => OnFailure::End(Box::new(self.give_up(context, failure))),
                false => OnFailure::Retry,
            };
        }
        match (self.is_in_stop(context), failure.kind) {
            // Nothing was changed by this operator, and it may not take the stop back.
            (true, FailureKind::Denied) if matches!(self.stage, SwitchStage::Rights(_)) => {
                OnFailure::End(Box::new(failure_outcome(failure)))
            }
            (true, _) if context.interrupted => {
                self.stage = self.give_back(context, GiveBackReason::Interrupted);
                OnFailure::Handled
            }
            // A lasting failure would hold the writers until an operator looks: the table is opened again instead.
            (true, _) if self.is_late(context) || self.cannot_recover(failure) => {
                self.stage = self.give_back(context, GiveBackReason::Failed(failure.clone()));
                OnFailure::Handled
            }
            (true, _) => OnFailure::Retry,
            (false, FailureKind::Passing) if !self.is_late(context) => OnFailure::Retry,
            (false, _) => OnFailure::End(Box::new(failure_outcome(failure))),
        }
    }

    /// A tag that cannot be written keeps no writers out. After another failure of open tables, the other one comes first.
    fn skip_tag(&mut self, context: &mut OperationContext, failure: &Failure) -> bool {
        let SwitchStage::Enforcing { policies, .. } = &mut self.stage else { return false };
        let skipped = policies.skip_tag(context, failure);
        if skipped {
            self.go_on(context);
        } else if !context.head().phase.is_stop() {
            policies.try_other_table();
        }
        skipped
    }

    /// Does the table stay closed, or is it unknown whether it is, unless this stage is completed?
    fn must_be_completed(&self) -> bool {
        match &self.stage {
            SwitchStage::Storing { then, .. } => {
                matches!(then, AfterStore::Stop | AfterStore::Turn | AfterStore::GiveBack)
            }
            SwitchStage::Enforcing { then, .. } => {
                matches!(then, AfterPolicies::Turned | AfterPolicies::GivenBack)
            }
            SwitchStage::GivingBackSeals(_) => true,
            _ => false,
        }
    }

    /// Retrying cannot help: the role may not change policies, or the stream is gone.
    fn cannot_recover(&self, failure: &Failure) -> bool {
        let closes = matches!(self.stage, SwitchStage::Enforcing { then: AfterPolicies::Drain, .. });
        failure.kind == FailureKind::Gone || (closes && failure.kind == FailureKind::Denied)
    }

    fn give_up(&self, context: &mut OperationContext, failure: &Failure) -> Outcome {
        let (closes, opens) = self.table_names(context);
        let what = match &self.stage {
            SwitchStage::Storing { then: AfterStore::Stop, .. } => {
                format!("the stop of table `{closes}` may have started")
            }
            SwitchStage::Storing { then: AfterStore::Turn, .. } => format!("table `{opens}` may be open"),
            SwitchStage::Enforcing { then: AfterPolicies::Turned, .. } => {
                format!("the writers moved to table `{opens}`, but its policy could not be changed")
            }
            SwitchStage::Enforcing { .. } => {
                format!("the stop is taken back, but the policy of table `{closes}` could not be changed")
            }
            _ => "the stop could not be taken back".to_owned(),
        };
        let message = format!("{what}: {}", failure.message);
        // A stop is taken back by the same command without `--back`, or with it.
        let back = self.options.back != self.is_giving_back();
        let next = format!(
            "keyfold retrofit switch {}{}",
            context.mapping.name(),
            if back { " --back" } else { "" }
        );
        if matches!(self.stage, SwitchStage::Storing { .. }) {
            // Whether it was written is not known.
            context.head = None;
        }
        Outcome { next: Some(next), ..Outcome { message, ..failure_outcome(failure) } }
    }

    pub(super) fn is_giving_back(&self) -> bool {
        matches!(
            self.stage,
            SwitchStage::GivingBackSeals(_)
                | SwitchStage::Storing { then: AfterStore::GiveBack, .. }
                | SwitchStage::Enforcing { then: AfterPolicies::GivenBack, .. }
        )
    }
}
