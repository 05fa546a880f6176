//! How far the segments are, and what a comparison of both sides found: rows of the control table.
//!
//! A pass that begins to write (a backfill, a repair) leaves a new **mark**, and so does the news that records were given up.
//! A comparison notes what it [began](ComparisonStart) under: the mark, the version of the retrofit's row, and the second. It counts
//! only as long as mark and version are the same: so what was compared before the last write, before the last change of
//! phase or before the last discard says nothing.

use std::collections::BTreeMap;

use super::control::{self, SORT};
use super::job::Job;
use super::protocol_choice::Protocol;
use super::request::{Action, Guard, TableRole, Write, is};
use super::segment::{Checkpoint, CheckpointError, Pass, SegmentId};
use crate::condition::Comparison;
use crate::value::{AttributeValue, Item};

const CHECKPOINT: &str = "checkpoint";
const ITEMS: &str = "items";
const MARK: &str = "mark";
const MARK_SORT: &str = "mark";

/// Counts of a comparison that are no differences. An item in flight is carried over just now: it says nothing either way.
const NO_DIFFERENCES: [&str; 6] = ["items", "same", "expired", "repaired", "in-flight", "accepted"];

/// The beginning of the sort keys of this pass's segments, in this epoch.
pub fn segments_prefix(job: &Job, pass: Pass) -> String {
    format!("{}#{:04}#", pass.name(), job.epoch().number())
}

/// The key of a segment's row.
pub fn segment_key(job: &Job, pass: Pass, segment: SegmentId) -> Item {
    let sort = segment_sort(job, pass, segment);
    control::key(&control::segments_partition(job.mapping().rows_name()), &sort)
}

/// The sort key of all rows of a segment.
pub(super) fn segment_sort(job: &Job, pass: Pass, segment: SegmentId) -> String {
    let place = format!("{:06}/{:06}", segment.number(), segment.total());
    segments_prefix(job, pass) + &place
}

/// The write that stores a checkpoint, unless one that is further on is there.
pub fn store_checkpoint(job: &Job, checkpoint: &Checkpoint) -> Write {
    let items = control::number(checkpoint.count(ITEMS));
    let not_further = is(ITEMS, Comparison::LessOrEqual(items));
    store(job, checkpoint, Guard::AbsentOr(not_further))
}

/// The write that stores a checkpoint unconditionally: the segment starts again.
pub fn begin_segment(job: &Job, checkpoint: &Checkpoint) -> Write {
    store(job, checkpoint, whatever_is_there())
}

fn store(job: &Job, checkpoint: &Checkpoint, guard: Guard) -> Write {
    let mut row = control::row(segment_key(job, checkpoint.pass(), checkpoint.segment()));
    row.insert(CHECKPOINT, AttributeValue::S(checkpoint.json()));
    row.insert(ITEMS, control::number(checkpoint.count(ITEMS)));
    Write { role: TableRole::Control, action: Action::Put(row), guard }
}

/// The write that carries the row of a segment of a backfill on to the mapping at hand, if it is of this one.
pub fn carry_on(job: &Job, before: &str, row: &Item) -> Result<Option<Write>, CheckpointError> {
    let Some(json) = control::text(row, CHECKPOINT) else { return Ok(None) };
    let checkpoint = Checkpoint::revised(json, before, job)?;
    Ok(checkpoint.map(|checkpoint| begin_segment(job, &checkpoint)))
}

/// The checkpoint of a segment's row; `None` if it is another job's; the segment then starts again.
pub fn read_checkpoint(
    job: &Job,
    pass: Pass,
    segment: SegmentId,
    row: &Item,
) -> Result<Option<Checkpoint>, CheckpointError> {
    let Some(json) = control::text(row, CHECKPOINT) else { return Ok(None) };
    match Checkpoint::resume(json, job, pass, segment) {
        Err(unknown @ CheckpointError::UnknownFormat(_)) => Err(unknown),
        read => Ok(read.ok()),
    }
}

/// The checkpoints of those of these rows that are of this pass.
pub fn read_checkpoints(job: &Job, pass: Pass, rows: &[Item]) -> Result<Vec<Checkpoint>, CheckpointError> {
    let of_pass = |row| Some((segment_of(job, pass, row)?, row));
    let read = rows.iter().filter_map(of_pass).map(|(segment, row)| read_checkpoint(job, pass, segment, row));
    read.filter_map(Result::transpose).collect()
}

/// Which segment a row of this pass and epoch is of.
fn segment_of(job: &Job, pass: Pass, row: &Item) -> Option<SegmentId> {
    let place = control::text(row, SORT)?.strip_prefix(&segments_prefix(job, pass))?.to_owned();
    let (number, total) = place.split_once('/')?;
    SegmentId::new(number.parse().ok()?, total.parse().ok()?).ok()
}

/// The key of the row with the mark.
pub fn mark_key(job: &Job) -> Item {
    control::key(&format!("retrofit#{}", job.mapping().name()), MARK_SORT)
}

/// The write that leaves a new mark: something will be written from here on.
pub fn store_mark(job: &Job, mark: &str) -> Write {
    let mut row = control::row(mark_key(job));
    row.insert(MARK, AttributeValue::S(mark.to_owned()));
    Write { role: TableRole::Control, action: Action::Put(row), guard: whatever_is_there() }
}

/// A guard that always holds: every row has a partition key.
pub(super) fn whatever_is_there() -> Guard {
    Guard::AbsentOr(is(control::PARTITION, Comparison::Exists(true)))
}

/// The mark in its row.
pub fn read_mark(row: &Item) -> Option<String> {
    control::text(row, MARK).map(str::to_owned)
}

/// The passes that a comparison of both sides is made of. In place there is one side.
pub fn comparison(protocol: Protocol) -> &'static [Pass] {
    match protocol {
        Protocol::InPlace => &[Pass::VerifySource],
        Protocol::Fenced | Protocol::Ledger => &[Pass::VerifySource, Pass::VerifyTarget],
    }
}

/// How many items a comparison's segment found not to agree.
pub fn differences_of(checkpoint: &Checkpoint) -> u64 {
    differences_in(checkpoint.counts())
}

/// The same of the counts of a whole comparison.
pub fn differences_in(counts: &BTreeMap<String, u64>) -> u64 {
    let differs = |(name, _): &(&String, &u64)| !NO_DIFFERENCES.contains(&name.as_str());
    counts.iter().filter(differs).map(|(_, count)| count).sum()
}

/// The state at the start of a comparison's segment. A checkpoint keeps it as its mark, in one text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComparisonStart {
    /// The mark then; empty if there was none.
    pub mark: String,
    /// The version of the retrofit's row then: it rises with every change of the phase or the epoch.
    pub version: u64,
    /// The second since 1970.
    pub seconds: u64,
}

impl ComparisonStart {
    /// As a checkpoint's mark.
    pub fn text(&self) -> String {
        format!("{}@{}@{}", self.mark, self.version, self.seconds)
    }

    /// Reads what [`text`](Self::text) wrote.
    pub fn read(text: &str) -> Option<ComparisonStart> {
        let (rest, seconds) = text.rsplit_once('@')?;
        let (mark, version) = rest.rsplit_once('@')?;
        Some(ComparisonStart {
            mark: mark.to_owned(),
            version: version.parse().ok()?,
            seconds: seconds.parse().ok()?,
        })
    }

    /// Has nothing happened since that would void a comparison?
    fn counts_at(&self, now: &ComparisonStart) -> bool {
        self.mark == now.mark && self.version == now.version
    }
}

/// The result of a complete comparison of both sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ComparisonResult {
    /// How many items do not agree.
    pub differences: u64,
    /// The age of its first segment.
    pub age_seconds: u64,
}

/// What comparisons found that still count; `None` if none is complete. Where there are several, with other numbers of
/// segments, the worst counts, complete or not.
pub fn verdict(
    protocol: Protocol,
    now: &ComparisonStart,
    segments: &[Checkpoint],
) -> Option<ComparisonResult> {
    let mut runs: BTreeMap<u32, (u64, u64, u64)> = BTreeMap::new();
    for segment in segments {
        let Some(started) =
            segment.mark().and_then(ComparisonStart::read).filter(|started| started.counts_at(now))
        else {
            continue;
        };
        let (done, found, age) = runs.entry(segment.segment().total()).or_default();
        *done += u64::from(segment.is_done());
        *found += differences_of(segment);
        *age = (*age).max(now.seconds.saturating_sub(started.seconds));
    }
    let wanted = |total: u32| u64::from(total) * comparison(protocol).len() as u64;
    let complete = runs.iter().filter(|(total, (done, ..))| *done == wanted(**total));
    // Each complete run says so by itself: the youngest of them counts.
    let age_seconds = complete.map(|(_, (_, _, age))| *age).min()?;
    let differences = runs.values().map(|(_, found, _)| *found).max()?;
    Some(ComparisonResult { differences, age_seconds })
}

/// How far a pass is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PassProgress {
    /// Items that its segments have finished.
    pub items: u64,
    /// All segments.
    pub segments: u32,
    /// Those that are done.
    pub done: u32,
}

/// Each pass by its segments. Where there are some of several numbers, those of the largest number count.
pub fn passes(segments: &[Checkpoint]) -> BTreeMap<Pass, PassProgress> {
    let mut passes = BTreeMap::<Pass, PassProgress>::new();
    for checkpoint in segments {
        let pass = passes.entry(checkpoint.pass()).or_default();
        let total = checkpoint.segment().total();
        if total > pass.segments {
            *pass = PassProgress { segments: total, ..PassProgress::default() };
        }
        if total == pass.segments {
            pass.items += checkpoint.count(ITEMS);
            pass.done += u32::from(checkpoint.is_done());
        }
    }
    passes
}

/// How many segments of a backfill are done, and of how many. A backfill that was started again with another number of segments
/// has rows of both: each number covers the whole table, and the most advanced one counts.
pub fn filled(segments: &[Checkpoint]) -> (u32, u32) {
    let mut runs: BTreeMap<u32, u32> = BTreeMap::new();
    for segment in segments {
        *runs.entry(segment.segment().total()).or_default() += u32::from(segment.is_done());
    }
    let furthest = runs.into_iter().max_by(|(total, done), (other, also)| {
        (u64::from(*done) * u64::from(*other)).cmp(&(u64::from(*also) * u64::from(*total)))
    });
    furthest.map_or((0, 0), |(total, done)| (done, total))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::retrofit::Slice;
    use crate::retrofit::tests::job;

    fn started(mark: &str) -> ComparisonStart {
        ComparisonStart { mark: mark.to_owned(), version: 3, seconds: 1_000 }
    }

    /// A segment that was read to its end, and the classes that were found.
    fn segment(pass: Pass, at: (u32, u32), started: &ComparisonStart, found: &[&str]) -> Checkpoint {
        let segment = SegmentId::new(at.0, at.1).unwrap();
        let started = Checkpoint::start(&job("moved"), pass, segment).marked(Some(started.text()));
        let mut slice = Slice::from(started);
        let page = slice.page(found.len(), None);
        found.iter().for_each(|class| slice.counted(page, class));
        slice.checkpoint().clone()
    }

    fn both(total: u32, started: &ComparisonStart, found: &[&str]) -> [Checkpoint; 2] {
        [Pass::VerifySource, Pass::VerifyTarget].map(|pass| segment(pass, (0, total), started, found))
    }

    #[test]
    fn a_comparison_counts_when_both_sides_are_complete_under_the_mark() {
        let (source, target) = (Pass::VerifySource, Pass::VerifyTarget);
        let now = started("m");
        let mut rows = vec![
            segment(source, (0, 2), &now, &["same", "missing"]),
            segment(source, (1, 2), &now, &["expired", "repaired", "in-flight"]),
            segment(target, (0, 2), &now, &["same"]),
        ];
        let found =
            |rows: &[Checkpoint]| verdict(Protocol::Fenced, &now, rows).map(|verdict| verdict.differences);
        assert_eq!(found(&rows), None, "a segment of the target is missing");
        rows.push(segment(target, (1, 2), &started("before"), &["same"]));
        assert_eq!(found(&rows), None, "and was compared before the last write");
        rows[3] = segment(target, (1, 2), &now, &["extra", "collision"]);
        assert_eq!(found(&rows), Some(3));
        let in_place = verdict(Protocol::InPlace, &now, &rows[..2]).unwrap();
        assert_eq!(in_place.differences, 1, "in place there is one side");
        assert_eq!(verdict(Protocol::Fenced, &started(""), &rows), None);
    }

    #[test]
    fn a_change_of_the_retrofits_row_voids_what_was_compared_before() {
        let rows = both(1, &started("m"), &["same"]);
        let now = |version, seconds| ComparisonStart { version, seconds, ..started("m") };
        let clean = Some(ComparisonResult { differences: 0, age_seconds: 500 });
        assert_eq!(verdict(Protocol::Fenced, &now(3, 1_500), &rows), clean);
        assert_eq!(verdict(Protocol::Fenced, &now(4, 1_500), &rows), None, "undone, and cut over again");
    }

    #[test]
    fn of_several_comparisons_the_worst_counts() {
        let now = started("m");
        let (clean, half) = (both(1, &now, &["same"]), both(4, &now, &["different"]));
        let found = |rows: &[Checkpoint]| verdict(Protocol::Fenced, &now, rows).map(|it| it.differences);
        assert_eq!(found(&[&clean[..], &half[..1]].concat()), Some(1));
        assert_eq!(found(&half), None);
    }

    #[test]
    fn a_backfill_with_another_number_of_segments_counts_by_itself() {
        let of = |at, done| {
            let row = segment(Pass::Backfill, at, &started("m"), &["written"]);
            let open = Checkpoint::start(&job("moved"), Pass::Backfill, row.segment());
            if done { row } else { open }
        };
        let four = [of((0, 4), true), of((1, 4), true), of((2, 4), true), of((3, 4), false)];
        let two = [of((0, 2), true), of((1, 2), false)];
        assert_eq!(filled(&[]), (0, 0));
        assert_eq!(filled(&[&two[..], &four[..]].concat()), (3, 4), "never four done of two");
        assert_eq!(filled(&[&four[..], &two[..1], &[of((1, 2), true)]].concat()), (2, 2));
    }
}
