//! How far the segments are, and what the last comparison found: rows of the control table.

use super::control::{self, SORT};
use super::job::Job;
use super::request::{Action, Guard, Place, Write, is};
use super::segment::{Checkpoint, Pass, SegmentId};
use crate::query::condition::Comparison;
use crate::value::{AttributeValue, Item};

const CHECKPOINT: &str = "checkpoint";
const ITEMS: &str = "items";
const DIFFERENCES: &str = "differences";
const VERIFIED_SORT: &str = "verified";

/// What the sort keys of this pass's segments begin with, in this epoch.
pub fn segments_prefix(job: &Job, pass: Pass) -> String {
    format!("{}#{:04}#", pass.name(), job.epoch().number())
}

/// The key of a segment's row.
pub fn segment_key(job: &Job, pass: Pass, segment: SegmentId) -> Item {
    let place = format!("{:06}/{:06}", segment.number(), segment.total());
    let sort = segments_prefix(job, pass) + &place;
    control::key(&control::segments_partition(job.mapping().name()), &sort)
}

/// The write that stores a checkpoint, unless one that is further on is there.
pub fn store_checkpoint(job: &Job, checkpoint: &Checkpoint) -> Write {
    let mut row = segment_key(job, checkpoint.pass(), checkpoint.segment());
    let items = control::number(checkpoint.count(ITEMS));
    row.insert(CHECKPOINT.to_owned(), AttributeValue::S(checkpoint.json()));
    row.insert(ITEMS.to_owned(), items.clone());
    let guard = Guard::AbsentOr(is(ITEMS, Comparison::LessOrEqual(items)));
    Write { place: Place::Control, action: Action::Put(row), guard }
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

/// The key of the row that says what the last comparison of both sides found.
pub fn verified_key(job: &Job) -> Item {
    control::key(&format!("retrofit#{}", job.mapping().name()), VERIFIED_SORT)
}

/// The write that notes what a comparison of both sides found: how many items do not agree.
pub fn store_verified(job: &Job, differences: u64) -> Write {
    let mut row = verified_key(job);
    row.insert(DIFFERENCES.to_owned(), control::number(differences));
    row.insert("epoch".to_owned(), control::number(u64::from(job.epoch().number())));
    // Any comparison replaces the one before, but none of a later epoch.
    let not_later = is("epoch", Comparison::LessOrEqual(control::number(u64::from(job.epoch().number()))));
    Write { place: Place::Control, action: Action::Put(row), guard: Guard::AbsentOr(not_later) }
}

/// The write that forgets the last comparison: the backfill goes on.
pub fn forget_verified(job: &Job) -> Write {
    let guard = Guard::Present(is(DIFFERENCES, Comparison::Exists(true)));
    Write { place: Place::Control, action: Action::Delete(verified_key(job)), guard }
}

/// What the last comparison in this epoch found.
pub fn read_verified(job: &Job, row: &Item) -> Option<u64> {
    let epoch = control::whole(row, "epoch")?;
    (epoch == u64::from(job.epoch().number())).then(|| control::whole(row, DIFFERENCES))?
}
