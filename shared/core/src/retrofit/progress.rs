//! How far the segments are, and what a comparison of both sides found: rows of the control table.
//!
//! Whoever begins to write (a backfill, a repair) leaves a new **mark**. A comparison notes the mark that it began under,
//! and counts only as long as the mark is the same: so what was compared before the last write says nothing.

use std::collections::BTreeMap;

use super::control::{self, SORT};
use super::job::Job;
use super::mapping::Protocol;
use super::request::{Action, Guard, TableRole, Write, is};
use super::segment::{Checkpoint, Pass, SegmentId};
use crate::condition::Comparison;
use crate::value::{AttributeValue, Item};

const CHECKPOINT: &str = "checkpoint";
const ITEMS: &str = "items";
const MARK: &str = "mark";
const MARK_SORT: &str = "mark";

/// Counts of a comparison that are no differences.
const NO_DIFFERENCES: [&str; 4] = ["items", "same", "expired", "repaired"];

/// What the sort keys of this pass's segments begin with, in this epoch.
pub fn segments_prefix(job: &Job, pass: Pass) -> String {
    format!("{}#{:04}#", pass.name(), job.epoch().number())
}

/// The key of a segment's row.
pub fn segment_key(job: &Job, pass: Pass, segment: SegmentId) -> Item {
    let sort = segment_sort(job, pass, segment);
    control::key(&control::segments_partition(job.mapping().name()), &sort)
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

/// The write that stores a checkpoint whatever is there: the segment begins anew.
pub fn begin_segment(job: &Job, checkpoint: &Checkpoint) -> Write {
    store(job, checkpoint, whatever_is_there())
}

fn store(job: &Job, checkpoint: &Checkpoint, guard: Guard) -> Write {
    let mut row = segment_key(job, checkpoint.pass(), checkpoint.segment());
    row.insert(CHECKPOINT.to_owned(), AttributeValue::S(checkpoint.json()));
    row.insert(ITEMS.to_owned(), control::number(checkpoint.count(ITEMS)));
    Write { place: TableRole::Control, action: Action::Put(row), guard }
}

/// The checkpoint of a segment's row; `None` if it is none of this job, which then begins anew.
pub fn read_checkpoint(job: &Job, pass: Pass, segment: SegmentId, row: &Item) -> Option<Checkpoint> {
    Checkpoint::resume(control::text(row, CHECKPOINT)?, job, pass, segment).ok()
}

/// Which segment a row of this pass and epoch is of.
pub fn segment_of(job: &Job, pass: Pass, row: &Item) -> Option<SegmentId> {
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
    let mut row = mark_key(job);
    row.insert(MARK.to_owned(), AttributeValue::S(mark.to_owned()));
    Write { place: TableRole::Control, action: Action::Put(row), guard: whatever_is_there() }
}

/// A guard that always holds: every row has a partition key.
fn whatever_is_there() -> Guard {
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
    let differs = |(name, _): &(&String, &u64)| !NO_DIFFERENCES.contains(&name.as_str());
    checkpoint.counts().iter().filter(differs).map(|(_, count)| count).sum()
}

/// What comparisons under this mark found: how many items do not agree; `None` if none is complete. Where there are
/// several, with other numbers of segments, the worst counts, complete or not.
pub fn differences(protocol: Protocol, mark: Option<&str>, segments: &[Checkpoint]) -> Option<u64> {
    let mut runs: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
    for segment in segments.iter().filter(|segment| segment.mark() == mark) {
        let (done, found) = runs.entry(segment.segment().total()).or_default();
        *done += u64::from(segment.is_done());
        *found += differences_of(segment);
    }
    let wanted = |total: u32| u64::from(total) * comparison(protocol).len() as u64;
    let complete = runs.iter().any(|(total, (done, _))| *done == wanted(*total));
    let worst = runs.values().map(|(_, found)| *found).max();
    worst.filter(|_| complete)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::retrofit::Slice;
    use crate::retrofit::tests::job;

    /// A segment that was read to its end, and the classes that were found.
    fn segment(pass: Pass, at: (u32, u32), mark: &str, found: &[&str]) -> Checkpoint {
        let segment = SegmentId::new(at.0, at.1).unwrap();
        let begun = Checkpoint::start(&job("moved"), pass, segment).marked(Some(mark.to_owned()));
        let mut slice = Slice::from(begun);
        let page = slice.page(found.len(), None);
        found.iter().for_each(|class| slice.counted(page, class));
        slice.checkpoint().clone()
    }

    #[test]
    fn a_comparison_counts_when_both_sides_are_complete_under_the_mark() {
        let (source, target) = (Pass::VerifySource, Pass::VerifyTarget);
        let mut rows = vec![
            segment(source, (0, 2), "m", &["same", "missing"]),
            segment(source, (1, 2), "m", &["expired", "repaired"]),
            segment(target, (0, 2), "m", &["same"]),
        ];
        let found = |rows: &[Checkpoint]| differences(Protocol::Fenced, Some("m"), rows);
        assert_eq!(found(&rows), None, "a segment of the target is missing");
        rows.push(segment(target, (1, 2), "before", &["same"]));
        assert_eq!(found(&rows), None, "and was compared before the last write");
        rows[3] = segment(target, (1, 2), "m", &["extra", "collision"]);
        assert_eq!(found(&rows), Some(3));
        assert_eq!(
            differences(Protocol::InPlace, Some("m"), &rows[..2]),
            Some(1),
            "in place there is one side"
        );
        assert_eq!(differences(Protocol::Fenced, None, &rows), None);
    }

    #[test]
    fn of_several_comparisons_the_worst_counts() {
        let both = |total, found: &[&str]| {
            [Pass::VerifySource, Pass::VerifyTarget].map(|pass| segment(pass, (0, total), "m", found))
        };
        let (clean, begun) = (both(1, &["same"]), both(4, &["different"]));
        assert_eq!(differences(Protocol::Fenced, Some("m"), &[&clean[..], &begun[..1]].concat()), Some(1));
        assert_eq!(differences(Protocol::Fenced, Some("m"), &begun), None);
    }
}
