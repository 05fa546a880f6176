//! Run, revise, abandon, and the switch of readers: what they ask for, and that a kill at any step loses nothing.

use serde_json::json;

use super::*;
use crate::retrofit::gates::Gate;
use crate::retrofit::progress;
use crate::retrofit::segment::Pass;
use crate::retrofit::stop::PolicyChange;
use crate::retrofit::{Fence, Lease, QuarantineReason, Quarantined, SegmentId, SourceKey};

/// A retrofit that has just started.
fn started(name: &str) -> World {
    let mut world = World::tidy("moved");
    world.mapping = job(name).mapping().clone();
    world.rows.clear();
    world.put(&RetrofitState::started(&world.mapping.clone(), Some("source-stream")).store(None));
    world
}

fn enter(world: &mut World) {
    let job = job("moved");
    let key = job.mapping().source().key_of(&crate::retrofit::tests::event("1", "joe")).unwrap();
    let source = SourceKey::of(job.mapping().source(), &key).unwrap();
    let fence = Fence::of_scan(job.epoch());
    world.put(&Quarantined::item(&key, &source, &QuarantineReason::Discarded, fence).enter(job.mapping()));
}

fn repair() -> Command {
    Command::Run(Run { repair: true, ..Run::default() })
}

fn of_kind(world: &World, wanted: &[&str]) -> Vec<&'static str> {
    world.effects.iter().copied().filter(|effect| wanted.contains(effect)).collect()
}

#[test]
fn a_repair_marks_what_it_writes_and_tries_the_quarantine_first() {
    let mut world = started("moved");
    enter(&mut world);
    let done = world.drive(repair()).unwrap();
    assert_eq!((done.end, &*done.code), (End::Done, "running"), "{}", done.text());
    // A mark and the backfill; a mark, the quarantine and the repair of both sides; the comparison of both sides.
    let order = of_kind(&world, &["send", "carry", "pass"]);
    assert_eq!(order, ["send", "pass", "send", "carry", "pass", "pass", "pass", "pass"]);
    let mark = place(&progress::mark_key(&job("moved")));
    assert!(world.rows.contains_key(&mark), "earlier comparisons are invalid");
    assert_eq!(done.next.as_deref(), Some("keyfold retrofit switch moved"));
}

#[test]
fn a_run_ends_after_the_stage_that_was_asked_for() {
    for (until, passes) in [(RunStage::Start, 0), (RunStage::Backfill, 1), (RunStage::Compare, 3)] {
        let mut world = started("moved");
        world.rows.clear();
        let done = world.drive(Command::Run(Run { until, ..Run::default() })).unwrap();
        assert_eq!((done.end, world.head().phase), (End::Done, Phase::Running), "{}", done.text());
        assert_eq!(of_kind(&world, &["pass"]).len(), passes, "{until:?}");
    }
}

#[test]
fn a_backfill_keeps_its_number_of_segments_unless_it_begins_again() {
    let mut world = started("moved");
    let started =
        crate::retrofit::Checkpoint::start(&job("moved"), Pass::Backfill, SegmentId::new(0, 7).unwrap());
    world.put(&progress::begin_segment(&job("moved"), &started));
    let run =
        |segments, again| Command::Run(Run { segments, again, until: RunStage::Backfill, ..Run::default() });
    let refused = world.drive(run(Some(5), false)).unwrap();
    assert_eq!((refused.end, &*refused.code), (End::Refused, "other-segments"), "{}", refused.text());
    assert_eq!(of_kind(&world, &["pass", "forget-segments"]), [""; 0]);
    assert!(world.drive(run(Some(7), false)).unwrap().is_success());
    world.effects.clear();
    world.rows.retain(|(partition, _), _| !partition.starts_with("segments#"));
    world.put(&progress::begin_segment(&job("moved"), &started));
    assert!(world.drive(run(None, true)).unwrap().is_success());
    assert_eq!(of_kind(&world, &["send", "pass", "forget-segments"]), ["forget-segments", "send", "pass"]);
}

#[test]
fn a_target_with_other_keys_begins_nothing() {
    let mut operation = Operation::new(job("moved").mapping().clone(), repair(), "nonce", 1);
    let mut world = started("moved");
    world.rows.clear();
    let outcome = loop {
        match operation.next() {
            Step::Over(outcome) => break outcome,
            Step::Ask(effect) => {
                let mut reply = world.perform(&effect);
                if let (Effect::Describe(TableRole::Target), Ok(Reply::Table(facts))) = (&effect, &mut reply)
                {
                    facts.differences = Some("its partition key is `pk`".to_owned());
                }
                operation.answer(world.now_ms, reply);
            }
        }
    };
    assert_eq!((outcome.end, &*outcome.code), (End::Refused, "table-differs"), "{}", outcome.text());
    assert!(world.rows.is_empty(), "nothing is written");
}

#[test]
fn once_the_target_has_writers_a_run_only_compares() {
    let mut world = World::tidy("moved");
    compared(&mut world);
    world.drive(Command::Switch(by_policy())).unwrap();
    world.effects.clear();
    let done = world.drive(Command::Run(Run::default())).unwrap();
    assert_eq!((done.end, of_kind(&world, &["pass"]).len()), (End::Done, 2), "{}", done.text());
    assert_eq!(world.drive(repair()).unwrap().end, End::Refused);
}

#[test]
fn readers_move_after_a_tidying_and_a_comparison_and_a_kill_at_any_step_loses_nothing() {
    let readers = |back| Command::Readers(Readers { back, limits: Limits::LOCAL });
    let filled = || {
        let mut world = started("moved");
        world.drive(Command::Run(Run { until: RunStage::Backfill, ..Run::default() })).unwrap();
        world.effects.clear();
        world
    };
    let mut whole = filled();
    let done = whole.drive(readers(false)).unwrap();
    assert_eq!((done.end, whole.head().phase), (End::Done, Phase::CutOver), "{}", done.text());
    // Its writers stay: what they wrote to the target would not be carried back.
    assert_eq!(done.open, OpenTable::Source, "{}", done.text());
    for after in 0..whole.effects.len() {
        let mut world = filled();
        world.kill_after = Some(after);
        assert_eq!(world.drive(readers(false)), None);
        world.kill_after = None;
        assert!(world.drive(readers(false)).unwrap().is_success(), "after {after}");
        assert_eq!(world.head().phase, Phase::CutOver, "after {after}");
    }
    whole.drive(Command::Switch(Switch { back: true, ..by_policy() })).unwrap();
    assert_eq!(whole.head().phase, Phase::Tidy);
    assert!(whole.drive(readers(false)).unwrap().is_success());
    // The last changes of the writers can still be on their way.
    let refused = whole.drive(Command::Finish(Finish { leave_marks: false, limits: Limits::LOCAL })).unwrap();
    assert_eq!((refused.end, &*refused.code), (End::Refused, "wrong-phase"), "{}", refused.text());
    assert!(refused.text().contains("`keyfold retrofit switch` moves the writers"), "{}", refused.text());
    let back = Switch { back: true, check: true, ..by_policy() };
    assert_eq!(whole.drive(Command::Switch(back)).unwrap().code, "wrong-phase", "its writers never left");
    let unnamed = whole.drive(Command::Switch(Switch { writers: None, ..by_policy() })).unwrap();
    assert_eq!((unnamed.end, &*unnamed.code), (End::Refused, "writers-not-stopped"), "{}", unnamed.text());
    assert_eq!(whole.head().next_command(&[]), Some("keyfold retrofit switch moved".to_owned()));
    let moved = whole.drive(Command::Switch(by_policy())).unwrap();
    assert_eq!((moved.end, whole.head().phase), (End::Done, Phase::Reversed), "{}", moved.text());
}

#[test]
fn readers_do_not_move_while_a_gate_is_closed() {
    let mut world = World::tidy("moved");
    compared(&mut world);
    world.releases = false;
    enter(&mut world);
    let refused = world.drive(Command::Readers(Readers { back: false, limits: Limits::LOCAL })).unwrap();
    assert_eq!((refused.end, &*refused.code), (End::Refused, "gates-closed"), "{}", refused.text());
    assert_eq!((world.head().phase, refused.open), (Phase::Tidy, OpenTable::Source));
}

#[test]
fn after_a_new_stream_both_sides_are_compared_once_functions_of_the_former_one_have_ended() {
    let replaced = || {
        let mut world = started("moved");
        world.streams[0] = "another-stream".to_owned();
        world
    };
    let run = || Command::Run(Run { limits: Limits::LOCAL, ..Run::default() });
    let mut whole = replaced();
    let started_ms = whole.now_ms;
    let done = whole.drive(run()).unwrap();
    assert_eq!((done.end, whole.head().restreaming), (End::Done, false), "{}", done.text());
    assert!(whole.now_ms >= started_ms + Limits::LOCAL.in_flight_ms, "it waited");
    // The backfill, then the wait, and only then the comparison.
    assert_eq!(of_kind(&whole, &["pass", "wait"]), ["pass", "wait", "pass", "pass"]);
    for after in 0..whole.effects.len() {
        let mut world = replaced();
        world.kill_after = Some(after);
        assert_eq!(world.drive(run()), None);
        world.kill_after = None;
        let started_ms = world.now_ms;
        let waits = !world.rows.is_empty() && world.head().restreaming;
        assert!(world.drive(run()).unwrap().is_success(), "after {after}");
        assert!(!world.head().restreaming, "after {after}");
        assert!(
            !waits || world.now_ms >= started_ms + Limits::LOCAL.in_flight_ms,
            "after {after}: its own time"
        );
    }
    let mut world = replaced();
    let again = Run { again: true, limits: Limits::LOCAL, ..Run::default() };
    assert!(world.drive(Command::Run(again)).unwrap().is_success());
    assert_eq!(of_kind(&world, &["pass", "wait"]), ["pass", "wait", "pass", "pass"], "one backfill");
    // A retrofit that was given up starts again with the stream of now.
    let mut world = started("moved");
    world.drive(Command::Abandon).unwrap();
    world.streams[0] = "another-stream".to_owned();
    world.effects.clear();
    assert!(world.drive(run()).unwrap().is_success());
    assert_eq!(of_kind(&world, &["pass", "wait"]), ["pass", "wait", "pass", "pass"]);
    let mut world = replaced();
    let filled = world.drive(Command::Run(Run { until: RunStage::Backfill, ..Run::default() })).unwrap();
    let codes: Vec<_> = filled.gates.iter().map(Gate::code).collect();
    assert!(codes.contains(&"former-stream"), "{codes:?}");
    assert_eq!(filled.next.as_deref(), Some("keyfold retrofit run moved"));
    // A comparison by another worker meanwhile does not open that gate.
    let mut world = World::tidy("moved");
    let tidy = world.head();
    world.put(
        &RetrofitState { restreaming: true, version: tidy.version + 1, ..tidy.clone() }.store(Some(&tidy)),
    );
    compared(&mut world);
    let refused = world.drive(Command::Switch(by_policy())).unwrap();
    assert_eq!((refused.end, refused.gates), (End::Refused, vec![Gate::FormerStream]));
    assert_eq!(refused.next, filled.next);
    assert_eq!(world.head().next_command(&[Gate::FormerStream]), filled.next);
}

#[test]
fn in_place_a_new_stream_needs_no_wait() {
    let mut world = started("inPlace");
    world.streams[0] = "another-stream".to_owned();
    let done = world.drive(Command::Run(Run { limits: Limits::LOCAL, ..Run::default() })).unwrap();
    assert_eq!(of_kind(&world, &["pass", "wait"]), ["pass", "pass"], "{}", done.text());
}

#[test]
fn the_price_of_an_end_is_that_of_its_passes() {
    let price = |world: &World, leave_marks| {
        let (head, target) = (world.head(), world.mapping.target());
        let price = FinishPrice::of(&head, leave_marks, target, (1_000, 250));
        (price.items, price.read_units, price.write_units > 0, price.rows)
    };
    let in_place = started("inPlace");
    for leave_marks in [false, true] {
        assert_eq!(price(&in_place, leave_marks), (0, 0, false, false));
    }
    let mut tidy = World::tidy("moved");
    for world in [&started("moved"), &tidy] {
        assert_eq!(price(world, true), (0, 0, false, false));
        assert_eq!(price(world, false), (1_000, 250, true, true));
    }
    compared(&mut tidy);
    tidy.drive(Command::Switch(by_policy())).unwrap();
    tidy.effects.clear();
    let finish = |leave_marks| Command::Finish(Finish { leave_marks, limits: Limits::LOCAL });
    assert!(tidy.drive(finish(true)).unwrap().is_success());
    assert_eq!(of_kind(&tidy, &["pass"]).len(), 0, "as its price says");
}

/// It was started with another manifest.
fn to_revise() -> World {
    let mut world = started("moved");
    let other = RetrofitState { mapping: job("rekeyed").mapping().hash().clone(), ..world.head() };
    world.rows.clear();
    world.put(&other.store(None));
    world
}

#[test]
fn a_revision_waits_until_nobody_writes_by_the_former_manifest_and_may_be_killed() {
    let revise = || Command::Revise(Revise { limits: Limits::LOCAL });
    let mut whole = to_revise();
    let started_ms = whole.now_ms;
    let done = whole.drive(revise()).unwrap();
    assert_eq!((done.end, whole.head().revising), (End::Done, false), "{}", done.text());
    assert!(whole.now_ms >= started_ms + Limits::LOCAL.in_flight_ms, "it waited");
    assert_eq!(whole.head().mapping, *whole.mapping.hash());
    for after in 0..whole.effects.len() {
        let mut world = to_revise();
        world.kill_after = Some(after);
        assert_eq!(world.drive(revise()), None);
        world.kill_after = None;
        assert!(world.drive(revise()).unwrap().is_success(), "after {after}");
        assert_eq!(
            (world.head().revising, &world.head().mapping),
            (false, whole.mapping.hash()),
            "after {after}"
        );
    }
    assert_eq!(whole.drive(revise()).unwrap().end, End::Already);
}

#[test]
fn a_revision_is_refused_while_a_worker_has_a_segment() {
    // In AWS the worker's clock may be two minutes behind this one.
    for (limits, behind_ms) in [(Limits::LOCAL, 0), (Limits::AWS, 120_000)] {
        let mut world = to_revise();
        let before = world.head();
        let (pass, segment, owner) = (Pass::Backfill, SegmentId::WHOLE, "worker".to_owned());
        let lease = Lease { pass, segment, owner, until_ms: world.now_ms + 60_000 - behind_ms };
        world.put(&lease.take(&job("moved"), world.now_ms - behind_ms));
        let refused = world.drive(Command::Revise(Revise { limits })).unwrap();
        assert_eq!((refused.end, &*refused.code), (End::Refused, "at-work"), "{}", refused.text());
        assert_eq!(world.head(), before);
    }
}

#[test]
fn a_retrofit_is_given_up_even_if_its_tables_are_gone() {
    let mut world = started("moved");
    world.fails = Some(("describe", u64::MAX, FailureKind::Gone));
    let done = world.drive(Command::Abandon).unwrap();
    assert_eq!((done.end, world.head().phase), (End::Done, Phase::Abandoned), "{}", done.text());
}

/// The source is closed by a policy after a switch.
fn closed_source() -> World {
    let mut world = World::tidy("moved");
    compared(&mut world);
    world.drive(Command::Switch(by_policy())).unwrap();
    assert!(world.denies(TableRole::Source));
    world.effects.clear();
    world
}

#[test]
fn policies_are_lifted_and_a_kill_at_any_step_leaves_none() {
    let mut whole = closed_source();
    let done = whole.drive(Command::Lift).unwrap();
    let source = whole.mapping.source().name.clone();
    assert_eq!(
        (done.end, &*done.policies),
        (End::Done, &[PolicyChange { table: source.clone(), policy: None }][..])
    );
    let line = format!("the policy of table `{source}` was changed: no policy");
    assert_eq!(done.text().lines().last(), Some(&*line));
    assert_eq!(done.document(&whole.mapping)["policies"], json!([{ "table": source, "policy": null }]));
    assert_eq!((whole.denies(TableRole::Source), whole.head().exempt.len()), (false, 0));
    for after in 0..whole.effects.len() {
        let mut world = closed_source();
        world.kill_after = Some(after);
        assert_eq!(world.drive(Command::Lift), None);
        world.kill_after = None;
        // The row comes last: a policy that denies writes is one that every command knows of.
        assert!(!world.denies(TableRole::Source) || !world.head().exempt.is_empty(), "after {after}");
        assert!(world.drive(Command::Lift).unwrap().is_success(), "after {after}");
        assert!(!world.denies(TableRole::Source), "after {after}");
    }
    let again = whole.drive(Command::Lift).unwrap();
    assert_eq!((again.end, again.policies.len()), (End::Done, 0), "{}", again.text());
}

#[test]
fn policies_are_lifted_without_a_row_a_control_table_or_the_other_table() {
    let mut world = closed_source();
    world.rows.clear();
    let done = world.drive(Command::Lift).unwrap();
    assert_eq!((done.end, world.denies(TableRole::Source)), (End::Done, false), "{}", done.text());
    assert!(world.rows.is_empty() && done.text().contains("has no row"), "{}", done.text());
    for failing in ["read", "describe"] {
        let mut world = closed_source();
        world.rows.clear();
        // The first table that is described is the source: the policy of the target goes.
        world.policies.swap(0, usize::from(failing == "describe"));
        world.fails = Some((failing, 1, FailureKind::Gone));
        let done = world.drive(Command::Lift).unwrap();
        assert_eq!((done.end, &world.policies), (End::Done, &[None, None]), "{failing}: {}", done.text());
    }
}

#[test]
fn policies_of_a_stop_are_not_lifted() {
    let stop = |world: &mut World| {
        let head = world.head();
        let closing = head.to(Phase::Tidy).or_else(|_| head.to(Phase::Returning)).unwrap();
        let closing = closing.exempting(&[ROLE.to_owned()]);
        world.put(&RetrofitState { version: head.version + 1, ..closing }.store(Some(&head)));
    };
    let mut world = closed_source();
    stop(&mut world);
    let refused = world.drive(Command::Lift).unwrap();
    assert_eq!((refused.end, &*refused.code), (End::Refused, "wrong-phase"), "{}", refused.text());
    assert!(world.denies(TableRole::Source));
    // Nor those of a stop that begins before the policy is removed.
    let mut world = closed_source();
    let outcome = faults_tests::played(&mut world, Command::Lift, |world, _, effect| {
        if let Effect::Policy(TableRole::Source) = effect
            && !world.head().phase.is_stop()
        {
            stop(world);
        }
        None
    });
    assert_eq!((outcome.end, &*outcome.code), (End::Failed, "retrofit-raced"), "{}", outcome.text());
    assert!(world.denies(TableRole::Source), "the stop goes on");
}

#[test]
fn a_policy_that_cannot_be_removed_is_named_with_the_command_that_goes_on() {
    let mut world = closed_source();
    world.fails = Some(("set-policy", u64::MAX, FailureKind::Denied));
    let failed = world.drive(Command::Lift).unwrap();
    assert_eq!((failed.end, failed.open), (End::Failed, OpenTable::Neither), "{}", failed.text());
    assert_eq!(failed.next.as_deref(), Some("keyfold retrofit switch moved --lift"));
}
