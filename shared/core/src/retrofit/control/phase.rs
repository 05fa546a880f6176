//! How far a retrofit is, and what follows from it.

/// How far a retrofit is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Changes are carried over, and the backfill may run.
    Running,
    /// The same, and each change leaves a row in the control table. Deletes leave tombstones still.
    Tidying,
    /// The same, and deletes leave nothing in the target. Existing tombstones are deleted.
    Tidy,
    /// Writers are stopped while the source's last changes are carried over.
    Closing,
    /// Readers and writers use the target, and the source follows it.
    Reversed,
    /// Writers are stopped while the target's last changes are carried back.
    Returning,
    /// The source does not follow the target. There is no way back.
    Settled,
    /// Readers use the target, writers still the source, whose changes are carried over. In place: queries use the indexes.
    CutOver,
    /// Changes are not carried over; the retrofit's marks are removed from the target's items.
    Finalising,
    /// The target is clean. Over.
    Finalised,
    /// Abandoned. Written items stay.
    Abandoned,
}

/// Which way items are carried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// From the source to the target.
    Forward,
    /// From the target to the source.
    Reverse,
}

impl Phase {
    /// Every phase, with its name in the row and in messages.
    const NAMES: [(Phase, &'static str); 11] = [
        (Phase::Running, "running"),
        (Phase::Tidying, "tidying"),
        (Phase::Tidy, "tidy"),
        (Phase::Closing, "closing"),
        (Phase::Reversed, "reversed"),
        (Phase::Returning, "returning"),
        (Phase::Settled, "settled"),
        (Phase::CutOver, "cut-over"),
        (Phase::Finalising, "finalising"),
        (Phase::Finalised, "finalised"),
        (Phase::Abandoned, "abandoned"),
    ];

    /// Its name in the row and in messages.
    pub fn name(self) -> &'static str {
        Phase::NAMES.iter().find(|(phase, _)| *phase == self).map_or("", |(_, name)| name)
    }

    pub(super) fn named(name: &str) -> Option<Phase> {
        Phase::NAMES.iter().find(|(_, known)| *known == name).map(|(phase, _)| *phase)
    }

    /// Which way are changes carried, if at all?
    pub fn direction(self) -> Option<Direction> {
        match self {
            Phase::Running | Phase::Tidying | Phase::Tidy | Phase::Closing | Phase::CutOver => {
                Some(Direction::Forward)
            }
            Phase::Reversed | Phase::Returning => Some(Direction::Reverse),
            Phase::Settled | Phase::Finalising | Phase::Finalised | Phase::Abandoned => None,
        }
    }

    /// May changes of the source still be written to the target?
    pub fn carries_over(self) -> bool {
        self.direction() == Some(Direction::Forward)
    }

    /// Are all writers stopped, until a switch or a return ends?
    pub fn is_stop(self) -> bool {
        matches!(self, Phase::Closing | Phase::Returning)
    }

    /// Do readers and writers still use the source, and may a backfill or a repair write?
    pub fn is_filling(self) -> bool {
        matches!(self, Phase::Running | Phase::Tidying | Phase::Tidy)
    }

    /// Does the target hold all, for good or until the way back?
    pub fn is_filled(self) -> bool {
        matches!(
            self,
            Phase::Reversed
                | Phase::Returning
                | Phase::Settled
                | Phase::CutOver
                | Phase::Finalising
                | Phase::Finalised
        )
    }

    /// The phases that may follow. Between tables, a retrofit that keeps rows never goes back to a phase without them.
    pub(super) fn followers(self, in_place: bool) -> &'static [Phase] {
        match self {
            Phase::Running if in_place => &[Phase::CutOver, Phase::Abandoned],
            // And the first phase of the tidying, which depends on the protocol.
            Phase::Running => &[Phase::Abandoned],
            Phase::Tidying => &[Phase::Tidy, Phase::Abandoned],
            Phase::Tidy => &[Phase::Closing, Phase::CutOver, Phase::Abandoned],
            // And `Settled`, at the end of a switch without a way back.
            Phase::Closing => &[Phase::Tidy, Phase::Reversed],
            Phase::Reversed => &[Phase::Returning, Phase::Settled],
            Phase::Returning => &[Phase::Reversed, Phase::Tidy],
            Phase::Settled => &[Phase::Finalising],
            Phase::CutOver if in_place => &[Phase::Running, Phase::Finalising],
            // The writers use the source still: with an end from here, their last changes would be lost.
            Phase::CutOver => &[Phase::Tidy, Phase::Closing],
            Phase::Finalising => &[Phase::Finalised],
            Phase::Finalised | Phase::Abandoned => &[],
        }
    }
}
