//! The messages of a retrofit's steps and phases.
//!
//! Each text is right for its protocol. In place, the table that is written is the live one: there no text may tell anybody to
//! move to another table, or to get rid of one. `snapshots` has every text of every phase and protocol.

#[cfg(test)]
mod tests;

use super::attributes::FENCE_ATTRIBUTE;
use super::control::{Direction, Phase, RetrofitState};
use super::mapping::Mapping;
use super::protocol_choice::Protocol;
use crate::model::LiveChange;

/// A step that was taken. The row is as it is after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompletedStep {
    /// The retrofit has a row.
    Started,
    /// Readers use what was filled.
    CutOver,
    /// The cut-over is taken back.
    Undone,
    /// The retrofit has ended.
    Finalised {
        /// Items and rows that were cleaned.
        cleaned: u64,
        /// Those of them that the target's writers had written again.
        revived: u64,
        /// Were marks left where they are?
        left: bool,
    },
    /// Given up.
    Abandoned,
    /// The target's tombstones are deleted.
    Tidied {
        /// Tombstones that were swept.
        swept: u64,
        /// Items that were written over one.
        revived: u64,
    },
    /// Writers are stopped, for these seconds at most.
    Stopped {
        /// The limit.
        seconds: u64,
    },
    /// The writers may use the other table.
    Turned {
        /// Items that the stream names.
        items: u64,
        /// How long writers were stopped.
        milliseconds: u64,
    },
    /// The writers may use the target, and there is no way back.
    MovedForGood {
        /// Items that the stream names.
        items: u64,
        /// How long writers were stopped.
        milliseconds: u64,
    },
    /// The way back has ended.
    Settled,
    /// The manifest was mended, and all work goes by it.
    Revised,
}

impl CompletedStep {
    /// The meaning of the step, and the next command: lower case, no final stop.
    pub fn message(self, head: &RetrofitState, mapping: &Mapping) -> String {
        match mapping.protocol() {
            Protocol::InPlace => self.in_place(head, mapping),
            Protocol::Fenced | Protocol::Ledger => self.between_tables(head, mapping),
        }
    }

    fn in_place(self, head: &RetrofitState, mapping: &Mapping) -> String {
        let (table, indexes) = (&mapping.source().name, pending(mapping));
        match self {
            CompletedStep::Started => started(mapping),
            CompletedStep::CutOver => format!(
                "queries use {indexes} of table `{table}` from now on; readers and writers stay where they are, and the replicator \
                 keeps the folded keys right {}",
                if mapping.keeps_folded() { "for good: leave it deployed" } else { "until you finish" }
            ),
            CompletedStep::Revised => revised(head, &format!("`switch`, which lets queries use {indexes}")),
            CompletedStep::Undone => {
                format!(
                    "queries do not use {indexes} until you switch again; no item of table `{table}` changes"
                )
            }
            CompletedStep::Finalised { .. } => format!(
                "items carry nothing of the retrofit besides their keys; the folded keys of table `{table}` are no longer kept right, \
                 so its writers have to fold them from now on"
            ),
            CompletedStep::Abandoned => format!(
                "table `{table}` is your live table: keep it; items that were reached keep their folded keys, queries do not use {indexes}\
                 {}",
                changed(mapping)
            ),
            CompletedStep::Tidied { .. }
            | CompletedStep::Stopped { .. }
            | CompletedStep::Turned { .. }
            | CompletedStep::MovedForGood { .. }
            | CompletedStep::Settled => {
                unreachable!("`{}` has one table: there is nothing to tidy, and no way back", head.retrofit)
            }
        }
    }

    fn between_tables(self, head: &RetrofitState, mapping: &Mapping) -> String {
        let (source, target) = (&mapping.source().name, &mapping.target().name);
        let retrofit = &head.retrofit;
        match self {
            CompletedStep::Started => started(mapping),
            CompletedStep::CutOver => {
                format!(
                    "readers may use table `{target}` now; writers stay with table `{source}`, whose changes are carried over until they move too"
                )
            }
            CompletedStep::Undone => {
                format!("changes that were written to table `{target}` only are not in table `{source}`")
            }
            CompletedStep::Finalised { left: true, .. } => format!(
                "items of table `{target}` keep the marks of the retrofit, which nothing reads now; the next write that replaces an item \
                 removes them"
            ),
            CompletedStep::Finalised { cleaned, revived, .. } => {
                let items = cleaned + revived;
                let stay = match revived {
                    0 => String::new(),
                    _ => format!(
                        "; {revived} items that table `{source}` had deleted were written again in table `{target}`: they stay"
                    ),
                };
                format!(
                    "{items} items and rows of table `{target}` and of the control table are cleaned{stay}"
                )
            }
            CompletedStep::Abandoned => format!(
                "{}; the retrofit no longer writes table `{target}`: you can delete it once no other program uses it",
                abandoned_source(head, source)
            ),
            CompletedStep::Tidied { .. } if mapping.protocol() == Protocol::Ledger => {
                let for_good = if mapping.reverse().is_ok() { "" } else { " --for-good" };
                format!(
                    "no write of an earlier phase can arrive now: `keyfold retrofit switch {retrofit}{for_good}` moves the writers"
                )
            }
            CompletedStep::Tidied { swept, revived } => {
                let kept = match revived {
                    0 => String::new(),
                    _ => format!(
                        "; {revived} items were written over a tombstone: they keep their data, and a comparison lists them as extra"
                    ),
                };
                format!(
                    "{swept} tombstones (markers of deleted items) are gone: readers of table `{target}` see none{kept}"
                )
            }
            CompletedStep::Stopped { seconds } => {
                let (closes, _) = in_order(head, source, target);
                format!(
                    "writers are stopped: waiting until the changes of table `{closes}` have arrived, {seconds} s at most"
                )
            }
            CompletedStep::Turned { items, milliseconds } => {
                let (open, closed) = in_order(head, source, target);
                let next = match head.phase.direction() {
                    Some(Direction::Reverse) => {
                        format!(
                            "`keyfold retrofit switch {retrofit} --back` moves the writers back, until `finish`"
                        )
                    }
                    _ => format!("`keyfold retrofit switch {retrofit}` moves the writers again"),
                };
                format!(
                    "writers may use table `{open}` now, and its changes are carried to table `{closed}`\n\
                     all {items} items that the stream names have arrived; the pause took {}.{} s\n\
                     later writes of other programs to table `{closed}` are listed by `keyfold retrofit quarantine {retrofit}`; {next}",
                    milliseconds / 1000,
                    milliseconds % 1000 / 100
                )
            }
            CompletedStep::MovedForGood { items, milliseconds } => format!(
                "writers may use table `{target}` now, and there is no way back\n\
                 all {items} items that the stream names have arrived; the pause took {}.{} s\n\
                 later writes to table `{source}` are carried nowhere: keep its writers out; \
                 `keyfold retrofit finish {retrofit}` removes what the retrofit kept on items",
                milliseconds / 1000,
                milliseconds % 1000 / 100
            ),
            CompletedStep::Revised => revised(head, "`switch`"),
            CompletedStep::Settled => format!(
                "changes of table `{target}` are no longer carried to table `{source}`; `keyfold retrofit finish {retrofit}` removes the marks of the retrofit"
            ),
        }
    }
}

impl RetrofitState {
    /// The phase as `status` shows it: its name, and what is still to be done to complete it.
    pub fn shown(&self) -> String {
        let name = self.phase.name();
        match self.phase {
            Phase::Tidy if self.swept && self.protocol == Protocol::Ledger => {
                format!("{name}: the writers can be moved")
            }
            Phase::Tidy if self.swept => format!("{name}: the target has no tombstones"),
            Phase::Tidying | Phase::Tidy => {
                format!("{name}: not complete, run `keyfold retrofit switch {}`", self.retrofit)
            }
            _ if self.revising => {
                format!("{name}: the manifest was changed, run `keyfold retrofit revise {}`", self.retrofit)
            }
            _ => name.to_owned(),
        }
    }
}

/// The next command after a corrected manifest.
fn revised(head: &RetrofitState, next: &str) -> String {
    format!(
        "items are written by the changed manifest now; `keyfold retrofit run {} --repair` corrects the items that the change concerns, and no others; \
         then {next}",
        head.retrofit
    )
}

fn started(mapping: &Mapping) -> String {
    format!("{}: {}", mapping.protocol().name(), mapping.reason())
}

/// The table that changes are carried from, and the other one.
fn in_order<'n>(head: &RetrofitState, source: &'n str, target: &'n str) -> (&'n str, &'n str) {
    match head.phase.direction() {
        Some(Direction::Reverse) => (target, source),
        _ => (source, target),
    }
}

/// The indexes that queries use after the cut-over.
fn pending(mapping: &Mapping) -> String {
    let names: Vec<String> = mapping.fills().map(|name| format!("`{name}`")).collect();
    match names.as_slice() {
        [] => "the indexes that it fills (there are none)".to_owned(),
        [one] => format!("index {one}"),
        [first @ .., last] => format!("indexes {} and {last}", first.join(", ")),
    }
}

/// The changes that an abandoned retrofit leaves on the items of its source.
fn abandoned_source(head: &RetrofitState, source: &str) -> String {
    match head.was_reversed() {
        false => format!("the retrofit has changed nothing in table `{source}`"),
        true => format!(
            "table `{source}` has what the writers of both tables wrote until they moved back; items that were carried back keep the \
             attribute `{FENCE_ATTRIBUTE}`"
        ),
    }
}

/// What stays changed on items of a live table.
fn changed(mapping: &Mapping) -> String {
    let changes: Vec<String> = mapping.live_changes().iter().map(ToString::to_string).collect();
    match changes.is_empty() {
        true => String::new(),
        false => format!("; these attributes stay changed: {}{}", changes.join(", "), renamed_back(mapping)),
    }
}

/// Names can be taken back by another retrofit: their values are still there.
fn renamed_back(mapping: &Mapping) -> String {
    let back: Vec<String> = mapping
        .live_changes()
        .iter()
        .filter_map(|change| match change {
            LiveChange::Renamed { attribute, to } => Some(format!("{to} = \"{attribute}\"")),
            _ => None,
        })
        .collect();
    match back.is_empty() {
        true => String::new(),
        false => {
            format!("; a retrofit in place with `rename = {{ {} }}` takes the names back", back.join(", "))
        }
    }
}
