//! The switch of writers, in either direction: the writers of one table are stopped, everything that they wrote arrives at the other one, earlier
//! work is sealed, and the writers of the other table may write. Until that moment everything can be taken back.
//!
//! | stage | what happens | a failure | where |
//! |---|---|---|---|
//! | trial | items are mapped to the target and back | ends the command | `before` |
//! | tidy | tombstones are swept, then both sides are compared | ends the command | `before` |
//! | gates, policies | everything that can refuse refuses here | ends the command | `before` |
//! | reading | the streams are read up to now, for a limited time; what is older than a minute is carried over | ends the command | `before`, `drain` |
//! | proof | the replicator shows that it can carry items the other way | ends the command | `before` |
//! | stop | the row says so, then the policies | tried again until the limit of the stop | `stop` |
//! | drain | until the streams are idle and no item is pending | the same | `stop`, `drain` |
//! | seal, comparison, last round | seals stop all writes of the generation, so both sides stay as they are | the same | `stop` |
//! | turn | the row says so, then the policies | tried again | `stop` |
//! | give back | seals, the row, the policies | tried again | `give_back` |
//!
//! The pause is counted from the first moment at which writers may be stopped: where they stop by themselves, from the beginning of the
//! command; else from the row of the stop, which has the second.

mod before;
mod drain;
mod give_back;
mod in_place;
mod rounds;
mod stop;
mod texts;

use std::sync::Arc;

use self::drain::{Drain, Round, RoundPurpose};
use super::arrivals::CARRY_ITEMS;
use super::comparison::{Compared, Comparing};
use super::context::{Limits, OperationContext, raced};
use super::effect::{Effect, Failure, Reply, TablePolicy};
use super::gate_check::{GateCheck, open_entries};
use super::outcome::Outcome;
use super::parts::{Part, PartStep, Passes, Rows, Seals, Store, Stored, advance};
use super::policies::{PolicyRightsCheck, PolicySync, TABLES, model};
use super::proof::Proving;
use super::tidy::TidyMachine;
use super::trial::Trial;
use crate::retrofit::control::{Phase, RetrofitState};
use crate::retrofit::gates::Gate;
use crate::retrofit::job::Job;
use crate::retrofit::quarantine::Quarantined;
use crate::retrofit::request::TableRole;
use crate::retrofit::task::ItemTask;

/// The pause between two rounds.
const ROUND_PAUSE_MS: u64 = 200;

/// A switch, as it was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Switch {
    /// Moves the writers back to the source.
    pub back: bool,
    /// Moves them although they cannot be moved back.
    pub for_good: bool,
    /// How writers are stopped; `None` only for a check, and to go on with a stop.
    pub writers: Option<Writers>,
    /// Does not ask the replicator first whether it can carry items the other way. In place: switches although the replicator has
    /// shown nothing.
    pub unproven: bool,
    /// Changes nothing.
    pub check: bool,
    /// Ends a stop that cannot be completed.
    pub take_back: bool,
    /// Its times.
    pub limits: Limits,
}

/// How writers are stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Writers {
    /// They have been stopped, and stay so until the command has ended.
    Attested,
    /// A policy on the table denies their writes, but for these roles; without any, for those of the last move.
    Policy(Vec<String>),
}

#[derive(Debug, Clone, PartialEq)]
enum SwitchStage {
    /// Does every item come back?
    Trying(Box<Trial>),
    /// Tombstones are swept.
    Tidying(TidyMachine),
    /// And both sides compared.
    Comparing(Passes),
    Gates(GateCheck),
    /// Entries of the quarantine are tried once more.
    Releasing {
        entries: Vec<Quarantined>,
    },
    Rights(PolicyRightsCheck),
    /// Before the stop, or during it.
    Round(Round),
    /// Items that have not arrived are carried over, the last first.
    Carrying {
        tasks: Vec<ItemTask>,
    },
    /// What would become of the policies, for a check.
    Policies {
        read: Vec<Option<TablePolicy>>,
    },
    Proof(Box<Proving>),
    /// Trial writes: does the policy deny them? The last ones follow the comparison, during which the policy may have been changed.
    Probing {
        is_last: bool,
    },
    Waiting {
        until_ms: u64,
    },
    Sealing(Seals),
    /// The streams that the tables have now.
    Describing(TableRole),
    /// Nothing is open in quarantine: before the last round, where both sides are compared, and after it.
    Quarantine {
        rows: Rows,
        is_last: bool,
    },
    Exactly(Comparing),
    /// Entries that the comparison has answered leave the quarantine.
    Dismissing {
        forward: bool,
    },
    Storing {
        store: Box<Store>,
        then: AfterStore,
    },
    /// The policies are made what the row says.
    Enforcing {
        policies: PolicySync,
        then: AfterPolicies,
    },
    GivingBackSeals(Seals),
    Over(Box<Outcome>),
}

/// The row that is stored, and so what follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AfterStore {
    /// Other roles are exempt from now on: a list without the operator or the replicator would leave no way back.
    Exempting,
    Stop,
    Turn,
    GiveBack,
    /// In place: the row alone.
    InPlace,
}

/// The next step once both policies agree with the row.
#[derive(Debug, Clone, PartialEq)]
enum AfterPolicies {
    Gates,
    /// The table is closed.
    Drain,
    /// The writers were moved, now or by an earlier command; or stay where they were.
    End(Box<Outcome>),
    Turned,
    GivenBack,
}

/// Why a stop is given back.
#[derive(Debug, Clone, PartialEq)]
enum GiveBackReason {
    Asked,
    Interrupted,
    TooLong,
    NotDenied,
    Moved(Vec<Gate>),
    Differs(Compared),
    StreamReplaced(TableRole),
    TooFarBehind,
    Failed(Failure),
}

/// A switch at work.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SwitchMachine {
    options: Switch,
    stage: SwitchStage,
    from: Phase,
    stop: Phase,
    to: Phase,
    /// Once the streams were opened.
    drain: Option<Drain>,
    /// Since when writers may be stopped.
    stopped_since_ms: Option<u64>,
    /// Since when nothing came.
    idle_since_ms: u64,
    /// Since when every trial write was denied.
    denied_since_ms: Option<u64>,
    /// Was the last trial write denied? Also true before the first one.
    is_denied: bool,
    reason: Option<GiveBackReason>,
    /// Since when a stop is being taken back, or the turn is behind.
    ending_since_ms: Option<u64>,
    gates: Vec<Gate>,
    /// How many entries of the quarantine were tried again last: one item may have been in another's way, so fewer are tried once more.
    released: usize,
    /// Were both sides compared by this command?
    has_compared: bool,
    /// Entries that only the exact comparison answers: of this direction, and of the other one.
    answered_by_comparison: [Vec<Quarantined>; 2],
}

impl SwitchMachine {
    pub(super) fn new(options: Switch, context: &OperationContext) -> SwitchMachine {
        // Back to `tidy`: rows are kept since the tidying, and the phases before it write tombstones that readers would meet.
        let (from, stop, to) = match (options.back, options.for_good) {
            (true, _) => (Phase::Reversed, Phase::Returning, Phase::Tidy),
            (false, true) => (Phase::Tidy, Phase::Closing, Phase::Settled),
            (false, false) => (Phase::Tidy, Phase::Closing, Phase::Reversed),
        };
        let mut machine = SwitchMachine {
            options,
            stage: SwitchStage::Probing { is_last: false },
            from,
            stop,
            to,
            drain: None,
            stopped_since_ms: None,
            idle_since_ms: context.now_ms,
            denied_since_ms: None,
            // Otherwise a stop that is late before its first trial write would be reported as a policy that does not work.
            is_denied: true,
            reason: None,
            ending_since_ms: None,
            gates: Vec::new(),
            // Above every number of entries: corrected items get one attempt in each command.
            released: usize::MAX,
            has_compared: false,
            answered_by_comparison: [Vec::new(), Vec::new()],
        };
        machine.stage = machine.begin(context);
        machine.go_on(context);
        machine
    }

    /// How long the writers have been stopped.
    pub(super) fn paused_ms(&self, context: &OperationContext) -> Option<u64> {
        self.stopped_since_ms.map(|since| context.now_ms.saturating_sub(since))
    }

    /// The tables: the one whose writers stop, and the one whose writers begin.
    fn closing_and_opening(&self) -> [TableRole; 2] {
        match self.options.back {
            false => [TableRole::Source, TableRole::Target],
            true => [TableRole::Target, TableRole::Source],
        }
    }

    /// Their names.
    fn table_names<'c>(&self, context: &'c OperationContext) -> (&'c str, &'c str) {
        let [closes, opens] = self.closing_and_opening();
        (&model(context, closes).name, &model(context, opens).name)
    }

    fn command(&self) -> &'static str {
        if self.options.back { "switch --back" } else { "switch" }
    }

    fn drain(&self) -> &Drain {
        match &self.drain {
            Some(drain) => drain,
            None => unreachable!("the streams were opened"),
        }
    }

    fn drain_mut(&mut self) -> &mut Drain {
        match &mut self.drain {
            Some(drain) => drain,
            None => unreachable!("the streams were opened"),
        }
    }

    /// The job that carries items from the table whose writers stop.
    fn carrying_job(&self, context: &OperationContext, head: &RetrofitState) -> Arc<Job> {
        let job = match self.options.back {
            false => Some(head.job(context.mapping.clone())),
            true => head.reverse_job(&context.mapping),
        };
        match job {
            Some(job) => Arc::new(job),
            None => unreachable!("the way back was checked"),
        }
    }

    fn is_late(&self, context: &OperationContext) -> bool {
        self.paused_ms(context).is_some_and(|paused| paused >= context.limits.stop_max_ms)
    }

    fn is_in_stop(&self, context: &OperationContext) -> bool {
        // A check stops no writers: at its time limit it would take back the stop of another operator.
        context.head().phase == self.stop && !self.options.check && !self.is_ending_for_another()
    }

    /// Another operator moved the row, and the policies are made what it says.
    fn is_ending_for_another(&self) -> bool {
        matches!(self.stage, SwitchStage::Enforcing { then: AfterPolicies::End(_), .. })
    }

    /// May it end here, with no writers stopped by this operation?
    pub(super) fn may_be_left(&self, context: &OperationContext) -> bool {
        let is_moving = match &self.stage {
            // The row may be stored although the answer is lost: left here, the writers would stay stopped.
            SwitchStage::Storing { then, .. } => matches!(then, AfterStore::Stop | AfterStore::Turn),
            // Until its policy is changed, the table that opens still denies its writers.
            SwitchStage::Enforcing { then, .. } => {
                matches!(then, AfterPolicies::Turned | AfterPolicies::GivenBack)
            }
            _ => false,
        };
        !self.is_in_stop(context) && !is_moving
    }

    /// May policies be other ones than the row says, if the command ends now?
    pub(super) fn policies_behind(&self) -> bool {
        match &self.stage {
            SwitchStage::Enforcing { policies, then } => {
                *then != AfterPolicies::Drain && policies.is_behind()
            }
            _ => false,
        }
    }

    fn enforce(context: &OperationContext, then: AfterPolicies) -> SwitchStage {
        SwitchStage::Enforcing { policies: PolicySync::new(context), then }
    }

    fn store(context: &OperationContext, next: RetrofitState, then: AfterStore) -> SwitchStage {
        SwitchStage::Storing { store: Box::new(Store::of(context, next)), then }
    }

    fn release(&self, context: &OperationContext, entries: &[Quarantined]) -> Effect {
        let job = self.carrying_job(context, context.head());
        let tasks = at_end(entries).iter().filter_map(|entry| job.release(entry)).collect();
        Effect::Carry { job, tasks }
    }

    fn stored(&mut self, context: &OperationContext, stored: Stored, then: AfterStore) -> SwitchStage {
        // The other operator decides now: going on by the former row would close a table that it has opened.
        if let Stored::Raced(there) = stored {
            return self.raced(context, there.as_deref());
        }
        // The next stage has its own time limit.
        self.ending_since_ms = None;
        match then {
            AfterStore::Exempting => Self::enforce(context, AfterPolicies::Gates),
            AfterStore::Stop => {
                self.idle_since_ms = context.now_ms;
                let job = self.carrying_job(context, context.head());
                self.drain_mut().arrivals.carry_by(context.head(), job);
                Self::enforce(context, AfterPolicies::Drain)
            }
            AfterStore::Turn => Self::enforce(context, AfterPolicies::Turned),
            AfterStore::GiveBack => Self::enforce(context, AfterPolicies::GivenBack),
            AfterStore::InPlace => over(self.moved_in_place(context)),
        }
    }

    fn enforced(&mut self, context: &OperationContext, end: Stored, then: AfterPolicies) -> SwitchStage {
        match (end, then) {
            (Stored::Raced(there), _) => self.raced(context, there.as_deref()),
            (_, AfterPolicies::Gates) => SwitchStage::Gates(GateCheck::of(context)),
            (_, AfterPolicies::Drain) => {
                // Only silence after the table is closed counts: before that, its writers could write at any moment.
                self.idle_since_ms = context.now_ms;
                self.round(RoundPurpose::Drain)
            }
            (_, AfterPolicies::End(outcome)) => SwitchStage::Over(outcome),
            // Success is reported after the policies: reported with the row, the writers would be sent to a table that denies their writes.
            (_, AfterPolicies::Turned) => over(self.turned(context)),
            (_, AfterPolicies::GivenBack) => over(self.given_back(context)),
        }
    }

    /// This operator may have closed a table after another one had opened it.
    fn raced(&mut self, context: &OperationContext, there: Option<&RetrofitState>) -> SwitchStage {
        let outcome = raced(context, there);
        match there.is_some_and(|head| !head.exempt.is_empty()) && !self.options.check {
            true => {
                // The pause is the other operator's.
                self.stopped_since_ms = None;
                Self::enforce(context, AfterPolicies::End(Box::new(outcome)))
            }
            false => over(outcome),
        }
    }

    /// The stage that follows the reply; `None` if it is not over yet.
    fn next_stage(&mut self, context: &mut OperationContext, reply: Reply) -> Option<SwitchStage> {
        Some(match &mut self.stage {
            SwitchStage::Trying(trial) => match advance(&mut **trial, context, reply)? {
                Ok(()) => self.begin_checks(context),
                Err(outcome) => SwitchStage::Over(outcome),
            },
            SwitchStage::Tidying(tidying) => {
                let outcome = advance(tidying, context, reply)?;
                self.tidied(context, outcome)
            }
            SwitchStage::Comparing(passes) => {
                // The counts are not used: the gates read the result from the segments' rows, where only a complete comparison counts.
                advance(passes, context, reply)?;
                self.checks(context)
            }
            SwitchStage::Gates(check) => match advance(check, context, reply)? {
                Ok(report) => self.gates_known(context, report),
                Err(error) => over(context.control_error(&error)),
            },
            SwitchStage::Releasing { entries } => {
                drop_at_end(entries)?;
                SwitchStage::Gates(GateCheck::of(context))
            }
            SwitchStage::Rights(check) => match advance(check, context, reply)? {
                // Reading ahead may take an hour, and the writers of a stop that is resumed are waiting.
                Ok(()) if self.is_in_stop(context) => self.resume(context),
                Ok(()) => self.read_ahead(context),
                Err(outcome) => over(*outcome),
            },
            SwitchStage::Round(_) => return self.round_answered(context, reply),
            SwitchStage::Carrying { tasks } => {
                drop_at_end(tasks)?;
                self.carried(context)
            }
            SwitchStage::Policies { read } => {
                let Reply::Policy(policy) = reply else { unreachable!("{reply:?} is no policy") };
                read.push(policy);
                let read = (read.len() == TABLES.len()).then(|| std::mem::take(read))?;
                over(self.checked(context, &read))
            }
            SwitchStage::Proof(proof) => {
                let end = advance(&mut **proof, context, reply)?;
                let rewritten: Vec<_> = proof.rewritten().collect();
                self.proven(context, end, &rewritten)
            }
            SwitchStage::Storing { store, then } => {
                let (stored, then) = (advance(&mut **store, context, reply)?, *then);
                self.stored(context, stored, then)
            }
            SwitchStage::Enforcing { policies, then } => {
                let end = advance(policies, context, reply)?;
                let then = then.clone();
                self.enforced(context, end, then)
            }
            _ => return self.next_stage_in_stop(context, reply),
        })
    }

    /// The rest of [`next_stage`](Self::next_stage): stages that only a stop has.
    fn next_stage_in_stop(&mut self, context: &mut OperationContext, reply: Reply) -> Option<SwitchStage> {
        Some(match (&mut self.stage, reply) {
            (SwitchStage::Probing { is_last }, Reply::Denied(denied)) => {
                let is_last = *is_last;
                self.probed(context, denied, is_last)
            }
            (SwitchStage::Waiting { .. }, Reply::Done) => self.waited(context),
            (SwitchStage::Sealing(seals), reply) => {
                advance(seals, context, reply)?;
                self.sealed(context)
            }
            (SwitchStage::Describing(role), Reply::Table(facts)) => {
                let role = *role;
                context.set_table(role, facts);
                match role {
                    TableRole::Source => SwitchStage::Describing(TableRole::Target),
                    _ => self.described(context),
                }
            }
            (SwitchStage::Quarantine { rows, is_last }, reply) => {
                let is_last = *is_last;
                let read = advance(rows, context, reply)?;
                self.quarantine_read(context, open_entries(&read), is_last)
            }
            (SwitchStage::Exactly(comparing), reply) => {
                let found = advance(comparing, context, reply)?;
                match found.differing {
                    0 => self.last_round(context),
                    // No stream has shown this difference, so nothing would carry it over after the turn.
                    _ => self.give_back(context, GiveBackReason::Differs(found)),
                }
            }
            (SwitchStage::Dismissing { forward }, Reply::Results(_)) => {
                let forward = usize::from(*forward);
                drop_at_end(&mut self.answered_by_comparison[forward]);
                self.compared(context)
            }
            (SwitchStage::GivingBackSeals(seals), reply) => {
                advance(seals, context, reply)?;
                self.give_back_sealed(context)
            }
            (stage, reply) => unreachable!("{reply:?} does not answer {stage:?}"),
        })
    }

    fn dismiss(&self, context: &OperationContext, forward: bool) -> Effect {
        let head = context.head();
        // A job finds entries under its own direction only: the other one would leave them in quarantine, and the next switch blocked.
        let job = match forward {
            true => Arc::new(head.job(context.mapping.clone())),
            false => self.carrying_job(context, head),
        };
        let entries = at_end(&self.answered_by_comparison[usize::from(forward)]);
        let tasks = entries.iter().map(|entry| job.dismiss(entry)).collect();
        Effect::Carry { job, tasks }
    }
}

impl Part for SwitchMachine {
    type End = Outcome;

    fn next(&self, context: &OperationContext) -> PartStep<Outcome> {
        PartStep::Ask(match &self.stage {
            SwitchStage::Over(outcome) => return PartStep::Over((**outcome).clone()),
            SwitchStage::Trying(trial) => return trial.next(context).pending(),
            SwitchStage::Tidying(tidying) => return tidying.next(context).pending(),
            SwitchStage::Comparing(passes) => return passes.next(context).pending(),
            SwitchStage::Gates(check) => return check.next(context).pending(),
            SwitchStage::Quarantine { rows, .. } => return rows.next(context).pending(),
            SwitchStage::Rights(check) => return check.next(context).pending(),
            SwitchStage::Proof(proof) => return proof.next(context).pending(),
            SwitchStage::Storing { store, .. } => return store.next(context).pending(),
            SwitchStage::Enforcing { policies, .. } => return policies.next(context).pending(),
            SwitchStage::Sealing(seals) | SwitchStage::GivingBackSeals(seals) => {
                return seals.next(context).pending();
            }
            SwitchStage::Exactly(comparing) => return comparing.next(context).pending(),
            SwitchStage::Round(round) => match self.drain().next(context, round) {
                Some(effect) => effect,
                None => unreachable!("a round that asks for nothing is left at once"),
            },
            SwitchStage::Releasing { entries } => self.release(context, entries),
            SwitchStage::Dismissing { forward } => self.dismiss(context, *forward),
            SwitchStage::Carrying { tasks } => {
                Effect::Carry { job: Arc::clone(self.drain().arrivals.job()), tasks: at_end(tasks).to_vec() }
            }
            SwitchStage::Policies { read } => Effect::Policy(TABLES[read.len()]),
            SwitchStage::Probing { .. } => Effect::Probe(self.closing_and_opening()[0]),
            SwitchStage::Waiting { until_ms } => Effect::Wait { until_ms: *until_ms },
            SwitchStage::Describing(role) => Effect::Describe(*role),
        })
    }

    fn take(&mut self, context: &mut OperationContext, reply: Reply) {
        if let Some(stage) = self.next_stage(context, reply) {
            self.stage = stage;
        }
        self.go_on(context);
        // After the stage is known: a stop that has just been completed is not taken back.
        self.check_limit(context);
    }
}

impl SwitchMachine {
    /// Leaves stages that ask for nothing.
    fn go_on(&mut self, context: &OperationContext) {
        loop {
            let next = match &self.stage {
                SwitchStage::Round(round) if self.drain().next(context, round).is_none() => {
                    let round = round.clone();
                    self.round_on(context, round)
                }
                // A row without roles has no policy to change, so this part can be over before it asks for anything.
                SwitchStage::Enforcing { policies, then } => match policies.next(context) {
                    PartStep::Over(end) => {
                        let then = then.clone();
                        self.enforced(context, end, then)
                    }
                    PartStep::Ask(_) => return,
                },
                _ => return,
            };
            self.stage = next;
        }
    }
}

fn wait(context: &OperationContext) -> SwitchStage {
    SwitchStage::Waiting { until_ms: context.now_ms + ROUND_PAUSE_MS }
}

fn over(outcome: Outcome) -> SwitchStage {
    SwitchStage::Over(Box::new(outcome))
}

/// Those that one effect takes.
fn at_end<T>(all: &[T]) -> &[T] {
    &all[all.len().saturating_sub(CARRY_ITEMS)..]
}

/// They are done: `None` while others are left.
fn drop_at_end<T>(all: &mut Vec<T>) -> Option<()> {
    // Not before the reply: after a failure the same entries must be sent again.
    all.truncate(all.len().saturating_sub(CARRY_ITEMS));
    all.is_empty().then_some(())
}
