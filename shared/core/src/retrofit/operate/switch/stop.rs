//! The stop, from its row to the turn. Nothing in it may be left, and every failure is tried again until its limit; then it is taken back.

use std::sync::Arc;

use super::drain::{RoundEnd, RoundPurpose};
use super::{AfterStore, GiveBackReason, SwitchMachine, SwitchStage, over, wait};
use crate::retrofit::control::{ControlError, Phase, RetrofitState};
use crate::retrofit::gates::Gate;
use crate::retrofit::operate::comparison::Comparing;
use crate::retrofit::operate::context::OperationContext;
use crate::retrofit::operate::gate_check::quarantine_rows;
use crate::retrofit::operate::parts::Seals;
use crate::retrofit::quarantine::Quarantined;
use crate::retrofit::request::TableRole;

impl SwitchMachine {
    /// The row of the stop.
    pub(super) fn stop_row(&self, context: &OperationContext) -> Result<RetrofitState, ControlError> {
        let head = context.head();
        let since = self.stopped_since_ms.unwrap_or(context.now_ms) / 1_000;
        let next = match (self.stop, self.to) {
            (Phase::Closing, to) if to == Phase::Reversed || head.was_reversed() => {
                head.closing(&self.drain().reverse_stream)
            }
            (stop, _) => head.to(stop),
        }?;
        // The row names the roles before a policy is changed: after a kill the next operator knows which policies to take off.
        let for_good = self.to == Phase::Settled;
        Ok(RetrofitState { exempt: self.exempt(context), stopped_at: Some(since), for_good, ..next })
    }

    pub(super) fn stop_writers(&mut self, context: &OperationContext) -> SwitchStage {
        if self.is_late(context) {
            // Stopped now, the writers would be let in again at once: attested ones have stood still since the command began.
            return over(self.too_late_to_stop(context));
        }
        match self.stop_row(context) {
            Ok(next) => {
                // Counted from the attempt: the row may be stored although the answer is lost.
                self.stopped_since_ms.get_or_insert(context.now_ms);
                Self::store(context, next, AfterStore::Stop)
            }
            Err(error) => over(context.control_error(&error)),
        }
    }

    /// Is the stop over its limit, or interrupted? Asked after every reply: nothing in a stop may outlast its limit.
    pub(super) fn check_limit(&mut self, context: &OperationContext) {
        // A failure that came with the reply is dealt with next, and named.
        if self.is_ending() || self.options.check || context.failure.is_some() {
            return;
        }
        let is_late = self.is_late(context);
        let reason = match (self.is_in_stop(context), context.interrupted) {
            (true, true) => GiveBackReason::Interrupted,
            (true, false) if is_late && !self.is_denied => GiveBackReason::NotDenied,
            (true, false) if is_late => GiveBackReason::TooLong,
            (false, false) if is_late => {
                // Writers who stand still by themselves have stood still for too long.
                self.stage = over(self.too_late_to_stop(context));
                return;
            }
            _ => return,
        };
        self.stage = self.give_back(context, reason);
    }

    /// Is the limit no concern of this stage?
    fn is_ending(&self) -> bool {
        use super::AfterPolicies::{Drain, Gates};
        match &self.stage {
            SwitchStage::Storing { then, .. } => {
                matches!(then, AfterStore::Stop | AfterStore::Turn | AfterStore::GiveBack)
            }
            SwitchStage::Enforcing { then, .. } => !matches!(then, Drain | Gates),
            // Without the rights to change policies nothing may be given back.
            SwitchStage::GivingBackSeals(_) | SwitchStage::Rights(_) | SwitchStage::Over(_) => true,
            _ => false,
        }
    }

    /// After a round of the stop.
    pub(super) fn drained(
        &mut self,
        context: &OperationContext,
        purpose: RoundPurpose,
        end: &RoundEnd,
    ) -> SwitchStage {
        let is_idle = end.is_idle && end.is_complete;
        if !is_idle {
            self.idle_since_ms = context.now_ms;
        }
        if self.drain().arrivals.is_too_far_behind() {
            return self.give_back(context, GiveBackReason::TooFarBehind);
        }
        let is_empty = self.drain().arrivals.is_empty();
        match purpose {
            // A shard that has ended has children that are still to be read.
            RoundPurpose::AfterSeals if !end.is_idle && end.records == 0 => self.round(purpose),
            RoundPurpose::AfterSeals if is_idle && is_empty => SwitchStage::Describing(TableRole::Source),
            // Seals are permanent: this generation carries nothing more, so the change would stay out of the table that opens.
            RoundPurpose::AfterSeals => self.give_back(context, GiveBackReason::Moved(Vec::new())),
            // Sealed earlier, a change that has not arrived could not be carried by anything of this generation.
            RoundPurpose::CheckEmpty if is_idle && is_empty => {
                SwitchStage::Sealing(Seals::of(context.head()))
            }
            RoundPurpose::CheckEmpty if is_idle => {
                // A record that blocks the replicator would keep the writers stopped until the limit.
                let tasks = self.drain_mut().arrivals.carry_tasks(u64::MAX);
                match tasks.is_empty() {
                    true => self.probe_or_wait(context),
                    false => SwitchStage::Carrying { tasks },
                }
            }
            _ => self.probe_or_wait(context),
        }
    }

    /// Where policies stop the writers, trial writes show whether they do.
    pub(super) fn probe_or_wait(&mut self, context: &OperationContext) -> SwitchStage {
        match context.head().exempt.is_empty() {
            // Writers that stop by themselves meet no policy, so a trial write would go through and show nothing.
            true => wait(context),
            false => SwitchStage::Probing { is_last: false },
        }
    }

    pub(super) fn probed(
        &mut self,
        context: &OperationContext,
        is_denied: bool,
        is_last: bool,
    ) -> SwitchStage {
        self.is_denied = is_denied;
        if is_denied {
            self.denied_since_ms.get_or_insert(context.now_ms);
        } else {
            // What passed before the denial has to come in the stream after it.
            (self.denied_since_ms, self.idle_since_ms) = (None, context.now_ms);
        }
        match (is_last, is_denied) {
            (true, true) => self.round(RoundPurpose::AfterSeals),
            (true, false) => self.give_back(context, GiveBackReason::NotDenied),
            (false, _) => wait(context),
        }
    }

    pub(super) fn waited(&mut self, context: &OperationContext) -> SwitchStage {
        if !self.is_in_stop(context) {
            return self.round(RoundPurpose::BeforeStop);
        }
        let limits = &context.limits;
        let denied_since = if context.head().exempt.is_empty() { Some(0) } else { self.denied_since_ms };
        // DynamoDB enforces a policy on each of its servers at another time: one denial says nothing about the next write.
        let is_denied = denied_since.is_some_and(|since| context.now_ms >= since + limits.denied_ms);
        let is_idle = context.now_ms >= self.idle_since_ms + limits.quiet_ms;
        self.round(if is_denied && is_idle { RoundPurpose::CheckEmpty } else { RoundPurpose::Drain })
    }

    /// After the seals: both sides are compared first, where that is needed. The last round sees changes that come during it.
    pub(super) fn sealed(&mut self, context: &OperationContext) -> SwitchStage {
        match self.options.back || self.to == Phase::Settled {
            // An exact comparison takes as long as a scan of both tables: on the way forward the passes before the stop have made one.
            true => SwitchStage::Quarantine { rows: quarantine_rows(context), is_last: false },
            false => self.last_round(context),
        }
    }

    pub(super) fn last_round(&mut self, context: &OperationContext) -> SwitchStage {
        match context.head().exempt.is_empty() {
            true => self.round(RoundPurpose::AfterSeals),
            false => SwitchStage::Probing { is_last: true },
        }
    }

    /// The tables must still have the same streams: one that was replaced may have had changes that were not read.
    pub(super) fn described(&mut self, context: &OperationContext) -> SwitchStage {
        let [_, opens] = self.closing_and_opening();
        // The way back is by the stream that the proof was about: by another one, nothing would come back after the turn.
        let stream = context.table(opens).stream.as_deref();
        let follows = self.to == Phase::Settled || stream == Some(self.drain().reverse_stream.as_str());
        // A stream that is switched off and on again loses the records between: they would be missed without a trace.
        match self.drain().replaced(context).or((!follows).then_some(opens)) {
            Some(role) => self.give_back(context, GiveBackReason::StreamReplaced(role)),
            None => SwitchStage::Quarantine { rows: quarantine_rows(context), is_last: true },
        }
    }

    pub(super) fn quarantine_read(
        &mut self,
        context: &OperationContext,
        [own, other]: [Vec<Quarantined>; 2],
        is_last: bool,
    ) -> SwitchStage {
        let (named, unnamed): (Vec<_>, Vec<_>) = own.into_iter().partition(|entry| entry.key.is_some());
        let unnamed = [unnamed, other];
        let open = match (self.options.back, is_last) {
            (false, _) => named.len() + unnamed[0].len(),
            (true, false) => named.len(),
            // The comparison has answered only those that it knew.
            (true, true) => {
                let is_new = |(answered, now): (&Vec<Quarantined>, &Vec<Quarantined>)| {
                    now.iter().filter(|entry| !answered.contains(entry)).count()
                };
                named.len() + self.answered_by_comparison.iter().zip(&unnamed).map(is_new).sum::<usize>()
            }
        };
        if open > 0 {
            // An entry stands for a change that did not reach the other table: after the turn its item would be stale there.
            let gates = vec![Gate::Quarantine { count: open as u64 }];
            return self.give_back(context, GiveBackReason::Moved(gates));
        }
        if is_last {
            return self.compared(context);
        }
        if self.options.back {
            self.answered_by_comparison = unnamed;
        }
        let arrivals = &self.drain().arrivals;
        let is_answer = self.answered_by_comparison.iter().any(|entries| !entries.is_empty());
        // After a switch for good the source is not followed: changes that its stream has not shown yet would be lost.
        match self.to == Phase::Settled || is_answer {
            true => SwitchStage::Exactly(Comparing::of(Arc::clone(arrivals.job()), arrivals.roles())),
            false => self.last_round(context),
        }
    }

    /// Entries that the exact comparison has answered leave the quarantine, first of this direction, then of the other one.
    pub(super) fn compared(&mut self, context: &OperationContext) -> SwitchStage {
        match self.answered_by_comparison.iter().position(|entries| !entries.is_empty()) {
            Some(at) => SwitchStage::Dismissing { forward: at == 1 },
            None => self.turn(context),
        }
    }

    fn turn(&mut self, context: &OperationContext) -> SwitchStage {
        let head = context.head();
        let next = match self.to {
            Phase::Reversed => {
                // The replicator carries only records of the stream in the row: without it, no change of the open table would come back.
                head.with_reverse_stream(&self.drain().reverse_stream).and_then(|head| head.to(self.to))
            }
            Phase::Settled => head.switched_for_good(),
            to => head.to(to),
        };
        match next {
            Ok(next) => {
                // The next switch needs it: for changes from before this turn, the closed table's stream shows no write of the retrofit.
                let turned_at = Some(context.seconds());
                Self::store(context, RetrofitState { turned_at, ..next }, AfterStore::Turn)
            }
            Err(error) => over(context.control_error(&error)),
        }
    }
}
