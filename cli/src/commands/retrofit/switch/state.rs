//! The arguments and the phases of a switch, and a switch in progress.

use std::time::{Duration, Instant};

use keyfold_core::retrofit::control::{Direction, Phase};
use keyfold_core::retrofit::{Mapping, TableRole};
use keyfold_dynamo::retrofit::{Backlog, Drain, RequestSender, RetrofitState};

use super::super::env::RetrofitName;
use crate::output::Output;

#[derive(Debug, clap::Args)]
pub(crate) struct RetrofitSwitchArgs {
    #[command(flatten)]
    pub(crate) retrofit: RetrofitName,
    /// How the writers of the closing table are stopped.
    #[arg(long, value_enum, value_name = "HOW")]
    pub(crate) writers: Option<Writers>,
    /// With `--writers policy`: the ARNs of the roles that may still write: the replicator's (the stack's output) and your own.
    #[arg(long, value_name = "ARN", env = "KEYFOLD_EXEMPT", value_delimiter = ',')]
    pub(crate) exempt: Vec<String>,
    /// With `--writers policy`: how long every trial write must be denied, in seconds. DynamoDB applies a policy after a while.
    #[arg(long, default_value_t = 15, value_name = "SECONDS")]
    pub(crate) denied: u64,
    /// Move the writers although they cannot be moved back (`plan` says why). `return` needs no such flag.
    #[arg(long)]
    pub(crate) no_way_back: bool,
    /// Do not ask the replicator first whether it can carry items the other way.
    #[arg(long)]
    pub(crate) unproven: bool,
    /// How long the replicator may take to answer, in seconds. Writers continue meanwhile.
    #[arg(long, default_value_t = 60, value_name = "SECONDS")]
    pub(crate) proof_max: u64,
    /// End a stop that cannot be completed, and go back to the state before it. Reads no stream.
    #[arg(long, conflicts_with_all = ["check", "writers"])]
    pub(crate) take_back: bool,
    /// Show whether the writers could move now, and what is still to arrive. Changes nothing.
    #[arg(long)]
    pub(crate) check: bool,
    /// How long the streams must bring nothing, in seconds, before that counts as their end.
    #[arg(long, default_value_t = 10, value_name = "SECONDS")]
    pub(crate) quiet: u64,
    /// The longest pause, in seconds. After it everything is as it was before.
    #[arg(long, default_value_t = 120, value_name = "SECONDS")]
    pub(crate) stop_max: u64,
}

/// How writers are stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Writers {
    /// You have stopped them, and they stay stopped until this command has ended.
    Attested,
    /// A resource-based policy on the table denies their writes.
    Policy,
}

/// The pause between two reads of the streams.
pub(super) const LOOK: Duration = Duration::from_millis(200);

/// The phases of a switch: its start, the stop, its end.
pub(super) struct Way {
    pub(super) lead: Direction,
    pub(super) from: Phase,
    pub(super) stop: Phase,
    pub(super) to: Phase,
    /// The command's name.
    pub(super) command: &'static str,
}

pub(super) const FORWARD: Way = Way {
    lead: Direction::Forward,
    from: Phase::Tidy,
    stop: Phase::Closing,
    to: Phase::Reversed,
    command: "switch",
};
/// Where what the retrofit does to items cannot be taken back.
pub(super) const FOR_GOOD: Way = Way { to: Phase::Settled, ..FORWARD };
pub(super) const REVERSE: Way = Way {
    lead: Direction::Reverse,
    from: Phase::Reversed,
    stop: Phase::Returning,
    to: Phase::Tidy,
    command: "return",
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
    pub(super) out: &'a Output,
    /// The last time that records came.
    pub(super) quiet_since: Instant,
    /// Where a policy stops the writers: since when every write that was tried was denied.
    pub(super) denied_since: Option<Instant>,
}

impl Switch<'_> {
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
