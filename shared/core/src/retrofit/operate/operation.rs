//! An operation at work: the row first, then its command; failures, waits, interruptions.

use super::abandon::Abandoning;
use super::doors::{Enforcing, unusable};
use super::effect::{Effect, Failure, FailureKind, Reply, TableFacts};
use super::finish::{Finish, Finishing};
use super::known::{Known, Limits, OnFailure, TableMark, failed};
use super::outcome::{End, OpenTable, Outcome};
use super::parts::{Turn, one_row};
use super::readers::{Readers, SwitchingReaders};
use super::revise::{Revise, Revising};
use super::run::{Run, Running};
use super::switch::{Switch, Switching};
use super::tidy::{Tidy, Tidying};
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

/// What an operation is for.
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
            Command::Abandon => Limits::AWS,
        }
    }
}

/// What comes next.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Perform this, and answer.
    Ask(Effect),
    /// It is over.
    Over(Box<Outcome>),
}

/// What an operation is doing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Doing {
    /// In words.
    pub text: String,
    /// How long the writers have been stopped; `None` while they may write.
    pub paused_ms: Option<u64>,
    /// The failure that is being tried again.
    pub failure: Option<Failure>,
}

#[derive(Debug, Clone, PartialEq)]
enum Stage {
    Row,
    Tables(TableRole),
    /// Is the row older than what a table knows of it?
    Marks(TableRole),
    /// The policies are made what the row says: an operator that was killed may have left them behind.
    Enforcing(Enforcing),
    Run(Running),
    Tidy(Tidying),
    Switch(Box<Switching>),
    Readers(SwitchingReaders),
    Finish(Finishing),
    Revise(Box<Revising>),
    Abandon(Abandoning),
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
    known: Known,
    command: Command,
    stage: Stage,
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
        let known = Known {
            mapping,
            head: None,
            tables: [TableFacts::default(), TableFacts::default()],
            now_ms,
            begun_ms: now_ms,
            limits: command.limits(),
            nonce: nonce.into(),
            interrupted: false,
            notes: Vec::new(),
            put_policies: [None, None],
            failure: None,
        };
        Operation { known, command, stage: Stage::Row, hold_until_ms: 0, set_back_ms: 0, failures: None }
    }

    /// What to do next. The same again, until it is answered.
    pub fn next(&self) -> Step {
        if let Stage::Over(outcome) = &self.stage {
            return Step::Over(outcome.clone());
        }
        if self.hold_until_ms > self.known.now_ms {
            return self.ask(Effect::Wait { until_ms: self.hold_until_ms });
        }
        let turn = match &self.stage {
            Stage::Row => {
                let keys = vec![control::head_key(self.known.mapping.name())];
                return Step::Ask(Effect::Read { table: TableRole::Control, keys });
            }
            Stage::Tables(role) => return Step::Ask(Effect::Describe(*role)),
            Stage::Marks(role) => return Step::Ask(Effect::Tag { table: *role, write: None }),
            Stage::Enforcing(_) if self.known.interrupted => {
                let message = "interrupted; the same command goes on";
                Turn::Over(Outcome::new(End::Interrupted, "interrupted", message))
            }
            Stage::Enforcing(doors) => match doors.next(&self.known) {
                Turn::Ask(effect) => return self.ask(effect),
                Turn::Over(_) => unreachable!("it is left at once"),
            },
            Stage::Run(command) => command.next(&self.known),
            Stage::Tidy(command) => command.next(&self.known),
            Stage::Switch(command) => command.next(&self.known),
            Stage::Readers(command) => command.next(&self.known),
            Stage::Finish(command) => command.next(&self.known),
            Stage::Revise(command) => command.next(&self.known),
            Stage::Abandon(command) => command.next(&self.known),
            Stage::Over(_) => unreachable!("returned above"),
        };
        match turn {
            Turn::Ask(effect) => self.ask(effect),
            Turn::Over(outcome) => Step::Over(Box::new(self.over(outcome))),
        }
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
        let waited = self.hold_until_ms > self.known.now_ms;
        // A clock that was set back stands still here.
        self.set_back_ms = self.set_back_ms.max(self.known.now_ms.saturating_sub(now_ms));
        self.known.now_ms = now_ms + self.set_back_ms;
        if waited {
            // An interruption ends the pause, not the effect that the pause was for.
            if self.known.interrupted {
                self.hold_until_ms = 0;
            }
            return;
        }
        match reply {
            Ok(reply) => {
                self.take(reply);
                match self.known.failure.take() {
                    Some(failure) => self.failed(failure),
                    None => self.failures = None,
                }
            }
            Err(failure) => self.failed(failure),
        }
        self.settle();
    }

    /// Ends the operation in order: writers that were stopped are let in again.
    pub fn interrupt(&mut self) {
        self.known.interrupted = true;
    }

    /// What it is doing, for a line that shows progress.
    pub fn doing(&self) -> Doing {
        let (text, paused_ms) = match &self.stage {
            Stage::Run(command) => (command.doing(&self.known), None),
            Stage::Tidy(command) => (command.doing(&self.known), None),
            Stage::Readers(command) => (command.doing(&self.known), None),
            Stage::Finish(command) => (command.doing(&self.known), None),
            Stage::Revise(command) => (command.doing(&self.known), None),
            Stage::Abandon(_) => ("giving the retrofit up".to_owned(), None),
            Stage::Switch(command) => (command.doing(&self.known), command.paused_ms(&self.known)),
            Stage::Enforcing(_) => ("making the policies what the retrofit's row says".to_owned(), None),
            Stage::Row | Stage::Tables(_) | Stage::Marks(_) => {
                ("reading the retrofit's row".to_owned(), None)
            }
            Stage::Over(outcome) => (outcome.message.clone(), None),
        };
        Doing { text, paused_ms, failure: self.failures.as_ref().map(|(_, _, failure)| failure.clone()) }
    }

    fn take(&mut self, reply: Reply) {
        match (&mut self.stage, reply) {
            (Stage::Row, Reply::Items(items)) => self.know_row(&items),
            (Stage::Tables(role), Reply::Table(facts)) => {
                let role = *role;
                self.known.tables[usize::from(role == TableRole::Target)] = facts;
                self.stage = match role {
                    TableRole::Source => Stage::Tables(TableRole::Target),
                    _ => Stage::Marks(TableRole::Source),
                };
            }
            (Stage::Marks(role), Reply::Tag(tag)) => {
                let role = *role;
                self.know_mark(role, tag.as_deref());
            }
            (Stage::Enforcing(doors), reply) => {
                if let Err(error) = doors.take(&mut self.known, reply) {
                    let outcome = unusable(&self.known, doors.table(), &error);
                    return self.end(outcome);
                }
                self.enforced();
            }
            (Stage::Run(command), reply) => command.take(&mut self.known, reply),
            (Stage::Tidy(command), reply) => command.take(&mut self.known, reply),
            (Stage::Switch(command), reply) => command.take(&mut self.known, reply),
            (Stage::Readers(command), reply) => command.take(&mut self.known, reply),
            (Stage::Finish(command), reply) => command.take(&mut self.known, reply),
            (Stage::Revise(command), reply) => command.take(&mut self.known, reply),
            (Stage::Abandon(command), reply) => command.take(&mut self.known, reply),
            (_, reply) => unreachable!("{reply:?} answers nothing that was asked"),
        }
    }

    fn know_row(&mut self, items: &[Option<crate::value::Item>]) {
        let name = self.known.mapping.name().to_owned();
        let read = RetrofitState::read(&name, one_row(items));
        let may_lack = matches!(self.command, Command::Run(_));
        match read {
            Err(ControlError::NotStarted { .. }) if may_lack => {}
            Err(error) => {
                let outcome = self.known.control_error(&error);
                return self.end(outcome);
            }
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
                    Command::Run(_) => Ok(()),
                    // Before the tables are described: the new manifest may name one that is not there.
                    Command::Revise(_) => head
                        .check(&self.known.mapping)
                        .or_else(|_| head.revised(&self.known.mapping).map(drop)),
                    // A mended manifest of the same tables must not keep a table closed.
                    Command::Switch(switch) if switch.take_back => head.check_fixed(&self.known.mapping),
                    _ => head.check(&self.known.mapping),
                };
                self.known.head = Some(head);
                if let Err(error) = checked {
                    let outcome = self.known.control_error(&error);
                    return self.end(outcome);
                }
            }
        }
        match self.command {
            Command::Abandon => self.begin_command(),
            _ => self.stage = Stage::Tables(TableRole::Source),
        }
    }

    /// A row that is older than a table's mark comes from a control table that was restored: nothing may be written by it.
    fn know_mark(&mut self, role: TableRole, tag: Option<&str>) {
        let mark = tag.and_then(TableMark::read);
        let version = self.known.head.as_ref().map_or(0, |head| head.version);
        if let Some(mark) = mark.filter(|mark| mark.version > version) {
            let outcome = self.restored(role, &mark);
            let mut outcome = self.known.over(outcome);
            // The row is not to be trusted.
            outcome.open = OpenTable::Unknown;
            outcome.open_text = format!("by the table's tag the retrofit is `{}`", mark.phase);
            outcome.next = None;
            self.stage = Stage::Over(Box::new(outcome));
            return;
        }
        match role {
            TableRole::Source => self.stage = Stage::Marks(TableRole::Target),
            _ => self.begin(),
        }
    }

    fn restored(&self, role: TableRole, mark: &TableMark) -> Outcome {
        let table = match role {
            TableRole::Target => self.known.mapping.target(),
            _ => self.known.mapping.source(),
        };
        let row = match &self.known.head {
            Some(head) => format!("says `{}` at version {}", head.phase.name(), head.version),
            None => "is missing".to_owned(),
        };
        Outcome::refused(
            "control-table-restored",
            format!(
                "the control table's row of retrofit `{}` {row}, and the tag of table `{}` says `{}` at version {}: the control table \
                 was restored to an earlier time, so nothing is written",
                self.known.mapping.name(),
                table.name,
                mark.phase,
                mark.version
            ),
        )
        .hinted(
            "restore the control table to a later time; do not repair or switch by this row: it does not know which table is open. If the \
             control table was deleted on purpose after the retrofit had ended, delete the tags of both tables that begin with `keyfold:`",
        )
    }

    fn begin(&mut self) {
        let head = self.known.head.as_ref().filter(|head| {
            !head.exempt.is_empty() && !head.phase.is_stop() && head.check(&self.known.mapping).is_ok()
        });
        let only_checks = matches!(&self.command, Command::Switch(switch) if switch.check);
        match head.is_some() && !only_checks {
            true => self.stage = Stage::Enforcing(Enforcing::new(&self.known)),
            false => self.begin_command(),
        }
    }

    fn enforced(&mut self) {
        if let Stage::Enforcing(doors) = &self.stage
            && let Turn::Over(_) = doors.next(&self.known)
        {
            self.begin_command();
        }
    }

    fn begin_command(&mut self) {
        self.stage = match &self.command {
            Command::Run(run) => Stage::Run(Running::new(run.clone(), &self.known)),
            Command::Tidy(_) => Stage::Tidy(Tidying::new(&self.known)),
            Command::Switch(switch) => self.switching(switch.clone()),
            Command::Readers(readers) => self.readers(readers.clone()),
            Command::Finish(finish) => Stage::Finish(Finishing::new(finish.clone(), &self.known)),
            Command::Revise(_) => Stage::Revise(Box::new(Revising::new(&self.known))),
            Command::Abandon => Stage::Abandon(Abandoning::new(&self.known)),
        };
    }

    /// Where only readers have moved, they move.
    fn switching(&self, switch: Switch) -> Stage {
        let head = self.known.head();
        if head.phase == Phase::CutOver && head.protocol != Protocol::InPlace && !switch.check {
            return self.readers(Readers { back: switch.back, limits: switch.limits });
        }
        Stage::Switch(Box::new(Switching::new(switch, &self.known)))
    }

    /// In place there is one table: its indexes are opened or closed.
    fn readers(&self, readers: Readers) -> Stage {
        let Readers { back, limits } = readers;
        if self.known.head().protocol != Protocol::InPlace {
            return Stage::Readers(SwitchingReaders::new(back, &self.known));
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
        Stage::Switch(Box::new(Switching::new(switch, &self.known)))
    }

    fn failed(&mut self, failure: Failure) {
        // Without tags a restored control table is not noticed. A stop that is to be resumed must not wait for them.
        let since = self.failures.as_ref().map_or(self.known.now_ms, |(_, since, _)| *since);
        let is_over = failure.kind != FailureKind::Passing || self.known.now_ms >= since + TAG_RETRY_MS_MAX;
        if let Stage::Marks(role) = &self.stage
            && is_over
        {
            let role = *role;
            self.failures = None;
            if role == TableRole::Source {
                self.known.notes.push(format!(
                    "the tags of the tables cannot be read ({}): a control table that was restored to an earlier time is not noticed",
                    failure.code
                ));
            }
            return self.know_mark(role, None);
        }
        // A stop is taken back also if the table that was to open is deleted by now.
        let takes_back = matches!(&self.command, Command::Switch(switch) if switch.take_back);
        let is_first_gone = match &self.stage {
            Stage::Tables(TableRole::Source) => true,
            Stage::Tables(_) => !self.known.tables[0].arn.is_empty(),
            _ => false,
        };
        if is_first_gone && takes_back && failure.kind == FailureKind::Gone {
            return self.take(Reply::Table(TableFacts::default()));
        }
        // A tag that cannot be written keeps nobody out.
        if let Stage::Enforcing(doors) = &mut self.stage
            && doors.skip_tag(&mut self.known, &failure)
        {
            return self.enforced();
        }
        if let Stage::Finish(command) = &mut self.stage
            && command.skip_tag(&mut self.known, &failure)
        {
            self.failures = None;
            return;
        }
        let handled = match &mut self.stage {
            Stage::Switch(command) => command.failed(&mut self.known, &failure),
            _ if failure.kind == FailureKind::Passing => OnFailure::Retry,
            _ => OnFailure::End(failed(&failure)),
        };
        let (count, since, _) = self.failures.take().unwrap_or((0, self.known.now_ms, failure.clone()));
        match handled {
            OnFailure::Handled => {}
            OnFailure::End(outcome) => return self.end(outcome),
            OnFailure::Retry if !self.is_stopped() && self.known.now_ms >= since + RETRY_MS_MAX => {
                return self.end(failed(&failure));
            }
            OnFailure::Retry => {}
        }
        let pause = (BACKOFF_MS.0 << count.min(6)).min(BACKOFF_MS.1);
        self.hold_until_ms = self.known.now_ms + pause;
        self.failures = Some((count + 1, since, failure));
    }

    fn is_stopped(&self) -> bool {
        matches!(&self.stage, Stage::Switch(command) if command.paused_ms(&self.known).is_some())
    }

    /// An outcome that `next` would give is kept: it is by what is known now.
    fn settle(&mut self) {
        if !matches!(self.stage, Stage::Over(_))
            && let Step::Over(outcome) = self.next()
        {
            self.stage = Stage::Over(outcome);
        }
    }

    fn end(&mut self, outcome: Outcome) {
        self.stage = Stage::Over(Box::new(self.over(outcome)));
    }

    /// With what the row and the policies say.
    fn over(&self, outcome: Outcome) -> Outcome {
        let is_behind = match &self.stage {
            Stage::Enforcing(doors) => doors.is_behind(),
            Stage::Switch(command) => command.policies_behind(),
            _ => false,
        };
        let next = match &self.stage {
            Stage::Switch(command) if !is_behind && self.known.head.is_some() => {
                outcome.next.clone().or_else(|| command.next_command(&self.known, &outcome))
            }
            _ => outcome.next.clone(),
        };
        self.known.over(Outcome { policies_behind: is_behind, next, ..outcome })
    }
}
