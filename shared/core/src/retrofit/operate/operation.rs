//! An operation at work: the row first, then its command; failures, waits, interruptions.

use super::abandon::AbandonMachine;
use super::context::{Limits, OnFailure, OperationContext, TableTag, failure_outcome};
use super::effect::{Effect, Failure, FailureKind, Reply, TableFacts};
use super::finish::{Finish, FinishMachine};
use super::lift::LiftMachine;
use super::outcome::{End, OpenTable, Outcome};
use super::parts::{Part, PartStep, advance, one_row};
use super::policies::PolicySync;
use super::readers::{Readers, ReadersMachine};
use super::revise::{Revise, ReviseMachine};
use super::run::{Run, RunMachine};
use super::switch::{Switch, SwitchMachine};
use super::tidy::{Tidy, TidyMachine};
use crate::retrofit::control::{self, ControlError, Phase, RetrofitState};
use crate::retrofit::mapping::Mapping;
use crate::retrofit::protocol_choice::Protocol;
use crate::retrofit::request::TableRole;

/// How long a failure outside a stop is tried again.
const RETRY_MS_MAX: u64 = 60_000;
/// How long a tag that cannot be read is tried again.
const TAG_RETRY_MS_MAX: u64 = 5_000;
/// The shortest and the longest pause before an effect is tried again.
const BACKOFF_MS: (u64, u64) = (100, 5_000);

/// The purpose of an operation.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// Starts, backfills and compares.
    Run(Run),
    /// Deletes the target's tombstones.
    Tidy(Tidy),
    /// Moves the writers, either way.
    Switch(Switch),
    /// Moves readers alone, either way.
    Readers(Readers),
    /// Ends the way back and removes what was kept.
    Finish(Finish),
    /// Goes on with a changed manifest.
    Revise(Revise),
    /// Gives it up.
    Abandon,
    /// Removes the policies of both tables, also without a row.
    Lift,
}

impl Command {
    fn limits(&self) -> Limits {
        match self {
            Command::Run(run) => run.limits,
            Command::Tidy(tidy) => tidy.limits,
            Command::Switch(switch) => switch.limits,
            Command::Finish(finish) => finish.limits,
            Command::Readers(readers) => readers.limits,
            Command::Revise(revise) => revise.limits,
            Command::Abandon | Command::Lift => Limits::AWS,
        }
    }
}

/// The next step.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Perform this, and answer.
    Ask(Effect),
    /// It is over.
    Over(Box<Outcome>),
}

/// The work of an operation at the moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperationStatus {
    /// In words.
    pub text: String,
    /// How long the writers have been stopped; `None` while they may write.
    pub paused_ms: Option<u64>,
    /// The failure that is being tried again.
    pub failure: Option<Failure>,
}

#[derive(Debug, Clone, PartialEq)]
enum OperationStage {
    Row,
    Tables(TableRole),
    /// Is the row older than what a table knows of it?
    Tags(TableRole),
    /// The policies are made what the row says: an operator that was killed may have left them behind.
    Enforcing(PolicySync),
    Run(Box<RunMachine>),
    Tidy(Box<TidyMachine>),
    Switch(Box<SwitchMachine>),
    Readers(Box<ReadersMachine>),
    Finish(Box<FinishMachine>),
    Revise(Box<ReviseMachine>),
    Abandon(Box<AbandonMachine>),
    Lift(Box<LiftMachine>),
    Over(Box<Outcome>),
}

/// Does a switch in this direction take back the stop that this phase is?
pub fn takes_back(phase: Phase, back: bool) -> bool {
    match phase {
        Phase::Closing => back,
        Phase::Returning => !back,
        _ => false,
    }
}

/// One command at work on one retrofit.
#[derive(Debug, Clone, PartialEq)]
pub struct Operation {
    context: OperationContext,
    command: Command,
    stage: OperationStage,
    /// Nothing is tried before.
    hold_until_ms: u64,
    /// How far the driver's clock was set back since the operation began. Its times rise for the operation all the same: a wait must
    /// not become longer by that.
    set_back_ms: u64,
    /// Failures in a row: how many, since when, and the last of them.
    failures: Option<(u32, u64, Failure)>,
}

impl Operation {
    /// The command on the retrofit of this mapping, in its forward form. `nonce` is a text that no other operation has.
    pub fn new(mapping: Mapping, command: Command, nonce: impl Into<String>, now_ms: u64) -> Operation {
        let context = OperationContext {
            mapping,
            head: None,
            tables: [TableFacts::default(), TableFacts::default()],
            now_ms,
            started_ms: now_ms,
            limits: command.limits(),
            nonce: nonce.into(),
            interrupted: false,
            notes: Vec::new(),
            put_policies: [None, None],
            failure: None,
        };
        Operation {
            context,
            command,
            stage: OperationStage::Row,
            hold_until_ms: 0,
            set_back_ms: 0,
            failures: None,
        }
    }

    /// What to do next. The same again, until it is answered.
    pub fn next(&self) -> Step {
        if let OperationStage::Over(outcome) = &self.stage {
            return Step::Over(outcome.clone());
        }
        if self.hold_until_ms > self.context.now_ms {
            return self.ask(Effect::Wait { until_ms: self.hold_until_ms });
        }
        match self.step() {
            // An end that is reached counts: an interruption that came with the last reply would hide that the writers were moved.
            PartStep::Over(outcome) => Step::Over(Box::new(self.over(outcome))),
            PartStep::Ask(effect) => match self.interrupted() {
                Some(outcome) => Step::Over(Box::new(self.over(outcome))),
                None => self.ask(effect),
            },
        }
    }

    fn step(&self) -> PartStep<Outcome> {
        PartStep::Ask(match &self.stage {
            OperationStage::Row => Effect::Read {
                table: TableRole::Control,
                keys: vec![control::head_key(self.context.mapping.name())],
            },
            OperationStage::Tables(role) => Effect::Describe(*role),
            OperationStage::Tags(role) => Effect::Tag { table: *role, write: None },
            OperationStage::Enforcing(policies) => return policies.next(&self.context).pending(),
            OperationStage::Run(command) => return command.next(&self.context),
            OperationStage::Tidy(command) => return command.next(&self.context),
            OperationStage::Switch(command) => return command.next(&self.context),
            OperationStage::Readers(command) => return command.next(&self.context),
            OperationStage::Finish(command) => return command.next(&self.context),
            OperationStage::Revise(command) => return command.next(&self.context),
            OperationStage::Abandon(command) => return command.next(&self.context),
            OperationStage::Lift(command) => return command.next(&self.context),
            OperationStage::Over(outcome) => return PartStep::Over((**outcome).clone()),
        })
    }

    /// The outcome of an interruption; `None` while the operation must go on.
    fn interrupted(&self) -> Option<Outcome> {
        let message = match &self.stage {
            _ if !self.context.interrupted => return None,
            // Before the row is read, the outcome could not say which table is open.
            OperationStage::Row | OperationStage::Tables(_) | OperationStage::Tags(_) => return None,
            OperationStage::Switch(command) if !command.may_be_left(&self.context) => return None,
            OperationStage::Switch(_) => "interrupted; nothing was switched",
            _ => "interrupted; run the same command again to go on",
        };
        Some(Outcome::new(End::Interrupted, "interrupted", message))
    }

    /// The effect by the driver's clock.
    fn ask(&self, effect: Effect) -> Step {
        Step::Ask(match effect {
            Effect::Wait { until_ms } => Effect::Wait { until_ms: until_ms.saturating_sub(self.set_back_ms) },
            effect => effect,
        })
    }

    /// Takes what came of the effect that [`next`](Self::next) asked for, and the millisecond since 1970 at which it came.
    pub fn answer(&mut self, now_ms: u64, reply: Result<Reply, Failure>) {
        let waited = self.hold_until_ms > self.context.now_ms;
        // A clock that was set back stands still here.
        self.set_back_ms = self.set_back_ms.max(self.context.now_ms.saturating_sub(now_ms));
        self.context.now_ms = now_ms + self.set_back_ms;
        if waited {
            // An interruption ends the pause, not the effect that the pause was for.
            if self.context.interrupted {
                self.hold_until_ms = 0;
            }
            return;
        }
        match reply {
            Ok(reply) => {
                self.take(reply);
                // The rest of the reply was used. If this did not count as a failure, a shard that fails each time would be read for
                // ever.
                match self.context.failure.take() {
                    Some(failure) => self.on_failure(failure),
                    None => self.failures = None,
                }
            }
            Err(failure) => self.on_failure(failure),
        }
        self.settle();
    }

    /// Ends the operation in order: writers that were stopped are let in again.
    pub fn interrupt(&mut self) {
        self.context.interrupted = true;
    }

    /// Its work at the moment, for a line that shows progress.
    pub fn status(&self) -> OperationStatus {
        let (text, paused_ms) = match &self.stage {
            OperationStage::Run(command) => (command.status(&self.context), None),
            OperationStage::Tidy(command) => (command.status(&self.context), None),
            OperationStage::Readers(command) => (command.status(&self.context), None),
            OperationStage::Finish(command) => (command.status(&self.context), None),
            OperationStage::Revise(command) => (command.status(&self.context), None),
            OperationStage::Abandon(_) => ("giving the retrofit up".to_owned(), None),
            OperationStage::Lift(_) => ("removing the policies".to_owned(), None),
            OperationStage::Switch(command) => {
                (command.status(&self.context), command.paused_ms(&self.context))
            }
            OperationStage::Enforcing(_) => {
                ("making the policies what the retrofit's row says".to_owned(), None)
            }
            OperationStage::Row | OperationStage::Tables(_) | OperationStage::Tags(_) => {
                ("reading the retrofit's row".to_owned(), None)
            }
            OperationStage::Over(outcome) => (outcome.message.clone(), None),
        };
        OperationStatus {
            text,
            paused_ms,
            failure: self.failures.as_ref().map(|(_, _, failure)| failure.clone()),
        }
    }

    fn take(&mut self, reply: Reply) {
        match (&mut self.stage, reply) {
            (OperationStage::Row, Reply::Items(items)) => self.row_read(&items),
            (OperationStage::Tables(role), Reply::Table(facts)) => {
                let role = *role;
                self.context.set_table(role, facts);
                self.stage = match role {
                    TableRole::Source => OperationStage::Tables(TableRole::Target),
                    // A row that is missing or too old must not keep writers out.
                    _ if self.command == Command::Lift => return self.begin_command(),
                    _ => OperationStage::Tags(TableRole::Source),
                };
            }
            (OperationStage::Tags(role), Reply::Tag(tag)) => {
                let role = *role;
                self.tag_read(role, tag.as_deref());
            }
            (OperationStage::Enforcing(policies), reply) => {
                if advance(policies, &mut self.context, reply).is_some() {
                    self.begin_command();
                }
            }
            (OperationStage::Run(command), reply) => command.take(&mut self.context, reply),
            (OperationStage::Tidy(command), reply) => command.take(&mut self.context, reply),
            (OperationStage::Switch(command), reply) => command.take(&mut self.context, reply),
            (OperationStage::Readers(command), reply) => command.take(&mut self.context, reply),
            (OperationStage::Finish(command), reply) => command.take(&mut self.context, reply),
            (OperationStage::Revise(command), reply) => command.take(&mut self.context, reply),
            (OperationStage::Abandon(command), reply) => command.take(&mut self.context, reply),
            (OperationStage::Lift(command), reply) => command.take(&mut self.context, reply),
            (_, reply) => unreachable!("{reply:?} answers nothing that was asked"),
        }
    }

    fn row_read(&mut self, items: &[Option<crate::value::Item>]) {
        let name = self.context.mapping.name().to_owned();
        let read = RetrofitState::read(&name, one_row(items));
        let may_lack = matches!(self.command, Command::Run(_) | Command::Lift);
        match read {
            Err(ControlError::NotStarted { .. }) if may_lack => {}
            Err(error) => return self.end(self.context.control_error(&error)),
            Ok(head) => {
                if let Command::Switch(switch) = &mut self.command
                    && !switch.take_back
                    && takes_back(head.phase, switch.back)
                {
                    // During a stop, the other direction takes it back.
                    switch.back = !switch.back;
                    switch.take_back = true;
                }
                let checked = match &self.command {
                    Command::Run(_) | Command::Lift => Ok(()),
                    // Before the tables are described: the new manifest may name one that is not there.
                    Command::Revise(_) => head
                        .check(&self.context.mapping)
                        .or_else(|_| head.revised(&self.context.mapping).map(drop)),
                    // A mended manifest of the same tables must not keep a table closed.
                    Command::Switch(switch) if switch.take_back => head.check_fixed(&self.context.mapping),
                    _ => head.check(&self.context.mapping),
                };
                // Also of a row that is refused: the outcome says by it which table is open.
                self.context.head = Some(head);
                if let Err(error) = checked {
                    return self.end(self.context.control_error(&error));
                }
            }
        }
        match self.command {
            Command::Abandon => self.begin_command(),
            _ => self.stage = OperationStage::Tables(TableRole::Source),
        }
    }

    /// A row that is older than a table's tag comes from a control table that was restored: nothing may be written by it.
    fn tag_read(&mut self, role: TableRole, text: Option<&str>) {
        let tag = text.and_then(TableTag::read);
        let version = self.context.head.as_ref().map_or(0, |head| head.version);
        if let Some(tag) = tag.filter(|tag| tag.version > version) {
            let outcome = self.restored(role, &tag);
            let mut outcome = self.context.over(outcome);
            // The row is not to be trusted.
            outcome.open = OpenTable::Unknown;
            outcome.open_text = format!("the table's tag says that the retrofit is in phase `{}`", tag.phase);
            outcome.next = None;
            self.stage = OperationStage::Over(Box::new(outcome));
            return;
        }
        match role {
            TableRole::Source => self.stage = OperationStage::Tags(TableRole::Target),
            _ => self.begin(),
        }
    }

    fn restored(&self, role: TableRole, tag: &TableTag) -> Outcome {
        let table = match role {
            TableRole::Target => self.context.mapping.target(),
            _ => self.context.mapping.source(),
        };
        let row = match &self.context.head {
            Some(head) => format!("says `{}` at version {}", head.phase.name(), head.version),
            None => "is missing".to_owned(),
        };
        Outcome::refused(
            "control-table-restored",
            format!(
                "the control table's row of retrofit `{}` {row}, and the tag of table `{}` says `{}` at version {}: the control table \
                 was restored to an earlier time, so nothing is written",
                self.context.mapping.name(),
                table.name,
                tag.phase,
                tag.version
            ),
        )
        .hinted(
            "restore the control table to a later time; do not repair or switch by this row: it does not know which table is open. If the \
             control table was deleted on purpose after the retrofit had ended, delete the tags of both tables that begin with `keyfold:`",
        )
    }

    fn begin(&mut self) {
        // Not during a stop: its policies close a table, and only `switch` knows how to end that. Not by another manifest: its tables may
        // be others.
        let head = self.context.head.as_ref().filter(|head| {
            !head.exempt.is_empty() && !head.phase.is_stop() && head.check(&self.context.mapping).is_ok()
        });
        let only_checks = matches!(&self.command, Command::Switch(switch) if switch.check);
        match head.is_some() && !only_checks {
            true => self.stage = OperationStage::Enforcing(PolicySync::new(&self.context)),
            false => self.begin_command(),
        }
    }

    fn begin_command(&mut self) {
        let context = &self.context;
        self.stage = match &self.command {
            Command::Run(run) => OperationStage::Run(Box::new(RunMachine::new(run.clone(), context))),
            Command::Tidy(_) => OperationStage::Tidy(Box::new(TidyMachine::new(context))),
            Command::Switch(switch) => self.switching(switch.clone()),
            Command::Readers(readers) => self.readers(readers),
            Command::Finish(finish) => {
                OperationStage::Finish(Box::new(FinishMachine::new(finish.clone(), context)))
            }
            Command::Revise(_) => OperationStage::Revise(Box::new(ReviseMachine::new(context))),
            Command::Abandon => OperationStage::Abandon(Box::new(AbandonMachine::new(context))),
            Command::Lift => OperationStage::Lift(Box::new(LiftMachine::new(context))),
        };
    }

    /// Where only readers have moved, they move back.
    fn switching(&self, switch: Switch) -> OperationStage {
        let head = self.context.head();
        if head.phase == Phase::CutOver && head.protocol != Protocol::InPlace && switch.back && !switch.check
        {
            return self.readers(&Readers { back: true, limits: switch.limits });
        }
        OperationStage::Switch(Box::new(SwitchMachine::new(switch, &self.context)))
    }

    /// In place there is one table: its indexes are opened or closed.
    fn readers(&self, readers: &Readers) -> OperationStage {
        let Readers { back, limits } = *readers;
        if self.context.head().protocol != Protocol::InPlace {
            return OperationStage::Readers(Box::new(ReadersMachine::new(back, &self.context)));
        }
        let switch = Switch {
            back,
            for_good: false,
            writers: None,
            unproven: false,
            check: false,
            take_back: false,
            limits,
        };
        OperationStage::Switch(Box::new(SwitchMachine::new(switch, &self.context)))
    }

    fn on_failure(&mut self, failure: Failure) {
        if self.goes_on_without(&failure) {
            self.failures = None;
            return;
        }
        let handled = match &mut self.stage {
            OperationStage::Switch(command) => command.on_failure(&mut self.context, &failure),
            _ if failure.kind == FailureKind::Passing => OnFailure::Retry,
            _ => OnFailure::End(Box::new(failure_outcome(&failure))),
        };
        let (count, since, _) = self.failures.take().unwrap_or((0, self.context.now_ms, failure.clone()));
        match handled {
            OnFailure::Handled => {}
            OnFailure::End(outcome) => return self.end(*outcome),
            // A stop has a separate limit, after which it is taken back. Ended here, it would leave the writers stopped.
            OnFailure::Retry if !self.is_stopped() && self.context.now_ms >= since + RETRY_MS_MAX => {
                return self.end(failure_outcome(&failure));
            }
            OnFailure::Retry => {}
        }
        let pause = (BACKOFF_MS.0 << count.min(6)).min(BACKOFF_MS.1);
        self.hold_until_ms = self.context.now_ms + pause;
        self.failures = Some((count + 1, since, failure));
    }

    /// Is the effect that failed one that the operation can do without? Then it has gone on.
    fn goes_on_without(&mut self, failure: &Failure) -> bool {
        let since = self.failures.as_ref().map_or(self.context.now_ms, |(_, since, _)| *since);
        let is_passing = failure.kind == FailureKind::Passing;
        let opens = match &self.command {
            Command::Switch(switch) => switch.take_back,
            command => *command == Command::Lift,
        };
        match &mut self.stage {
            // Without a control table there is no row.
            OperationStage::Row if self.command == Command::Lift && failure.kind == FailureKind::Gone => {
                self.take(Reply::Items(vec![None]));
                true
            }
            // A stop that is to be resumed must not wait for tags.
            OperationStage::Tags(_) if is_passing && self.context.now_ms < since + TAG_RETRY_MS_MAX => false,
            OperationStage::Tags(role) => {
                let role = *role;
                self.tag_failed(role, failure);
                true
            }
            // Writers are let in also if the other table is deleted by now.
            OperationStage::Tables(role)
                if opens
                    && failure.kind == FailureKind::Gone
                    // One of the two must exist: without both there is no table that could be opened.
                    && (*role == TableRole::Source || !self.context.tables[0].arn.is_empty()) =>
            {
                self.take(Reply::Table(TableFacts::default()));
                true
            }
            // A tag that cannot be written keeps no writers out.
            OperationStage::Enforcing(policies) => {
                let skipped = policies.skip_tag(&mut self.context, failure);
                if let PartStep::Over(_) = policies.next(&self.context) {
                    self.begin_command();
                }
                skipped
            }
            OperationStage::Finish(command) => command.skip_tag(&mut self.context, failure),
            _ => false,
        }
    }

    fn tag_failed(&mut self, role: TableRole, failure: &Failure) {
        if role == TableRole::Source {
            self.context.notes.push(format!(
                "the tags of the tables cannot be read ({}): a control table that was restored to an earlier time is not noticed",
                failure.code
            ));
        }
        self.tag_read(role, None);
    }

    fn is_stopped(&self) -> bool {
        matches!(&self.stage, OperationStage::Switch(command) if command.paused_ms(&self.context).is_some())
    }

    /// An outcome that `next` would give is kept: it is by what is known now.
    fn settle(&mut self) {
        if !matches!(self.stage, OperationStage::Over(_))
            && let Step::Over(outcome) = self.next()
        {
            self.stage = OperationStage::Over(outcome);
        }
    }

    fn end(&mut self, outcome: Outcome) {
        self.stage = OperationStage::Over(Box::new(self.over(outcome)));
    }

    /// With what the row and the policies say.
    fn over(&self, outcome: Outcome) -> Outcome {
        let is_behind = match &self.stage {
            OperationStage::Enforcing(policies) => policies.is_behind(),
            OperationStage::Switch(command) => command.policies_behind(),
            OperationStage::Lift(command) => command.is_behind(),
            _ => false,
        };
        let next = match &self.stage {
            OperationStage::Lift(_) if is_behind => {
                Some(format!("keyfold retrofit switch {} --lift", self.context.mapping.name()))
            }
            OperationStage::Switch(command) if !is_behind && self.context.head.is_some() => {
                outcome.next.clone().or_else(|| command.next_command(&self.context, &outcome))
            }
            _ => outcome.next.clone(),
        };
        self.context.over(Outcome { policies_behind: is_behind, next, ..outcome })
    }
}
