//! When a retrofit can go on with another manifest, and when one that was given up can begin again.

use super::*;
use crate::index::fixture::item;
use crate::retrofit::quarantine::Acceptance;
use crate::retrofit::request::{Action, Write};
use crate::retrofit::tests::{changed, job};
use crate::retrofit::{
    ChangeKind, ChangeRecord, Checkpoint, Epoch, Fence, Lag, Lease, LedgerRow, Mapping, Pass,
    QuarantineReason, Quarantined, Request, Response, Reverse, SegmentId, SequenceNumber, SourceKey,
    TaskStep, progress,
};

fn started(name: &str) -> RetrofitState {
    RetrofitState::started(job(name).mapping(), Some("stream-1"))
}

fn why(result: Result<RetrofitState, ControlError>) -> &'static str {
    match result {
        Err(ControlError::CannotRevise { why, .. }) => why,
        other => panic!("{other:?}"),
    }
}

/// The mapping of a manifest with other keys of the index, and one with another primary key of the target.
fn mended(name: &str) -> Mapping {
    changed(name, "partition = \"{resourceId}-{accessedBy}\"", "partition = \"{accessedBy}-{resourceId}\"")
}

#[test]
fn other_keys_of_an_index_are_taken_and_close_the_gates_until_all_work_by_them() {
    let (head, mended) = (started("moved"), mended("moved"));
    assert!(head.check(&mended).is_err());
    let revised = head.revised(&mended).unwrap();
    assert!(revised.check(&mended).is_ok() && revised.revising && revised.version > head.version);
    assert_eq!(RetrofitState::of_row("moved", &revised.item()), Some(revised.clone()));
    assert!(!revised.revision_done().revising);
}

#[test]
fn where_the_source_key_decides_the_target_key_it_must_stay_what_it_is() {
    let other = changed(
        "moved",
        "name = \"new-events\"\npartition = \"id\"",
        "name = \"new-events\"\npartition = \"event:{id}\"",
    );
    assert_eq!(why(started("moved").revised(&other)), OTHER_KEYS);
    // A ledger knows where each item is.
    assert!(started("rekeyed").revised(&mended("rekeyed")).is_ok());
    let elsewhere = changed("inPlace", "same-events", "other-events");
    assert_eq!(why(started("inPlace").revised(&elsewhere)), OTHER_TABLE);
}

#[test]
fn a_tidied_target_takes_no_other_manifest_and_no_second_beginning() {
    let tidying = started("moved").to(Phase::Tidying).unwrap();
    assert_eq!(why(tidying.revised(&mended("moved"))), "its target is tidied");
    let given_up = tidying.to(Phase::Abandoned).unwrap();
    assert!(why(given_up.restarted(job("moved").mapping(), Some("stream-1"), None)).contains("was tidied"));
    let given_up = started("moved").to(Phase::Abandoned).unwrap();
    let again = |stream| given_up.restarted(&mended("moved"), Some(stream), None).unwrap();
    // A record that comes again must stay older than what was written after it.
    assert_eq!((again("stream-1").phase, again("stream-1").epoch.number()), (Phase::Running, 1));
    assert_eq!((again("stream-2").phase, again("stream-2").epoch.number()), (Phase::Running, 2));
}

#[test]
fn what_is_in_flight_when_a_retrofit_is_given_up_is_waited_for_when_it_starts_again() {
    let mapping = job("moved").mapping().clone();
    let restreaming = started("moved").restarted(&mapping, Some("stream-2"), None).unwrap();
    let revising = started("moved").revised(&mended("moved")).unwrap();
    for (before, mapping) in [(restreaming, &mapping), (revising, &mended("moved"))] {
        let stream = before.stream.clone();
        let again = before.to(Phase::Abandoned).unwrap().restarted(mapping, stream.as_deref(), None).unwrap();
        assert_eq!((again.restreaming, again.revising), (before.restreaming, before.revising));
        assert_eq!(again.phase, Phase::Running);
    }
}

#[test]
fn after_a_return_a_new_stream_of_the_target_is_followed() {
    let mapping = job("rekeyed").mapping().clone();
    let restarted =
        |head: &RetrofitState, stream| head.restarted(&mapping, Some("stream-1"), stream).unwrap();
    let back = started("rekeyed").with_reverse_stream("back-1").unwrap();
    let returned = RetrofitState { phase: Phase::Tidy, ..back };
    let next = restarted(&returned, Some("back-2"));
    let ReverseStream { stream, epoch } = next.reverse_stream.clone().unwrap();
    assert_eq!((stream.as_str(), epoch.number(), next.version), ("back-2", 2, returned.version + 1));
    assert_eq!((next.epoch, next.restreaming), (returned.epoch, false));
    for stream in [Some("back-1"), None] {
        assert_eq!(restarted(&returned, stream), returned);
    }
    assert_eq!(restarted(&started("rekeyed"), Some("back-2")), started("rekeyed"));
}

#[test]
fn after_the_cut_over_only_a_retrofit_in_place_goes_on_with_another_manifest() {
    let cut_over = |name: &str| RetrofitState { phase: Phase::CutOver, ..started(name) };
    assert!(cut_over("rekeyed").revised(&mended("rekeyed")).is_err());
    let mended = mended("inPlace");
    let revised = cut_over("inPlace").revised(&mended).unwrap();
    assert!(!revised.filled(&mended, "byWho"), "queries wait for its new keys");
    assert!(revised.filled_again(&mended).filled(&mended, "byWho"));
}

#[test]
fn settle_is_refused_while_a_switch_or_a_return_is_in_progress() {
    let tidy = started("moved").to(Phase::Tidying).unwrap().to(Phase::Tidy).unwrap().swept();
    let closing = tidy.closing("t").unwrap();
    let refused = closing.to(Phase::Settled).unwrap_err();
    assert_eq!(refused.code(), "wrong-phase");
    let hint = refused.hint().unwrap();
    assert!(
        hint.contains("`keyfold retrofit switch` finishes") && hint.contains("switch --back` takes it back"),
        "{hint}"
    );
    let reversed = closing.with_reverse_stream("t").unwrap().to(Phase::Reversed).unwrap();
    let hint = reversed.to(Phase::Returning).unwrap().to(Phase::Settled).unwrap_err().hint().unwrap();
    assert!(
        hint.contains("`keyfold retrofit switch --back` finishes") && hint.contains("switch` takes it back"),
        "{hint}"
    );
    // The end of a switch, with a way back and without one.
    assert!(reversed.switched_for_good().is_err());
    let settled = [reversed.to(Phase::Settled).unwrap(), closing.switched_for_good().unwrap()];
    assert!(settled.iter().all(|head| head.phase == Phase::Settled && head.generation > tidy.generation));
}

#[test]
fn who_waits_waits_longer_than_a_look_is_remembered() {
    let cut_off_ms = 1_000;
    assert!(wait_after_change(900) * 1_000 >= 900_000 + STATE_CACHE_MS_MAX + cut_off_ms);
    assert_eq!(wait_after_change(u64::MAX), u64::MAX);
}

#[test]
fn a_job_of_an_earlier_phase_is_outdated() {
    let running = started("moved");
    let tidying = running.to(Phase::Tidying).unwrap();
    let tidy = tidying.to(Phase::Tidy).unwrap().swept();
    let in_phase = |head: &RetrofitState, phase| RetrofitState { phase, ..head.clone() };
    let job_of = |head: &RetrofitState| head.job(job("moved").mapping().clone());
    // How versions are kept changes while the target is tidied; a switch leaves it as it is.
    assert!(!running.outdates(&job_of(&running)));
    assert!(tidying.outdates(&job_of(&running)) && tidy.outdates(&job_of(&tidying)));
    assert!(!in_phase(&tidy, Phase::Reversed).outdates(&job_of(&tidy)));
    // No seal refuses the generation that carried changes last.
    let settled = in_phase(&tidy, Phase::Reversed).to(Phase::Settled).unwrap();
    let finalising = settled.to(Phase::Finalising).unwrap();
    let finalised = finalising.to(Phase::Finalised).unwrap();
    assert!(finalising.outdates(&job_of(&tidy)) && finalised.outdates(&job_of(&tidy)));
    assert!(!finalising.outdates(&job_of(&finalising)));
}

#[test]
fn a_target_that_got_another_stream_since_a_return_is_closed_under_the_next_epoch() {
    let tidying = started("moved").to(Phase::Tidying).unwrap();
    let tidy = tidying.to(Phase::Tidy).unwrap().swept();
    assert_eq!(tidy.closing("t").unwrap().reverse_stream, None, "the target has not been written yet");
    let returned = RetrofitState { phase: Phase::Tidy, ..tidy.with_reverse_stream("t").unwrap() };
    let epoch = |stream: &str| returned.closing(stream).unwrap().reverse_stream.unwrap().epoch.number();
    assert_eq!((epoch("t"), epoch("another")), (1, 2));
    // Records of that stream are looked at, and judged by its epoch.
    let closing = returned.closing("another").unwrap();
    closing.check_reverse_stream("another").unwrap();
    assert!(closing.check_reverse_stream("t").is_err());
    let mapping = job("moved").mapping().clone();
    let Delivery::Late { epoch, .. } = closing.delivery(&mapping, Direction::Reverse) else {
        panic!("it is closed")
    };
    assert_eq!(epoch.number(), 2);
}

/// A row of each kind, with its name in messages.
fn rows_of_every_kind() -> Vec<(&'static str, Item)> {
    let job = job("moved");
    let (mapping, fence) = (job.mapping(), Fence::of_scan(Epoch::FIRST));
    let key = item(r#"{"id":{"S":"1"}}"#);
    let source = SourceKey::of(mapping.source(), &key).unwrap();
    let entry = Quarantined::item(&key, &source, &QuarantineReason::Collision, fence.clone());
    let acceptance = Acceptance { because: "b".to_owned(), by: "me".to_owned(), at: 1 };
    let (pass, segment) = (Pass::Backfill, SegmentId::WHOLE);
    let lease = Lease { pass, segment, owner: "me".to_owned(), until_ms: 1 };
    let ledger = LedgerRow::new(fence);
    let writes = [
        ("head", RetrofitState::started(mapping, None).store(None)),
        ("mark", progress::store_mark(&job, "m")),
        ("lag", Lag { behind_ms: 1, told: 1 }.store(&job)),
        ("reverse", Reverse::asked("q".to_owned(), 1).store(&job)),
        ("segments", progress::store_checkpoint(&job, &Checkpoint::start(&job, pass, segment))),
        ("leases", lease.take(&job, 0)),
        ("quarantine", entry.enter(mapping)),
        ("accepted", entry.accept(mapping, Some(&acceptance))),
        ("ledger", ledger.put_over(None, mapping, &source, &key)),
        ("late", late_note()),
    ];
    let row = |(kind, write): (&'static str, Write)| match write.action {
        Action::Put(row) => (kind, row),
        other => panic!("{other:?}"),
    };
    writes.map(row).into()
}

/// The note about a change of the closed table.
fn late_note() -> Write {
    let tidy = started("moved")
        .to(Phase::Tidying)
        .unwrap()
        .to(Phase::Tidy)
        .unwrap()
        .with_reverse_stream("t")
        .unwrap();
    let job = tidy.job(job("moved").mapping().clone());
    let key = item(r#"{"id":{"S":"1"}}"#);
    let sequence = SequenceNumber::parse("5").unwrap();
    let record =
        ChangeRecord { sequence, key: key.clone(), kind: ChangeKind::Insert, old: None, new: Some(key) };
    let mut task = job.late(&record, Epoch::FIRST);
    let mut step = task.start(&job);
    loop {
        match step {
            TaskStep::Send(Request::Write(write)) => return write,
            TaskStep::Send(_) => step = task.respond(&job, Response::Item(None)),
            TaskStep::Done(result) => panic!("{result:?}"),
        }
    }
}

#[test]
fn a_row_of_another_version_is_refused_whatever_its_kind() {
    for (kind, row) in rows_of_every_kind() {
        assert_eq!(check_format(&row), Ok(()), "{kind}");
        for (version, found) in [(Some("1"), "1"), (None, "none")] {
            let mut other = row.clone();
            other.remove(VERSION_NAME);
            other.extend(version.map(|version| (VERSION_NAME, AttributeValue::N(version.to_owned()))));
            let refused = check_format(&other).unwrap_err().to_string();
            assert_eq!(
                refused,
                format!(
                    "a `{kind}` row of the control table has format version {found}, and this Keyfold reads version {} only",
                    FORMAT.version
                )
            );
            if kind == "head" {
                assert_eq!(RetrofitState::read("moved", Some(&other)).unwrap_err().code(), "unknown-format");
            }
        }
    }
}
