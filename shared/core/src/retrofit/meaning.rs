//! The meaning of each phase, for operators. In place there is one table, and it is the live one: no
//! text speaks of a source or a target there.

use super::control::{Phase, RetrofitState};
use super::gates::Gate;
use super::protocol_choice::Protocol;

impl RetrofitState {
    /// What holds in the retrofit's phase: lower case, no final stop.
    pub fn meaning(&self) -> &'static str {
        match self.protocol {
            Protocol::InPlace => in_place(self.phase),
            Protocol::Ledger if self.phase == Phase::Tidy => {
                "readers and writers use the source; changes are carried to the target until the writers move"
            }
            Protocol::Fenced | Protocol::Ledger => between_tables(self.phase),
        }
    }
}

impl RetrofitState {
    /// The command that comes next, with these gates closed; `None` once the retrofit is over.
    pub fn next_command(&self, gates: &[Gate]) -> Option<String> {
        let command = match self.phase {
            _ if self.revising => "revise",
            Phase::Running | Phase::Tidying | Phase::Tidy => self.opening(gates).unwrap_or("switch"),
            Phase::CutOver if self.protocol != Protocol::InPlace => self.opening(gates).unwrap_or("switch"),
            Phase::Returning => "switch --back",
            Phase::Closing => "switch",
            Phase::Reversed | Phase::Settled | Phase::CutOver | Phase::Finalising => "finish",
            Phase::Finalised | Phase::Abandoned => return None,
        };
        Some(self.command(command))
    }

    /// The command that opens the first of these gates, if another one than the switch does.
    pub(super) fn opening(&self, gates: &[Gate]) -> Option<&'static str> {
        let is = |wanted: fn(&Gate) -> bool| gates.iter().any(wanted);
        // While readers use the target, nothing is filled or repaired.
        let filling = |command| if self.phase == Phase::CutOver { "switch --back" } else { command };
        match () {
            () if is(|gate| matches!(gate, Gate::Backfill { .. } | Gate::Stream | Gate::FormerStream)) => {
                Some(filling("run"))
            }
            () if is(|gate| matches!(gate, Gate::Quarantine { .. })) => Some("quarantine"),
            () if is(|gate| matches!(gate, Gate::Differences { .. })) => Some(filling("run --repair")),
            () if self.is_tidying() => None,
            () if is(|gate| matches!(gate, Gate::NotVerified | Gate::Stale { .. })) => Some("run"),
            () => None,
        }
    }

    /// A command on this retrofit: its word, and its flags.
    pub(super) fn command(&self, words: &str) -> String {
        let (word, flags) = words.split_once(' ').unwrap_or((words, ""));
        format!("keyfold retrofit {word} {} {flags}", self.retrofit).trim_end().to_owned()
    }
}

fn in_place(phase: Phase) -> &'static str {
    match phase {
        Phase::Running => {
            "items get their folded keys, and changes keep theirs right; queries do not use the indexes yet"
        }
        Phase::CutOver => "queries use the indexes, and folded keys are kept right",
        Phase::Finalising => "the retrofit ends: folded keys are no longer kept right",
        Phase::Finalised => "over: the retrofit no longer keeps folded keys right",
        Phase::Abandoned => {
            "given up: items that were reached keep their folded keys, and queries do not use the indexes"
        }
        Phase::Tidying
        | Phase::Tidy
        | Phase::Closing
        | Phase::Reversed
        | Phase::Returning
        | Phase::Settled => {
            "no retrofit in place has this phase: another program wrote the row of the control table"
        }
    }
}

fn between_tables(phase: Phase) -> &'static str {
    match phase {
        Phase::Running => {
            "readers and writers use the source; changes are carried to the target, and the backfill may run"
        }
        Phase::Tidying => {
            "readers and writers use the source; changes leave rows in the control table from now on, and deletes still leave tombstones (markers) in the target"
        }
        Phase::Tidy => {
            "readers and writers use the source; deletes leave nothing in the target, and existing tombstones are deleted"
        }
        Phase::Closing => "writers are stopped: the last changes of the source are carried over",
        Phase::Reversed => "readers and writers use the target; its changes are carried back to the source",
        Phase::Returning => "writers are stopped: the last changes of the target are carried back",
        Phase::Settled => "readers and writers use the target; its changes are no longer carried back",
        Phase::CutOver => {
            "readers use the target, writers the source; changes of the source are carried to the target, those of the target are not carried back"
        }
        Phase::Finalising => {
            "changes are no longer carried over; the retrofit's marks are removed from the target's items"
        }
        Phase::Finalised => "over: readers and writers use the target, and the retrofit does nothing more",
        Phase::Abandoned => "given up: the retrofit no longer writes to the target, and written items stay",
    }
}
