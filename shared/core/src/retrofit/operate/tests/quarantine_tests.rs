//! The quarantine: tried again, removed, accepted, forgotten. The tables are empty, so an item that is read again leaves.

use std::sync::Arc;

use super::faults_tests::{failure, page_with_change, played, reversed};
use super::*;
use crate::retrofit::fence::{Epoch, Fence};
use crate::retrofit::progress;
use crate::retrofit::quarantine::Acceptance;
use crate::retrofit::record::ChangeRecord;
use crate::retrofit::tests::event;
use crate::retrofit::{
    ItemTask, Job, QuarantineReason, Quarantined, Request, SourceKey, TaskResult, TaskStep,
};

const PLACE: &str = "s3://bucket/batch";

fn retry() -> Command {
    Command::Quarantine(QuarantineAction::Retry)
}

fn release() -> Command {
    Command::Quarantine(QuarantineAction::Release)
}

fn accept(selection: EntrySelection) -> Command {
    let (because, by) = ("of a test".to_owned(), "ann".to_owned());
    Command::Quarantine(QuarantineAction::Accept { selection, because, by })
}

fn entry(id: &str, reason: &QuarantineReason) -> Quarantined {
    let job = job("moved");
    let key = job.mapping().source().key_of(&event(id, "joe")).unwrap();
    let source = SourceKey::of(job.mapping().source(), &key).unwrap();
    Quarantined::item(&key, &source, reason, Fence::of_scan(Epoch::FIRST))
}

fn with(entries: &[Quarantined]) -> World {
    let mut world = ready("moved");
    entries.iter().for_each(|entry| drop(world.put(&entry.enter(job("moved").mapping()))));
    world
}

fn batch() -> Quarantined {
    Quarantined::set_aside(PLACE, Fence::of_scan(Epoch::FIRST))
}

fn rows(world: &World) -> Vec<String> {
    let of_entries = |(partition, _): &&(String, String)| partition.starts_with("quarantine#");
    world.rows.keys().filter(of_entries).map(|(_, row)| row.clone()).collect()
}

/// Carries the tasks out: rows in the world, and items in two tables that are empty.
fn carry(world: &mut World, job: &Job, tasks: &[ItemTask]) -> Vec<TaskResult> {
    let one = |task: &ItemTask| {
        let mut task = task.clone();
        let mut step = task.start(job);
        loop {
            let response = match step {
                TaskStep::Done(result) => return result,
                TaskStep::Send(Request::Get { role: TableRole::Control, key }) => {
                    Response::Got(world.rows.get(&place(&key)).cloned())
                }
                TaskStep::Send(Request::Get { .. }) => Response::Got(None),
                TaskStep::Send(Request::Write(write)) => world.put(&write),
                TaskStep::Send(Request::Transact(writes)) => {
                    writes.iter().for_each(|write| drop(world.put(write)));
                    Response::Written
                }
            };
            step = task.respond(job, response);
        }
    };
    tasks.iter().map(one).collect()
}

/// Plays a command; the bucket has a batch with these records of the source. Returns the effects that matter.
fn play(world: &mut World, command: Command, records: &[ChangeRecord]) -> (Outcome, Vec<String>) {
    let mut order = Vec::new();
    let outcome = played(world, command, |world, _, effect| {
        match effect {
            Effect::Carry { job, tasks } => {
                order.push(format!("carry {}", tasks.len()));
                let job = Arc::clone(job);
                return Some(Ok(Reply::Results(carry(world, &job, tasks))));
            }
            Effect::ReadBatch(place) => {
                order.push(format!("read {place}"));
                let records = records.to_vec();
                return Some(Ok(Reply::Batch { lead: Direction::Forward, records }));
            }
            Effect::DeleteBatch(place) => order.push(format!("delete {place}")),
            Effect::Send(_) => order.push("send".to_owned()),
            _ => {}
        }
        None
    });
    (outcome, order)
}

fn change() -> ChangeRecord {
    page_with_change(1).changes.remove(0).record
}

#[test]
fn a_retry_makes_comparisons_invalid_before_it_writes() {
    let mut world = with(&[entry("1", &QuarantineReason::Discarded), entry("2", &QuarantineReason::Foreign)]);
    let mark = |world: &World| world.rows.get(&place(&progress::mark_key(&job("moved")))).cloned();
    let before = mark(&world);
    let (done, order) = play(&mut world, retry(), &[]);
    assert_eq!(
        (done.end, order),
        (End::Done, vec!["send".to_owned(), "carry 2".to_owned()]),
        "{}",
        done.text()
    );
    assert_ne!(mark(&world), before);
    assert_eq!((done.counts["released"], done.counts["left"], rows(&world)), (2, 0, Vec::new()));
    assert_eq!(done.next.as_deref(), Some("keyfold retrofit run moved"), "what was written is compared");
}

#[test]
fn entries_that_stay_are_no_success() {
    let mut world = with(&[entry("1", &QuarantineReason::Discarded)]);
    world.releases = false;
    let done = world.drive(retry()).unwrap();
    assert_eq!((done.end, &*done.code), (End::Failed, "quarantine-not-empty"), "{}", done.text());
    assert_eq!((done.counts["released"], done.counts["left"]), (0, 1));
    assert_eq!(world.effects.iter().filter(|effect| **effect == "carry").count(), 1, "no fewer are left");
}

#[test]
fn the_items_of_a_batch_are_in_quarantine_before_its_entry_leaves() {
    let mut world = with(&[batch()]);
    let mut entered = false;
    let mut older = change();
    older.sequence = crate::retrofit::SequenceNumber::parse("4").unwrap();
    let (done, order) = {
        let mut order = Vec::new();
        let outcome = played(&mut world, retry(), |world, _, effect| match effect {
            Effect::ReadBatch(_) => {
                let records = vec![older.clone(), change()];
                Some(Ok(Reply::Batch { lead: Direction::Forward, records }))
            }
            Effect::Carry { job, tasks } => {
                order.push(rows(world).len());
                entered |= rows(world).len() == 2;
                let job = Arc::clone(job);
                Some(Ok(Reply::Results(carry(world, &job, tasks))))
            }
            Effect::DeleteBatch(_) => {
                assert_eq!(
                    rows(world),
                    ["S:1"],
                    "the object goes last: the entry is gone, the item has its own"
                );
                None
            }
            _ => None,
        });
        (outcome, order)
    };
    assert_eq!(done.end, End::Done, "{}", done.text());
    // One record of an item at a time, the entry of the batch, the item.
    assert_eq!((order, entered, rows(&world)), (vec![1, 2, 2, 1], true, Vec::new()));
    assert_eq!((done.counts["batches"], done.counts["records"], done.counts["released"]), (1, 2, 1));
}

#[test]
fn a_batch_that_cannot_be_read_keeps_its_entry_and_holds_nothing_up() {
    let mut world = with(&[batch(), entry("1", &QuarantineReason::Discarded)]);
    let mut carried = 0;
    let done = played(&mut world, retry(), |world, _, effect| match effect {
        Effect::ReadBatch(_) => Some(Err(failure(FailureKind::Other))),
        Effect::Carry { job, tasks } => {
            carried += tasks.len();
            let job = Arc::clone(job);
            Some(Ok(Reply::Results(carry(world, &job, tasks))))
        }
        Effect::DeleteBatch(_) => panic!("it was not read"),
        _ => None,
    });
    assert_eq!((done.end, &*done.code), (End::Failed, "batch-not-read"), "{}", done.text());
    assert!(done.text().contains("--release"), "{}", done.text());
    assert_eq!((carried, done.counts["batchesLeft"], rows(&world).len()), (1, 1, 1));
}

#[test]
fn a_batch_whose_items_are_not_entered_keeps_its_entry() {
    let mut world = with(&[batch()]);
    let done = played(&mut world, retry(), |_, _, effect| match effect {
        Effect::ReadBatch(_) => Some(Ok(Reply::Batch { lead: Direction::Forward, records: vec![change()] })),
        Effect::Carry { tasks, .. } => {
            Some(Ok(Reply::Results(vec![TaskResult::Unrecorded("x".to_owned()); tasks.len()])))
        }
        Effect::DeleteBatch(_) => panic!("its items are nowhere"),
        _ => None,
    });
    assert_eq!((done.end, done.counts["batchesLeft"], rows(&world).len()), (End::Failed, 1, 1));
}

/// After a switch, records of the source are late: they are judged, and no item is read again for them.
#[test]
fn after_a_switch_the_records_of_a_batch_of_the_source_are_judged_as_late() {
    let mut world = reversed();
    world.put(&batch().enter(job("moved").mapping()));
    let (done, _) = play(&mut world, retry(), &[change()]);
    assert_eq!(done.end, End::Done, "{}", done.text());
    assert_eq!((done.counts["records"], rows(&world)), (1, Vec::new()));
    let late = world.rows.keys().filter(|(partition, _)| partition.starts_with("late#")).count();
    assert_eq!(late, 1, "{:?}", world.rows.keys());
    let forward = place(&progress::mark_key(&job("moved")));
    assert!(world.rows.contains_key(&forward), "comparisons of the forward direction are invalid too");
}

#[test]
fn nothing_is_written_for_a_row_that_another_operator_changed() {
    for entries in [vec![entry("1", &QuarantineReason::Discarded)], vec![batch()]] {
        let mut world = with(&entries);
        let done = played(&mut world, retry(), |world, _, effect| {
            match effect {
                // Another operator begins a stop.
                Effect::Send(_) => {
                    let before = world.head();
                    world.put(&before.closing("target-stream").unwrap().store(Some(&before)));
                }
                Effect::ReadBatch(_) => {
                    let records = vec![change()];
                    return Some(Ok(Reply::Batch { lead: Direction::Forward, records }));
                }
                Effect::Carry { .. } => panic!("it is for another phase"),
                _ => {}
            }
            None
        });
        assert_eq!((done.end, &*done.code), (End::Failed, "retrofit-raced"), "{}", done.text());
    }
}

#[test]
fn only_a_comparison_without_differences_answers_an_entry_that_names_no_item() {
    let lost = Quarantined::named("lost", Fence::of_scan(Epoch::FIRST));
    let named = entry("1", &QuarantineReason::Discarded);
    let mut world = with(&[lost.clone(), named.clone()]);
    let (done, _) = play(&mut world, release(), &[]);
    assert_eq!((done.end, done.counts["released"]), (End::Done, 1), "{}", done.text());
    assert_eq!(rows(&world), [&*named.row], "an item is tried again, not forgotten");
    let mut world = with(&[lost]);
    world.rows.retain(|(partition, _), _| !partition.starts_with("segments#"));
    let (refused, order) = play(&mut world, release(), &[]);
    assert_eq!((refused.end, &*refused.code), (End::Refused, "needs-comparison"), "{}", refused.text());
    assert_eq!((order.len(), rows(&world).len()), (0, 1));
}

/// A discard marks comparisons as invalid, then enters its batch. Read the other way round, the former comparison would answer it.
#[test]
fn a_comparison_from_before_an_entry_does_not_answer_it() {
    let mut world = with(&[Quarantined::named("lost", Fence::of_scan(Epoch::FIRST))]);
    let mut arrived = false;
    let done = played(&mut world, release(), |world, _, effect| {
        if let Effect::Page { of: PageSource::Partition(partition), .. } = effect
            && partition.starts_with("quarantine#")
            && !arrived
        {
            arrived = true;
            world.put(&progress::store_mark(&job("moved"), "of a discard"));
            world.put(&batch().enter(job("moved").mapping()));
        }
        None
    });
    assert_eq!((arrived, &*done.code, rows(&world).len()), (true, "needs-comparison", 2), "{}", done.text());
}

#[test]
fn entries_from_before_the_switch_leave_once_both_sides_were_compared() {
    let mut world = reversed();
    world.put(&entry("1", &QuarantineReason::Discarded).enter(job("moved").mapping()));
    let (refused, _) = play(&mut world, release(), &[]);
    assert_eq!(&*refused.code, "needs-comparison");
    world.drive(Command::Run(Run::default())).unwrap();
    let job = world.head().leading_job(&world.mapping).unwrap();
    let start = progress::ComparisonStart {
        mark: world
            .rows
            .get(&place(&progress::mark_key(&job)))
            .and_then(progress::read_mark)
            .unwrap_or_default(),
        version: world.head().version,
        seconds: world.now_ms / 1_000,
    };
    for pass in [crate::retrofit::Pass::VerifySource, crate::retrofit::Pass::VerifyTarget] {
        let begun = crate::retrofit::Checkpoint::start(&job, pass, crate::retrofit::SegmentId::WHOLE);
        let mut slice = crate::retrofit::Slice::from(begun.marked(Some(start.text())));
        slice.page(0, None);
        world.put(&progress::begin_segment(&job, slice.checkpoint()));
    }
    let (done, _) = play(&mut world, release(), &[]);
    assert_eq!((done.end, rows(&world).len()), (End::Done, 0), "{}", done.text());
}

#[test]
fn an_acceptance_is_for_chosen_items_that_are_known_not_to_fit() {
    let (foreign, discarded) =
        (entry("1", &QuarantineReason::Foreign), entry("2", &QuarantineReason::Discarded));
    let mut world = with(&[foreign.clone(), discarded]);
    let notes = |world: &World| world.rows.keys().filter(|(of, _)| of.starts_with("accepted#")).count();
    let unknown = EntrySelection { keys: vec![event("3", "joe")], ..EntrySelection::default() };
    let refused = world.drive(accept(unknown)).unwrap();
    assert_eq!((refused.end, &*refused.code, notes(&world)), (End::Refused, "unknown-entry", 0));
    let other = EntrySelection { code: Some("record-discarded".to_owned()), ..EntrySelection::default() };
    let none = world.drive(accept(other)).unwrap();
    assert_eq!((none.counts["noted"], none.counts["notKnown"], notes(&world)), (0, 1, 0), "{}", none.text());
    let chosen = EntrySelection { keys: vec![foreign.key.clone().unwrap()], ..EntrySelection::default() };
    let done = world.drive(accept(chosen)).unwrap();
    assert_eq!((done.end, done.counts["noted"], notes(&world)), (End::Done, 1, 1), "{}", done.text());
    let note = world.rows.iter().find(|((of, _), _)| of.starts_with("accepted#")).map(|(_, row)| row.clone());
    let by = Acceptance { because: "of a test".to_owned(), by: "ann".to_owned(), at: world.now_ms / 1_000 };
    assert_eq!(foreign.noted(note.as_ref()).accepted, Some(by));
    let reopen = QuarantineAction::Reopen(EntrySelection::default());
    assert_eq!(world.drive(Command::Quarantine(reopen)).unwrap().counts["noted"], 1);
    assert_eq!(notes(&world), 0);
}

#[test]
fn notes_need_no_table() {
    let mut world = with(&[entry("1", &QuarantineReason::Foreign)]);
    world.fails = Some(("describe", u64::MAX, FailureKind::Gone));
    assert_eq!(world.drive(accept(EntrySelection::default())).unwrap().counts["noted"], 1);
    let unknown = Command::Quarantine(QuarantineAction::Forget("x".to_owned()));
    assert_eq!(world.drive(unknown).unwrap().code, "unknown-late-change");
}

#[test]
fn a_late_change_is_forgotten_by_its_name() {
    let mut world = reversed();
    world.put(&batch().enter(job("moved").mapping()));
    play(&mut world, retry(), &[change()]);
    let late = |world: &World| {
        let found = world.rows.keys().find(|(partition, _)| partition.starts_with("late#"));
        found.map(|(_, name)| name.clone())
    };
    let forget = Command::Quarantine(QuarantineAction::Forget(late(&world).unwrap()));
    let done = world.drive(forget).unwrap();
    assert_eq!((done.end, done.counts["lateLeft"], late(&world)), (End::Done, 0, None), "{}", done.text());
}

/// Entries of an earlier start or manifest: their items are carried over by now, and only they close the gate.
#[test]
fn a_run_after_a_new_start_tries_stale_entries_again() {
    let mut world = with(&[entry("1", &QuarantineReason::Foreign)]);
    world.rows.retain(|(partition, _), _| partition.starts_with("quarantine#"));
    let begun = RetrofitState::begun(&world.mapping, Some("source-stream"));
    world.put(&begun.store(None));
    world.put(&begun.to(Phase::Abandoned).unwrap().store(Some(&begun)));
    let (done, order) = play(&mut world, Command::Run(Run::default()), &[]);
    assert_eq!((done.end, rows(&world).len()), (End::Done, 0), "{}", done.text());
    // The row; a mark and the backfill; a mark and the entry; then the comparison, which must not be from before the writes.
    assert_eq!(order, ["send", "send", "send", "carry 1"]);
    // Once the target has writers of its own, a run writes nothing.
    let mut world = reversed();
    let reverse = world.head().reverse_job(&world.mapping).unwrap();
    world.put(&entry("1", &QuarantineReason::Discarded).enter(reverse.mapping()));
    let (_, order) = play(&mut world, Command::Run(Run::default()), &[]);
    assert_eq!(order, [""; 0]);
}

/// One item was in the other's way.
#[test]
fn a_repair_tries_entries_again_as_long_as_fewer_are_left() {
    let mut world =
        with(&[entry("1", &QuarantineReason::Collision), entry("2", &QuarantineReason::Collision)]);
    let mut carried = Vec::new();
    let repair = Command::Run(Run { repair: true, ..Run::default() });
    let done = played(&mut world, repair, |world, _, effect| {
        let Effect::Carry { tasks, .. } = effect else { return None };
        carried.push(tasks.len());
        let first = world.rows.keys().find(|(partition, _)| partition.starts_with("quarantine#")).cloned();
        world.rows.remove(&first.unwrap());
        Some(Ok(Reply::Results(vec![TaskResult::Unchanged; tasks.len()])))
    });
    assert_eq!((done.end, carried), (End::Done, vec![2, 1]), "{}", done.text());
}
