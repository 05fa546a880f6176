//! Before the stop: tidy, compare, gates, rights, reading ahead, the proof of the way back. It may be left at any time, and a failure ends
//! the command.

use super::drain::{Drain, RoundEnd, RoundPurpose};
use super::{AfterPolicies, AfterStore, GiveBackReason, SwitchMachine, SwitchStage, Writers, over, wait};
use crate::retrofit::control::{ControlError, Direction, Phase, RetrofitState};
use crate::retrofit::gates::Gate;
use crate::retrofit::operate::arrivals::LACKING_AHEAD_MAX;
use crate::retrofit::operate::context::OperationContext;
use crate::retrofit::operate::gate_check::{GateCheck, GateReport};
use crate::retrofit::operate::outcome::{End, Outcome};
use crate::retrofit::operate::parts::{Part, PartStep, Passes};
use crate::retrofit::operate::policies::{PolicyRightsCheck, check_exempt};
use crate::retrofit::operate::proof::Proving;
use crate::retrofit::operate::tidy::TidyMachine;
use crate::retrofit::operate::trial::Trial;
use crate::retrofit::progress;
use crate::retrofit::protocol_choice::Protocol;
use crate::retrofit::request::TableRole;
use crate::retrofit::task::ItemTask;
use crate::value::Item;

/// Changes older than this that have not arrived are carried over before the stop.
const USUAL_LAG_SECONDS: u64 = 60;

impl SwitchMachine {
    pub(super) fn begin(&mut self, context: &OperationContext) -> SwitchStage {
        let head = context.head();
        if context.mapping.protocol() == Protocol::InPlace && !self.options.take_back {
            return self.begin_in_place(context);
        }
        if head.phase == self.stop {
            return self.begin_in_stop(context, head);
        }
        // A retrofit that was never switched is `tidy` too: its `--back` is refused, not called done.
        if head.phase == self.to && (!self.options.back || head.was_reversed()) {
            let already = Box::new(self.already(context));
            return match self.options.check {
                true => SwitchStage::Over(already),
                false => Self::enforce(context, AfterPolicies::End(already)),
            };
        }
        if self.options.take_back {
            return over(self.taken_back_before(context, head));
        }
        if let Some(refused) = self.check_way_back(context) {
            return over(refused);
        }
        let is_before = head.phase.direction() == Some(Direction::Forward);
        let is_to_try = is_before && self.to == Phase::Reversed && !self.options.unproven;
        match Trial::of(context).filter(|_| is_to_try) {
            Some(trial) => SwitchStage::Trying(Box::new(trial)),
            None => self.begin_checks(context),
        }
    }

    /// The first step of a switch whose way back is not in doubt.
    pub(super) fn begin_checks(&mut self, context: &OperationContext) -> SwitchStage {
        let head = context.head();
        let is_tidied = head.keeps_rows() && head.swept;
        match head.phase {
            Phase::Running | Phase::Tidying | Phase::Tidy if self.from == Phase::Tidy && !is_tidied => {
                match self.options.check {
                    true => SwitchStage::Gates(GateCheck::of(context)),
                    false => SwitchStage::Tidying(TidyMachine::new(context)),
                }
            }
            // The readers may have moved already.
            Phase::CutOver if self.from == Phase::Tidy => self.checks(context),
            phase if phase == self.from => self.checks(context),
            _ => over(context.control_error(&self.wrong_phase(head))),
        }
    }

    /// Another operator was killed in the stop: this one goes on, to where that one was going.
    fn begin_in_stop(&mut self, context: &OperationContext, head: &RetrofitState) -> SwitchStage {
        if self.stop == Phase::Closing {
            self.to = if head.for_good { Phase::Settled } else { Phase::Reversed };
        }
        let stopped_ms = head.stopped_at.map_or(context.now_ms, |seconds| seconds * 1_000);
        // Counted from the row: otherwise a stop that is killed and resumed again and again would have no limit.
        self.stopped_since_ms = Some(stopped_ms.min(context.now_ms));
        if self.options.check {
            return self.read_ahead(context);
        }
        // Without the rights to change policies the row must not move: the tables would stay closed with nothing to say so.
        match head.exempt.is_empty() {
            true => self.resume(context),
            false => {
                SwitchStage::Rights(PolicyRightsCheck::of_rights(context, self.closing_and_opening()[0]))
            }
        }
    }

    /// Goes on with a stop that another operator began.
    pub(super) fn resume(&mut self, context: &OperationContext) -> SwitchStage {
        if self.options.take_back {
            return self.give_back(context, GiveBackReason::Asked);
        }
        if self.is_late(context) {
            return self.give_back(context, GiveBackReason::TooLong);
        }
        if let Some(refused) = self.check_way_back(context) {
            return over(refused);
        }
        match self.open_streams(context) {
            Ok(()) => Self::enforce(context, AfterPolicies::Drain),
            Err(role) => self.give_back(context, GiveBackReason::StreamReplaced(role)),
        }
    }

    fn wrong_phase(&self, head: &RetrofitState) -> ControlError {
        match head.to(self.stop) {
            Err(error) => error,
            Ok(_) => unreachable!("the phase before a stop was looked at"),
        }
    }

    fn check_way_back(&self, context: &OperationContext) -> Option<Outcome> {
        let why = context.mapping.reverse().err().filter(|_| self.to != Phase::Settled)?;
        let message = format!("retrofit `{}` has no way back: {why}", context.mapping.name());
        Some(Outcome::refused("no-way-back", message).hinted(why.hint()))
    }

    pub(super) fn tidied(&mut self, context: &OperationContext, outcome: Outcome) -> SwitchStage {
        match outcome.end {
            // An earlier comparison does not cover the sweep.
            End::Done | End::Already => self.compare(context),
            _ => over(outcome),
        }
    }

    fn compare(&mut self, context: &OperationContext) -> SwitchStage {
        self.has_compared = true;
        SwitchStage::Comparing(Passes::of(progress::comparison(context.mapping.protocol()), false))
    }

    fn is_attested(&self, context: &OperationContext) -> bool {
        match (&self.options.writers, &context.head) {
            // A resumed stop keeps the writers' mode of its row.
            (_, Some(head)) if head.phase == self.stop => head.exempt.is_empty(),
            (writers, _) => *writers == Some(Writers::Attested),
        }
    }

    pub(super) fn checks(&mut self, context: &OperationContext) -> SwitchStage {
        if self.is_attested(context) && !self.options.check {
            // Attested writers are stopped from the start of the command.
            self.stopped_since_ms = Some(context.started_ms);
        }
        match self.new_exempt(context) {
            Ok(Some(roles)) => Self::store(context, context.head().exempting(roles), AfterStore::Exempting),
            Ok(None) => SwitchStage::Gates(GateCheck::of(context)),
            Err(outcome) => over(*outcome),
        }
    }

    /// The roles that were given, where policies are in force for others.
    fn new_exempt(&self, context: &OperationContext) -> Result<Option<&[String]>, Box<Outcome>> {
        let head = context.head();
        match &self.options.writers {
            Some(Writers::Policy(roles))
                if !self.options.check
                    && !roles.is_empty()
                    && !head.exempt.is_empty()
                    && head.exempt != *roles =>
            {
                check_exempt(roles)?;
                Ok(Some(roles))
            }
            _ => Ok(None),
        }
    }

    /// The roles that may write to a table that follows the other one: those given, or those of the last move.
    pub(super) fn exempt(&self, context: &OperationContext) -> Vec<String> {
        match &self.options.writers {
            _ if context.head().phase == self.stop => context.head().exempt.clone(),
            Some(Writers::Policy(roles)) if !roles.is_empty() => roles.clone(),
            Some(Writers::Policy(_)) => context.head().exempt.clone(),
            Some(Writers::Attested) | None => Vec::new(),
        }
    }

    pub(super) fn gates_known(&mut self, context: &OperationContext, report: GateReport) -> SwitchStage {
        if context.mapping.protocol() == Protocol::InPlace {
            return self.in_place_gates(context, report);
        }
        self.gates = report.gates;
        let is_stale = |gate: &Gate| matches!(gate, Gate::NotVerified | Gate::Stale { .. });
        let may_compare = !self.options.back && !self.options.check && !self.has_compared;
        // A comparison counts for one version of the row. A stop that was taken back, or a kill before the comparison, leaves none.
        if may_compare && !self.gates.is_empty() && self.gates.iter().all(is_stale) {
            return self.compare(context);
        }
        let [own, other] = report.entries;
        let (named, unnamed): (Vec<_>, Vec<_>) = own.into_iter().partition(|entry| entry.key.is_some());
        if self.options.back {
            // No pass compares both sides while the target leads. The exact comparison does, at the end of the stop.
            self.answered_by_comparison = [unnamed, other];
            self.gates.retain(|gate| !matches!(gate, Gate::Quarantine { .. }));
            let count = named.len() as u64;
            self.gates.extend((count > 0).then_some(Gate::Quarantine { count }));
        }
        let others = self.gates.iter().any(|gate| !matches!(gate, Gate::Quarantine { .. }));
        // Items that were corrected since they failed are carried over now.
        if !named.is_empty() && !others && !self.options.check && named.len() < self.released {
            // Again only while fewer are left: entries that no attempt can carry would be tried for ever.
            self.released = named.len();
            return SwitchStage::Releasing { entries: named };
        }
        if !self.gates.is_empty() {
            return over(self.closed_gates(context));
        }
        self.check_policies(context)
    }

    fn check_policies(&mut self, context: &OperationContext) -> SwitchStage {
        match self.exempt_checked(context) {
            Ok(false) => self.read_ahead(context),
            Err(outcome) => over(*outcome),
            Ok(true) => {
                let closes = self.closing_and_opening()[0];
                let check = PolicyRightsCheck::of(context, closes, self.exempt(context));
                match check.next(context) {
                    // A global table is refused before anything is asked.
                    PartStep::Over(Err(outcome)) => SwitchStage::Over(outcome),
                    _ => SwitchStage::Rights(check),
                }
            }
        }
    }

    /// Are policies to stop the writers, and do they have a usable list of roles?
    fn exempt_checked(&self, context: &OperationContext) -> Result<bool, Box<Outcome>> {
        let (closes, _) = self.table_names(context);
        match &self.options.writers {
            None if self.options.check => Ok(false),
            None => Err(Box::new(self.stop_first(context))),
            // The new row would name no roles, and the policy of the last move would still deny writes to the table that opens.
            Some(Writers::Attested) if !context.head().exempt.is_empty() => {
                let retrofit = context.mapping.name();
                let message = format!("a policy of retrofit `{retrofit}` still denies writes to a table");
                let refused = Outcome::refused("policies-in-force", message)
                    .hinted("use `--writers policy`, which keeps the roles of the last switch");
                Err(Box::new(refused))
            }
            Some(Writers::Attested) => Ok(false),
            Some(Writers::Policy(_)) => {
                let exempt = self.exempt(context);
                if exempt.is_empty() {
                    let message =
                        format!("no role is named that may write to table `{closes}` after the switch");
                    let refused = Outcome::refused("exempt-missing", message).hinted(
                        "give the ARNs of the replicator's role (an output of the stack) and of this operator's with `--exempt`",
                    );
                    return Err(Box::new(refused));
                }
                check_exempt(&exempt)?;
                Ok(true)
            }
        }
    }

    fn open_streams(&mut self, context: &OperationContext) -> Result<(), TableRole> {
        let head = context.head();
        let job = self.carrying_job(context, head);
        let drain = Drain::open(context, job, self.to == Phase::Settled, head.phase == self.stop)?;
        self.drain = Some(drain);
        Ok(())
    }

    pub(super) fn read_ahead(&mut self, context: &OperationContext) -> SwitchStage {
        match self.open_streams(context) {
            Ok(()) => self.round(RoundPurpose::BeforeStop),
            Err(role) => over(self.stream_replaced(context, role)),
        }
    }

    /// Changes older than the usual lag.
    fn tasks_ahead(&mut self, context: &OperationContext) -> Vec<ItemTask> {
        let before = context.seconds().saturating_sub(USUAL_LAG_SECONDS);
        match self.options.check {
            true => Vec::new(),
            false => self.drain_mut().arrivals.carry_tasks(before),
        }
    }

    /// After a round before the stop: the next one, or what it found.
    pub(super) fn read_on(&mut self, context: &OperationContext, end: &RoundEnd) -> SwitchStage {
        let is_caught_up = self.drain().is_caught_up();
        let is_in_time =
            context.now_ms < self.drain().reading_since_ms.saturating_add(context.limits.read_max_ms);
        // A day of records can name more items than may be kept: those that the replicator does not carry are carried while the rest is read.
        if !is_caught_up && is_in_time && self.drain().arrivals.lacks_more_than(LACKING_AHEAD_MAX) {
            let tasks = self.tasks_ahead(context);
            if !tasks.is_empty() {
                return SwitchStage::Carrying { tasks };
            }
        }
        if self.drain().arrivals.is_too_far_behind() {
            return over(self.too_far_behind(context));
        }
        match (is_caught_up, is_in_time) {
            // The replicator reads the same shards: empty rounds must not take its share of the calls.
            (false, true) if end.is_idle => wait(context),
            (false, true) => self.round(RoundPurpose::BeforeStop),
            (false, false) => over(self.stream_too_long(context)),
            (true, _) => {
                let tasks = self.tasks_ahead(context);
                match tasks.is_empty() {
                    true => self.prove(context),
                    false => SwitchStage::Carrying { tasks },
                }
            }
        }
    }

    /// The tasks of [`SwitchStage::Carrying`] are done.
    pub(super) fn carried(&mut self, context: &OperationContext) -> SwitchStage {
        if self.is_in_stop(context) {
            return self.probe_or_wait(context);
        }
        if self.drain().is_caught_up() {
            return self.prove(context);
        }
        let stage = self.round(RoundPurpose::BeforeStop);
        // Without another lookup, what was carried would still count as pending, and be carried again.
        self.drain_mut().arrivals.look_again();
        stage
    }

    fn prove(&mut self, context: &OperationContext) -> SwitchStage {
        if self.options.check {
            // Without `--writers policy`, policies need not be readable.
            return match &self.options.writers {
                Some(Writers::Policy(_)) => SwitchStage::Policies { read: Vec::new() },
                _ => over(self.checked(context, &[])),
            };
        }
        if self.options.unproven || self.to == Phase::Settled {
            return self.stop_writers(context);
        }
        let opens = self.closing_and_opening()[1];
        let drain = self.drain();
        SwitchStage::Proof(Box::new(Proving::of(
            context,
            drain.arrivals.job().clone(),
            opens,
            &drain.reverse_stream,
        )))
    }

    pub(super) fn proven(
        &mut self,
        context: &OperationContext,
        end: Result<(), Box<Outcome>>,
        rewritten: &[Item],
    ) -> SwitchStage {
        match end {
            Err(outcome) => SwitchStage::Over(outcome),
            Ok(()) => {
                // Each of these items has a row now, and the row decides whether a change arrived: the former lookup found it without one.
                rewritten.iter().for_each(|key| self.drain_mut().arrivals.look_at(key));
                self.stop_writers(context)
            }
        }
    }
}
