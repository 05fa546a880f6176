//! A part of a scan, page by page, and its checkpoint: which is never ahead of what was written.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;

use serde::{Deserialize, Serialize};

use super::job::Job;
use super::request::TableRole;
use super::result::TaskResult;
use crate::format::{StoredFormat, UnknownFormat};
use crate::value::Item;

/// The most segments that DynamoDB scans in parallel.
///
/// <https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_Scan.html>
pub const SEGMENTS_MAX: u32 = 1_000_000;

/// One segment of a parallel scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SegmentId {
    segment: u32,
    total_segments: u32,
}

/// A segment that there is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("there is no segment {segment} of {total}: segments count from 0, and there are 1 to {SEGMENTS_MAX}")]
pub struct SegmentRangeError {
    /// The segment.
    pub segment: u32,
    /// Of how many.
    pub total: u32,
}

impl SegmentId {
    /// The whole table.
    pub const WHOLE: SegmentId = SegmentId { segment: 0, total_segments: 1 };

    /// The segment with this number, counted from 0.
    pub fn new(segment: u32, total: u32) -> Result<SegmentId, SegmentRangeError> {
        if segment < total && total <= SEGMENTS_MAX {
            return Ok(SegmentId { segment, total_segments: total });
        }
        Err(SegmentRangeError { segment, total })
    }

    /// Its number, from 0.
    pub fn number(self) -> u32 {
        self.segment
    }

    /// How many there are.
    pub fn total(self) -> u32 {
        self.total_segments
    }
}

impl fmt::Display for SegmentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.segment, self.total_segments)
    }
}

/// Which scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pass {
    /// Of the source, to carry items over.
    Backfill,
    /// Of the source, to compare with the target.
    VerifySource,
    /// Of the target, to compare with the source.
    VerifyTarget,
    /// Of the target, to take away tombstones.
    Tidy,
    /// Of the target, to take off what the retrofit kept there.
    Finalise,
    /// Of the ledger, to empty it.
    EmptyLedger,
}

impl Pass {
    /// Its name in rows and messages.
    pub fn name(self) -> &'static str {
        match self {
            Pass::Backfill => "backfill",
            Pass::VerifySource => "verify-source",
            Pass::VerifyTarget => "verify-target",
            Pass::Tidy => "tidy",
            Pass::Finalise => "finalise",
            Pass::EmptyLedger => "empty-ledger",
        }
    }

    /// The table that it scans.
    pub fn table(self) -> TableRole {
        match self {
            Pass::Backfill | Pass::VerifySource => TableRole::Source,
            Pass::VerifyTarget | Pass::Tidy | Pass::Finalise => TableRole::Target,
            Pass::EmptyLedger => TableRole::Control,
        }
    }
}

/// The form of a checkpoint.
pub const CHECKPOINT_FORMAT: StoredFormat = StoredFormat { name: "a checkpoint", version: 1 };

/// How far a segment is: everything up to `after` is dealt with and durable.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Checkpoint {
    v: u32,
    retrofit: String,
    mapping: String,
    epoch: u16,
    pass: Pass,
    #[serde(rename = "at")]
    segment: SegmentId,
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<Item>,
    done: bool,
    /// The state when the segment was started: see [`progress`](super::progress).
    #[serde(skip_serializing_if = "Option::is_none")]
    mark: Option<String>,
    counts: BTreeMap<String, u64>,
}

/// A checkpoint that does not belong here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the fields are the names that the messages show")]
pub enum CheckpointError {
    /// Another version of Keyfold made it.
    #[error(transparent)]
    UnknownFormat(#[from] UnknownFormat),
    /// It cannot be read.
    #[error("the checkpoint cannot be read")]
    Unreadable,
    /// It is of another retrofit, pass or segment.
    #[error("the checkpoint is of {found}, not of {wanted}")]
    Elsewhere { found: String, wanted: String },
    /// It was made with another mapping.
    #[error(
        "the checkpoint of retrofit `{retrofit}` was made with mapping `{found}`, and this is mapping `{wanted}`"
    )]
    MappingChanged { retrofit: String, found: String, wanted: String },
    /// It was made while another stream was followed.
    #[error(
        "the checkpoint of retrofit `{retrofit}` was made with stream number {found} of the source, and the retrofit follows number {wanted}"
    )]
    EpochChanged { retrofit: String, found: u16, wanted: u16 },
}

impl CheckpointError {
    /// The code that stays the same, whatever the message says.
    pub fn code(&self) -> &'static str {
        match self {
            CheckpointError::UnknownFormat(error) => error.code(),
            CheckpointError::Unreadable => "checkpoint-unreadable",
            CheckpointError::Elsewhere { .. } => "checkpoint-elsewhere",
            CheckpointError::MappingChanged { .. } => "mapping-changed",
            CheckpointError::EpochChanged { .. } => "epoch-changed",
        }
    }

    /// A hint for the reader.
    pub fn hint(&self) -> &'static str {
        match self {
            CheckpointError::UnknownFormat(error) => error.hint(),
            _ => "start the segment again without a checkpoint",
        }
    }
}

impl Checkpoint {
    /// The beginning of a segment.
    pub fn start(job: &Job, pass: Pass, segment: SegmentId) -> Checkpoint {
        Checkpoint {
            v: CHECKPOINT_FORMAT.version,
            retrofit: job.mapping().name().to_owned(),
            mapping: job.mapping().hash().to_string(),
            epoch: job.epoch().number(),
            pass,
            segment,
            after: None,
            done: false,
            mark: None,
            counts: BTreeMap::new(),
        }
    }

    /// The same segment of the mapping at hand, if it is of this one: what it has done counts. Its items are compared anyway.
    pub(super) fn revised(json: &str, before: &str, job: &Job) -> Result<Option<Checkpoint>, UnknownFormat> {
        let same = |read: &Checkpoint| read.mapping == before && read.pass == Pass::Backfill;
        let read = Checkpoint::read(json)?.filter(same);
        Ok(read.map(|read| Checkpoint { mapping: job.mapping().hash().to_string(), ..read }))
    }

    /// Reads any checkpoint; `None` if it is invalid.
    fn read(json: &str) -> Result<Option<Checkpoint>, UnknownFormat> {
        CHECKPOINT_FORMAT.check_json(json.as_bytes())?;
        Ok(serde_json::from_str(json).ok())
    }

    /// The same, started under this mark.
    #[must_use]
    pub fn marked(self, mark: Option<String>) -> Checkpoint {
        Checkpoint { mark, ..self }
    }

    /// The mark under which the segment was started.
    pub fn mark(&self) -> Option<&str> {
        self.mark.as_deref()
    }

    /// Reads a checkpoint, which must be of this job, pass and segment.
    pub fn resume(
        json: &str,
        job: &Job,
        pass: Pass,
        segment: SegmentId,
    ) -> Result<Checkpoint, CheckpointError> {
        let read = Checkpoint::read(json)?.ok_or(CheckpointError::Unreadable)?;
        let wanted = Checkpoint::start(job, pass, segment);
        let whole = SegmentId::new(read.segment.segment, read.segment.total_segments).is_ok();
        let place = |of: &Checkpoint| {
            format!("retrofit `{}`, {}, segment {}", of.retrofit, of.pass.name(), of.segment)
        };
        if !whole || place(&read) != place(&wanted) {
            return Err(CheckpointError::Elsewhere { found: place(&read), wanted: place(&wanted) });
        }
        let retrofit = || wanted.retrofit.clone();
        if read.mapping != wanted.mapping {
            let (found, wanted) = (read.mapping, wanted.mapping.clone());
            return Err(CheckpointError::MappingChanged { retrofit: read.retrofit, found, wanted });
        }
        if read.epoch != wanted.epoch {
            let (found, wanted_epoch) = (read.epoch, wanted.epoch);
            return Err(CheckpointError::EpochChanged { retrofit: retrofit(), found, wanted: wanted_epoch });
        }
        Ok(read)
    }

    /// As JSON: what [`resume`](Self::resume) reads.
    pub fn json(&self) -> String {
        serde_json::to_string(self).unwrap_or_else(|_| unreachable!("a checkpoint has only texts for keys"))
    }

    /// The scan that it is of.
    pub fn pass(&self) -> Pass {
        self.pass
    }

    /// The segment that it is of.
    pub fn segment(&self) -> SegmentId {
        self.segment
    }

    /// The key after which the scan goes on; `None` at the beginning.
    pub fn after(&self) -> Option<&Item> {
        self.after.as_ref()
    }

    /// Is the whole segment dealt with?
    pub fn is_done(&self) -> bool {
        self.done
    }

    /// What became of the items so far, by name. `items` counts all of them.
    pub fn counts(&self) -> &BTreeMap<String, u64> {
        &self.counts
    }

    /// One of the counts.
    pub fn count(&self, name: &str) -> u64 {
        self.counts.get(name).copied().unwrap_or(0)
    }
}

/// A page of a slice, by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PageNumber(u64);

/// Some pages of a segment, several of which may be under way. The checkpoint follows the first that is not finished.
#[derive(Debug, Clone)]
pub struct Slice {
    checkpoint: Checkpoint,
    pages: VecDeque<Page>,
    first: u64,
    /// Where the next page begins; `None` once the last one was read.
    next: Option<Option<Item>>,
    careful: bool,
}

#[derive(Debug, Clone)]
struct Page {
    /// Where the page ends; `None` for the segment's last.
    end: Option<Item>,
    open: usize,
    counts: BTreeMap<String, u64>,
    careful: bool,
}

/// The part of a page's items that something newer kept from being written, above which looking first is cheaper: a
/// refused write costs as much as five times the read.
const CAREFUL_SHARE: f64 = 0.2;

impl Slice {
    /// Goes on where the checkpoint is.
    pub fn from(checkpoint: Checkpoint) -> Slice {
        let next = (!checkpoint.done).then(|| checkpoint.after.clone());
        Slice { checkpoint, pages: VecDeque::new(), first: 0, next, careful: true }
    }

    /// Where the next page begins, if there is one: after this key, or at the segment's beginning.
    pub fn next(&self) -> Option<Option<&Item>> {
        self.next.as_ref().map(Option::as_ref)
    }

    /// Takes a page in that was read from [`next`](Self::next): how many items it has, and the key after which the scan
    /// goes on, if it does.
    pub fn page(&mut self, items: usize, end: Option<Item>) -> PageNumber {
        self.next = end.clone().map(Some);
        let counts = BTreeMap::from([("items".to_owned(), items as u64)]);
        self.pages.push_back(Page { end, open: items, counts, careful: self.careful });
        let number = PageNumber(self.first + self.pages.len() as u64 - 1);
        self.advance();
        number
    }

    /// Should the items of this page be looked up in the target before they are written?
    pub fn is_careful(&self, page: PageNumber) -> bool {
        self.at(page).is_none_or(|page| page.careful)
    }

    /// Notes that an item of the page is dealt with.
    pub fn item_done(&mut self, page: PageNumber, verdict: &TaskResult) {
        self.counted(page, verdict.name());
    }

    /// The same under a name of the caller's: what a verification found.
    pub fn counted(&mut self, page: PageNumber, name: &str) {
        let at = usize::try_from(page.0.saturating_sub(self.first)).unwrap_or(usize::MAX);
        let Some(page) = self.pages.get_mut(at) else { return };
        match page.counts.get_mut(name) {
            Some(count) => *count += 1,
            None => drop(page.counts.insert(name.to_owned(), 1)),
        }
        page.open = page.open.saturating_sub(1);
        self.advance();
    }

    /// How many pages are read and not finished.
    pub fn pages_open(&self) -> usize {
        self.pages.len()
    }

    /// The durable part.
    pub fn checkpoint(&self) -> &Checkpoint {
        &self.checkpoint
    }

    fn at(&self, page: PageNumber) -> Option<&Page> {
        self.pages.get(usize::try_from(page.0.checked_sub(self.first)?).ok()?)
    }

    /// Moves the checkpoint over the pages at the front that are finished.
    fn advance(&mut self) {
        while self.pages.front().is_some_and(|page| page.open == 0) {
            let Some(page) = self.pages.pop_front() else { break };
            self.first += 1;
            let of = |name: &str| page.counts.get(name).copied().unwrap_or(0);
            if of("items") > 0 {
                self.careful = of("superseded") as f64 > of("items") as f64 * CAREFUL_SHARE;
            }
            for (name, count) in page.counts {
                *self.checkpoint.counts.entry(name).or_default() += count;
            }
            self.checkpoint.done = page.end.is_none();
            self.checkpoint.after = page.end.or_else(|| self.checkpoint.after.take());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::fixture::item;
    use crate::retrofit::tests::job;

    fn key(id: &str) -> Item {
        item(&format!(r#"{{"id":{{"S":"{id}"}}}}"#))
    }

    fn slice() -> Slice {
        Slice::from(Checkpoint::start(&job("moved"), Pass::Backfill, SegmentId::WHOLE))
    }

    #[test]
    fn a_checkpoint_waits_for_the_first_page_that_is_not_finished() {
        let mut slice = slice();
        let first = slice.page(2, Some(key("b")));
        let second = slice.page(1, None);
        assert_eq!(slice.next(), None, "the last page was read");
        slice.item_done(second, &TaskResult::Written);
        slice.item_done(first, &TaskResult::Written);
        assert_eq!((slice.checkpoint().after(), slice.checkpoint().is_done()), (None, false));
        slice.item_done(first, &TaskResult::Superseded);
        assert!(slice.checkpoint().is_done());
        assert_eq!((slice.checkpoint().count("items"), slice.checkpoint().count("written")), (3, 2));
    }

    #[test]
    fn an_empty_page_moves_the_checkpoint_on() {
        let mut slice = slice();
        slice.page(0, Some(key("b")));
        assert_eq!((slice.checkpoint().after(), slice.next()), (Some(&key("b")), Some(Some(&key("b")))));
        slice.page(0, None);
        assert!(slice.checkpoint().is_done());
    }

    #[test]
    fn a_checkpoint_is_taken_up_only_where_it_was_made() {
        let job = job("moved");
        let segment = SegmentId::new(1, 4).unwrap();
        let made = Checkpoint::start(&job, Pass::Backfill, segment);
        assert_eq!(Checkpoint::resume(&made.json(), &job, Pass::Backfill, segment), Ok(made.clone()));
        let code =
            |json: &str, pass, segment| Checkpoint::resume(json, &job, pass, segment).unwrap_err().code();
        assert_eq!(code(&made.json(), Pass::VerifySource, segment), "checkpoint-elsewhere");
        assert_eq!(code(&made.json(), Pass::Backfill, SegmentId::new(2, 4).unwrap()), "checkpoint-elsewhere");
        assert_eq!(code(r#"{"v":1}"#, Pass::Backfill, segment), "checkpoint-unreadable");
        for other in ["{}", r#"{"v":2}"#] {
            assert_eq!(code(other, Pass::Backfill, segment), "unknown-format");
        }
        let other = super::super::tests::job("inPlace");
        assert_eq!(
            Checkpoint::resume(&made.json(), &other, Pass::Backfill, segment).unwrap_err().code(),
            "checkpoint-elsewhere"
        );
        let old = made.json().replace(job.mapping().hash().as_str(), "0123");
        assert_eq!(code(&old, Pass::Backfill, segment), "mapping-changed");
        let old = made.json().replace("\"epoch\":1", "\"epoch\":2");
        assert_eq!(code(&old, Pass::Backfill, segment), "epoch-changed");
    }

    #[test]
    fn segments_count_from_zero() {
        assert!(SegmentId::new(3, 4).is_ok());
        for (segment, total) in [(4, 4), (0, 0), (0, SEGMENTS_MAX + 1)] {
            assert_eq!(SegmentId::new(segment, total), Err(SegmentRangeError { segment, total }));
        }
    }
}
