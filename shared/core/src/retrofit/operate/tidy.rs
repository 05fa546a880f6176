//! Deletes the target's tombstones before readers move. Each change of the phase is followed by the seals of the phase before, for its
//! repairs, and by a wait, until every other write of that phase has ended; then the sweep.

use std::collections::BTreeMap;

use super::context::{Limits, OperationContext, raced, settled_ms};
use super::effect::{Effect, Reply};
use super::gate_check::GateCheck;
use super::outcome::{End, Outcome};
use super::parts::{Part, PartStep, Passes, Rows, Seals, Store, Stored, advance};
use crate::retrofit::control::{self, Phase, RetrofitState};
use crate::retrofit::drain::CLOCK_SECONDS_MAX;
use crate::retrofit::gates::Gate;
use crate::retrofit::protocol_choice::Protocol;
use crate::retrofit::segment::Pass;

/// The pause between two reads of the leases.
const POLL_MS: u64 = 500;

/// A tidying, as it was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tidy {
    /// Its times.
    pub limits: Limits,
}

#[derive(Debug, Clone, PartialEq)]
enum TidyStage {
    Gates(GateCheck),
    Storing(Box<Store>),
    /// Repairs of the phase before are over: the wait for requests is too short for a process that stood still.
    Sealing(Seals),
    /// Workers that may have started in the phase before.
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
pub(super) struct TidyMachine {
    stage: TidyStage,
    /// Was the wait of this phase over by this operator's own clock?
    waited: bool,
    /// Items by the result of the sweep.
    counts: BTreeMap<String, u64>,
}

impl TidyMachine {
    pub(super) fn new(context: &OperationContext) -> TidyMachine {
        let stage = TidyStage::Waiting { until_ms: 0 };
        let mut machine = TidyMachine { stage, waited: false, counts: BTreeMap::new() };
        machine.stage = machine.decide(context);
        machine
    }

    pub(super) fn status(&self, context: &OperationContext) -> String {
        match &self.stage {
            TidyStage::Waiting { until_ms } => format!(
                "waiting {} s more until requests of the earlier phase have ended",
                until_ms.saturating_sub(context.now_ms).div_ceil(1_000)
            ),
            TidyStage::Leases(_) | TidyStage::LeaseWait { .. } => {
                "waiting for workers that began in the earlier phase".to_owned()
            }
            TidyStage::Sweeping(_) => "deleting the tombstones of the target".to_owned(),
            _ => "tidying the target".to_owned(),
        }
    }

    /// The stage that the row leads to.
    fn decide(&mut self, context: &OperationContext) -> TidyStage {
        let head = context.head();
        let first = match head.tidied_first() {
            Ok(first) => first,
            Err(error) => return over(context.control_error(&error)),
        };
        if head.keeps_rows() && head.swept {
            return over(self.tidy(context, End::Already));
        }
        match (head.phase, head.since) {
            (Phase::Running, _) => TidyStage::Gates(GateCheck::of(context)),
            // By the row first: a repair that begins now belongs to this phase.
            (Phase::Tidying | Phase::Tidy, None) => TidyStage::Sealing(Seals::of_former(head)),
            (Phase::Tidying | Phase::Tidy, Some(since)) if !self.waited => {
                // Until then, by any clock, the records of those requests are older than the rows.
                let more = if head.leaves_tombstones() { 0 } else { 2 * context.limits.clock_skew_ms };
                TidyStage::Waiting { until_ms: settled_ms(context, since) + more }
            }
            // Deletes leave no tombstone from here on. A write in flight that knows nothing of rows would bring a deleted item back.
            (Phase::Tidying, Some(_)) => self.enter(context, Phase::Tidy),
            // Swept before the wait was over, the target would get tombstones of writes that were still in flight.
            (Phase::Tidy, Some(_)) if head.leaves_tombstones() => {
                TidyStage::Sweeping(Passes::of(&[Pass::Tidy], false))
            }
            (Phase::Tidy, Some(_)) => store(context, swept(context)),
            _ => over(match head.to(first) {
                Err(error) => context.control_error(&error),
                Ok(_) => unreachable!("only `running` leads there"),
            }),
        }
    }

    fn enter(&mut self, context: &OperationContext, phase: Phase) -> TidyStage {
        // Requests of the phase that ends now are in flight: the wait of the phase before says nothing about them.
        self.waited = false;
        match context.head().to(phase) {
            Ok(next) => store(context, next),
            Err(error) => over(context.control_error(&error)),
        }
    }

    fn tidy(&self, context: &OperationContext, end: End) -> Outcome {
        let message = format!(
            "retrofit `{}` is tidy: readers of table `{}` see no tombstones (markers of deleted items)",
            context.mapping.name(),
            context.mapping.target().name
        );
        Outcome { counts: self.counts.clone(), ..Outcome::new(end, context.head().phase.name(), message) }
    }

    /// `None` if the stage is not over yet.
    fn next_stage(&mut self, context: &mut OperationContext, reply: Reply) -> Option<TidyStage> {
        Some(match (&mut self.stage, reply) {
            (TidyStage::Gates(check), reply) => match advance(check, context, reply)? {
                Ok(report) => self.gates_known(context, report.gates),
                Err(error) => over(context.control_error(&error)),
            },
            (TidyStage::Storing(store), reply) => match advance(&mut **store, context, reply)? {
                Stored::Raced(there) => over(raced(context, there.as_deref())),
                Stored::Done if context.head().swept => over(self.tidy(context, End::Done)),
                Stored::Done => self.decide(context),
            },
            (TidyStage::Leases(rows), reply) => {
                let read = advance(rows, context, reply)?;
                leases(context, &read[0])
            }
            (TidyStage::Sealing(seals), reply) => {
                advance(seals, context, reply)?;
                read_leases(context)
            }
            (TidyStage::LeaseWait { .. }, Reply::Done) => read_leases(context),
            (TidyStage::Waiting { until_ms }, Reply::Done) => {
                // An interruption ends a wait early, and proves nothing about what is in flight.
                self.waited = context.now_ms >= *until_ms;
                self.waited.then(|| self.decide(context))?
            }
            (TidyStage::Sweeping(passes), reply) => {
                self.counts = advance(passes, context, reply)?;
                store(context, swept(context))
            }
            (stage, reply) => unreachable!("{reply:?} does not answer {stage:?}"),
        })
    }

    fn gates_known(&mut self, context: &OperationContext, mut gates: Vec<Gate>) -> TidyStage {
        // A backfill costs less before the tidying. Workers on a segment are waited for later.
        gates.retain(|gate| matches!(gate, Gate::Backfill { .. } | Gate::Stream));
        match (gates.is_empty(), context.head().tidied_first()) {
            (true, Ok(first)) => self.enter(context, first),
            (true, Err(error)) => over(context.control_error(&error)),
            (false, _) => over(gates_closed(context, gates)),
        }
    }
}

impl Part for TidyMachine {
    type End = Outcome;

    fn next(&self, context: &OperationContext) -> PartStep<Outcome> {
        match &self.stage {
            TidyStage::Over(outcome) => PartStep::Over((**outcome).clone()),
            TidyStage::Gates(check) => check.next(context).pending(),
            TidyStage::Storing(store) => store.next(context).pending(),
            TidyStage::Sealing(seals) => seals.next(context).pending(),
            TidyStage::Leases(rows) => rows.next(context).pending(),
            TidyStage::Sweeping(passes) => passes.next(context).pending(),
            TidyStage::LeaseWait { until_ms } | TidyStage::Waiting { until_ms } => {
                PartStep::Ask(Effect::Wait { until_ms: *until_ms })
            }
        }
    }

    fn take(&mut self, context: &mut OperationContext, reply: Reply) {
        if let Some(stage) = self.next_stage(context, reply) {
            self.stage = stage;
        }
    }
}

fn store(context: &OperationContext, next: RetrofitState) -> TidyStage {
    TidyStage::Storing(Box::new(Store::of(context, next)))
}

/// A backfill reads the row once and writes by it for as long as it runs: the wait for requests begins when it is over.
fn read_leases(context: &OperationContext) -> TidyStage {
    TidyStage::Leases(Rows::of(vec![control::leases_partition(context.mapping.rows_name())]))
}

fn swept(context: &OperationContext) -> RetrofitState {
    let next = context.head().swept();
    match next.protocol {
        // Only now no write of the first phase is under way, whose record would be called late. Changes of the target's writers come after
        // this second, by any clock: counted as from before the rows, they would not be examined.
        Protocol::Ledger => {
            let skew = context.limits.clock_skew_ms / 1_000;
            let since = context.seconds().saturating_sub(CLOCK_SECONDS_MAX + skew);
            RetrofitState { rows_since: Some(since), ..next }
        }
        Protocol::InPlace | Protocol::Fenced => next,
    }
}

fn leases(context: &OperationContext, rows: &[crate::value::Item]) -> TidyStage {
    match context.held(rows) > 0 {
        true => TidyStage::LeaseWait { until_ms: context.now_ms + POLL_MS },
        false => store(context, context.head().effective_since(context.seconds())),
    }
}

fn gates_closed(context: &OperationContext, gates: Vec<Gate>) -> Outcome {
    let listed: Vec<String> = gates.iter().map(ToString::to_string).collect();
    let message =
        format!("retrofit `{}` cannot be tidied yet: {}", context.mapping.name(), listed.join("; "));
    let next = Some(format!("keyfold retrofit run {}", context.mapping.name()));
    Outcome { gates, next, ..Outcome::refused("gates-closed", message) }
}

fn over(outcome: Outcome) -> TidyStage {
    TidyStage::Over(Box::new(outcome))
}
