//! Tests of the protocols, one item at a time; the simulator in `testkit` has the histories.

use super::control::{Head, Phase};
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

fn event(id: &str, who: &str) -> Item {
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
    let head = Head::begun(moved.mapping(), Some("stream-1"));
    let code = |head: &Head, other: &Mapping| {
        head.check_apart(moved.mapping(), other).err().map(|error| error.code())
    };
    assert_eq!(code(&head, &again), Some("target-shared"));
    assert_eq!(code(&head, rekeyed.mapping()), None, "another target");
    assert_eq!(code(&head, moved.mapping()), None, "itself");
    let given_up = Head { epoch: Epoch::new(2).unwrap(), phase: Phase::Abandoned, ..head };
    assert_eq!(code(&given_up, &again), None);
    let begun = |job: &Job| Head::begun(job.mapping(), Some("stream-1"));
    let after = |job: &Job, others: &[Head], traces: bool| {
        begun(job).after(others, traces.then(|| "items".to_owned())).map(|head| head.epoch.number())
    };
    assert_eq!(after(&moved, &[], false), Ok(1));
    assert_eq!(after(&moved, std::slice::from_ref(&given_up), true), Ok(3), "older fences give way");
    let lost = |job: &Job, others: &[Head]| after(job, others, true).unwrap_err().code();
    assert_eq!(lost(&moved, &[]), "control-row-lost", "not at epoch 1 under items of epoch 2");
    assert_eq!(lost(&rekeyed, &[given_up]), "control-row-lost");
    assert_eq!(after(&in_place, &[], false), Ok(1));
}

#[test]
fn after_the_cut_over_neither_a_backfill_nor_a_repair_may_write() {
    for (name, open) in [("moved", false), ("rekeyed", false), ("inPlace", true)] {
        let job = job(name);
        let head = Head::begun(job.mapping(), Some("stream-1"));
        assert_eq!(head.check_filling(job.mapping()), Ok(()));
        let over = head.to(Phase::CutOver).unwrap();
        assert_eq!(over.check_open(job.mapping()), Ok(()), "the stream is still followed");
        assert_eq!(over.check_filling(job.mapping()).is_ok(), open, "{name}");
        assert_eq!(over.to(Phase::Running).unwrap().check_filling(job.mapping()), Ok(()));
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
        there.insert(mapping::FENCE_ATTRIBUTE.to_owned(), fence.value());
        there
    };
    assert!(write.guard.holds(None) && write.guard.holds(Some(&stored("63"))));
    assert!(!write.guard.holds(Some(&stored("800"))) && !write.guard.holds(Some(&stored("6300"))));
    assert!(!write.guard.holds(Some(&event("1", "sam"))), "an item of somebody else is left alone");
    assert_eq!(put_item(&write)["byWho_pk"], AttributeValue::S("r-joe".to_owned()));
    assert_eq!(task.respond(&job, Response::Written), TaskStep::Done(TaskResult::Written));
}

#[test]
fn a_delete_leaves_a_tombstone() {
    let job = job("moved");
    let write = write(job.apply(&record("5", "1", None)).start(&job));
    let item = put_item(&write);
    assert_eq!(item[mapping::TOMBSTONE_ATTRIBUTE], AttributeValue::Bool(true));
    assert_eq!((item["id"].clone(), item.len()), (AttributeValue::S("1".to_owned()), 3));
}

#[test]
fn a_scan_writes_only_where_nothing_is() {
    let job = job("moved");
    let mut task = job.backfill(&event("1", "joe"), false);
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
    let write = write(task.start(&job));
    let entry = Quarantined::read(put_item(&write)).unwrap();
    assert_eq!((write.place, entry.code.as_str()), (TableRole::Control, "item-key-not-foldable"));
    assert_eq!(entry.key.as_ref(), Some(task.key()));
    let verdict = TaskResult::Quarantined("item-key-not-foldable".to_owned());
    assert_eq!(task.respond(&job, Response::Written), TaskStep::Done(verdict));
}

#[test]
fn a_repair_writes_only_over_what_it_read_and_frees_the_item() {
    let job = job("moved");
    let key = record("5", "1", None).key;
    let fence = Fence::of_record(Epoch::FIRST, SequenceNumber::parse("5").unwrap());
    let source = SourceKey::of(job.mapping().source(), &key).unwrap();
    let entry = Quarantined::item(&key, &source, &QuarantineReason::Discarded, fence.clone());
    let mut task = job.release(&entry).unwrap();
    assert!(matches!(task.start(&job), TaskStep::Send(Request::Get { place: TableRole::Target, .. })));
    assert!(matches!(
        task.respond(&job, Response::Got(None)),
        TaskStep::Send(Request::Get { place: TableRole::Source, .. })
    ));
    let put = write(task.respond(&job, Response::Got(Some(event("1", "joe")))));
    assert_eq!((&put.guard, &put_item(&put)[mapping::FENCE_ATTRIBUTE]), (&Guard::Absent, &fence.value()));
    let leave = write(task.respond(&job, Response::Written));
    assert_eq!(
        (leave.place, leave.guard),
        (TableRole::Control, Guard::equals(control::FENCE, fence.value()))
    );
    assert_eq!(task.respond(&job, Response::Written), TaskStep::Done(TaskResult::Written));
}

#[test]
fn a_move_changes_ledger_and_both_places_at_once() {
    let job = job("rekeyed");
    let mut task = job.apply(&record("9", "1", Some(event("1", "sam"))));
    assert!(matches!(task.start(&job), TaskStep::Send(Request::Get { place: TableRole::Control, .. })));
    let mut first = job.backfill(&event("1", "joe"), false);
    let TaskStep::Send(Request::Transact(writes)) = first.start(&job) else { panic!() };
    let row = put_item(&writes[0]).clone();
    let TaskStep::Send(Request::Transact(writes)) = task.respond(&job, Response::Got(Some(row))) else {
        panic!()
    };
    let places: Vec<_> = writes.iter().map(|write| write.place).collect();
    assert_eq!(places, [TableRole::Control, TableRole::Target, TableRole::Target]);
    assert!(
        matches!(&writes[1].action, Action::Delete(key) if key["pk"] == AttributeValue::S("r-joe".to_owned()))
    );
    assert_eq!(put_item(&writes[2])[mapping::OWNER_ATTRIBUTE], AttributeValue::S("S:1".to_owned()));
    // Somebody else is there: the old place is left first.
    let released = task.respond(&job, Response::Cancelled(vec![true, true, false]));
    assert!(matches!(released, TaskStep::Send(Request::Transact(writes)) if writes.len() == 2));
    assert!(matches!(task.respond(&job, Response::Written), TaskStep::Send(Request::Transact(_))));
    let blocked = task.respond(&job, Response::Cancelled(vec![true, false]));
    assert_eq!(blocked, TaskStep::Done(TaskResult::Blocked));
    let TaskStep::Send(Request::Transact(writes)) = task.park(&job) else { panic!() };
    assert_eq!(Quarantined::read(put_item(&writes[1])).unwrap().code, "target-key-collision");
}

#[test]
fn keys_are_set_in_place_where_their_inputs_are_as_read() {
    let job = job("inPlace");
    let mut task = job.backfill(&event("1", "joe"), false);
    let first = write(task.start(&job));
    assert!(first.guard.holds(Some(&event("1", "joe"))));
    assert!(!first.guard.holds(Some(&event("1", "sam"))) && !first.guard.holds(None));
    let changed = Response::Refused(ItemSeen::Item(Box::new(event("1", "sam"))));
    let Action::Update { set, .. } = write(task.respond(&job, changed)).action else { panic!() };
    assert_eq!(set, [("byWho_pk".to_owned(), AttributeValue::S("r-sam".to_owned()))]);
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
    let records: Vec<Received> = records.into_iter().map(Into::into).collect();
    let mut batch = Batch::of(&job, &records);
    assert_eq!((batch.open(), batch.covered()), (vec![1, 2], 2));
    batch.ended(1, Disposition::Settled(TaskResult::Written));
    batch.ended(2, Disposition::Failed);
    assert_eq!(
        batch.failed(),
        [0, 2, 3],
        "the earlier ones of an item fail with the one that stands for them"
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
    let records = vec![
        Received::Change(record("1", "a", None)),
        Received::Unreadable(unreadable),
        Received::Change(record("2", "a", None)),
    ];
    let mut batch = Batch::of(&job, &records);
    assert_eq!(batch.open(), [1, 2]);
    batch.ended(2, Disposition::Settled(TaskResult::Written));
    assert_eq!(batch.failed(), [1]);
}

#[test]
fn finalising_takes_off_what_was_kept_on_items() {
    let job = job("moved");
    let target = job.mapping().target();
    let put = write(job.apply(&record("5", "1", Some(event("1", "joe")))).start(&job));
    let cleaned = finalise::clean(target, put_item(&put)).unwrap();
    assert!(
        matches!(&cleaned.action, Action::Update { remove, .. } if *remove == [mapping::FENCE_ATTRIBUTE])
    );
    assert!(cleaned.guard.holds(Some(put_item(&put))));
    let dead = write(job.apply(&record("5", "1", None)).start(&job));
    assert!(matches!(finalise::clean(target, put_item(&dead)).unwrap().action, Action::Delete(_)));
    assert_eq!(finalise::clean(target, &event("1", "joe")), None);
}

/// A retrofit that the first release began: its row and its checkpoints hold the digest of that release.
#[test]
fn a_retrofit_of_the_first_release_goes_on_and_survives_a_change_that_alters_no_byte() {
    let mapping =
        |manifest: &str| Mapping::of(&parse("keyfold.toml", manifest).model.unwrap(), "moved").unwrap();
    let (same, grown) = (
        mapping(MANIFEST),
        mapping(&MANIFEST.replace("\"new-events\"", "\"new-events\"\nexpect = { items = 9 }")),
    );
    let other = mapping(&MANIFEST.replace("{resourceId}-{accessedBy}", "{resourceId}/{accessedBy}"));
    let head = Head { mapping: same.released_hash(), ..Head::begun(&same, Some("stream-1")) };
    let changed = |head: &Head, mapping: &Mapping| head.check(mapping).unwrap_err();

    assert_eq!(head.check_open(&same), Ok(()));
    assert!(changed(&head, &grown).hint().unwrap().contains("unchanged"), "not noted yet: another text");
    assert_eq!(head.adopted(&other), None, "only the same mapping is noted");

    let adopted = head.adopted(&same).unwrap();
    assert_eq!(
        (adopted.mapping.clone(), adopted.version),
        (head.mapping.clone(), 2),
        "old workers know it still"
    );
    assert_eq!(adopted.adopted(&same), None, "once");
    assert_eq!(adopted.check_open(&grown), Ok(()));
    assert_eq!(changed(&adopted, &other).code(), "mapping-changed");
    let row = match adopted.store(Some(&head)).action {
        Action::Put(row) => row,
        other => panic!("{other:?}"),
    };
    assert_eq!(Head::read("moved", Some(&row)), Ok(adopted.clone()));

    let made = Checkpoint::start(&job("moved"), Pass::Backfill, SegmentId::WHOLE).json();
    let old = made.replace(same.hash().as_str(), same.released_hash().as_str());
    let resumed = |job: &Job| Checkpoint::resume(&old, job, Pass::Backfill, SegmentId::WHOLE);
    assert!(resumed(&adopted.job(grown.clone())).is_ok());
    assert_eq!(resumed(&Head::begun(&grown, None).job(grown)).unwrap_err().code(), "mapping-changed");
}
