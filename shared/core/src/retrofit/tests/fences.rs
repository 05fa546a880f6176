//! What keeps a late write of one item from going through: each of these rules was once broken without any history noticing.

use super::*;
use crate::retrofit::drain::{Newest, Sides};
use crate::retrofit::{Generation, LedgerRow, Tracking};

fn fence(epoch: u16, sequence: &str) -> Fence {
    Fence::of_record(Epoch::new(epoch).unwrap(), SequenceNumber::parse(sequence).unwrap())
}

fn rowed(epoch: u16) -> Job {
    let mapping = job("moved").mapping().clone();
    let job = Job::new(mapping, Epoch::new(epoch).unwrap());
    job.tracked_by(Tracking::Rows).sealed_by(Some(Generation::FIRST))
}

fn with(mut item: Item, name: &str, fence: &Fence) -> Item {
    item.insert(name.to_owned(), fence.value());
    item
}

fn row(fence: &Fence) -> Item {
    with(control::key("p", "s"), control::FENCE, fence)
}

fn transaction(step: TaskStep) -> Vec<Write> {
    match step {
        TaskStep::Send(Request::Transact(writes)) => writes,
        other => panic!("{other:?}"),
    }
}

/// The step after a row, an item of the target and an item of the source were read.
fn read(job: &Job, mut task: ItemTask, there: [Option<Item>; 3]) -> TaskStep {
    let mut step = task.start(job);
    for item in there {
        assert!(matches!(step, TaskStep::Send(Request::Get { .. })), "{step:?}");
        step = task.respond(job, Response::Item(item));
    }
    step
}

#[test]
fn an_item_with_an_older_fence_than_its_row_gets_a_fence_before_it_is_deleted() {
    let job = rowed(1);
    let copy = with(event("1", "joe"), attributes::FENCE_ATTRIBUTE, &fence(1, "5"));
    let task = job.apply(&record("10", "1", None));
    let writes = transaction(read(&job, task, [Some(row(&fence(1, "9"))), Some(copy), None]));
    let target = writes.iter().find(|write| write.role == TableRole::Target).unwrap();
    assert!(matches!(target.action, Action::Put(_)), "{target:?}");
}

#[test]
fn an_item_that_leaves_its_place_first_raises_the_rows_fence() {
    let job = job("rekeyed");
    let before = fence(1, "4");
    let place = job.mapping().target_item(&event("1", "joe")).unwrap().unwrap();
    let place = job.mapping().target().key_of(&place).unwrap();
    let mut there = row(&before);
    let members = place.iter().map(|(name, value)| (name.to_string(), value.clone())).collect();
    there.insert(control::TARGET_KEY.to_owned(), AttributeValue::M(members));
    let mut task = job.apply(&record("9", "1", Some(event("1", "sam"))));
    task.start(&job);
    transaction(task.respond(&job, Response::Item(Some(there))));
    let writes = transaction(task.respond(&job, Response::Cancelled(vec![true, true, false])));
    let released = LedgerRow::read(put_item(&writes[0])).unwrap();
    assert!(released.fence > before && released.fence < fence(1, "9"), "{released:?}");
}

#[test]
fn an_older_row_is_no_arrival() {
    let job = job("moved");
    let newest = Newest { sequence: SequenceNumber::parse("5").unwrap(), may_lack_row: false };
    for (known, arrived) in [("4", false), ("5", true), ("6", true)] {
        let row = row(&fence(1, known));
        let sides = Sides { row: Some(&row), source: None, target: None };
        assert_eq!(job.has_arrived(&newest, sides), arrived, "{known}");
    }
}

#[test]
fn a_repair_of_a_delete_that_failed_leaves_a_tombstone() {
    let job = job("moved");
    let key = record("5", "1", None).key;
    let source = SourceKey::of(job.mapping().source(), &key).unwrap();
    let entry = Quarantined::item(&key, &source, &QuarantineReason::Discarded, fence(1, "5"));
    let mut task = job.release(&entry).unwrap();
    task.start(&job);
    task.respond(&job, Response::Item(None));
    let writes = transaction(task.respond(&job, Response::Item(None)));
    let tombstone = put_item(&writes[0]);
    assert_eq!(tombstone[attributes::TOMBSTONE_ATTRIBUTE], AttributeValue::Bool(true));
    assert_eq!(tombstone[attributes::FENCE_ATTRIBUTE], fence(1, "5").value());
}

#[test]
fn a_repair_from_before_the_tidying_is_refused_once_that_has_begun() {
    let joe = event("1", "joe");
    for (name, there) in [("moved", vec![None, Some(joe.clone())]), ("rekeyed", vec![None, Some(joe), None])]
    {
        let job = job(name);
        let key = record("5", "1", None).key;
        let mut task = job.repair(&key);
        let mut step = task.start(&job);
        for item in there {
            step = task.respond(&job, Response::Item(item));
        }
        let writes = transaction(step);
        let seal = writes.last().unwrap();
        let seals: Vec<Item> = seal::seals(job.mapping().name(), Generation::UNTIDIED, 0)
            .map(|seal| put_item(&seal).clone())
            .collect();
        let Action::Delete(asked) = &seal.action else { panic!("{seal:?}") };
        assert!(seals.contains(asked) && seal.guard == Guard::Absent, "{name}: {seal:?}");
        let mut held = vec![true; writes.len()];
        held[writes.len() - 1] = false;
        assert_eq!(task.respond(&job, Response::Cancelled(held)), TaskStep::Done(TaskResult::Busy), "{name}");
    }
}

#[test]
fn a_scan_in_a_new_epoch_raises_the_fence_of_what_is_the_same() {
    let job = rowed(2);
    let before = fence(1, "5");
    let there = with(event("1", "joe"), attributes::FENCE_ATTRIBUTE, &before);
    let there = job.mapping().target_item(&there).unwrap().unwrap();
    let there = with(there, attributes::FENCE_ATTRIBUTE, &before);
    let task = job.backfill(event("1", "joe"), false);
    let writes = transaction(read(&job, task, [Some(row(&before)), Some(there), Some(event("1", "joe"))]));
    let row = writes.iter().find(|write| write.role == TableRole::Control).unwrap();
    assert!(LedgerRow::read(put_item(row)).unwrap().fence > before);
}

/// The step that follows the target's first deletion, while the source has the item.
fn first_deletion(kind: ChangeKind, old: Item) -> TaskStep {
    let (job, item) = (rowed(1), event("1", "joe"));
    let key = job.mapping().target().key_of(&item).unwrap();
    let record = ChangeRecord { key, kind, old: Some(old), ..record("5", "1", None) };
    read(&job, job.late(&record, Epoch::FIRST), [None, None, Some(item)])
}

/// DynamoDB deletes an item of each table when its time is over, at another time: the open table may have it still.
#[test]
fn a_deletion_by_time_to_live_is_no_late_write() {
    let first = |expired| first_deletion(ChangeKind::Remove { expired }, event("1", "joe"));
    let TaskStep::Send(Request::Write(note)) = first(false) else {
        panic!("a deletion of a writer is noted")
    };
    let Action::Put(row) = note.action else { panic!("a row is put") };
    assert_eq!(control::text(&row, control::PARTITION), Some("late#moved"));
    // The item is made what the open table says, as after every change of the closed one.
    assert!(matches!(first(true), TaskStep::Send(Request::Get { .. })), "nothing is noted");
}

/// Tombstones of the first phase have no row, and tidying deletes them: the source may have the item again by then.
#[test]
fn the_sweep_of_a_tombstone_is_no_late_write() {
    let mut tombstone = event("1", "joe");
    tombstone.insert(attributes::TOMBSTONE_ATTRIBUTE, AttributeValue::Bool(true));
    let swept = first_deletion(ChangeKind::Remove { expired: false }, tombstone);
    assert_eq!(swept, TaskStep::Done(TaskResult::Unchanged));
}
