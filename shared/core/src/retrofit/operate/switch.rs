//! The switch of writers, in either direction: the writers of one table are stopped, all that they wrote arrives at the other one, what was
//! begun before is sealed, and the writers of the other table may write. Until that moment everything can be taken back.
//!
//! | stage | what happens | a failure |
//! |---|---|---|
//! | tidy | tombstones of before are swept, then both sides are compared | ends the command |
//! | gates, doors | everything that can refuse refuses here | ends the command |
//! | reading | the streams are read up to now, for a limited time; what is older than a minute is carried over | ends the command |
//! | proof | the replicator shows that it can carry items the other way | ends the command |
//! | stop | the row says so, then the policies | tried again until the limit of the stop |
//! | drain | until the streams are quiet and nothing lacks anything | the same |
//! | seal, comparison, last look | nothing of the generation can be written any more: what is right now stays right | the same |
//! | turn | the row says so, then the policies | tried again |
//! | taking back | seals, the row, the policies | tried again |
//!
//! The pause is counted from the first moment at which writers may be stopped: where they stop by themselves, from the beginning of the
//! command; else from the row of the stop, which has the second.

use std::sync::Arc;

use super::arrivals::{Arrivals, CARRY_ITEMS, LACKING_AHEAD_MAX};
use super::comparison::{Compared, Comparing};
use super::doors::{DoorCheck, Enforcing, TABLES, check_exempt, direction, model, unusable, wanted};
use super::effect::{Effect, Failure, FailureKind, Reply, TablePolicy};
use super::examine::{Examined, Examining};
use super::gate_check::{GateCheck, GateReport, open_entries, quarantine_rows};
use super::known::{Known, Limits, OnFailure, failed, raced};
use super::outcome::{End, Outcome};
use super::parts::{Part, Passes, Rows, Seals, Store, Stored, Turn, ask};
use super::proof::Proving;
use super::streams::StreamReading;
use super::tidy::Tidying;
use crate::retrofit::control::{Direction, Phase, RetrofitState};
use crate::retrofit::gates::Gate;
use crate::retrofit::job::Job;
use crate::retrofit::progress;
use crate::retrofit::protocol_choice::Protocol;
use crate::retrofit::quarantine::Quarantined;
use crate::retrofit::request::TableRole;
use crate::retrofit::task::ItemTask;

/// What is older than this and has not arrived is carried over before the stop.
const USUAL_LAG_SECONDS: u64 = 60;
/// The pause between two rounds.
const LOOK_MS: u64 = 200;
const READING: &str = "reading what the streams have; writers may go on";
/// How long taking a stop back, or what follows a turn, is tried at least.
const GIVE_BACK_MS_MIN: u64 = 120_000;

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

/// Why a stop is taken back.
#[derive(Debug, Clone, PartialEq)]
enum Why {
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

#[derive(Debug, Clone, PartialEq)]
enum Stage {
    /// Tombstones are swept first.
    Tidying(Tidying),
    /// And both sides compared.
    Comparing(Passes),
    /// Other roles are exempt from now on: a list without the operator or the replicator would leave no way back.
    Exempting(Store),
    Reopening(Enforcing),
    Gates(GateCheck),
    /// What is in quarantine is tried once more.
    Releasing {
        entries: Vec<Quarantined>,
    },
    Doors(DoorCheck),
    /// Before the stop, or during it.
    Round(Round),
    /// What has not arrived is carried over, the last first.
    Carrying {
        tasks: Vec<ItemTask>,
        round: Round,
    },
    /// What would become of the policies, for a check.
    Policies {
        read: Vec<Option<TablePolicy>>,
    },
    Proof(Box<Proving>),
    Stopping(Store),
    Closing(Enforcing),
    Probing,
    Waiting {
        until_ms: u64,
    },
    Sealing(Seals),
    /// The streams that the tables have now.
    Describing(TableRole),
    /// Nothing is open in quarantine: before the last look, where both sides are compared, and after it.
    Quarantine {
        rows: Rows,
        is_last: bool,
    },
    Exactly(Comparing),
    /// The policy still denies: nobody changed it during a comparison.
    LastProbe,
    /// Entries that the comparison has answered leave the quarantine.
    Dismissing {
        forward: bool,
    },
    Turning(Store),
    Opening(Enforcing),
    /// In place: the row alone.
    InPlace(Store),
    GivingBackSeals(Seals),
    GivingBack(Store),
    GivenBack(Enforcing),
    Already(Enforcing),
    /// Another operator moved the row: the policies are made what it says before this one ends.
    Raced {
        doors: Enforcing,
        outcome: Box<Outcome>,
    },
    Over(Box<Outcome>),
}

/// What one round of reading is for, and how far it is.
#[derive(Debug, Clone, PartialEq)]
struct Round {
    aim: Aim,
    step: RoundStep,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Aim {
    /// Before the stop.
    Ahead,
    /// During it.
    Drain,
    /// The same, and everything that lacks something is looked up again: nothing has come for long enough.
    Quiet { carried: bool },
    /// After the seals.
    Last,
}

#[derive(Debug, Clone, PartialEq)]
enum RoundStep {
    Open,
    Closed,
    Looking,
    Examining(Examining),
    /// What the examination found is looked up.
    LookingAgain {
        all_examined: bool,
    },
    Over {
        all_examined: bool,
    },
}

/// A switch at work.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Switching {
    options: Switch,
    stage: Stage,
    from: Phase,
    stop: Phase,
    to: Phase,
    streams: Option<(StreamReading, Option<StreamReading>)>,
    arrivals: Option<Arrivals>,
    /// When the streams were opened.
    reading_since_ms: u64,
    /// The stream by which items are carried the other way afterwards.
    reverse_stream: String,
    /// Since when writers may be stopped.
    paused_ms: Option<u64>,
    /// Since when nothing came.
    quiet_ms: u64,
    /// Since when every trial write was denied.
    denied_ms: Option<u64>,
    denied: bool,
    why: Option<Why>,
    /// Since when a stop is being taken back, or the turn is behind.
    ending_ms: Option<u64>,
    gates: Vec<Gate>,
    /// Was the quarantine tried once?
    has_released: bool,
    /// Were both sides compared by this command?
    has_compared: bool,
    /// Entries that only the exact comparison answers: of this direction, and of the other one.
    unnamed: [Vec<Quarantined>; 2],
}

impl Switching {
    pub(super) fn new(options: Switch, known: &Known) -> Switching {
        let (from, stop, to) = match (options.back, options.for_good) {
            (true, _) => (Phase::Reversed, Phase::Returning, Phase::Tidy),
            (false, true) => (Phase::Tidy, Phase::Closing, Phase::Settled),
            (false, false) => (Phase::Tidy, Phase::Closing, Phase::Reversed),
        };
        let mut switching = Switching {
            options,
            stage: Stage::Probing,
            from,
            stop,
            to,
            streams: None,
            arrivals: None,
            reading_since_ms: known.now_ms,
            reverse_stream: String::new(),
            paused_ms: None,
            quiet_ms: known.now_ms,
            denied_ms: None,
            denied: true,
            why: None,
            ending_ms: None,
            gates: Vec::new(),
            has_released: false,
            has_compared: false,
            unnamed: [Vec::new(), Vec::new()],
        };
        switching.stage = switching.begin(known);
        switching.go_on(known);
        switching
    }

    /// How long the writers have been stopped.
    pub(super) fn paused_ms(&self, known: &Known) -> Option<u64> {
        self.paused_ms.map(|since| known.now_ms.saturating_sub(since))
    }

    pub(super) fn doing(&self, known: &Known) -> String {
        let (closes, opens) = self.names(known);
        match &self.stage {
            Stage::Tidying(tidying) => tidying.doing(known),
            Stage::Comparing(passes) => format!("comparing both sides: {}", passes.doing()),
            Stage::Gates(_) | Stage::Releasing { .. } | Stage::Doors(_) | Stage::Policies { .. } => {
                "checking what must hold before the stop; writers may go on".to_owned()
            }
            Stage::Round(Round { aim: Aim::Ahead, .. })
            | Stage::Carrying { round: Round { aim: Aim::Ahead, .. }, .. } => READING.to_owned(),
            Stage::Waiting { .. } if !self.is_in_stop(known) => READING.to_owned(),
            Stage::Proof(_) => "asking the replicator about the way back; writers may go on".to_owned(),
            Stage::GivingBackSeals(_) | Stage::GivingBack(_) | Stage::GivenBack(_) => {
                format!("taking the stop back: the writers of table `{closes}` will go on")
            }
            Stage::Turning(_)
            | Stage::Opening(_)
            | Stage::Already(_)
            | Stage::InPlace(_)
            | Stage::Over(_) => {
                format!("opening table `{opens}`")
            }
            _ => format!(
                "the writers of table `{closes}` are stopped, {} s at most",
                known.limits.stop_max_ms / 1_000
            ),
        }
    }

    /// The tables: the one whose writers stop, and the one whose writers begin.
    fn roles(&self) -> [TableRole; 2] {
        match self.options.back {
            false => [TableRole::Source, TableRole::Target],
            true => [TableRole::Target, TableRole::Source],
        }
    }

    fn names<'k>(&self, known: &'k Known) -> (&'k str, &'k str) {
        let [closes, opens] = self.roles();
        (&model(known, closes).name, &model(known, opens).name)
    }

    fn command(&self) -> &'static str {
        if self.options.back { "switch --back" } else { "switch" }
    }

    fn is_attested(&self, known: &Known) -> bool {
        match (&self.options.writers, &known.head) {
            // Whoever goes on with a stop goes on as it was begun.
            (_, Some(head)) if head.phase == self.stop => head.exempt.is_empty(),
            (writers, _) => *writers == Some(Writers::Attested),
        }
    }

    /// The roles that may write to a table that follows the other one: those given, or those of the last move.
    fn exempt(&self, known: &Known) -> Vec<String> {
        match &self.options.writers {
            _ if known.head().phase == self.stop => known.head().exempt.clone(),
            Some(Writers::Policy(roles)) if !roles.is_empty() => roles.clone(),
            Some(Writers::Policy(_)) => known.head().exempt.clone(),
            Some(Writers::Attested) | None => Vec::new(),
        }
    }

    fn begin(&mut self, known: &Known) -> Stage {
        let head = known.head();
        if known.mapping.protocol() == Protocol::InPlace && !self.options.take_back {
            return self.begin_in_place(known);
        }
        if head.phase == self.stop {
            // Another operator was killed: this one goes on, to where that one was going.
            if self.stop == Phase::Closing {
                self.to = if head.for_good { Phase::Settled } else { Phase::Reversed };
            }
            self.paused_ms =
                Some(head.stopped_at.map_or(known.now_ms, |seconds| seconds * 1_000).min(known.now_ms));
            if self.options.check {
                return self.read_ahead(known);
            }
            // Without the rights to change policies the row must not move: the tables would stay closed with nothing to say so.
            return match head.exempt.is_empty() {
                true => self.resume(known),
                false => Stage::Doors(DoorCheck::of_rights(known, self.roles()[0])),
            };
        }
        if head.phase == self.to && (!self.options.back || head.was_reversed()) {
            return match self.options.check {
                true => over(self.already(known)),
                false => Stage::Already(Enforcing::new(known)),
            };
        }
        if self.options.take_back && head.phase == self.from && !head.exempt.is_empty() {
            // The row was taken back before; the policies were looked at before this command began.
            return over(self.given_back(known));
        }
        if self.options.take_back {
            let message = format!(
                "retrofit `{}` is `{}`: no stop was begun that could be taken back",
                head.retrofit,
                head.phase.name()
            );
            return over(Outcome::refused("nothing-to-take-back", message));
        }
        if let Some(refused) = self.check_way_back(known) {
            return refused;
        }
        let is_tidied = head.keeps_rows() && head.swept;
        match head.phase {
            Phase::Running | Phase::Tidying | Phase::Tidy if self.from == Phase::Tidy && !is_tidied => {
                match self.options.check {
                    true => Stage::Gates(GateCheck::of(known)),
                    false => Stage::Tidying(Tidying::new(known)),
                }
            }
            phase if phase == self.from => self.checks(known),
            _ => over(known.control_error(&self.wrong_phase(head))),
        }
    }

    /// Goes on with a stop that another operator began.
    fn resume(&mut self, known: &Known) -> Stage {
        if self.options.take_back {
            return self.give_back(known, Why::Asked);
        }
        if self.is_late(known) {
            return self.give_back(known, Why::TooLong);
        }
        self.check_way_back(known).unwrap_or_else(|| match self.open_streams(known) {
            Ok(()) => Stage::Closing(Enforcing::new(known)),
            Err(role) => self.give_back(known, Why::StreamReplaced(role)),
        })
    }

    fn already(&self, known: &Known) -> Outcome {
        let (retrofit, phase) = (known.mapping.name(), known.head().phase.name());
        Outcome::new(End::Already, phase, format!("retrofit `{retrofit}` is {phase} already"))
    }

    fn wrong_phase(&self, head: &RetrofitState) -> crate::retrofit::control::ControlError {
        match head.to(self.stop) {
            Err(error) => error,
            Ok(_) => unreachable!("the phase before a stop was looked at"),
        }
    }

    fn check_way_back(&self, known: &Known) -> Option<Stage> {
        let why = known.mapping.reverse().err().filter(|_| self.to != Phase::Settled)?;
        let message = format!("retrofit `{}` has no way back: {why}", known.mapping.name());
        Some(over(Outcome::refused("no-way-back", message).hinted(why.hint())))
    }

    /// In place nobody moves: the indexes are opened for queries, or closed again.
    fn begin_in_place(&mut self, known: &Known) -> Stage {
        let head = known.head();
        let to = if self.options.back { Phase::Running } else { Phase::CutOver };
        match (self.options.back, head.phase) {
            (true, Phase::CutOver) if self.options.check => over(Outcome::new(
                End::Checked,
                head.phase.name(),
                format!("retrofit `{}` can {}", head.retrofit, self.command()),
            )),
            (true, Phase::CutOver) => match head.to(to) {
                Ok(next) => Stage::InPlace(Store::of(known, next)),
                Err(error) => over(known.control_error(&error)),
            },
            (false, Phase::Running | Phase::CutOver) => Stage::Gates(GateCheck::of(known)),
            _ => over(known.control_error(&match head.to(to) {
                Err(error) => error,
                Ok(_) => unreachable!("listed above"),
            })),
        }
    }

    fn checks(&mut self, known: &Known) -> Stage {
        if self.is_attested(known) && !self.options.check {
            // They stand still from now on, whatever comes.
            self.paused_ms = Some(known.begun_ms);
        }
        match self.new_exempt(known) {
            Ok(Some(roles)) => Stage::Exempting(Store::of(known, known.head().exempting(roles))),
            Ok(None) => Stage::Gates(GateCheck::of(known)),
            Err(outcome) => over(outcome),
        }
    }

    /// The roles that were given, where policies are in force for others.
    fn new_exempt(&self, known: &Known) -> Result<Option<&[String]>, Outcome> {
        let head = known.head();
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

    fn gates_known(&mut self, known: &Known, report: GateReport) -> Stage {
        if known.mapping.protocol() == Protocol::InPlace {
            return self.in_place_gates(known, report);
        }
        self.gates = report.gates;
        let is_stale = |gate: &Gate| matches!(gate, Gate::NotVerified | Gate::Stale { .. });
        // A comparison counts for one version of the row. A stop that was taken back, or a kill before the comparison, leaves none.
        if !self.options.back
            && !self.options.check
            && !self.has_compared
            && !self.gates.is_empty()
            && self.gates.iter().all(is_stale)
        {
            return self.compare(known);
        }
        let [own, other] = report.entries;
        let (named, unnamed): (Vec<_>, Vec<_>) = own.into_iter().partition(|entry| entry.key.is_some());
        if self.options.back {
            // No pass compares both sides while the target leads. The exact comparison does, at the end of the stop.
            self.unnamed = [unnamed, other];
            self.gates.retain(|gate| !matches!(gate, Gate::Quarantine { .. }));
            let count = named.len() as u64;
            self.gates.extend((count > 0).then_some(Gate::Quarantine { count }));
        }
        let others = self.gates.iter().any(|gate| !matches!(gate, Gate::Quarantine { .. }));
        // What was mended since it failed is carried over now.
        if !named.is_empty() && !others && !self.options.check && !self.has_released {
            self.has_released = true;
            return Stage::Releasing { entries: named };
        }
        self.gates_released(known)
    }

    fn compare(&mut self, known: &Known) -> Stage {
        self.has_compared = true;
        Stage::Comparing(Passes::of(progress::comparison(known.mapping.protocol()), false))
    }

    fn gates_released(&mut self, known: &Known) -> Stage {
        if !self.gates.is_empty() {
            return over(self.closed_gates(known));
        }
        match self.exempt_checked(known) {
            Ok(true) => {
                let check = DoorCheck::of(known, self.roles()[0], self.exempt(known));
                match check.next(known) {
                    // A global table is refused before anything is asked.
                    Turn::Over(Err(outcome)) => over(outcome),
                    _ => Stage::Doors(check),
                }
            }
            Ok(false) => self.read_ahead(known),
            Err(outcome) => over(outcome),
        }
    }

    fn closed_gates(&self, known: &Known) -> Outcome {
        let listed: Vec<String> = self.gates.iter().map(ToString::to_string).collect();
        let retrofit = known.mapping.name();
        let message = format!("retrofit `{retrofit}` cannot {}: {}", self.command(), listed.join("; "));
        let outcome = Outcome { gates: self.gates.clone(), ..Outcome::refused("gates-closed", message) };
        let quarantined = self.gates.iter().any(|gate| matches!(gate, Gate::Quarantine { .. }));
        match quarantined {
            true => outcome.hinted(format!(
                "`keyfold retrofit quarantine {retrofit}` names them: write an item anew so that it fits, then run the command again; or accept \
                 that it stays out"
            )),
            false => outcome,
        }
    }

    fn in_place_gates(&mut self, known: &Known, report: GateReport) -> Stage {
        self.gates = report.gates;
        self.gates.retain(|gate| !self.options.unproven || *gate != Gate::Replicator);
        if !self.gates.is_empty() {
            return over(self.closed_gates(known));
        }
        if self.options.check {
            return over(Outcome::new(End::Checked, known.head().phase.name(), "all gates are open"));
        }
        let head = known.head();
        let next = match head.phase {
            Phase::CutOver => Ok(head.filled_again(&known.mapping)),
            _ => head.to(Phase::CutOver),
        };
        match next {
            Ok(next) => Stage::InPlace(Store::of(known, next)),
            Err(error) => over(known.control_error(&error)),
        }
    }

    /// Are policies to stop the writers, and do they have a usable list of roles?
    fn exempt_checked(&self, known: &Known) -> Result<bool, Outcome> {
        let (closes, _) = self.names(known);
        match &self.options.writers {
            None if self.options.check => Ok(false),
            None => Err(self.stop_first(known)),
            Some(Writers::Attested) if !known.head().exempt.is_empty() => {
                let retrofit = known.mapping.name();
                let message = format!("policies of retrofit `{retrofit}` still close a table");
                Err(Outcome::refused("policies-in-force", message)
                    .hinted("say `--writers policy`: it goes on with the roles of the last move"))
            }
            Some(Writers::Attested) => Ok(false),
            Some(Writers::Policy(_)) => {
                let exempt = self.exempt(known);
                if exempt.is_empty() {
                    let message =
                        format!("no role is named that may write to table `{closes}` once it follows");
                    return Err(Outcome::refused("exempt-missing", message).hinted(
                        "give the ARNs of the replicator's role (an output of the stack) and of this operator's",
                    ));
                }
                check_exempt(&exempt)?;
                Ok(true)
            }
        }
    }

    fn stop_first(&self, known: &Known) -> Outcome {
        let (closes, opens) = self.names(known);
        let message =
            format!("the writers of table `{closes}` have to be stopped until this command has ended");
        Outcome::refused("writers-not-stopped", message).hinted(format!(
            "`--writers policy` stops them with a policy on the table; or stop them yourself and say `--writers attested`, then let the \
             writers of table `{opens}` begin"
        ))
    }

    /// Opens the streams: they must be those that the retrofit has followed all the time.
    fn open_streams(&mut self, known: &Known) -> Result<(), TableRole> {
        let head = known.head();
        let [open, closed] = self.roles();
        let of = |role: TableRole| known.table(role).stream.clone().ok_or(role);
        let is_followed = |role: TableRole, stream: &str| match role {
            TableRole::Target => head.check_reverse_stream(stream).is_ok(),
            _ => head.check_stream(stream).is_ok(),
        };
        let open_stream = of(open)?;
        if !is_followed(open, &open_stream) {
            return Err(open);
        }
        // Without a way back the target's stream is not read, unless the target was open before: its records still show what was
        // written there since.
        let closed_stream = match self.to {
            Phase::Settled if !head.was_reversed() => None,
            _ => Some(of(closed)?),
        };
        // During a stop the row has the stream of the table that opens.
        let is_known = self.options.back || (head.phase == self.stop && head.was_reversed());
        if is_known && closed_stream.as_deref().is_none_or(|stream| !is_followed(closed, stream)) {
            return Err(closed);
        }
        self.reverse_stream = closed_stream.clone().unwrap_or_default();
        let other = closed_stream.filter(|_| head.was_reversed());
        let seconds = known.seconds();
        self.reading_since_ms = known.now_ms;
        self.streams = Some((
            StreamReading::of(open, &open_stream, seconds),
            other.map(|stream| StreamReading::of(closed, &stream, seconds)),
        ));
        let Some(job) = self.job(head, known) else { unreachable!("the way back was looked at") };
        self.arrivals = Some(Arrivals::of(head, job));
        Ok(())
    }

    /// The job that carries items from the table whose writers stop.
    fn job(&self, head: &RetrofitState, known: &Known) -> Option<Arc<Job>> {
        match self.options.back {
            false => Some(Arc::new(head.job(known.mapping.clone()))),
            true => head.reverse_job(&known.mapping).map(Arc::new),
        }
    }

    fn read_ahead(&mut self, known: &Known) -> Stage {
        match self.open_streams(known) {
            Ok(()) => self.round(Aim::Ahead),
            Err(role) => over(self.stream_replaced(known, role)),
        }
    }

    fn stream_replaced(&self, known: &Known, role: TableRole) -> Outcome {
        let (retrofit, table) = (known.mapping.name(), &model(known, role).name);
        let message = format!(
            "the stream of table `{table}` was switched off or replaced since retrofit `{retrofit}` began to follow it: what came to the \
             table meanwhile is not known"
        );
        let hint = match (self.options.back, role) {
            (true, _) => format!(
                "the writers stay where they are; `keyfold retrofit finish {retrofit}` ends the way back"
            ),
            (false, TableRole::Target) => {
                format!("switch the stream of table `{table}` on, with both images")
            }
            (false, _) => {
                format!("`keyfold retrofit run {retrofit}` begins with the new stream and backfills again")
            }
        };
        Outcome::refused("stream-replaced", message).hinted(hint)
    }

    fn round(&mut self, aim: Aim) -> Stage {
        let (Some((open, closed)), Some(arrivals)) = (&mut self.streams, &mut self.arrivals) else {
            unreachable!("the streams were opened")
        };
        open.begin_round();
        if let Some(closed) = closed {
            if arrivals.needs_signs_again() && closed.is_quiet() {
                closed.rewind();
            }
            closed.begin_round();
        }
        arrivals.forget();
        match aim {
            Aim::Last => {
                arrivals.look_at_all();
                open.list_again();
                if let Some(closed) = closed {
                    closed.list_again();
                }
            }
            Aim::Quiet { .. } => arrivals.look_again(),
            Aim::Ahead | Aim::Drain => {}
        }
        Stage::Round(Round { aim, step: RoundStep::Open })
    }

    fn parts(&self) -> (&StreamReading, Option<&StreamReading>, &Arrivals) {
        match (&self.streams, &self.arrivals) {
            (Some((open, closed)), Some(arrivals)) => (open, closed.as_ref(), arrivals),
            _ => unreachable!("the streams were opened"),
        }
    }

    fn arrivals_mut(&mut self) -> &mut Arrivals {
        match &mut self.arrivals {
            Some(arrivals) => arrivals,
            None => unreachable!("the streams were opened"),
        }
    }

    /// What a round wants next; `None` when it is over.
    fn round_next(&self, known: &Known, step: &RoundStep) -> Option<Effect> {
        let (open, closed, arrivals) = self.parts();
        // What is read is looked up before more is.
        if let Turn::Ask(effect) = arrivals.next() {
            return Some(effect);
        }
        match step {
            RoundStep::Open => ask(open.next(known)),
            RoundStep::Closed => ask(closed?.next(known)),
            RoundStep::Examining(examining) => ask(examining.next(known, arrivals)),
            RoundStep::Looking | RoundStep::LookingAgain { .. } | RoundStep::Over { .. } => None,
        }
    }

    /// Goes on as far as nothing has to be asked.
    fn round_on(&mut self, known: &Known, mut round: Round) -> Stage {
        loop {
            if self.round_next(known, &round.step).is_some() {
                return Stage::Round(round);
            }
            let is_check = self.options.check;
            let arrivals = self.arrivals_mut();
            round.step = match round.step {
                RoundStep::Open => RoundStep::Closed,
                RoundStep::Closed => {
                    arrivals.begin_look(true);
                    RoundStep::Looking
                }
                RoundStep::Looking => {
                    arrivals.begin_look(true);
                    if let Turn::Ask(_) = arrivals.next() {
                        continue;
                    }
                    // Before the stop too: the closed table can have a whole day of records, too many for a stop.
                    match is_check {
                        true => {
                            arrivals.unexamined.clear();
                            RoundStep::Over { all_examined: true }
                        }
                        false => RoundStep::Examining(Examining::of(known, arrivals)),
                    }
                }
                RoundStep::Examining(examining) => {
                    let Turn::Over(examined) = examining.next(known, arrivals) else {
                        unreachable!("it asks for nothing")
                    };
                    arrivals.begin_look(true);
                    RoundStep::LookingAgain { all_examined: examined == Examined::All }
                }
                RoundStep::LookingAgain { all_examined } => {
                    arrivals.begin_look(true);
                    if let Turn::Ask(_) = arrivals.next() {
                        continue;
                    }
                    RoundStep::Over { all_examined }
                }
                RoundStep::Over { all_examined } => return self.round_over(known, round.aim, all_examined),
            };
        }
    }

    fn round_take(&mut self, known: &mut Known, mut round: Round, reply: Reply) -> Stage {
        let head = known.head().clone();
        let (Some((open, closed)), Some(arrivals)) = (&mut self.streams, &mut self.arrivals) else {
            unreachable!("the streams were opened")
        };
        if let Turn::Ask(_) = arrivals.next() {
            arrivals.take(known, reply);
        } else {
            match &mut round.step {
                RoundStep::Open => {
                    open.take(known, reply, &mut |change| arrivals.opened(&head, change));
                    arrivals.begin_look(false);
                }
                RoundStep::Closed => {
                    let Some(closed) = closed else { unreachable!("it was asked") };
                    closed.take(known, reply, &mut |change| arrivals.closed_said(&head, change));
                    if arrivals.drops_signs() {
                        closed.rewind();
                    }
                }
                RoundStep::Examining(examining) => {
                    if let Err(there) = examining.take(known, arrivals, reply) {
                        return self.raced(known, there.as_ref());
                    }
                }
                _ => unreachable!("{reply:?} was not asked for"),
            }
        }
        self.round_on(known, round)
    }

    fn round_over(&mut self, known: &Known, aim: Aim, all_examined: bool) -> Stage {
        let (open, closed, _) = self.parts();
        let came = !open.is_quiet() || closed.is_some_and(|closed| !closed.is_quiet());
        let records = open.came() + closed.map_or(0, StreamReading::came);
        if came || !all_examined {
            self.quiet_ms = known.now_ms;
        }
        let far_behind = self.parts().2.is_too_far_behind();
        match aim {
            Aim::Ahead if self.must_carry_ahead(known) => {
                let tasks = self.tasks_ahead(known);
                let round = Round { aim, step: RoundStep::Open };
                Stage::Carrying { tasks, round }
            }
            Aim::Ahead if far_behind => over(self.too_far_behind(known)),
            Aim::Ahead => self.ahead_over(known, came),
            _ if far_behind => self.give_back(known, Why::TooFarBehind),
            // A shard that has ended has children that are still to be read.
            Aim::Last if came && records == 0 => self.round(Aim::Last),
            Aim::Last => match !came && all_examined && self.parts().2.is_empty() {
                true => Stage::Describing(TableRole::Source),
                false => self.give_back(known, Why::Moved(Vec::new())),
            },
            Aim::Quiet { carried } if !came && all_examined => {
                if self.parts().2.is_empty() {
                    return Stage::Sealing(Seals::of(known.head()));
                }
                let tasks = self.arrivals_mut().to_carry(u64::MAX);
                match tasks.is_empty() || carried {
                    true => self.probe_or_wait(known),
                    false => {
                        let round = Round { aim: Aim::Quiet { carried: true }, step: RoundStep::Open };
                        Stage::Carrying { tasks, round }
                    }
                }
            }
            Aim::Drain | Aim::Quiet { .. } => self.probe_or_wait(known),
        }
    }

    fn has_reached_now(&self) -> bool {
        let (open, closed, _) = self.parts();
        open.has_reached_now() && closed.is_none_or(StreamReading::has_reached_now)
    }

    fn is_in_reading_time(&self, known: &Known) -> bool {
        known.now_ms < self.reading_since_ms + known.limits.read_max_ms
    }

    /// What is older than the usual lag.
    fn tasks_ahead(&mut self, known: &Known) -> Vec<ItemTask> {
        self.arrivals_mut().to_carry(known.seconds().saturating_sub(USUAL_LAG_SECONDS))
    }

    /// A day of records can name more items than may be kept: those that nobody carries are worked off while the rest is read.
    fn must_carry_ahead(&mut self, known: &Known) -> bool {
        !self.options.check
            && !self.has_reached_now()
            && self.is_in_reading_time(known)
            && self.parts().2.lacks_more_than(LACKING_AHEAD_MAX)
            && !self.tasks_ahead(known).is_empty()
    }

    fn ahead_over(&mut self, known: &Known, came: bool) -> Stage {
        let (reached, in_time) = (self.has_reached_now(), self.is_in_reading_time(known));
        if !reached && in_time {
            // The replicator reads the same shards: empty rounds must not take its share of the calls.
            return if came { self.round(Aim::Ahead) } else { wait(known) };
        }
        if !reached {
            let (closes, _) = self.names(known);
            let seconds = known.limits.read_max_ms / 1_000;
            let message =
                format!("in {seconds} s the stream of table `{closes}` could not be read up to now");
            return over(
                Outcome::refused("stream-too-long", message)
                    .hinted("run the command again at a quieter time"),
            );
        }
        let tasks = self.tasks_ahead(known);
        match tasks.is_empty() || self.options.check {
            true => self.ahead_carried(known),
            false => {
                let round = Round { aim: Aim::Ahead, step: RoundStep::Over { all_examined: true } };
                Stage::Carrying { tasks, round }
            }
        }
    }

    fn ahead_carried(&mut self, known: &Known) -> Stage {
        if self.options.check {
            // Where policies stop nobody, they need not be readable.
            return match &self.options.writers {
                Some(Writers::Policy(_)) => Stage::Policies { read: Vec::new() },
                _ => over(self.checked(known, &[])),
            };
        }
        if self.options.unproven || self.to == Phase::Settled {
            return self.stop_writers(known);
        }
        let (_, _, arrivals) = self.parts();
        let (job, opens) = (Arc::clone(arrivals.job()), self.roles()[1]);
        Stage::Proof(Box::new(Proving::of(known, job, opens, &self.reverse_stream)))
    }

    fn too_far_behind(&self, known: &Known) -> Outcome {
        let (closes, opens) = self.names(known);
        let message = format!(
            "the replicator is too far behind for a stop: {} of table `{closes}` have not arrived in table `{opens}`",
            "more items than can be waited for"
        );
        Outcome::refused("too-far-behind", message)
            .hinted("wait until `keyfold retrofit status` shows a lag of seconds")
    }

    /// The row of the stop.
    fn stop_row(&self, known: &Known) -> Result<RetrofitState, crate::retrofit::control::ControlError> {
        let head = known.head();
        let since = self.paused_ms.unwrap_or(known.now_ms) / 1_000;
        let next = match (self.stop, self.to) {
            (Phase::Closing, to) if to == Phase::Reversed || head.was_reversed() => {
                head.closing(&self.reverse_stream)
            }
            (stop, _) => head.to(stop),
        }?;
        let for_good = self.stop == Phase::Closing && self.to == Phase::Settled;
        Ok(RetrofitState { exempt: self.exempt(known), stopped_at: Some(since), for_good, ..next })
    }

    fn stop_writers(&mut self, known: &Known) -> Stage {
        if self.is_late(known) {
            return over(self.too_late_to_stop(known));
        }
        match self.stop_row(known) {
            Ok(next) => {
                self.paused_ms.get_or_insert(known.now_ms);
                Stage::Stopping(Store::of(known, next))
            }
            Err(error) => over(known.control_error(&error)),
        }
    }

    fn too_late_to_stop(&self, known: &Known) -> Outcome {
        let paused = self.paused_ms(known).unwrap_or(0) / 1_000;
        let (closes, _) = self.names(known);
        let message = format!(
            "the limit of the pause was over before the stop began: it took {paused} s to read the streams and to check the gates"
        );
        Outcome::refused("stop-too-long", message).hinted(format!(
            "the writers of table `{closes}` may go on; `--writers policy` stops them only after this, or give a larger --stop-max"
        ))
    }

    fn is_late(&self, known: &Known) -> bool {
        self.paused_ms(known).is_some_and(|paused| paused >= known.limits.stop_max_ms)
    }

    /// After a round: is the stop over, or does another round follow?
    fn probe_or_wait(&mut self, known: &Known) -> Stage {
        match known.head().exempt.is_empty() {
            true => wait(known),
            false => Stage::Probing,
        }
    }

    fn probed(&mut self, known: &Known, denied: bool) -> Stage {
        self.denied = denied;
        if denied {
            self.denied_ms.get_or_insert(known.now_ms);
        } else {
            // What passed before the denial has to come in the stream after it.
            (self.denied_ms, self.quiet_ms) = (None, known.now_ms);
        }
        wait(known)
    }

    /// Is the stop over its limit, or interrupted? Asked after every reply: nothing in a stop may outlast its limit.
    fn check_limit(&mut self, known: &Known) {
        let is_ending = matches!(
            self.stage,
            Stage::Stopping(_)
                | Stage::Turning(_)
                | Stage::Opening(_)
                | Stage::GivingBackSeals(_)
                | Stage::GivingBack(_)
                | Stage::GivenBack(_)
                | Stage::Already(_)
                | Stage::Raced { .. }
                | Stage::Over(_)
                // Without the rights to change policies nothing may be given back.
                | Stage::Doors(_)
        );
        // A failure that came with the reply is dealt with next, and named.
        if is_ending || self.options.check || known.failure.is_some() {
            return;
        }
        let is_late = self.is_late(known);
        match (self.is_in_stop(known), known.interrupted) {
            (true, true) => self.stage = self.give_back(known, Why::Interrupted),
            (true, false) if is_late && !self.denied => self.stage = self.give_back(known, Why::NotDenied),
            (true, false) if is_late => self.stage = self.give_back(known, Why::TooLong),
            // Writers who stand still by themselves have stood still for too long.
            (false, false) if is_late => self.stage = over(self.too_late_to_stop(known)),
            _ => {}
        }
    }

    fn is_in_stop(&self, known: &Known) -> bool {
        known.head().phase == self.stop && !self.options.check && !matches!(self.stage, Stage::Raced { .. })
    }

    /// This operator may have closed a table after another one had opened it.
    fn raced(&mut self, known: &Known, there: Option<&RetrofitState>) -> Stage {
        let outcome = raced(known, there);
        match there.is_some_and(|head| !head.exempt.is_empty()) && !self.options.check {
            true => {
                // The pause is the other operator's.
                self.paused_ms = None;
                Stage::Raced { doors: Enforcing::new(known), outcome: Box::new(outcome) }
            }
            false => over(outcome),
        }
    }

    /// The command that goes on after an outcome of this one. The phase alone does not say which way the writers were to move.
    pub(super) fn next_command(&self, known: &Known, outcome: &Outcome) -> Option<String> {
        if matches!(outcome.end, End::Done | End::Already) || outcome.code == "wrong-phase" {
            return None;
        }
        let retrofit = known.mapping.name();
        let needs_run = |gate: &Gate| {
            matches!(gate, Gate::Backfill { .. } | Gate::Stream | Gate::NotVerified | Gate::Stale { .. })
        };
        if !self.options.back && outcome.gates.iter().any(needs_run) {
            return Some(format!("keyfold retrofit run {retrofit}"));
        }
        let for_good = if self.options.for_good { " --for-good" } else { "" };
        // The way back from a stop is the other direction of the command.
        let takes_back = if self.is_in_stop(known) && outcome.code == "no-way-back" { " --back" } else { "" };
        Some(format!("keyfold retrofit {} {retrofit}{for_good}{takes_back}", self.command()))
    }

    fn waited(&mut self, known: &Known) -> Stage {
        if !self.is_in_stop(known) {
            return self.round(Aim::Ahead);
        }
        let limits = &known.limits;
        let denied_since = if known.head().exempt.is_empty() { Some(0) } else { self.denied_ms };
        let is_denied = denied_since.is_some_and(|since| known.now_ms >= since + limits.denied_ms);
        let is_quiet = known.now_ms >= self.quiet_ms + limits.quiet_ms;
        self.round(if is_denied && is_quiet { Aim::Quiet { carried: false } } else { Aim::Drain })
    }

    /// The streams are those of before: one that is gone may have taken changes with it.
    fn described(&mut self, known: &Known) -> Stage {
        let (open, closed, _) = self.parts();
        let same = |reading: &StreamReading| {
            known.table(reading.table()).stream.as_deref() == Some(reading.stream())
        };
        let [_, opens] = self.roles();
        if !same(open) {
            return self.give_back(known, Why::StreamReplaced(self.roles()[0]));
        }
        let follows = self.to == Phase::Settled
            || known.table(opens).stream.as_deref() == Some(self.reverse_stream.as_str());
        if closed.is_some_and(|closed| !same(closed)) || !follows {
            return self.give_back(known, Why::StreamReplaced(opens));
        }
        Stage::Quarantine { rows: quarantine_rows(known), is_last: true }
    }

    /// After the seals: both sides are compared first, where that is needed. What comes while they are compared is seen by the last
    /// look.
    fn sealed(&mut self, known: &Known) -> Stage {
        match self.options.back || self.to == Phase::Settled {
            true => Stage::Quarantine { rows: quarantine_rows(known), is_last: false },
            false => self.last_look(known),
        }
    }

    fn last_look(&mut self, known: &Known) -> Stage {
        match known.head().exempt.is_empty() {
            true => self.round(Aim::Last),
            false => Stage::LastProbe,
        }
    }

    fn quarantine_read(&mut self, known: &Known, entries: [Vec<Quarantined>; 2], is_last: bool) -> Stage {
        let [own, other] = entries;
        let (named, unnamed): (Vec<_>, Vec<_>) = own.into_iter().partition(|entry| entry.key.is_some());
        let unnamed = [unnamed, other];
        let open = match (self.options.back, is_last) {
            (false, _) => named.len() + unnamed[0].len(),
            (true, false) => named.len(),
            // The comparison has answered only those that it knew.
            (true, true) => {
                let is_new = |(known, now): (&Vec<Quarantined>, &Vec<Quarantined>)| {
                    now.iter().filter(|entry| !known.contains(entry)).count()
                };
                named.len() + self.unnamed.iter().zip(&unnamed).map(is_new).sum::<usize>()
            }
        };
        if open > 0 {
            return self.give_back(known, Why::Moved(vec![Gate::Quarantine { count: open as u64 }]));
        }
        if is_last {
            return self.compared(known);
        }
        if self.options.back {
            self.unnamed = unnamed;
        }
        let (_, _, arrivals) = self.parts();
        // Where nothing follows the source any more, what its stream has not shown yet would be lost.
        match self.to == Phase::Settled || self.unnamed.iter().any(|entries| !entries.is_empty()) {
            true => Stage::Exactly(Comparing::of(
                Arc::clone(arrivals.job()),
                [arrivals.open(), arrivals.closed()],
            )),
            false => self.last_look(known),
        }
    }

    /// What the exact comparison has answered leaves the quarantine, first of this direction, then of the other one.
    fn compared(&mut self, known: &Known) -> Stage {
        match self.unnamed.iter().position(|entries| !entries.is_empty()) {
            Some(at) => Stage::Dismissing { forward: at == 1 },
            None => self.turn(known),
        }
    }

    fn dismiss(&self, known: &Known, forward: bool) -> Option<Effect> {
        let head = known.head();
        let job = match forward {
            true => Arc::new(head.job(known.mapping.clone())),
            false => self.job(head, known)?,
        };
        let entries = &self.unnamed[usize::from(forward)];
        let some = &entries[entries.len().saturating_sub(CARRY_ITEMS)..];
        let tasks = some.iter().map(|entry| job.dismiss(entry)).collect();
        Some(Effect::Carry { job, tasks })
    }

    fn turn(&mut self, known: &Known) -> Stage {
        let head = known.head();
        let next = match self.to {
            Phase::Reversed => {
                head.with_reverse_stream(&self.reverse_stream).and_then(|head| head.to(self.to))
            }
            Phase::Settled => head.switched_for_good(),
            to => head.to(to),
        };
        match next {
            Ok(next) => {
                let turned_at = Some(known.seconds());
                Stage::Turning(Store::of(known, RetrofitState { turned_at, ..next }))
            }
            Err(error) => over(known.control_error(&error)),
        }
    }

    /// Everything is as it was before the stop, in the next generation. No generation ends unsealed: a worker of it could write after
    /// the next turn.
    fn give_back(&mut self, known: &Known, why: Why) -> Stage {
        // Who asked for it has what was asked for, whatever failed before.
        self.why = Some(if self.options.take_back { Why::Asked } else { why });
        self.ending_ms = Some(known.now_ms);
        Stage::GivingBackSeals(Seals::of(known.head()))
    }

    fn given_back(&self, known: &Known) -> Outcome {
        let (closes, opens) = self.names(known);
        let report = self.arrivals.as_ref().map(Arrivals::report);
        let limit = known.limits.stop_max_ms / 1_000;
        let retrofit = known.mapping.name();
        let lacks = report.as_ref().map_or(String::new(), |report| lacking(report, closes, opens));
        let outcome = |code: &str, message: String| Outcome::new(End::TakenBack, code, message);
        let outcome = match &self.why {
            None | Some(Why::Asked) => {
                outcome(known.head().phase.name(), format!("the stop of retrofit `{retrofit}` is taken back"))
            }
            Some(Why::Interrupted) => outcome("interrupted", "interrupted; nothing was switched".to_owned()),
            Some(Why::NotDenied) => outcome(
                "writers-not-denied",
                format!(
                    "{}writes to table `{closes}` went through although its policy denies them",
                    if self.is_late(known) { format!("the limit of {limit} s is over, and ") } else { String::new() }
                ),
            )
            .hinted("DynamoDB applies policies after a while: try again with a larger --stop-max; did somebody write over the policy?"),
            Some(Why::TooLong) => outcome("stop-too-long", format!("the limit of {limit} s is over, and {lacks}"))
                .hinted(format!("a replicator that is behind, or writers that go on? see `keyfold retrofit status {retrofit}`")),
            Some(Why::TooFarBehind) => self.too_far_behind(known),
            Some(Why::Moved(gates)) => {
                let gates: Vec<String> = gates.iter().map(ToString::to_string).collect();
                outcome(
                    "written-while-stopped",
                    format!(
                        "something was written while nobody should write, or went into quarantine: {lacks}{}{}",
                        if gates.is_empty() { "" } else { "; " },
                        gates.join("; ")
                    ),
                )
                .hinted(format!("does somebody still write to table `{closes}`? see `keyfold retrofit quarantine {retrofit}` too"))
            }
            Some(Why::Differs(compared)) => {
                let first: Vec<String> = compared.first.iter().map(ToString::to_string).collect();
                outcome(
                    "differences",
                    format!(
                        "{} of {} items are not the same in tables `{closes}` and `{opens}` although the streams were quiet ({})",
                        compared.differing,
                        compared.items,
                        first.join(", ")
                    ),
                )
                .hinted("their records may have been published late: run the command again")
            }
            Some(Why::StreamReplaced(role)) => self.stream_replaced(known, *role),
            Some(Why::Failed(failure)) => {
                let failed = failed(failure);
                let message = match self.is_late(known) {
                    true => format!("the limit of {limit} s is over, and {}", failed.message),
                    false => failed.message,
                };
                Outcome { message, ..failed }
            }
        };
        // Who asked for it has what was asked for.
        let is_asked = matches!(self.why, None | Some(Why::Asked));
        let end = if is_asked { End::Done } else { End::TakenBack };
        Outcome { end, backlog: report, paused_ms: self.paused_ms(known), ..outcome }
    }

    fn turned(&self, known: &Known) -> Outcome {
        let (closes, opens) = self.names(known);
        let report = self.arrivals.as_ref().map(Arrivals::report);
        let items = report.as_ref().map_or(0, |report| report.items);
        let paused = self.paused_ms(known).unwrap_or(0);
        let message = format!(
            "retrofit `{}` is {}: all {items} items that the stream of table `{closes}` names have arrived in table `{opens}`; the pause took \
             {}.{} s",
            known.mapping.name(),
            known.head().phase.name(),
            paused / 1_000,
            paused % 1_000 / 100
        );
        let outcome = Outcome::new(End::Done, known.head().phase.name(), message);
        Outcome { backlog: report, paused_ms: Some(paused), ..outcome }
    }

    fn checked(&self, known: &Known, read: &[Option<TablePolicy>]) -> Outcome {
        let (closes, opens) = self.names(known);
        let (_, _, arrivals) = self.parts();
        let report = arrivals.report();
        let mut policies = Vec::new();
        if let (Some(Writers::Policy(_)), Ok(stop)) = (&self.options.writers, self.stop_row(known)) {
            for (role, there) in TABLES.iter().zip(read) {
                match wanted(known, &stop, *role, there.as_ref()) {
                    Ok(Some(text)) => policies.push((direction(*role), text)),
                    Ok(None) => {}
                    Err(error) => return unusable(known, *role, &error),
                }
            }
        }
        let lacks = lacking(&report, closes, opens);
        let message = format!(
            "retrofit `{}` can {}: all gates are open; {lacks}",
            known.mapping.name(),
            self.command()
        );
        let outcome = Outcome::new(End::Checked, known.head().phase.name(), message);
        Outcome { backlog: Some(report), policies, ..outcome }
    }

    /// What becomes of a failure.
    pub(super) fn failed(&mut self, known: &mut Known, failure: &Failure) -> OnFailure {
        if matches!(self.stage, Stage::Tidying(_) | Stage::Comparing(_)) {
            return match failure.kind {
                FailureKind::Passing => OnFailure::Retry,
                _ => OnFailure::End(failed(failure)),
            };
        }
        // A tag that cannot be written keeps nobody out.
        if self.doors().is_some_and(|doors| doors.skip_tag(known, failure)) {
            self.go_on(known);
            return OnFailure::Handled;
        }
        if !known.head().phase.is_stop()
            && let Some(doors) = self.doors()
        {
            doors.try_other_table();
        }
        match &self.stage {
            Stage::Stopping(_)
            | Stage::Turning(_)
            | Stage::GivingBackSeals(_)
            | Stage::GivingBack(_)
            | Stage::GivenBack(_)
            | Stage::Opening(_) => {
                let since = *self.ending_ms.get_or_insert(known.now_ms);
                let most = known.limits.stop_max_ms.max(GIVE_BACK_MS_MIN);
                return match known.now_ms >= since + most {
                    true => OnFailure::End(self.stuck(known, failure)),
                    false => OnFailure::Retry,
                };
            }
            _ => {}
        }
        match (self.is_in_stop(known), failure.kind) {
            // Nothing was changed by this operator, and it may not take the stop back.
            (true, FailureKind::Denied) if matches!(self.stage, Stage::Doors(_)) => {
                OnFailure::End(failed(failure))
            }
            (false, FailureKind::Passing) if !self.is_late(known) => OnFailure::Retry,
            (false, _) => OnFailure::End(failed(failure)),
            (true, _) => {
                let gives_up = known.interrupted || self.is_late(known) || self.is_hopeless(failure);
                if gives_up {
                    let why = match known.interrupted {
                        true => Why::Interrupted,
                        false => Why::Failed(failure.clone()),
                    };
                    self.stage = self.give_back(known, why);
                    return OnFailure::Handled;
                }
                OnFailure::Retry
            }
        }
    }

    /// Retrying cannot help: policies that may not be changed stop nobody, and a stream that is gone shows nothing any more.
    fn is_hopeless(&self, failure: &Failure) -> bool {
        failure.kind == FailureKind::Gone
            || (matches!(self.stage, Stage::Closing(_)) && failure.kind == FailureKind::Denied)
    }

    fn stuck(&self, known: &mut Known, failure: &Failure) -> Outcome {
        let (closes, opens) = self.names(known);
        let what = match self.stage {
            Stage::Stopping(_) => format!("the stop of table `{closes}` may have begun"),
            Stage::Turning(_) => format!("table `{opens}` may be open"),
            Stage::Opening(_) => {
                format!("the writers moved to table `{opens}`, but its policy could not be changed")
            }
            Stage::GivenBack(_) => {
                format!("the stop is taken back, but the policy of table `{closes}` could not be changed")
            }
            _ => "the stop could not be taken back".to_owned(),
        };
        let gives_back =
            matches!(self.stage, Stage::GivingBackSeals(_) | Stage::GivingBack(_) | Stage::GivenBack(_));
        // A stop is taken back by the same command without `--back`, or with it.
        let back = self.options.back != gives_back;
        let message = format!("{what}: {}", failure.message);
        let next =
            format!("keyfold retrofit switch {}{}", known.mapping.name(), if back { " --back" } else { "" });
        if matches!(self.stage, Stage::Stopping(_) | Stage::Turning(_) | Stage::GivingBack(_)) {
            // Whether it was written is not known.
            known.head = None;
        }
        Outcome { next: Some(next), ..Outcome { message, ..failed(failure) } }
    }

    /// May policies be other ones than the row says, if the command ends now?
    pub(super) fn policies_behind(&self) -> bool {
        match &self.stage {
            Stage::Opening(doors)
            | Stage::GivenBack(doors)
            | Stage::Already(doors)
            | Stage::Reopening(doors)
            | Stage::Raced { doors, .. } => doors.is_behind(),
            _ => false,
        }
    }

    fn doors(&mut self) -> Option<&mut Enforcing> {
        match &mut self.stage {
            Stage::Closing(doors)
            | Stage::Opening(doors)
            | Stage::GivenBack(doors)
            | Stage::Raced { doors, .. }
            | Stage::Reopening(doors)
            | Stage::Already(doors) => Some(doors),
            _ => None,
        }
    }

    /// The stage that follows one whose policies are as they must be.
    fn after_doors(&mut self, known: &Known) -> Option<Stage> {
        let (Stage::Closing(doors)
        | Stage::Opening(doors)
        | Stage::GivenBack(doors)
        | Stage::Raced { doors, .. }
        | Stage::Reopening(doors)
        | Stage::Already(doors)) = &self.stage
        else {
            return None;
        };
        let Turn::Over(end) = doors.next(known) else { return None };
        Some(match &self.stage {
            Stage::Closing(_) if matches!(end, Stored::Raced(_)) => {
                let Stored::Raced(there) = end else { unreachable!("matched above") };
                self.raced(known, there.as_ref())
            }
            Stage::Closing(_) => {
                self.quiet_ms = known.now_ms;
                self.round(Aim::Drain)
            }
            Stage::Raced { outcome, .. } => Stage::Over(outcome.clone()),
            Stage::Reopening(_) => Stage::Gates(GateCheck::of(known)),
            Stage::Opening(_) => over(self.turned(known)),
            Stage::GivenBack(_) => over(self.given_back(known)),
            _ => over(self.already(known)),
        })
    }

    pub(super) fn next(&self, known: &Known) -> Turn<Outcome> {
        match &self.stage {
            Stage::Over(outcome) => return Turn::Over((**outcome).clone()),
            _ if known.interrupted && self.may_be_left(known) => {
                return Turn::Over(Outcome::new(
                    End::Interrupted,
                    "interrupted",
                    "interrupted; nothing was switched",
                ));
            }
            _ => {}
        }
        let effect = match &self.stage {
            Stage::Tidying(tidying) => return tidying.next(known),
            Stage::Comparing(passes) => ask(passes.next(known)),
            Stage::Gates(check) => ask(check.next(known)),
            Stage::Quarantine { rows, .. } => ask(rows.next(known)),
            Stage::Releasing { entries } => self.release(known, entries),
            Stage::Dismissing { forward } => self.dismiss(known, *forward),
            Stage::Doors(check) => ask(check.next(known)),
            Stage::Round(round) => self.round_next(known, &round.step),
            Stage::Carrying { tasks, .. } => {
                let tasks = tasks[tasks.len().saturating_sub(CARRY_ITEMS)..].to_vec();
                Some(Effect::Carry { job: Arc::clone(self.parts().2.job()), tasks })
            }
            Stage::Policies { read } => Some(Effect::Policy(TABLES[read.len()])),
            Stage::Proof(proof) => ask(proof.next(known)),
            Stage::Stopping(store)
            | Stage::Turning(store)
            | Stage::GivingBack(store)
            | Stage::Exempting(store)
            | Stage::InPlace(store) => ask(store.next(known)),
            Stage::Closing(doors)
            | Stage::Opening(doors)
            | Stage::GivenBack(doors)
            | Stage::Raced { doors, .. }
            | Stage::Reopening(doors)
            | Stage::Already(doors) => ask(doors.next(known)),
            Stage::Probing | Stage::LastProbe => Some(Effect::Probe(self.roles()[0])),
            Stage::Waiting { until_ms } => Some(Effect::Wait { until_ms: *until_ms }),
            Stage::Sealing(seals) | Stage::GivingBackSeals(seals) => ask(seals.next(known)),
            Stage::Describing(role) => Some(Effect::Describe(*role)),
            Stage::Exactly(comparing) => ask(comparing.next()),
            Stage::Over(_) => unreachable!("returned above"),
        };
        match effect {
            Some(effect) => Turn::Ask(effect),
            None => unreachable!("a stage that asks for nothing is left at once"),
        }
    }

    /// May it end here, with nobody stopped by this operation?
    fn may_be_left(&self, known: &Known) -> bool {
        !self.is_in_stop(known)
            && !matches!(
                self.stage,
                Stage::Stopping(_) | Stage::Opening(_) | Stage::GivenBack(_) | Stage::Turning(_)
            )
    }

    fn release(&self, known: &Known, entries: &[Quarantined]) -> Option<Effect> {
        let job = self.job(known.head(), known)?;
        let some = &entries[entries.len().saturating_sub(CARRY_ITEMS)..];
        let tasks = some.iter().filter_map(|entry| job.release(entry)).collect();
        Some(Effect::Carry { job, tasks })
    }

    pub(super) fn take(&mut self, known: &mut Known, reply: Reply) {
        let stage = std::mem::replace(&mut self.stage, Stage::Probing);
        self.stage = match (stage, reply) {
            (Stage::Tidying(mut tidying), reply) => {
                tidying.take(known, reply);
                match tidying.next(known) {
                    Turn::Over(outcome) if outcome.end == End::Done || outcome.end == End::Already => {
                        // A comparison of before says nothing of what was swept.
                        self.compare(known)
                    }
                    Turn::Over(outcome) => over(outcome),
                    Turn::Ask(_) => Stage::Tidying(tidying),
                }
            }
            (Stage::Comparing(mut passes), reply) => {
                passes.take(known, reply);
                match passes.next(known) {
                    Turn::Over(_) => self.checks(known),
                    Turn::Ask(_) => Stage::Comparing(passes),
                }
            }
            (Stage::Gates(mut check), reply) => {
                check.take(known, reply);
                match check.next(known) {
                    Turn::Over(Ok(report)) => self.gates_known(known, report),
                    Turn::Over(Err(error)) => over(known.control_error(&error)),
                    Turn::Ask(_) => Stage::Gates(check),
                }
            }
            (Stage::Quarantine { mut rows, is_last }, reply) => {
                rows.take(known, reply);
                match rows.next(known) {
                    Turn::Over(read) => self.quarantine_read(known, open_entries(&read), is_last),
                    Turn::Ask(_) => Stage::Quarantine { rows, is_last },
                }
            }
            (Stage::Releasing { mut entries }, Reply::Results(_)) => {
                entries.truncate(entries.len().saturating_sub(CARRY_ITEMS));
                match entries.is_empty() {
                    false => Stage::Releasing { entries },
                    true => Stage::Gates(GateCheck::of(known)),
                }
            }
            (Stage::Doors(mut check), reply) => {
                check.take(known, reply);
                match check.next(known) {
                    Turn::Over(Ok(())) if self.is_in_stop(known) => self.resume(known),
                    Turn::Over(Ok(())) => self.read_ahead(known),
                    Turn::Over(Err(outcome)) => over(outcome),
                    Turn::Ask(_) => Stage::Doors(check),
                }
            }
            (Stage::Round(round), reply) => self.round_take(known, round, reply),
            (Stage::Carrying { mut tasks, round }, Reply::Results(_)) => {
                tasks.truncate(tasks.len().saturating_sub(CARRY_ITEMS));
                match (tasks.is_empty(), round.aim) {
                    (false, _) => Stage::Carrying { tasks, round },
                    (true, Aim::Ahead) if self.has_reached_now() => self.ahead_carried(known),
                    (true, Aim::Ahead) => {
                        let stage = self.round(Aim::Ahead);
                        if let Some(arrivals) = &mut self.arrivals {
                            arrivals.look_again();
                        }
                        stage
                    }
                    (true, aim) => self.round(aim),
                }
            }
            (Stage::Policies { mut read }, Reply::Policy(policy)) => {
                read.push(policy);
                match read.len() == TABLES.len() {
                    true => over(self.checked(known, &read)),
                    false => Stage::Policies { read },
                }
            }
            (Stage::Proof(mut proof), reply) => {
                proof.take(known, reply);
                match proof.next(known) {
                    Turn::Over(Ok(())) => {
                        let keys: Vec<_> = proof.rewritten().collect();
                        if let Some(arrivals) = &mut self.arrivals {
                            keys.iter().for_each(|key| arrivals.look_at(key));
                        }
                        self.stop_writers(known)
                    }
                    Turn::Over(Err(outcome)) => over(outcome),
                    Turn::Ask(_) => Stage::Proof(proof),
                }
            }
            (stage, reply) => self.take_in_stop(known, stage, reply),
        };
        self.go_on(known);
        self.check_limit(known);
    }

    /// Goes on as far as nothing has to be asked.
    fn go_on(&mut self, known: &Known) {
        if let Stage::Round(round) = &self.stage {
            let round = round.clone();
            self.stage = self.round_on(known, round);
        }
        if let Some(stage) = self.after_doors(known) {
            self.stage = stage;
            if let Stage::Round(round) = &self.stage {
                let round = round.clone();
                self.stage = self.round_on(known, round);
            }
        }
    }

    fn take_in_stop(&mut self, known: &mut Known, stage: Stage, reply: Reply) -> Stage {
        match (stage, reply) {
            (Stage::Stopping(mut store), reply) => {
                store.take(known, reply);
                match store.next(known) {
                    Turn::Over(Stored::Done) => {
                        (self.quiet_ms, self.ending_ms) = (known.now_ms, None);
                        // The job of the stop's generation and streams.
                        if let (Some(job), Some(arrivals)) =
                            (self.job(known.head(), known), &mut self.arrivals)
                        {
                            arrivals.carry_by(known.head(), job);
                        }
                        Stage::Closing(Enforcing::new(known))
                    }
                    Turn::Over(Stored::Raced(there)) => self.raced(known, there.as_ref()),
                    Turn::Ask(_) => Stage::Stopping(store),
                }
            }
            (Stage::Exempting(mut store), reply) => {
                store.take(known, reply);
                match store.next(known) {
                    Turn::Over(Stored::Done) => Stage::Reopening(Enforcing::new(known)),
                    Turn::Over(Stored::Raced(there)) => self.raced(known, there.as_ref()),
                    Turn::Ask(_) => Stage::Exempting(store),
                }
            }
            (Stage::Turning(mut store), reply) => {
                store.take(known, reply);
                match store.next(known) {
                    Turn::Over(Stored::Done) => {
                        // What opens the table has its own time.
                        self.ending_ms = None;
                        Stage::Opening(Enforcing::new(known))
                    }
                    Turn::Over(Stored::Raced(there)) => self.raced(known, there.as_ref()),
                    Turn::Ask(_) => Stage::Turning(store),
                }
            }
            (Stage::InPlace(mut store), reply) => {
                store.take(known, reply);
                match store.next(known) {
                    Turn::Over(Stored::Done) => {
                        let phase = known.head().phase.name();
                        let message = format!("retrofit `{}` is {phase}", known.mapping.name());
                        over(Outcome::new(End::Done, phase, message))
                    }
                    Turn::Over(Stored::Raced(there)) => self.raced(known, there.as_ref()),
                    Turn::Ask(_) => Stage::InPlace(store),
                }
            }
            (Stage::GivingBackSeals(mut seals), reply) => {
                seals.take(known, reply);
                match (seals.next(known), known.head().to(self.from)) {
                    (Turn::Ask(_), _) => Stage::GivingBackSeals(seals),
                    (Turn::Over(()), Ok(next)) => Stage::GivingBack(Store::of(known, next)),
                    (Turn::Over(()), Err(error)) => over(known.control_error(&error)),
                }
            }
            (Stage::GivingBack(mut store), reply) => {
                store.take(known, reply);
                match store.next(known) {
                    Turn::Over(Stored::Done) => Stage::GivenBack(Enforcing::new(known)),
                    Turn::Over(Stored::Raced(there)) => self.raced(known, there.as_ref()),
                    Turn::Ask(_) => Stage::GivingBack(store),
                }
            }
            (
                mut stage @ (Stage::Closing(_)
                | Stage::Opening(_)
                | Stage::GivenBack(_)
                | Stage::Raced { .. }
                | Stage::Reopening(_)
                | Stage::Already(_)),
                reply,
            ) => {
                let (Stage::Closing(doors)
                | Stage::Opening(doors)
                | Stage::GivenBack(doors)
                | Stage::Raced { doors, .. }
                | Stage::Reopening(doors)
                | Stage::Already(doors)) = &mut stage
                else {
                    unreachable!("matched above")
                };
                let role = doors.table();
                if let Err(error) = doors.take(known, reply) {
                    // Closing is given back; opening goes on with the other table.
                    let outcome = unusable(known, role, &error);
                    known.failure = Some(Failure {
                        kind: FailureKind::Denied,
                        code: outcome.code,
                        message: outcome.message,
                        hint: outcome.hint,
                    });
                }
                stage
            }
            (Stage::Probing, Reply::Denied(denied)) => self.probed(known, denied),
            (Stage::Waiting { .. }, Reply::Done) => self.waited(known),
            (Stage::Sealing(mut seals), reply) => {
                seals.take(known, reply);
                match seals.next(known) {
                    Turn::Over(()) => self.sealed(known),
                    Turn::Ask(_) => Stage::Sealing(seals),
                }
            }
            (Stage::LastProbe, Reply::Denied(true)) => self.round(Aim::Last),
            (Stage::LastProbe, Reply::Denied(false)) => {
                self.denied = false;
                self.give_back(known, Why::NotDenied)
            }
            (Stage::Describing(role), Reply::Table(facts)) => {
                known.tables[usize::from(role == TableRole::Target)] = facts;
                match role {
                    TableRole::Source => Stage::Describing(TableRole::Target),
                    _ => self.described(known),
                }
            }
            (Stage::Exactly(mut comparing), reply) => {
                comparing.take(known, reply);
                match comparing.next() {
                    Turn::Ask(_) => Stage::Exactly(comparing),
                    Turn::Over(found) if found.differing > 0 => self.give_back(known, Why::Differs(found)),
                    Turn::Over(_) => self.last_look(known),
                }
            }
            (Stage::Dismissing { forward }, Reply::Results(_)) => {
                let entries = &mut self.unnamed[usize::from(forward)];
                entries.truncate(entries.len().saturating_sub(CARRY_ITEMS));
                self.compared(known)
            }
            (stage, reply) => unreachable!("{reply:?} does not answer {stage:?}"),
        }
    }
}

fn wait(known: &Known) -> Stage {
    Stage::Waiting { until_ms: known.now_ms + LOOK_MS }
}

fn over(outcome: Outcome) -> Stage {
    Stage::Over(Box::new(outcome))
}

/// What is still to arrive, in words.
fn lacking(report: &super::outcome::BacklogReport, closes: &str, opens: &str) -> String {
    let lacks = [
        (report.waiting, format!("have not arrived in table `{opens}`")),
        (report.differing, format!("are not the same in table `{opens}`")),
        (report.unseen, format!("were not seen yet in the stream of table `{opens}`")),
    ];
    let lacks: Vec<String> =
        lacks.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
    let named = format!("of {} items that the stream of table `{closes}` names", report.items);
    if lacks.is_empty() {
        return format!("{named}, all have arrived in table `{opens}`");
    }
    let first: Vec<String> = report.first.iter().map(ToString::to_string).collect();
    format!("{named}, {} ({})", lacks.join(", "), first.join(", "))
}

impl Switch {
    /// The direction in which the writers move.
    pub fn direction(&self) -> Direction {
        if self.back { Direction::Reverse } else { Direction::Forward }
    }
}
