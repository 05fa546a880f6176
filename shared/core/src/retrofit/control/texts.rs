//! Why a step is refused, and what the reader can do.

use super::Phase;
use crate::format::UnknownFormat;
use crate::model::{LiveChange, StaleKey};

/// Why a step of a retrofit is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the fields are the names that the messages show")]
pub enum ControlError {
    /// It was never started.
    #[error("retrofit `{retrofit}` was not started")]
    NotStarted { retrofit: String },
    /// It was started with another mapping.
    #[error(
        "retrofit `{retrofit}` was started with another manifest: its mapping was `{started}` then, and is `{given}` here"
    )]
    MappingChanged { retrofit: String, started: String, given: String },
    /// The step does not follow the phase that it is in.
    #[error("retrofit `{retrofit}` is in phase `{}`, which cannot become `{}`", .phase.name(), .wanted.name())]
    WrongPhase { retrofit: String, phase: Phase, wanted: Phase },
    /// The retrofit is over.
    #[error("retrofit `{retrofit}` is in phase `{}`: it writes nothing now", .phase.name())]
    Closed { retrofit: String, phase: Phase },
    /// Its source is what another retrofit still fills.
    #[error("retrofit `{retrofit}` reads table `{table}`, which retrofit `{other}` still fills (phase `{}`)", .phase.name())]
    SourceUnfinished { retrofit: String, table: String, other: String, phase: Phase },
    /// Its target is what another retrofit still fills.
    #[error("retrofits `{retrofit}` and `{other}` both write to table `{table}`, and `{other}` is not over (phase `{}`)", .phase.name())]
    TargetShared { retrofit: String, table: String, other: String, phase: Phase },
    /// It reads and writes one table.
    #[error(
        "retrofit `{retrofit}` has nothing to tidy: it reads and writes one table, so it leaves no tombstones"
    )]
    NothingToTidy { retrofit: String },
    /// Applications write the target.
    #[error(
        "retrofit `{retrofit}` is past its switch: a backfill or a repair would take back what was written to the target since"
    )]
    CutOver { retrofit: String },
    /// The retrofit has no row, and was at work all the same.
    #[error("the control table has no row of retrofit `{retrofit}`, which was at work before: {found}")]
    StateLost { retrofit: String, found: String, in_place: bool },
    /// It would change attributes of a live table, and the manifest does not say so.
    #[error("retrofit `{retrofit}` would change attributes of the live table `{table}`: {change}")]
    LiveAttributes { retrofit: String, table: String, change: LiveChange },
    /// It would leave a folded key stale that it does not write.
    #[error("retrofit `{retrofit}` would leave keys of the live table `{table}` stale: {stale}")]
    StaleKeys { retrofit: String, table: String, stale: StaleKey },
    /// The manifest was mended in a way that a running retrofit cannot follow.
    #[error("retrofit `{retrofit}` cannot go on with this manifest: {why}")]
    CannotRevise { retrofit: String, why: &'static str },
    /// It keeps folded keys right for good.
    #[error(
        "retrofit `{retrofit}` keeps the folded keys of table `{table}` right for good (`keep-folded = true`)"
    )]
    KeepsFolded { retrofit: String, table: String },
    /// Records of a stream that the retrofit does not follow.
    #[error("these records are of a stream of the source that retrofit `{retrofit}` does not follow")]
    OtherStream { retrofit: String },
    /// Its source was given another stream more often than fences can count.
    #[error("the source of retrofit `{retrofit}` got a new stream more often than the retrofit can count")]
    EpochsUsedUp { retrofit: String },
    /// Another version of Keyfold wrote the row.
    #[error(transparent)]
    UnknownFormat(#[from] UnknownFormat),
    /// The row cannot be read.
    #[error("the control table's row of retrofit `{retrofit}` cannot be read")]
    Unreadable { retrofit: String },
}

impl ControlError {
    /// The code that stays the same, whatever the message says.
    pub fn code(&self) -> &'static str {
        match self {
            ControlError::NotStarted { .. } => "retrofit-not-started",
            ControlError::MappingChanged { .. } => "mapping-changed",
            ControlError::WrongPhase { .. } => "wrong-phase",
            ControlError::Closed { .. } => "retrofit-closed",
            ControlError::SourceUnfinished { .. } => "source-unfinished",
            ControlError::TargetShared { .. } => "target-shared",
            ControlError::NothingToTidy { .. } => "nothing-to-tidy",
            ControlError::CutOver { .. } => "already-cut-over",
            ControlError::StateLost { .. } => "control-row-lost",
            ControlError::LiveAttributes { .. } => "live-attributes",
            ControlError::StaleKeys { .. } => "stale-keys",
            ControlError::CannotRevise { .. } => "cannot-revise",
            ControlError::KeepsFolded { .. } => "keeps-folded",
            ControlError::OtherStream { .. } => "other-stream",
            ControlError::EpochsUsedUp { .. } => "epochs-used-up",
            ControlError::UnknownFormat(error) => error.code(),
            ControlError::Unreadable { .. } => "control-row-unreadable",
        }
    }

    /// A hint for the reader.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            ControlError::UnknownFormat(error) => Some(error.hint()),
            ControlError::NotStarted { .. } => Some("run `keyfold retrofit run`"),
            ControlError::MappingChanged { .. } => Some(
                "deploy one manifest everywhere; if you changed the manifest, run `keyfold retrofit revise` and deploy it",
            ),
            ControlError::OtherStream { .. } => Some(
                "the stream was switched off and on: `keyfold retrofit run` follows the new stream, and backfills again",
            ),
            ControlError::CannotRevise { .. } => Some(
                "go on with the manifest that it was started with; a retrofit with another name starts from the beginning",
            ),
            ControlError::KeepsFolded { .. } => Some(
                "its replicator stays; once all writers fold by themselves, take `keep-folded` out of the manifest, then finish",
            ),
            ControlError::SourceUnfinished { .. } | ControlError::TargetShared { .. } => {
                Some("finish or abandon the other retrofit first")
            }
            ControlError::CutOver { .. } => Some(
                "if readers and writers use the source again, run `keyfold retrofit switch --back`, then `run --repair`; otherwise correct the items in the target",
            ),
            ControlError::LiveAttributes { .. } => Some(
                "programs that read the table meet the change at once, and `abandon` takes nothing back: if that is meant, write `changes-live-attributes = true` in the retrofit's section of the manifest; otherwise retrofit into another table",
            ),
            ControlError::StaleKeys { .. } => {
                Some("name the index in `fills` too, or leave the attribute as it is")
            }
            ControlError::StateLost { in_place: true, .. } => Some(
                "restore the control table from a point-in-time recovery; if it is gone, give the retrofit another name in the manifest: the table itself has lost nothing",
            ),
            ControlError::StateLost { in_place: false, .. } => Some(
                "restore the control table from a point-in-time recovery; if it is gone, or the marks are those of a retrofit that was finished with `--leave-marks`, start with an empty target: without the row, changes would count as older than these marks, and be refused",
            ),
            ControlError::WrongPhase { phase: Phase::Running, wanted: Phase::Closing, .. } => {
                Some("`keyfold retrofit switch` tidies it first")
            }
            ControlError::WrongPhase { phase: Phase::Closing, .. } => Some(
                "the writers are being moved: `keyfold retrofit switch` finishes that, `keyfold retrofit switch --back` takes it back",
            ),
            ControlError::WrongPhase { phase: Phase::Returning, .. } => Some(
                "the writers are being moved back: `keyfold retrofit switch --back` finishes that, `keyfold retrofit switch` takes it back",
            ),
            ControlError::WrongPhase { phase: Phase::CutOver, wanted: Phase::Finalising, .. } => Some(
                "only the readers have moved: `keyfold retrofit switch` moves the writers, then the retrofit can be finished",
            ),
            ControlError::WrongPhase { .. } | ControlError::Closed { .. } => {
                Some("`keyfold retrofit status` explains the phase and names the next command")
            }
            ControlError::NothingToTidy { .. } => {
                Some("`keyfold retrofit switch` lets queries use the indexes that were filled")
            }
            ControlError::EpochsUsedUp { .. } => Some(
                "abandon it; a retrofit with another name starts from the beginning, into an empty table or in place",
            ),
            ControlError::Unreadable { .. } => Some(
                "restore the control table from a point-in-time recovery to a time before the row was damaged",
            ),
        }
    }
}
