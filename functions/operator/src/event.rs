//! The event of the operator.

use keyfold_core::retrofit::operate::{Command, Finish, Limits, Switch, Tidy, Writers};
use keyfold_edge::retrofit::Failure;
use serde::Deserialize;

/// What an event asks for.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OperatorEvent {
    /// The retrofit.
    pub retrofit: String,
    /// The command and its options.
    pub operation: Operation,
}

/// A command and its options.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Operation {
    /// The command.
    pub command: Word,
    /// Moves the writers back.
    #[serde(default)]
    pub back: bool,
    /// Moves them although they could not be moved again.
    #[serde(default)]
    pub for_good: bool,
    /// Ends a stop that cannot be completed.
    #[serde(default)]
    pub take_back: bool,
    /// How writers are stopped.
    #[serde(default)]
    pub writers: Option<How>,
    /// With policies: the roles that may still write.
    #[serde(default)]
    pub exempt: Vec<String>,
    /// The longest pause of the writers.
    #[serde(default)]
    pub stop_max_seconds: Option<u64>,
    /// Leaves the marks on the items.
    #[serde(default)]
    pub leave_marks: bool,
}

/// A command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Word {
    /// The stage of a switch before both sides are compared.
    Tidy,
    /// The move.
    Switch,
    /// The end.
    Finish,
}

/// How writers are stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum How {
    /// They have been stopped.
    Attested,
    /// By policies.
    Policy,
}

impl Word {
    /// Its name in logs.
    pub fn name(self) -> &'static str {
        match self {
            Word::Tidy => "tidy",
            Word::Switch => "switch",
            Word::Finish => "finish",
        }
    }
}

impl OperatorEvent {
    /// Reads an event. A member that nobody knows is a mistake.
    pub fn read(text: &str) -> Result<OperatorEvent, Failure> {
        serde_json::from_str(text)
            .map_err(|error| Failure::bad_event(format!("the event is malformed: {error}")))
    }
}

impl Operation {
    /// The core's command, with these times.
    pub fn command(&self, limits: Limits) -> Command {
        let stop_max_ms =
            self.stop_max_seconds.map_or(limits.stop_max_ms, |seconds| seconds.saturating_mul(1_000));
        let limits = Limits { stop_max_ms, ..limits };
        match self.command {
            Word::Tidy => Command::Tidy(Tidy { limits }),
            Word::Finish => Command::Finish(Finish { leave_marks: self.leave_marks, limits }),
            Word::Switch => Command::Switch(Switch {
                back: self.back,
                for_good: self.for_good,
                writers: self.writers.map(|how| match how {
                    How::Attested => Writers::Attested,
                    How::Policy => Writers::Policy(self.exempt.clone()),
                }),
                unproven: self.for_good,
                check: false,
                take_back: self.take_back,
                limits,
            }),
        }
    }
}
