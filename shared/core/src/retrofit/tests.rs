//! Tests of the protocols, one item at a time; the simulator in `testkit` has the histories.

mod fences;
mod leaving;
mod pairs;
mod placeless;

use super::control::{Phase, RetrofitState};
use super::drain::{Newest, Sides};
use super::quarantine::Acceptance;
use super::*;
use crate::index::fixture::item;
use crate::manifest::parse;
use crate::value::{AttributeValue, Item};

const MANIFEST: &str = r#"
[tables.old]
name = "old-events"
partition = "id"
[tables.old.attributes]
id = "string"
resourceId = "string"
accessedBy = "string"

[tables.new]
name = "new-events"
partition = "id"
[tables.new.attributes]
id = "string"
resourceId = "string"
accessedBy = "string"
[tables.new.indexes.byWho]
partition = "{resourceId}-{accessedBy}"

[tables.keyed]
name = "keyed-events"
partition = "{resourceId}-{accessedBy}"
[tables.keyed.attributes]
id = "string"
resourceId = "string"
accessedBy = "string"

[tables.same]
name = "same-events"
partition = "id"
[tables.same.attributes]
id = "string"
resourceId = "string"
accessedBy = "string"
[tables.same.indexes.byWho]
partition = "{resourceId}-{accessedBy}"

[retrofits.moved]
from = "old"
to = "new"

[retrofits.rekeyed]
from = "old"
to = "keyed"

[retrofits.inPlace]
from = "same"
to = "same"
"#;

pub(super) fn job(name: &str) -> Job {
    let parsed = parse("keyfold.toml", MANIFEST);
    let model = parsed.model.unwrap_or_else(|| panic!("{:?}", parsed.diagnostics));
    Job::new(Mapping::of(&model, name).unwrap(), Epoch::FIRST)
}

/// The mapping of this retrofit by a manifest that says something else in one place, or in each of them.
pub(super) fn changed(name: &str, from: &str, to: &str) -> Mapping {
    let text = MANIFEST.replace(from, to);
    assert_ne!(text, MANIFEST, "{from}");
    let parsed = parse("keyfold.toml", &text);
    let model = parsed.model.unwrap_or_else(|| panic!("{:?}", parsed.diagnostics));
    Mapping::of(&model, name).unwrap()
}

pub(super) fn event(id: &str, who: &str) -> Item {
    item(&format!(r#"{{"id":{{"S":"{id}"}},"resourceId":{{"S":"r"}},"accessedBy":{{"S":"{who}"}}}}"#))
}

fn record(sequence: &str, id: &str, new: Option<Item>) -> ChangeRecord {
    ChangeRecord {
        sequence: SequenceNumber::parse(sequence).unwrap(),
        key: item(&format!(r#"{{"id":{{"S":"{id}"}}}}"#)),
        kind: ChangeKind::Modify,
        old: None,
        new,
    }
}

fn write(step: TaskStep) -> Write {
    match step {
        TaskStep::Send(Request::Write(write)) => write,
        other => panic!("{other:?}"),
    }
}

fn put_item(write: &Write) -> &Item {
    match &write.action {
        Action::Put(item) => item,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_manifest_tells_which_protocol_applies() {
    let protocol = |name: &str| job(name).mapping().protocol();
    assert_eq!(
        [protocol("inPlace"), protocol("moved"), protocol("rekeyed")],
        [Protocol::InPlace, Protocol::Fenced, Protocol::Ledger]
    );
    assert_eq!(
        job("rekeyed").mapping().reason().to_string(),
        "the target's key contains `resourceId`, which can change"
    );
}

#[test]
fn an_attribute_that_takes_the_place_of_a_key_makes_the_key_one_that_can_change() {
    let protocol = |rename: &str| {
        let text = MANIFEST.replace("to = \"new\"\n", &format!("to = \"new\"\nrename = {rename}\n"));
        let parsed = parse("keyfold.toml", &text);
        let model = parsed.model.unwrap_or_else(|| panic!("{:?}", parsed.diagnostics));
        let mapping = Mapping::of(&model, "moved").unwrap();
        (mapping.protocol(), mapping.reason().to_string())
    };
    let (found, why) = protocol("{ other = \"id\" }");
    assert_eq!((found, why.as_str()), (Protocol::Ledger, "the target's key contains `id`, which can change"));
    assert_eq!(protocol("{ other = \"resourceId\" }").0, Protocol::Fenced);
}

#[test]
fn a_retrofit_begins_only_apart_from_others_and_above_what_they_left() {
    let (moved, rekeyed, in_place) = (job("moved"), job("rekeyed"), job("inPlace"));
    let text = MANIFEST.replace(
        "[retrofits.rekeyed]",
        "[retrofits.again]\nfrom = \"old\"\nto = \"new\"\n\n[retrofits.rekeyed]",
    );
    let again = Mapping::of(&parse("keyfold.toml", &text).model.unwrap(), "again").unwrap();
    let head = RetrofitState::started(moved.mapping(), Some("stream-1"));
    let code = |head: &RetrofitState, other: &Mapping| {
        head.check_apart(moved.mapping(), other).err().map(|error| error.code())
    };
    assert_eq!(code(&head, &again), Some("target-shared"));
    assert_eq!(code(&head, rekeyed.mapping()), None, "another target");
    assert_eq!(code(&head, moved.mapping()), None, "itself");
    let given_up = RetrofitState { epoch: Epoch::new(2).unwrap(), phase: Phase::Abandoned, ..head };
    assert_eq!(code(&given_up, &again), None);
    let started = |job: &Job| RetrofitState::started(job.mapping(), Some("stream-1"));
    let after = |job: &Job, others: &[RetrofitState], traces: bool| {
        started(job).after(others, traces.then(|| "items".to_owned())).map(|head| head.epoch.number())
    };
    assert_eq!(after(&moved, &[], false), Ok(1));
    assert_eq!(after(&moved, std::slice::from_ref(&given_up), true), Ok(3), "older fences give way");
    let lost = |job: &Job, others: &[RetrofitState]| after(job, others, true).unwrap_err().code();
    assert_eq!(lost(&moved, &[]), "control-row-lost", "not at epoch 1 under items of epoch 2");
    assert_eq!(lost(&rekeyed, &[given_up]), "control-row-lost");
    assert_eq!(after(&in_place, &[], false), Ok(1));
}

#[test]
fn after_the_cut_over_neither_a_backfill_nor_a_repair_may_write() {
    for (name, open) in [("moved", false), ("rekeyed", false), ("inPlace", true)] {
        let job = job(name);
        let head = RetrofitState::started(job.mapping(), Some("stream-1"));
        assert_eq!(head.check_filling(job.mapping()), Ok(()));
        let over = RetrofitState { phase: Phase::CutOver, ..head };
        assert_eq!(over.check_open(job.mapping()), Ok(()), "the stream is still followed");
        assert_eq!(over.check_filling(job.mapping()).is_ok(), open, "{name}");
    }
}

#[test]
fn a_record_goes_through_only_over_an_older_fence() {
    let job = job("moved");
    let mut task = job.apply(&record("800", "1", Some(event("1", "joe"))));
    let write = write(task.start(&job));
    let stored = |sequence: &str| {
        let mut there = event("1", "sam");
        let fence = Fence::of_record(Epoch::FIRST, SequenceNumber::parse(sequence).unwrap());
        there.insert(attributes::FENCE_ATTRIBUTE.to_owned(), fence.value());
        there
    };
    assert!(write.guard.holds(None) && write.guard.holds(Some(&stored("63"))));
    assert!(!write.guard.holds(Some(&stored("800"))) && !write.guard.holds(Some(&stored("6300"))));
    assert!(!write.guard.holds(Some(&event("1", "sam"))), "another program's item is left alone");
    assert_eq!(put_item(&write)["byWho_pk"], AttributeValue::S("r-joe".to_owned()));
    assert_eq!(task.respond(&job, Response::Written), TaskStep::Done(TaskResult::Written));
}

#[test]
fn a_delete_leaves_a_tombstone() {
    let job = job("moved");
    let write = write(job.apply(&record("5", "1", None)).start(&job));
    let item = put_item(&write);
    assert_eq!(item[attributes::TOMBSTONE_ATTRIBUTE], AttributeValue::Bool(true));
    assert_eq!((item["id"].clone(), item.len()), (AttributeValue::S("1".to_owned()), 3));
}

#[test]
fn a_scan_writes_only_where_nothing_is() {
    let job = job("moved");
    let mut task = job.backfill(event("1", "joe"), false);
    assert_eq!(write(task.start(&job)).guard, Guard::Absent);
    assert_eq!(
        task.respond(&job, Response::Refused(ItemSeen::Unknown)),
        TaskStep::Done(TaskResult::Superseded)
    );
}

#[test]
fn an_item_that_cannot_be_mapped_goes_into_quarantine_with_its_key_and_sequence() {
    let job = job("moved");
    let mut bad = event("1", "joe");
    bad.insert("accessedBy".to_owned(), AttributeValue::N("1".to_owned()));
    let mut task = job.apply(&record("5", "1", Some(bad)));
    assert!(matches!(task.start(&job), TaskStep::Send(Request::Get { role: TableRole::Target, .. })));
    let write = write(task.respond(&job, Response::Item(None)));
    let entry = Quarantined::read(put_item(&write)).unwrap();
    assert_eq!((write.role, entry.code.as_str()), (TableRole::Control, "item-key-not-foldable"));
    assert_eq!(entry.key.as_ref(), Some(task.key()));
    let verdict = TaskResult::Quarantined("item-key-not-foldable".to_owned());
    assert_eq!(task.respond(&job, Response::Written), TaskStep::Done(verdict));
}

/// A stream that is read from its oldest record again has records that did not fit, and were mended since.
#[test]
fn a_record_that_does_not_fit_and_is_superseded_does_not_enter_the_quarantine() {
    let mut bad = event("1", "joe");
    bad.insert("accessedBy".to_owned(), AttributeValue::N("1".to_owned()));
    for name in ["moved", "rekeyed"] {
        let job = job(name);
        let fence = |sequence| Fence::of_record(Epoch::FIRST, SequenceNumber::parse(sequence).unwrap());
        for (known, superseded) in [("5", true), ("6", true), ("4", false)] {
            let mut task = job.apply(&record("5", "1", Some(bad.clone())));
            let TaskStep::Send(Request::Get { key, .. }) = task.start(&job) else { panic!("it looks first") };
            let mut there = key;
            for name in [attributes::FENCE_ATTRIBUTE, control::FENCE] {
                there.insert(name.to_owned(), fence(known).value());
            }
            let step = task.respond(&job, Response::Item(Some(there)));
            assert_eq!(step == TaskStep::Done(TaskResult::Superseded), superseded, "{name}, {known}");
        }
    }
}

#[test]
fn a_repair_writes_only_over_what_it_read_and_frees_the_item() {
    let job = job("moved");
    let key = record("5", "1", None).key;
    let fence = Fence::of_record(Epoch::FIRST, SequenceNumber::parse("5").unwrap());
    let source = SourceKey::of(job.mapping().source(), &key).unwrap();
    let entry = Quarantined::item(&key, &source, &QuarantineReason::Discarded, fence.clone());
    let mut task = job.release(&entry).unwrap();
    assert!(matches!(task.start(&job), TaskStep::Send(Request::Get { role: TableRole::Target, .. })));
    assert!(matches!(
        task.respond(&job, Response::Item(None)),
        TaskStep::Send(Request::Get { role: TableRole::Source, .. })
    ));
    let [put, _] = transaction(task.respond(&job, Response::Item(Some(event("1", "joe")))));
    assert_eq!((&put.guard, &put_item(&put)[attributes::FENCE_ATTRIBUTE]), (&Guard::Absent, &fence.value()));
    let leave = write(task.respond(&job, Response::Written));
    assert_eq!((leave.role, leave.guard), (TableRole::Control, Guard::equals(control::FENCE, fence.value())));
    assert_eq!(task.respond(&job, Response::Written), TaskStep::Done(TaskResult::Written));
}

#[test]
fn a_move_changes_ledger_and_both_places_at_once() {
    let job = job("rekeyed");
    let mut task = job.apply(&record("9", "1", Some(event("1", "sam"))));
    assert!(matches!(task.start(&job), TaskStep::Send(Request::Get { role: TableRole::Control, .. })));
    let mut first = job.backfill(event("1", "joe"), false);
    let TaskStep::Send(Request::Transact(writes)) = first.start(&job) else { panic!() };
    let row = put_item(&writes[0]).clone();
    let TaskStep::Send(Request::Transact(writes)) = task.respond(&job, Response::Item(Some(row))) else {
        panic!()
    };
    let places: Vec<_> = writes.iter().map(|write| write.role).collect();
    assert_eq!(places, [TableRole::Control, TableRole::Target, TableRole::Target, TableRole::Control]);
    assert!(
        matches!(&writes[1].action, Action::Delete(key) if key["pk"] == AttributeValue::S("r-joe".to_owned()))
    );
    assert_eq!(put_item(&writes[2])[attributes::OWNER_ATTRIBUTE], AttributeValue::S("S:1".to_owned()));
    // Another item is there: the old place is left first.
    let released = task.respond(&job, Response::Cancelled(vec![true, true, false, true]));
    assert!(matches!(released, TaskStep::Send(Request::Transact(writes)) if writes.len() == 2));
    assert!(matches!(task.respond(&job, Response::Written), TaskStep::Send(Request::Transact(_))));
    let blocked = task.respond(&job, Response::Cancelled(vec![true, false, true]));
    assert_eq!(blocked, TaskStep::Done(TaskResult::Blocked));
    let TaskStep::Send(Request::Transact(writes)) = task.park(&job) else { panic!() };
    assert_eq!(Quarantined::read(put_item(&writes[1])).unwrap().code, "target-key-collision");
}

#[test]
fn keys_are_set_in_place_where_their_inputs_are_as_read() {
    let job = job("inPlace");
    let mut task = job.backfill(event("1", "joe"), false);
    let first = write(task.start(&job));
    assert!(first.guard.holds(Some(&event("1", "joe"))));
    assert!(!first.guard.holds(Some(&event("1", "sam"))) && !first.guard.holds(None));
    let changed = Response::Refused(ItemSeen::Item(Box::new(event("1", "sam"))));
    let Action::Update { set, .. } = write(task.respond(&job, changed)).action else { panic!() };
    assert_eq!(set, [("byWho_pk".into(), AttributeValue::S("r-sam".to_owned()))]);
    assert_eq!(
        task.respond(&job, Response::Refused(ItemSeen::Nothing)),
        TaskStep::Done(TaskResult::Unchanged)
    );
}

#[test]
fn only_the_newest_record_of_an_item_is_applied() {
    let job = job("moved");
    let records = vec![
        record("1", "a", Some(event("a", "x"))),
        record("2", "b", Some(event("b", "x"))),
        record("3", "a", None),
        record("1", "a", Some(event("a", "x"))),
    ];
    let mut records: Vec<Received> = records.into_iter().map(Into::into).collect();
    let mut batch = Batch::of(&job, &mut records);
    assert_eq!((batch.open(), batch.covered()), (vec![1, 2], 2));
    batch.ended(1, Disposition::Done(TaskResult::Written));
    batch.ended(2, Disposition::Failed);
    assert_eq!(
        batch.failed(),
        [0, 2, 3],
        "the earlier ones of an item fail with the record that represents them"
    );
}

#[test]
fn a_record_that_cannot_be_read_is_quarantined_with_what_is_known_of_it() {
    let job = job("moved");
    let entry = |sequence: Option<&str>, key: Option<Item>| {
        let sequence = sequence.map(|text| SequenceNumber::parse(text).unwrap());
        let record = UnreadableRecord { sequence, key, name: "event-7".to_owned() };
        Quarantined::read(put_item(&write(job.unreadable(&record).start(&job)))).unwrap()
    };
    let key = record("5", "1", None).key;
    let known = entry(Some("5"), Some(key.clone()));
    let fence = Fence::of_record(Epoch::FIRST, SequenceNumber::parse("5").unwrap());
    assert_eq!((known.key, known.row.as_str(), &known.fence), (Some(key.clone()), "S:1", &fence));
    assert_eq!(known.code, "record-unreadable");
    assert_eq!(entry(Some("5"), None).row, format!("record:{fence}"));
    assert_eq!(entry(None, Some(key)).fence, Fence::of_scan(Epoch::FIRST));
    assert_eq!(entry(None, None).row, "record:event-7");
}

#[test]
fn a_record_that_cannot_be_read_stands_for_itself_in_a_batch() {
    let job = job("moved");
    let key = record("5", "a", None).key;
    let unreadable = UnreadableRecord { sequence: None, key: Some(key), name: String::new() };
    let mut records = vec![
        Received::Change(record("1", "a", None)),
        Received::Unreadable(unreadable),
        Received::Change(record("2", "a", None)),
    ];
    let mut batch = Batch::of(&job, &mut records);
    assert_eq!(batch.open(), [1, 2]);
    batch.ended(2, Disposition::Done(TaskResult::Written));
    assert_eq!(batch.failed(), [1]);
}

#[test]
fn finalising_takes_off_what_was_kept_on_items() {
    let job = job("moved");
    let target = job.mapping().target();
    let put = write(job.apply(&record("5", "1", Some(event("1", "joe")))).start(&job));
    let cleaned = finalise::clean(target, put_item(&put)).unwrap();
    assert!(
        matches!(&cleaned.action, Action::Update { remove, .. } if *remove == [attributes::FENCE_ATTRIBUTE])
    );
    assert!(cleaned.guard.holds(Some(put_item(&put))));
    let dead = write(job.apply(&record("5", "1", None)).start(&job));
    assert!(matches!(finalise::clean(target, put_item(&dead)).unwrap().action, Action::Delete(_)));
    assert_eq!(finalise::clean(target, &event("1", "joe")), None);
}

#[test]
fn a_retrofit_survives_a_change_of_the_manifest_that_alters_no_byte_and_no_other() {
    let mapping =
        |manifest: &str| Mapping::of(&parse("keyfold.toml", manifest).model.unwrap(), "moved").unwrap();
    let same = mapping(MANIFEST);
    let grown = mapping(&MANIFEST.replace("\"new-events\"", "\"new-events\"\nexpect = { items = 9 }"));
    let other = mapping(&MANIFEST.replace("{resourceId}-{accessedBy}", "{resourceId}/{accessedBy}"));
    let head = RetrofitState::started(&same, Some("stream-1"));
    assert_eq!((head.check_open(&same), head.check_open(&grown)), (Ok(()), Ok(())));
    assert_eq!(head.check(&other).unwrap_err().code(), "mapping-changed");

    let made = Checkpoint::start(&job("moved"), Pass::Backfill, SegmentId::WHOLE).json();
    let resumed = |mapping| {
        let job = Job::new(mapping, Epoch::FIRST);
        Checkpoint::resume(&made, &job, Pass::Backfill, SegmentId::WHOLE)
    };
    assert!(resumed(grown).is_ok());
    assert_eq!(resumed(other).unwrap_err().code(), "mapping-changed");
}

/// The job of a retrofit with fences that keeps versions there.
fn keeping(tracking: Tracking) -> Job {
    job("moved").tracked_by(tracking)
}

/// Answers the reads of row, target and source; what is sent then.
fn after_reads(
    job: &Job,
    task: &mut ItemTask,
    row: Option<&Item>,
    target: Option<&Item>,
    source: Option<&Item>,
) -> TaskStep {
    let mut step = task.start(job);
    for (role, item) in [(TableRole::Control, row), (TableRole::Target, target), (TableRole::Source, source)]
    {
        match &step {
            TaskStep::Send(Request::Get { role: asked, .. }) => assert_eq!(*asked, role, "in this order"),
            _ => return step,
        }
        step = task.respond(job, Response::Item(item.cloned()));
    }
    step
}

/// The two writes of a transaction.
fn transaction(step: TaskStep) -> [Write; 2] {
    match step {
        TaskStep::Send(Request::Transact(writes)) => writes.try_into().unwrap(),
        other => panic!("{other:?}"),
    }
}

fn fence(sequence: &str) -> Fence {
    Fence::of_record(Epoch::FIRST, SequenceNumber::parse(sequence).unwrap())
}

/// A target item with this fence.
fn fenced(item: Item, sequence: &str) -> Item {
    let mut item = item;
    item.insert(attributes::FENCE_ATTRIBUTE, fence(sequence).value());
    item
}

/// The row of item 1 with this fence, as a task leaves it.
fn row(sequence: &str) -> Item {
    let job = keeping(Tracking::Rows);
    let mut task = job.apply(&record(sequence, "1", None));
    let [row, _] = transaction(after_reads(&job, &mut task, None, None, None));
    put_item(&row).clone()
}

#[test]
fn with_rows_the_state_of_the_source_is_written_and_not_the_records() {
    let job = keeping(Tracking::TombstonesAndRows);
    let mut task = job.apply(&record("5", "1", Some(event("1", "joe"))));
    let [row, target] = transaction(after_reads(&job, &mut task, None, None, Some(&event("1", "sam"))));
    assert_eq!((row.role, &row.guard), (TableRole::Control, &Guard::Absent));
    assert_eq!(put_item(&row)[control::FENCE], fence("5").value());
    assert_eq!((target.role, &target.guard), (TableRole::Target, &Guard::Absent));
    assert_eq!(put_item(&target)["byWho_pk"], AttributeValue::S("r-sam".to_owned()));
    assert_eq!(task.respond(&job, Response::Written), TaskStep::Done(TaskResult::Written));
}

#[test]
fn a_delete_leaves_a_tombstone_while_tidying_and_nothing_once_tidy() {
    let there = fenced(event("1", "joe"), "3");
    let of = |kept| {
        let job = keeping(kept);
        let mut task = job.apply(&record("5", "1", None));
        transaction(after_reads(&job, &mut task, Some(&row("3")), Some(&there), None))
    };
    let [row, tombstone] = of(Tracking::TombstonesAndRows);
    let removed = &put_item(&row)[control::REMOVED];
    assert_eq!(*removed, fence("5").value(), "the sweep deletes the tombstone, not the item before it");
    assert!(put_item(&tombstone).contains_key(attributes::TOMBSTONE_ATTRIBUTE));
    let [row, delete] = of(Tracking::Rows);
    assert!(matches!(delete.action, Action::Delete(_)));
    for (write, attribute) in [
        (&row, control::FENCE),
        (&delete, attributes::FENCE_ATTRIBUTE),
        (&tombstone, attributes::FENCE_ATTRIBUTE),
    ] {
        assert_eq!(write.guard, Guard::equals(attribute, fence("3").value()), "only what was read");
    }
}

#[test]
fn what_the_retrofit_did_not_write_last_gets_a_fence_before_it_is_deleted() {
    let job = keeping(Tracking::Rows).by_rows_alone();
    let bare = event("1", "joe");
    let (copied, other) = (fenced(bare.clone(), "2"), fenced(bare.clone(), "3"));
    let mut unreadable = bare.clone();
    unreadable.insert(attributes::FENCE_ATTRIBUTE.to_owned(), AttributeValue::S("mine".to_owned()));
    for (there, known) in [(&bare, None), (&bare, Some("3")), (&copied, Some("3")), (&unreadable, Some("3"))]
    {
        let mut task = job.apply(&record("5", "1", None));
        let known = known.map(row);
        let [row, given] = transaction(after_reads(&job, &mut task, known.as_ref(), Some(there), None));
        let fence = Fence::read(&put_item(&row)[control::FENCE]).unwrap();
        assert!(fence < self::fence("5"), "the record is still to be carried over");
        assert!(known.is_none_or(|known| fence > Fence::read(&known[control::FENCE]).unwrap()), "it rises");
        assert_eq!(put_item(&given)[attributes::FENCE_ATTRIBUTE], fence.value());
        assert!(
            mapping::same_item(put_item(&given), there, &attributes::OWN_ATTRIBUTES),
            "nothing else changes"
        );
        assert!(given.guard.holds(Some(there)), "only as it was read");
        assert!(!given.guard.holds(Some(&other)) && !given.guard.holds(None));

        let [row, delete] = transaction(task.respond(&job, Response::Written));
        assert!(matches!(delete.action, Action::Delete(_)));
        for (write, attribute) in [(&row, control::FENCE), (&delete, attributes::FENCE_ATTRIBUTE)] {
            assert_eq!(write.guard, Guard::equals(attribute, fence.value()), "nobody wrote meanwhile");
        }
        assert_eq!(put_item(&row)[control::REMOVED], fence.value());
        assert_eq!(put_item(&row)[control::FENCE], self::fence("5").value());
        assert_eq!(task.respond(&job, Response::Written), TaskStep::Done(TaskResult::Written));
    }
}

#[test]
fn an_item_is_out_only_if_it_does_not_fit_and_nothing_is_in_its_place() {
    let job = keeping(Tracking::Rows);
    let joe = event("1", "joe");
    let mut odd = joe.clone();
    odd.insert("accessedBy".to_owned(), AttributeValue::N("1".to_owned()));
    let is_out = |source, target| job.is_out(Sides { row: None, source, target });
    assert!(is_out(Some(&odd), None));
    assert!(!is_out(Some(&odd), Some(&joe)), "readers would meet what it was before");
    assert!(!is_out(Some(&joe), None) && !is_out(None, None));
}

#[test]
fn an_acceptance_counts_for_the_newest_change_once_that_was_looked_at() {
    let job = keeping(Tracking::Rows);
    let key = record("5", "1", None).key;
    let source = SourceKey::of(job.mapping().source(), &key).unwrap();
    let mut entry = Quarantined::item(&key, &source, &QuarantineReason::Foreign, fence("5"));
    let newest =
        |sequence| Newest { sequence: SequenceNumber::parse(sequence).unwrap(), may_lack_row: false };
    assert!(!job.is_accepted(&entry, Some(&newest("5"))), "nobody accepted it");
    entry.accepted = Some(Acceptance { because: "old".to_owned(), by: "ann".to_owned(), at: 1 });
    assert!(job.is_accepted(&entry, Some(&newest("5"))) && job.is_accepted(&entry, None));
    assert!(!job.is_accepted(&entry, Some(&newest("6"))), "it may not fit for another reason by now");
}

#[test]
fn of_row_and_item_the_newer_fence_counts() {
    let job = keeping(Tracking::Rows);
    let there = |sequence| fenced(event("1", "joe"), sequence);
    for (known, target) in [
        (Some(row("5")), Some(there("3"))),
        (Some(row("3")), Some(there("5"))),
        (Some(row("5")), None),
        (None, Some(there("5"))),
    ] {
        for sequence in ["4", "5"] {
            let mut late = job.apply(&record(sequence, "1", Some(event("1", "old"))));
            let ended = after_reads(&job, &mut late, known.as_ref(), target.as_ref(), None);
            assert_eq!(ended, TaskStep::Done(TaskResult::Superseded));
        }
        let mut next = job.apply(&record("6", "1", None));
        transaction(after_reads(&job, &mut next, known.as_ref(), target.as_ref(), None));
    }
}

#[test]
fn a_record_that_finds_nothing_to_do_leaves_its_row_all_the_same() {
    let job = keeping(Tracking::Rows);
    let mut task = job.apply(&record("5", "1", None));
    let [row, target] = transaction(after_reads(&job, &mut task, None, None, None));
    assert_eq!(put_item(&row)[control::FENCE], fence("5").value());
    assert!(matches!(target.action, Action::Delete(_)));
    assert_eq!(target.guard, Guard::Absent, "nothing must have come there since");
    let begins_anew = task.respond(&job, Response::Cancelled(vec![false, true]));
    assert!(matches!(begins_anew, TaskStep::Send(Request::Get { role: TableRole::Control, .. })));
}

#[test]
fn with_rows_a_scan_and_a_repair_go_the_same_way() {
    let job = keeping(Tracking::Rows);
    let scan = |known: Option<&Item>, target: Option<&Item>, source: Option<&Item>| {
        after_reads(&job, &mut job.backfill(event("1", "old"), false), known, target, source)
    };
    let [_, target] = transaction(scan(None, None, Some(&event("1", "sam"))));
    assert_eq!(put_item(&target)["byWho_pk"], AttributeValue::S("r-sam".to_owned()));
    assert_eq!(scan(Some(&row("1")), None, None), TaskStep::Done(TaskResult::Superseded));
    assert_eq!(scan(None, None, None), TaskStep::Done(TaskResult::NotSelected));
    let key = record("5", "1", None).key;
    let repair = |known: Option<&Item>, target: Option<&Item>, source: Option<&Item>| {
        after_reads(&job, &mut job.repair(&key), known, target, source)
    };
    let joe = fenced(job.mapping().target_item(&event("1", "joe")).unwrap().unwrap(), "5");
    let unchanged = TaskStep::Done(TaskResult::Unchanged);
    assert_eq!(repair(Some(&row("5")), Some(&joe), Some(&event("1", "joe"))), unchanged);
    assert_eq!(repair(Some(&row("5")), None, None), unchanged);
    let [row, target] = transaction(repair(Some(&row("5")), Some(&joe), None));
    assert_eq!(put_item(&row)[control::FENCE], fence("5").repaired().value());
    assert!(matches!(target.action, Action::Delete(_)));
    let foreign = repair(None, Some(&event("1", "sam")), None);
    let TaskStep::Send(Request::Write(entry)) = foreign else { panic!("{foreign:?}") };
    assert_eq!(Quarantined::read(put_item(&entry)).unwrap().code, "target-item-foreign");
}

#[test]
fn an_item_is_written_once_more_where_it_is_right_and_only_where_it_is() {
    let job = keeping(Tracking::Rows);
    let joe = event("1", "joe");
    let right = fenced(job.mapping().target_item(&joe).unwrap().unwrap(), "5");
    let rewrite = |target: Option<&Item>, source| {
        let mut task = job.rewrite(&right).unwrap();
        after_reads(&job, &mut task, Some(&row("5")), target, source)
    };
    let [row, target] = transaction(rewrite(Some(&right), Some(&joe)));
    for (write, attribute) in [(&row, control::FENCE), (&target, attributes::FENCE_ATTRIBUTE)] {
        assert_eq!(write.guard, Guard::equals(attribute, fence("5").value()), "only what was read");
    }
    assert_eq!(put_item(&row)[control::FENCE], fence("5").repaired().value());
    assert_eq!(put_item(&target)[attributes::FENCE_ATTRIBUTE], fence("5").repaired().value());
    assert!(
        mapping::same_item(put_item(&target), &right, &attributes::OWN_ATTRIBUTES),
        "nothing else changes"
    );
    assert_eq!(rewrite(None, None), TaskStep::Done(TaskResult::Unchanged), "there is nothing to be shown");
    // Its owner is unknown.
    assert_eq!(job.rewrite(&joe), None);
}

#[test]
fn a_head_that_keeps_rows_never_takes_that_back() {
    let job = job("moved");
    let started = RetrofitState::started(job.mapping(), Some("stream-1"));
    let stored = |head: &RetrofitState| match head.store(None).action {
        Action::Put(row) => row,
        other => panic!("{other:?}"),
    };
    let tidying = started.to(Phase::Tidying).unwrap();
    let tidy = tidying.to(Phase::Tidy).unwrap().effective_since(7);
    let over = tidy.swept().to(Phase::CutOver).unwrap();
    let back = over.to(Phase::Tidy).unwrap();
    let kept = [&started, &tidying, &tidy, &over, &back].map(RetrofitState::tracking);
    let (first, both, rows) = (Tracking::Tombstones, Tracking::TombstonesAndRows, Tracking::Rows);
    assert_eq!(kept, [first, both, rows, rows, rows]);
    assert_eq!((back.phase, back.leaves_tombstones()), (Phase::Tidy, false));
    assert_eq!(over.to(Phase::Running).unwrap_err().code(), "wrong-phase");
    for head in [&tidying, &tidy, &over, &back] {
        let row = stored(head);
        assert_eq!(RetrofitState::read("moved", Some(&row)).as_ref(), Ok(head));
        assert_eq!(head.job(job.mapping().clone()).tracking(), head.tracking());
    }
    let in_place = RetrofitState::started(self::job("inPlace").mapping(), Some("stream-1"));
    for phase in [Phase::Tidying, Phase::Tidy] {
        assert_eq!(in_place.to(phase).unwrap_err().code(), "nothing-to-tidy");
    }
    assert_eq!(tidying.check_filling(job.mapping()), Ok(()));
    let next = tidy.restarted(job.mapping(), Some("stream-2"), None).unwrap();
    assert_eq!((next.epoch.number(), next.phase, next.keeps_rows()), (2, Phase::Tidy, true));
}

#[test]
fn a_ledger_is_tidied_without_tombstones_and_asks_for_its_seal_from_then_on() {
    let job = job("rekeyed");
    let started = RetrofitState::started(job.mapping(), Some("stream-1"));
    assert_eq!(started.to(Phase::Tidying).unwrap_err().code(), "wrong-phase");
    let tidy = started.to(Phase::Tidy).unwrap();
    assert!(tidy.is_tidying() && !tidy.swept().is_tidying() && !tidy.leaves_tombstones());
    let Action::Put(row) = tidy.store(None).action else { panic!() };
    assert_eq!(RetrofitState::read("rekeyed", Some(&row)), Ok(tidy.clone()));
    let sequence = SequenceNumber::parse("5").unwrap();
    let may_lack_row = |head: &RetrofitState| Newest::of(head, sequence.clone(), 0).may_lack_row;
    assert!(
        may_lack_row(&RetrofitState::started(self::job("moved").mapping(), None)) && !may_lack_row(&tidy)
    );
    let first = |head: &RetrofitState| {
        let job = head.job(job.mapping().clone());
        let mut task = job.apply(&record("5", "1", Some(event("1", "joe"))));
        let mut step = task.start(&job);
        let mut reads = 0;
        loop {
            let found = match step {
                TaskStep::Send(Request::Get { role: TableRole::Source, .. }) => Some(event("1", "joe")),
                TaskStep::Send(Request::Get { .. }) => None,
                TaskStep::Send(Request::Transact(writes)) => return (task, job, writes, reads),
                other => panic!("{other:?}"),
            };
            reads += 1;
            step = task.respond(&job, Response::Item(found));
        }
    };
    // Rows of both keys and the item; then also the seal. Before, only the row is read.
    let (_, _, before, reads_before) = first(&started);
    let (mut task, job, writes, reads) = first(&tidy);
    assert_eq!((before.len(), writes.len()), (3, 4));
    assert_eq!((reads_before, reads), (1, 4));
    assert!(matches!(writes[3].action, Action::Delete(_)) && writes[3].guard == Guard::Absent);
    // Sealed: a worker that knows the next generation repeats it. Otherwise only what did not hold is looked at again.
    let sealed = task.clone().respond(&job, Response::Cancelled(vec![true, true, true, false]));
    assert_eq!(sealed, TaskStep::Done(TaskResult::Busy));
    // It has no entry of the quarantine that could be the reason.
    let replaced = task.clone().respond(&job, Response::Cancelled(vec![true, true, false, true]));
    assert!(matches!(replaced, TaskStep::Send(Request::Get { .. })));
    let again = task.respond(&job, Response::Cancelled(vec![false, true, true, true]));
    assert!(matches!(again, TaskStep::Send(Request::Get { .. })));
}

#[test]
fn the_sweep_takes_tombstones_only_and_only_as_they_were_read() {
    let job = job("moved");
    let target = job.mapping().target();
    let write = write(job.apply(&record("5", "1", None)).start(&job));
    let dead = put_item(&write);
    let sweep = finalise::sweep(target, dead).unwrap();
    assert!(matches!(sweep.action, Action::Delete(_)));
    assert!(sweep.guard.holds(Some(dead)) && !sweep.guard.holds(None));
    let with = |name: &str, value: AttributeValue| {
        let mut item = dead.clone();
        item.insert(name, value);
        item
    };
    assert!(!sweep.guard.holds(Some(&with(attributes::FENCE_ATTRIBUTE, fence("6").value()))), "newer by now");
    assert!(!sweep.guard.holds(Some(&with("accessedBy", AttributeValue::S("app".to_owned())))));
    let mut unmarked = dead.clone();
    unmarked.remove(attributes::TOMBSTONE_ATTRIBUTE);
    assert!(!sweep.guard.holds(Some(&unmarked)), "an item by now");
    assert_eq!(finalise::sweep(target, &unmarked), None, "an item keeps its fence");
    let revived = with("v", AttributeValue::S("app".to_owned()));
    let Action::Update { remove, set, .. } = finalise::sweep(target, &revived).unwrap().action else {
        panic!()
    };
    assert_eq!((remove.len(), set.len()), (2, 0), "it keeps its data, and its marks come off");
}
