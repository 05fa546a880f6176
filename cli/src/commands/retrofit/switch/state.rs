//! The arguments and the phases of a switch, and a switch in progress.

use std::time::{Duration, Instant};

use keyfold_core::retrofit::control::{Direction, Phase};
use keyfold_core::retrofit::{Mapping, TableRole};
use keyfold_dynamo::retrofit::{Backlog, Drain, RequestSender, RetrofitState};

use super::super::env::{RetrofitName, Waits, WaitsGiven};
use crate::output::Output;

#[derive(Debug, clap::Args)]
pub(crate) struct RetrofitSwitchArgs {
    #[command(flatten)]
    pub(crate) retrofit: RetrofitName,
    /// Move the writers back to the source, with everything that they wrote to the target; in place, close the indexes again. During a
    /// switch: take it back.
    #[arg(long)]
    pub(crate) back: bool,
    /// Move the writers without a proof that they could be moved again. Needed where the retrofit's changes cannot be taken back (`plan`
    /// says why): there is no way back then.
    #[arg(long)]
    pub(crate) for_good: bool,
    /// Show what the switch costs, whether the writers could move now, and what is still to arrive. Changes nothing.
    #[arg(long)]
    pub(crate) check: bool,
    /// What becomes of the writers of the table that closes.
    #[arg(long, value_enum, value_name = "HOW")]
    pub(crate) writers: Option<Writers>,
    /// With `--writers policy`: the ARNs of the roles that may still write: the replicator's (the stack's output) and your own.
    #[arg(long, value_name = "ARN", env = "KEYFOLD_EXEMPT", hide_env_values = true, value_delimiter = ',')]
    pub(crate) exempt: Vec<String>,
    /// The longest pause of the writers, in seconds. After it everything is as it was before.
    #[arg(long, default_value_t = 120, value_name = "SECONDS")]
    pub(crate) stop_max: u64,
    /// Take the policies of earlier switches off both tables, and move nobody. From then on you stop the writers yourself.
    #[arg(long, conflicts_with_all = ["back", "for_good", "check", "writers"])]
    pub(crate) lift: bool,
    #[command(flatten)]
    pub(crate) waits: WaitsGiven,
}

/// How writers are stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Writers {
    /// You have stopped them, and they stay stopped until this command has ended.
    Attested,
    /// A resource-based policy on the table denies their writes.
    Policy,
    /// They stay where they are. Only readers move to the target, and the source's changes are still carried over.
    Stay,
}

/// The pause between two reads of the streams.
pub(super) const LOOK: Duration = Duration::from_millis(200);

/// The phases of a switch: its start, the stop, its end.
pub(super) struct Way {
    pub(super) lead: Direction,
    pub(super) from: Phase,
    pub(super) stop: Phase,
    pub(super) to: Phase,
    /// What it does, in a sentence with `can`.
    pub(super) verb: &'static str,
    /// The flag of the command.
    pub(super) flag: &'static str,
}

pub(super) const FORWARD: Way = Way {
    lead: Direction::Forward,
    from: Phase::Tidy,
    stop: Phase::Closing,
    to: Phase::Reversed,
    verb: "switch",
    flag: "",
};
/// Where what the retrofit does to items cannot be taken back.
pub(super) const FOR_GOOD: Way = Way { to: Phase::Settled, flag: " --for-good", ..FORWARD };
pub(super) const REVERSE: Way = Way {
    lead: Direction::Reverse,
    from: Phase::Reversed,
    stop: Phase::Returning,
    to: Phase::Tidy,
    verb: "switch back",
    flag: " --back",
};

/// A switch in progress.
pub(super) struct Switch<'a> {
    pub(super) way: &'static Way,
    pub(super) sender: RequestSender,
    pub(super) head: RetrofitState,
    pub(super) drain: Drain,
    /// The stream of the table that follows, by which items are to be carried the other way afterwards.
    pub(super) reverse_stream: String,
    pub(super) args: &'a RetrofitSwitchArgs,
    pub(super) waits: Waits,
    pub(super) out: &'a Output,
    /// The last time that records came.
    pub(super) quiet_since: Instant,
    /// Where a policy stops the writers: since when every write that was tried was denied.
    pub(super) denied_since: Option<Instant>,
}

impl Way {
    /// The command that moves this way.
    pub(super) fn command(&self, retrofit: &str) -> String {
        format!("keyfold retrofit switch {retrofit}{}", self.flag)
    }

    /// The command that takes the stop back.
    pub(super) fn take_back(&self, retrofit: &str) -> String {
        let flag = if self.stop == Phase::Closing { " --back" } else { "" };
        format!("keyfold retrofit switch {retrofit}{flag}")
    }
}

impl Switch<'_> {
    pub(super) fn command(&self) -> String {
        self.way.command(&self.head.retrofit)
    }

    /// The tables as the model names them: the one whose writers stop, and the one whose writers begin.
    pub(super) fn tables(&self) -> (&str, &str) {
        let name = |place| self.sender.table(place).name.as_str();
        (name(TableRole::Source), name(TableRole::Target))
    }

    pub(super) fn arrived(&self, backlog: &Backlog) -> String {
        let Backlog { items, waiting, differing, unseen, first } = backlog;
        let (closes, opens) = self.tables();
        let named = format!("the stream of table `{closes}` names {items} items: ");
        let lacks = [
            (waiting, format!("have not arrived in table `{opens}`")),
            (differing, format!("are not the same in table `{opens}`")),
            (unseen, format!("were not seen yet in the stream of table `{opens}`")),
        ];
        let lacks: Vec<String> = lacks
            .iter()
            .filter(|(count, _)| **count > 0)
            .map(|(count, what)| format!("{count} {what}"))
            .collect();
        if lacks.is_empty() {
            return format!("{named}all have arrived in table `{opens}`");
        }
        let first: Vec<String> = first.iter().map(ToString::to_string).collect();
        format!("{named}{} ({})", lacks.join(", "), first.join(", "))
    }

    /// The retrofit's mapping, whichever way the sender carries items.
    pub(super) fn mapping(&self) -> &Mapping {
        self.sender.job().mapping().forward()
    }
}
