//! The control table: one row for each retrofit, its segments, its quarantine, and its ledger.
//!
//! | partition key | sort key | row |
//! |---|---|---|
//! | `retrofit#NAME` | `head` | [`RetrofitState`]: phase, mapping, epoch, stream |
//! | `retrofit#NAME` | `mark` | that something is written from here on |
//! | `retrofit#NAME` | `lag` | how far behind the replicator is |
//! | `retrofit#NAME` | `reverse` | whether items can be carried in this direction, which is the other one now |
//! | `segments#NAME` | `PASS#000003/000008` | how far a segment is |
//! | `leases#NAME` | the same | who works on the segment |
//! | `quarantine#NAME` | the source item's key | why it could not be carried over |
//! | `accepted#NAME` | the same | that somebody said that the item stays out |
//! | `ledger#NAME#KEY` | `ledger` | where a source item is in the target; of a tidied retrofit, how new it is |
//! | `seal#NAME#nnnn` | a generation | that nothing of this generation is written any more |
//! | `late#NAME` | an item's key and a sequence number | a change that came to the closed table, with both images |
//!
//! Of the way back, the partitions of rows, quarantine and `reverse` have `<` after the name.
//!
//! Every row but a seal, which is a key alone, has the version of [`FORMAT`]. All rows have one version: a worker reads the head before
//! it writes anything, so workers of two versions never write for one retrofit.

mod delivery;
mod phase;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::collections::HashMap;

use super::fence::Epoch;
use super::generation::Generation;
use super::job::Tracking;
use super::mapping::MappingHash;
use super::protocol_choice::Protocol;
use super::request::{Action, Guard, TableRole, Write};
use crate::format::{StoredFormat, UnknownFormat, VERSION_NAME};
use crate::model::{Expect, KeptFacts, KeyAttribute, KeySource, LiveChange, ScalarType, StaleKey, Table};
use crate::value::{AttributeValue, Item};

pub use delivery::Delivery;
pub use phase::{Direction, Phase};

/// The form of the control table's rows, with the digests in them: raise the version when a row or a digest changes.
pub const FORMAT: StoredFormat = StoredFormat { name: "a row of the control table", version: 3 };

/// The control table's partition key.
pub const PARTITION: &str = "pk";
/// The control table's sort key.
pub const SORT: &str = "sk";
/// How new something is.
pub const FENCE: &str = "fence";
/// Why an item is in quarantine.
pub const CODE: &str = "code";
/// The key of a source item.
pub const SOURCE_KEY: &str = "source";
/// In the row of an item: the fence of the target item that was deleted last.
pub const REMOVED: &str = "removed";
/// The key of a target item.
pub const TARGET_KEY: &str = "target";

/// The table that a late change came to.
pub const TABLE: &str = "table";
/// Its image before a late change.
pub const OLD: &str = "old";
/// Its image after it.
pub const NEW: &str = "new";

/// How long a replicator may use a cached head, in milliseconds.
pub const LOOK_MS_MAX: u64 = 1_000;
/// How many seconds to wait after a change of the row, until no write of the phase before is in flight. `seconds` is the longest time
/// that a worker runs. Two more: a replicator uses a cached head for a second, and times in the row are whole seconds.
pub fn wait_after_change(seconds: u64) -> u64 {
    seconds.saturating_add(2)
}

const HEAD_SORT: &str = "head";
pub(in crate::retrofit) const LEDGER_SORT: &str = "ledger";

/// The control table of this name.
pub fn table(name: &str) -> Table {
    let key = |name: &str| KeyAttribute {
        name: name.to_owned(),
        scalar: ScalarType::S,
        source: KeySource::Natural,
    };
    Table {
        id: name.to_owned(),
        name: name.to_owned(),
        partition: key(PARTITION),
        sort: Some(key(SORT)),
        attributes: BTreeMap::new(),
        entity_attribute: None,
        entities: Vec::new(),
        indexes: Vec::new(),
        scope: BTreeMap::new(),
        written_by: BTreeMap::new(),
        ttl: None,
        collection_bytes_warn: u64::MAX,
        expect: Expect::default(),
        facts: KeptFacts::default(),
    }
}

/// The key of a row.
pub fn key(partition: &str, sort: &str) -> Item {
    Item::from(HashMap::from([
        (PARTITION.to_owned(), AttributeValue::S(partition.to_owned())),
        (SORT.to_owned(), AttributeValue::S(sort.to_owned())),
    ]))
}

/// A row with this key, and nothing in it yet but the version of its form.
pub(super) fn row(key: Item) -> Item {
    let mut row = key;
    row.insert(VERSION_NAME, FORMAT.attribute());
    row
}

/// Refuses a row that another version of Keyfold wrote, with the kind of row as its key begins.
pub fn check_format(row: &Item) -> Result<(), UnknownFormat> {
    let kind = |row: &Item| match text(row, PARTITION)?.split('#').next()? {
        "retrofit" => Some(text(row, SORT)?.to_owned()),
        kind => Some(kind.to_owned()),
    };
    FORMAT.check_row(row).map_err(|unknown| match kind(row) {
        Some(kind) => UnknownFormat { what: format!("a `{kind}` row of the control table"), ..unknown },
        None => unknown,
    })
}

/// The partition of a retrofit's segments.
pub fn segments_partition(retrofit: &str) -> String {
    format!("segments#{retrofit}")
}

/// The partition of the leases on a retrofit's segments.
pub fn leases_partition(retrofit: &str) -> String {
    format!("leases#{retrofit}")
}

/// The partition of a retrofit's quarantine.
pub fn quarantine_partition(retrofit: &str) -> String {
    format!("quarantine#{retrofit}")
}

/// The partition of acceptances: notes that an item in quarantine stays there.
pub fn accepted_partition(retrofit: &str) -> String {
    format!("accepted#{retrofit}")
}

/// The partition of a source item's row in the ledger.
pub fn ledger_partition(retrofit: &str, row_key: &str) -> String {
    format!("ledger#{retrofit}#{row_key}")
}

/// What every partition of a retrofit's ledger begins with.
pub fn ledger_prefix(retrofit: &str) -> String {
    ledger_partition(retrofit, "")
}

/// The partition of the late changes of a retrofit.
pub fn late_partition(retrofit: &str) -> String {
    format!("late#{retrofit}")
}

/// The key of a retrofit's head.
pub fn head_key(retrofit: &str) -> Item {
    key(&format!("retrofit#{retrofit}"), HEAD_SORT)
}

/// A retrofit's row.
#[derive(Debug, Clone, PartialEq)]
pub struct RetrofitState {
    /// The retrofit's name.
    pub retrofit: String,
    /// How far it is.
    pub phase: Phase,
    /// What all work must have in common: the mapping's digest, as it was when the retrofit was started.
    pub mapping: MappingHash,
    /// The indexes that the retrofit fills, each with a digest of its keys. A later manifest can have more of them, or other
    /// keys: those this retrofit did not fill.
    pub indexes: BTreeMap<String, String>,
    /// Which protocol applies.
    pub protocol: Protocol,
    /// The epoch of the stream.
    pub epoch: Epoch,
    /// The stream that is followed; `None` in place, without a stream.
    pub stream: Option<String>,
    /// Rises with every change of the row.
    pub version: u64,
    /// The second since 1970 from which on no worker begins to write as in the phase before. Requests that were sent before
    /// may still be under way.
    pub since: Option<u64>,
    /// Is the target tidy? Then it has no tombstones, it gets no new ones, and no write of an earlier phase is in flight.
    pub swept: bool,
    /// The second since 1970 by which every change leaves a row: what was deleted before may have left nothing.
    pub rows_since: Option<u64>,
    /// Which writes are in force; those of earlier generations are sealed. `None` until `tidy`. With it each item that changes has
    /// a row in the control table, and each write checks its seal. Never taken back: the rows know what the target no longer shows.
    pub generation: Option<Generation>,
    /// The target's stream that the way back follows, once there was one, and the epoch of its numbers.
    pub reverse_stream: Option<ReverseStream>,
    /// A digest of what a mended manifest must leave as it is.
    pub fixed_digest: String,
    /// Was the manifest mended, and may workers still write by the earlier one?
    pub revising: bool,
    /// The roles that may write to a table that follows the other one. Not empty once policies on the tables stop writers; empty
    /// where writers stop by themselves.
    pub exempt: Vec<String>,
    /// During a stop: the second since 1970 from which on writers may have been stopped.
    pub stopped_at: Option<u64>,
    /// During a stop: does it lead to `settled`, without a way back?
    pub for_good: bool,
    /// The second since 1970 at which writers were moved last.
    pub turned_at: Option<u64>,
}

/// The stream that is followed from the target back to the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReverseStream {
    /// The target's stream.
    pub stream: String,
    /// Rises with every other stream of the target.
    pub epoch: Epoch,
}

pub(super) const OTHER_TABLE: &str = "it is about another table, or a table with another key";
pub(super) const OTHER_KEYS: &str = "its tables, its protocol or the primary keys of its target are others";

/// Why a step of a retrofit is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the fields are the names that the messages show")]
pub enum ControlError {
    /// It was never started.
    #[error("retrofit `{retrofit}` was not started")]
    NotStarted { retrofit: String },
    /// It was started with another mapping.
    #[error("retrofit `{retrofit}` was started with mapping `{started}`, and this is mapping `{given}`")]
    MappingChanged { retrofit: String, started: String, given: String },
    /// The step does not follow the phase that it is in.
    #[error("retrofit `{retrofit}` is `{}`, and cannot become `{}`", .phase.name(), .wanted.name())]
    WrongPhase { retrofit: String, phase: Phase, wanted: Phase },
    /// The retrofit is over.
    #[error("retrofit `{retrofit}` is `{}`: nothing is written any more", .phase.name())]
    Closed { retrofit: String, phase: Phase },
    /// Its source is what another retrofit still fills.
    #[error("retrofit `{retrofit}` reads table `{table}`, which retrofit `{other}` still fills: it is `{}`", .phase.name())]
    SourceUnfinished { retrofit: String, table: String, other: String, phase: Phase },
    /// Its target is what another retrofit still fills.
    #[error("retrofits `{retrofit}` and `{other}` write to table `{table}`, and `{other}` is `{}`", .phase.name())]
    TargetShared { retrofit: String, table: String, other: String, phase: Phase },
    /// It reads and writes one table.
    #[error("retrofit `{retrofit}` has nothing to tidy: it leaves no tombstones, and nobody moves")]
    NothingToTidy { retrofit: String },
    /// The target has writers of its own.
    #[error(
        "retrofit `{retrofit}` is cut over: a backfill or a repair would take back what was written to the target since"
    )]
    CutOver { retrofit: String },
    /// The retrofit has no row, and was at work all the same.
    #[error("retrofit `{retrofit}` has no row in the control table, but {found}")]
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
    #[error("retrofit `{retrofit}` follows another stream of its source")]
    OtherStream { retrofit: String },
    /// Its source was given another stream more often than fences can count.
    #[error("retrofit `{retrofit}` was restarted too often")]
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

    /// What the reader can do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            ControlError::UnknownFormat(error) => Some(error.hint()),
            ControlError::NotStarted { .. } => Some("run `keyfold retrofit run`"),
            ControlError::MappingChanged { .. } => Some(
                "deploy one manifest everywhere; if the manifest was mended, run `keyfold retrofit revise` and deploy it",
            ),
            ControlError::OtherStream { .. } => Some(
                "the stream was switched off and on: `keyfold retrofit run` begins the next epoch, and backfills again",
            ),
            ControlError::CannotRevise { .. } => Some(
                "go on with the manifest that it was started with; a retrofit with another name begins anew",
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
                "restore the control table from a point-in-time recovery; if it is gone, or the marks are those of a retrofit that was finished with `--leave-marks`, start with an empty target: without the row, new changes would lose against older fences",
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
            ControlError::NothingToTidy { .. }
            | ControlError::WrongPhase { .. }
            | ControlError::Closed { .. }
            | ControlError::EpochsUsedUp { .. }
            | ControlError::Unreadable { .. } => None,
        }
    }
}

impl RetrofitState {
    /// Does this retrofit, of this mapping, still keep fences and tombstones in a table that another one reads or writes? That
    /// one would take them for the items' own or for its own, or in place take them off.
    pub fn check_apart(&self, own: &super::Mapping, other: &super::Mapping) -> Result<(), ControlError> {
        let in_place = |mapping: &super::Mapping| mapping.protocol() == Protocol::InPlace;
        let over = matches!(self.phase, Phase::Finalised | Phase::Abandoned);
        // Two retrofits in place write the same keys.
        if own.name() == other.name() || over || (in_place(own) && in_place(other)) {
            return Ok(());
        }
        let (retrofit, by, phase) = (other.name().to_owned(), self.retrofit.clone(), self.phase);
        if own.target().name == other.source().name && !in_place(own) {
            let table = other.source().id.clone();
            return Err(ControlError::SourceUnfinished { retrofit, table, other: by, phase });
        }
        if own.target().name == other.target().name {
            let table = other.target().id.clone();
            return Err(ControlError::TargetShared { retrofit, table, other: by, phase });
        }
        Ok(())
    }

    /// May a retrofit of this mapping begin? One that changes attributes of a live table must say so in the manifest, and write every
    /// key that is folded from them.
    pub fn check_begin(mapping: &super::Mapping) -> Result<(), ControlError> {
        let (retrofit, table) = (mapping.name().to_owned(), mapping.source().id.clone());
        if let Some(stale) = mapping.stale_keys().into_iter().next() {
            return Err(ControlError::StaleKeys { retrofit, table, stale });
        }
        match mapping.live_changes().into_iter().next() {
            Some(change) if !mapping.may_change_live() => {
                Err(ControlError::LiveAttributes { retrofit, table, change })
            }
            _ => Ok(()),
        }
    }

    /// The row of a retrofit that begins.
    pub fn begun(mapping: &super::Mapping, stream: Option<&str>) -> RetrofitState {
        RetrofitState {
            retrofit: mapping.name().to_owned(),
            phase: Phase::Running,
            mapping: mapping.hash().clone(),
            indexes: mapping.filled(),
            protocol: mapping.protocol(),
            epoch: Epoch::FIRST,
            stream: stream.map(str::to_owned),
            version: 1,
            since: None,
            swept: false,
            rows_since: None,
            generation: None,
            reverse_stream: None,
            fixed_digest: mapping.fixed_digest(),
            revising: false,
            exempt: Vec::new(),
            stopped_at: None,
            for_good: false,
            turned_at: None,
        }
    }

    /// The row that begins a retrofit where `traces` of an earlier one were found, and these retrofits into the same target are
    /// over. Their fences stay behind. Where the source's key fixes the target's, the epoch after theirs is newer than all
    /// of them; a ledger knows nothing of items that another ledger placed.
    pub fn after(
        self,
        ended: &[RetrofitState],
        traces: Option<String>,
    ) -> Result<RetrofitState, ControlError> {
        let Some(found) = traces else { return Ok(self) };
        let newest = ended.iter().map(|head| head.epoch).max();
        match newest.filter(|_| self.protocol == Protocol::Fenced) {
            Some(newest) => {
                let retrofit = || self.retrofit.clone();
                let epoch =
                    newest.next().ok_or_else(|| ControlError::EpochsUsedUp { retrofit: retrofit() })?;
                Ok(RetrofitState { epoch, ..self })
            }
            None => Err(ControlError::StateLost {
                retrofit: self.retrofit,
                found,
                in_place: self.protocol == Protocol::InPlace,
            }),
        }
    }

    /// The row after starting again: the same one, or with the next epoch if the source has another stream by now. An abandoned
    /// retrofit starts from its beginning.
    pub fn restarted(
        &self,
        mapping: &super::Mapping,
        stream: Option<&str>,
    ) -> Result<RetrofitState, ControlError> {
        if self.phase == Phase::Abandoned {
            return self.begun_anew(mapping, stream);
        }
        self.check(mapping)?;
        if !self.phase.is_filling() {
            return Err(self.wrong_phase(Phase::Running));
        }
        if self.stream.as_deref() == stream {
            return Ok(self.clone());
        }
        let (epoch, stream) = (self.next_epoch()?, stream.map(str::to_owned));
        Ok(RetrofitState { epoch, stream, version: self.version + 1, ..self.clone() })
    }

    fn next_epoch(&self) -> Result<Epoch, ControlError> {
        self.epoch.next().ok_or_else(|| ControlError::EpochsUsedUp { retrofit: self.retrofit.clone() })
    }

    /// The row of an abandoned retrofit that starts again. Its writes stayed. With another stream, the next epoch is newer than
    /// all of it. Records of the same stream can come again, though, and must stay older than what was written after them: there the
    /// epoch stays too, and what was not carried over meanwhile is found by a comparison.
    fn begun_anew(
        &self,
        mapping: &super::Mapping,
        stream: Option<&str>,
    ) -> Result<RetrofitState, ControlError> {
        if self.keeps_rows() {
            return Err(self.cannot_revise("its target was tidied, and what was deleted since may be in it"));
        }
        self.check_fixed(mapping)?;
        let same = self.stream.as_deref() == stream;
        let epoch = if same { self.epoch } else { self.next_epoch()? };
        Ok(RetrofitState { epoch, version: self.version + 1, ..RetrofitState::begun(mapping, stream) })
    }

    /// The row once the manifest is mended: from now on, items are written by this mapping. A worker that read the earlier row may still write
    /// by the other one, until the row is [`revision_done`](Self::revision_done).
    pub fn revised(&self, mapping: &super::Mapping) -> Result<RetrofitState, ControlError> {
        // In place, what is written follows from the item alone.
        let in_place = self.phase == Phase::CutOver && self.protocol == Protocol::InPlace;
        if self.keeps_rows() {
            return Err(self.cannot_revise("its target is tidied"));
        }
        if self.phase != Phase::Running && !in_place {
            return Err(self.wrong_phase(Phase::Running));
        }
        self.check_fixed(mapping)?;
        Ok(RetrofitState {
            mapping: mapping.hash().clone(),
            // Queries use an index that was filled as long as its keys are the same.
            indexes: if in_place { self.indexes.clone() } else { mapping.filled() },
            revising: true,
            version: self.version + 1,
            ..self.clone()
        })
    }

    /// The row once no worker writes by the earlier manifest.
    #[must_use]
    pub fn revision_done(&self) -> RetrofitState {
        RetrofitState { revising: false, version: self.version + 1, ..self.clone() }
    }

    /// The row of a retrofit in place that is cut over once more: every index of its mapping is filled.
    #[must_use]
    pub fn filled_again(&self, mapping: &super::Mapping) -> RetrofitState {
        RetrofitState { indexes: mapping.filled(), version: self.version + 1, ..self.clone() }
    }

    /// Is this mapping of the same two tables, by the same protocol and the same keys?
    pub(super) fn check_fixed(&self, mapping: &super::Mapping) -> Result<(), ControlError> {
        if self.fixed_digest == mapping.fixed_digest() {
            return Ok(());
        }
        let in_place = self.protocol == Protocol::InPlace;
        Err(self.cannot_revise(if in_place { OTHER_TABLE } else { OTHER_KEYS }))
    }

    fn cannot_revise(&self, why: &'static str) -> ControlError {
        ControlError::CannotRevise { retrofit: self.retrofit.clone(), why }
    }

    /// The row in the next phase.
    pub fn to(&self, phase: Phase) -> Result<RetrofitState, ControlError> {
        if phase == Phase::Closing && self.generation.is_none() {
            return Err(self.wrong_phase(phase));
        }
        let tidies = self.phase == Phase::Running && matches!(phase, Phase::Tidying | Phase::Tidy);
        if tidies && phase != self.tidied_first()? {
            return Err(self.wrong_phase(phase));
        }
        if !tidies && !self.phase.followers(self.keeps_rows()).contains(&phase) {
            return Err(self.wrong_phase(phase));
        }
        Ok(self.moved(phase, tidies.then_some(Generation::FIRST)))
    }

    /// The row at the end of a switch without a way back. `settle` must not do this: until the switch has seen every change arrive,
    /// closing the source for good loses those in flight.
    pub fn switched_for_good(&self) -> Result<RetrofitState, ControlError> {
        match self.phase {
            Phase::Closing => Ok(self.moved(Phase::Settled, None)),
            _ => Err(self.wrong_phase(Phase::Settled)),
        }
    }

    fn moved(&self, phase: Phase, first: Option<Generation>) -> RetrofitState {
        // Seals are permanent, so ending a stop starts the next generation.
        let turned = phase.direction() != self.phase.direction();
        let generation = match self.generation {
            Some(generation) if self.phase.is_stop() || turned => Some(generation.next()),
            None => first,
            generation => generation,
        };
        RetrofitState {
            phase,
            generation,
            since: None,
            stopped_at: None,
            for_good: false,
            version: self.version + 1,
            ..self.clone()
        }
    }

    /// The phase in which it begins to be tidied. A ledger has its rows already, and leaves no tombstones.
    pub fn tidied_first(&self) -> Result<Phase, ControlError> {
        match self.protocol {
            Protocol::InPlace => Err(ControlError::NothingToTidy { retrofit: self.retrofit.clone() }),
            Protocol::Fenced => Ok(Phase::Tidying),
            Protocol::Ledger => Ok(Phase::Tidy),
        }
    }

    /// Was the target tidied, or is it being so? Then each item that changes leaves a row in the control table.
    pub fn keeps_rows(&self) -> bool {
        self.generation.is_some()
    }

    /// The row that gives the source back, or closes it, with the target's stream of now.
    pub fn with_reverse_stream(&self, stream: &str) -> Result<RetrofitState, ControlError> {
        let used_up = || ControlError::EpochsUsedUp { retrofit: self.retrofit.clone() };
        let epoch = match &self.reverse_stream {
            None => Epoch::FIRST,
            Some(back) if back.stream == stream => back.epoch,
            Some(back) => back.epoch.next().ok_or_else(used_up)?,
        };
        Ok(RetrofitState {
            reverse_stream: Some(ReverseStream { stream: stream.to_owned(), epoch }),
            ..self.clone()
        })
    }

    /// The row of a stop of the source's writers. Late changes of the target, closed since a return, are judged by the stream that it
    /// has now: if that is another one than the way back followed, the next epoch begins.
    pub fn closing(&self, target_stream: &str) -> Result<RetrofitState, ControlError> {
        let head = if self.was_reversed() { self.with_reverse_stream(target_stream)? } else { self.clone() };
        head.to(Phase::Closing)
    }

    /// The row from which on policies on the tables stop writers, but for these roles; without any, writers stop by themselves.
    #[must_use]
    pub fn exempting(&self, exempt: &[String]) -> RetrofitState {
        RetrofitState { exempt: exempt.to_vec(), version: self.version + 1, ..self.clone() }
    }

    /// Were the target's writers ever let in? From then on an item without a fence is as good as any.
    pub fn was_reversed(&self) -> bool {
        self.reverse_stream.is_some()
    }

    /// The phase that takes a cut-over back.
    pub fn undone(&self) -> Phase {
        if self.keeps_rows() { Phase::Tidy } else { Phase::Running }
    }

    /// The row once no worker starts to write as in the earlier phase.
    #[must_use]
    pub fn effective_since(&self, seconds: u64) -> RetrofitState {
        let rows_since = match self.phase {
            Phase::Tidy => self.rows_since.or(Some(seconds)),
            _ => self.rows_since,
        };
        RetrofitState { since: Some(seconds), rows_since, version: self.version + 1, ..self.clone() }
    }

    /// Is it still to be completed that the target is tidied?
    pub fn is_tidying(&self) -> bool {
        self.keeps_rows() && !self.swept
    }

    /// The row once the target was swept.
    #[must_use]
    pub fn swept(&self) -> RetrofitState {
        RetrofitState { swept: true, version: self.version + 1, ..self.clone() }
    }

    /// Do readers of the target meet tombstones?
    pub fn leaves_tombstones(&self) -> bool {
        self.protocol == Protocol::Fenced && !(self.keeps_rows() && self.swept)
    }

    /// Where workers keep versions, in this phase.
    pub fn tracking(&self) -> Tracking {
        match self.phase {
            _ if !self.keeps_rows() => Tracking::Tombstones,
            Phase::Tidying => Tracking::TombstonesAndRows,
            _ => Tracking::Rows,
        }
    }

    /// Is this the mapping that the retrofit was started with?
    pub fn check(&self, mapping: &super::Mapping) -> Result<(), ControlError> {
        if self.mapping == *mapping.hash() {
            return Ok(());
        }
        Err(ControlError::MappingChanged {
            retrofit: self.retrofit.clone(),
            started: self.mapping.to_string(),
            given: mapping.hash().to_string(),
        })
    }

    /// Was this index, with the key that it has now, among those that the retrofit was started to fill?
    pub fn filled(&self, mapping: &super::Mapping, index: &str) -> bool {
        mapping.filled().get(index).is_some_and(|keys| self.indexes.get(index) == Some(keys))
    }

    /// The job of this row, once [`check`](Self::check) has passed.
    pub fn job(&self, mapping: super::Mapping) -> super::Job {
        let job = super::Job::new(mapping, self.epoch).tracked_by(self.tracking());
        let job = job.sealed_by(self.generation);
        if self.was_reversed() { job.by_rows_alone() } else { job }
    }

    /// The job of the way back; `None` without one, or before the first switch.
    pub fn reverse_job(&self, mapping: &super::Mapping) -> Option<super::Job> {
        let back = self.reverse_stream.as_ref()?;
        let job = super::Job::new(mapping.reverse().ok()?, back.epoch);
        Some(job.tracked_by(Tracking::Rows).sealed_by(self.generation).by_rows_alone())
    }

    /// The job of the direction that items are carried in; `None` if they are carried in none.
    pub fn leading_job(&self, mapping: &super::Mapping) -> Option<super::Job> {
        match self.phase.direction()? {
            Direction::Forward => Some(self.job(mapping.clone())),
            Direction::Reverse => self.reverse_job(mapping),
        }
    }

    /// May items be carried over, with this mapping?
    pub fn check_open(&self, mapping: &super::Mapping) -> Result<(), ControlError> {
        self.check(mapping)?;
        if self.phase.carries_over() {
            return Ok(());
        }
        Err(self.closed())
    }

    /// Nothing is carried over in this phase.
    pub fn closed(&self) -> ControlError {
        ControlError::Closed { retrofit: self.retrofit.clone(), phase: self.phase }
    }

    /// May a backfill or a repair write, with this mapping? Not once the target has writers of its own. In place there is one
    /// table, and what is written follows from the item itself.
    pub fn check_filling(&self, mapping: &super::Mapping) -> Result<(), ControlError> {
        self.check_open(mapping)?;
        if self.phase.is_filling() || self.protocol == Protocol::InPlace {
            return Ok(());
        }
        Err(ControlError::CutOver { retrofit: self.retrofit.clone() })
    }

    /// Are these records of the stream that is followed?
    pub fn check_stream(&self, stream: &str) -> Result<(), ControlError> {
        if self.stream.as_deref() == Some(stream) {
            return Ok(());
        }
        Err(ControlError::OtherStream { retrofit: self.retrofit.clone() })
    }

    /// Are these records of the target's stream that the way back follows?
    pub fn check_reverse_stream(&self, stream: &str) -> Result<(), ControlError> {
        if self.reverse_stream.as_ref().is_some_and(|back| back.stream == stream) {
            return Ok(());
        }
        Err(ControlError::OtherStream { retrofit: self.retrofit.clone() })
    }

    pub(super) fn wrong_phase(&self, wanted: Phase) -> ControlError {
        ControlError::WrongPhase { retrofit: self.retrofit.clone(), phase: self.phase, wanted }
    }

    /// The write that stores this row over the one before it.
    pub fn store(&self, before: Option<&RetrofitState>) -> Write {
        let guard = match before {
            None => Guard::Absent,
            Some(before) => Guard::equals("version", number(before.version)),
        };
        Write { role: TableRole::Control, action: Action::Put(self.item()), guard }
    }

    fn item(&self) -> Item {
        let mut row = row(head_key(&self.retrofit));
        let text = |text: &str| AttributeValue::S(text.to_owned());
        row.insert("phase", text(self.phase.name()));
        row.insert("mapping", text(self.mapping.as_str()));
        row.insert("protocol", text(self.protocol.name()));
        row.insert("epoch", number(u64::from(self.epoch.number())));
        row.insert("version", number(self.version));
        row.extend(self.since.iter().map(|seconds| ("since", number(*seconds))));
        row.extend(self.stopped_at.map(|seconds| ("stoppedAt", number(seconds))));
        row.extend(self.for_good.then_some(("forGood", AttributeValue::Bool(true))));
        row.extend(self.turned_at.map(|seconds| ("turnedAt", number(seconds))));
        row.extend(self.swept.then_some(("swept", AttributeValue::Bool(true))));
        row.extend(self.stream.iter().map(|stream| ("stream", text(stream))));
        row.extend(self.rows_since.map(|seconds| ("rowsSince", number(seconds))));
        row.extend(self.generation.map(|generation| ("generation", number(generation.number()))));
        if let Some(back) = &self.reverse_stream {
            row.insert("backStream", text(&back.stream));
            row.insert("backEpoch", number(u64::from(back.epoch.number())));
        }
        if !self.indexes.is_empty() {
            let digests = self.indexes.iter().map(|(index, keys)| (index.clone(), text(keys)));
            row.insert("indexes", AttributeValue::M(digests.collect()));
        }
        row.insert("fixed", text(&self.fixed_digest));
        if !self.exempt.is_empty() {
            let roles = self.exempt.iter().map(|role| text(role)).collect();
            row.insert("exempt", AttributeValue::L(roles));
        }
        row.extend(self.revising.then_some(("revising", AttributeValue::Bool(true))));
        row
    }

    /// Reads a retrofit's row.
    pub fn read(retrofit: &str, row: Option<&Item>) -> Result<RetrofitState, ControlError> {
        let not_started = || ControlError::NotStarted { retrofit: retrofit.to_owned() };
        let unreadable = || ControlError::Unreadable { retrofit: retrofit.to_owned() };
        let row = row.ok_or_else(not_started)?;
        check_format(row)?;
        RetrofitState::of_row(retrofit, row).ok_or_else(unreadable)
    }

    fn of_row(retrofit: &str, row: &Item) -> Option<RetrofitState> {
        let protocols = [Protocol::InPlace, Protocol::Fenced, Protocol::Ledger];
        let named = text(row, "protocol")?;
        let protocol = protocols.into_iter().find(|protocol| protocol.name() == named)?;
        Some(RetrofitState {
            retrofit: retrofit.to_owned(),
            phase: Phase::named(text(row, "phase")?)?,
            mapping: MappingHash::stored(text(row, "mapping")?),
            indexes: texts(row, "indexes"),
            protocol,
            epoch: Epoch::new(u16::try_from(whole(row, "epoch")?).ok()?)?,
            stream: text(row, "stream").map(str::to_owned),
            version: whole(row, "version")?,
            since: whole(row, "since"),
            stopped_at: whole(row, "stoppedAt"),
            for_good: is_true(row, "forGood"),
            turned_at: whole(row, "turnedAt"),
            swept: is_true(row, "swept"),
            fixed_digest: text(row, "fixed")?.to_owned(),
            revising: is_true(row, "revising"),
            rows_since: whole(row, "rowsSince"),
            exempt: list(row, "exempt")?,
            generation: match row.contains_key("generation") {
                true => Some(Generation::new(whole(row, "generation")?)?),
                false => None,
            },
            reverse_stream: match text(row, "backStream") {
                Some(stream) => Some(ReverseStream {
                    stream: stream.to_owned(),
                    epoch: Epoch::new(u16::try_from(whole(row, "backEpoch")?).ok()?)?,
                }),
                None => None,
            },
        })
    }
}

pub(super) fn number(number: u64) -> AttributeValue {
    AttributeValue::N(number.to_string())
}

pub(super) fn text<'a>(row: &'a Item, name: &str) -> Option<&'a str> {
    match row.get(name) {
        Some(AttributeValue::S(text)) => Some(text),
        _ => None,
    }
}

/// The texts of a map; empty if there is none.
fn texts(row: &Item, name: &str) -> BTreeMap<String, String> {
    let Some(AttributeValue::M(members)) = row.get(name) else { return BTreeMap::new() };
    let text = |(name, value): (&String, &AttributeValue)| match value {
        AttributeValue::S(text) => Some((name.clone(), text.clone())),
        _ => None,
    };
    members.iter().filter_map(text).collect()
}

/// The texts of a list; empty if there is none.
fn list(row: &Item, name: &str) -> Option<Vec<String>> {
    let text = |value: &AttributeValue| match value {
        AttributeValue::S(text) => Some(text.clone()),
        _ => None,
    };
    match row.get(name) {
        None => Some(Vec::new()),
        Some(AttributeValue::L(values)) => values.iter().map(text).collect(),
        Some(_) => None,
    }
}

fn is_true(row: &Item, name: &str) -> bool {
    matches!(row.get(name), Some(AttributeValue::Bool(true)))
}

pub(super) fn whole(row: &Item, name: &str) -> Option<u64> {
    match row.get(name) {
        Some(AttributeValue::N(text)) => text.parse().ok(),
        _ => None,
    }
}
