//! An operation as the state machine takes it: what the command line writes, and the function `operator` reads.

use keyfold_core::retrofit::control::Phase;
use keyfold_core::retrofit::operate::{Command, Finish, Limits, Readers, Switch, Tidy, Writers, takes_back};
use serde::{Deserialize, Serialize};

/// A command and its options.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Operation {
    /// The command.
    pub command: Word,
    /// Moves the writers back.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub back: bool,
    /// Moves them although they could not be moved again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub for_good: bool,
    /// Ends a stop that cannot be completed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub take_back: bool,
    /// What becomes of writers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writers: Option<How>,
    /// With policies: the roles that may still write.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exempt: Vec<String>,
    /// The longest pause of the writers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_max_seconds: Option<u64>,
    /// Leaves the marks on the items.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub leave_marks: bool,
}

/// A command.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Word {
    /// The stage of a switch before both sides are compared.
    Tidy,
    /// The move.
    #[default]
    Switch,
    /// The end.
    Finish,
}

/// What becomes of writers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum How {
    /// They have been stopped.
    Attested,
    /// Policies stop them.
    Policy,
    /// They stay: only readers move.
    Stay,
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

impl Operation {
    /// The same as the state machine takes it in this phase: the direction of a stop stays, and the stop is taken back.
    #[must_use]
    pub fn in_phase(self, phase: Phase) -> Operation {
        let take_back = takes_back(phase, self.back);
        Operation { back: self.back != take_back, take_back, ..self }
    }

    /// The core's command, with these times.
    pub fn command(&self, limits: Limits) -> Command {
        let stop_max_ms =
            self.stop_max_seconds.map_or(limits.stop_max_ms, |seconds| seconds.saturating_mul(1_000));
        let limits = Limits { stop_max_ms, ..limits };
        match self.command {
            Word::Tidy => Command::Tidy(Tidy { limits }),
            Word::Finish => Command::Finish(Finish { leave_marks: self.leave_marks, limits }),
            Word::Switch if self.writers == Some(How::Stay) => {
                Command::Readers(Readers { back: self.back, limits })
            }
            Word::Switch => Command::Switch(Switch {
                back: self.back,
                for_good: self.for_good,
                writers: self.writers.map(|how| match how {
                    How::Policy => Writers::Policy(self.exempt.clone()),
                    How::Attested | How::Stay => Writers::Attested,
                }),
                unproven: self.for_good,
                check: false,
                take_back: self.take_back,
                limits,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_switch_against_a_stop_takes_the_stop_back_in_its_own_direction() {
        let sent = |phase, back| {
            let sent = Operation { back, ..Operation::default() }.in_phase(phase);
            (sent.back, sent.take_back)
        };
        assert_eq!((sent(Phase::Tidy, false), sent(Phase::Reversed, true)), ((false, false), (true, false)));
        assert_eq!(
            (sent(Phase::Closing, false), sent(Phase::Closing, true)),
            ((false, false), (false, true))
        );
        assert_eq!(
            (sent(Phase::Returning, true), sent(Phase::Returning, false)),
            ((true, false), (true, true))
        );
    }
}
