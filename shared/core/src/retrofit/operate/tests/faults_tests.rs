//! Histories in which a command left a table closed, said that it was open, never ended, or lost writes.

use super::*;
use crate::retrofit::fence::{Epoch, Fence, SequenceNumber};
use crate::retrofit::lease::Lease;
use crate::retrofit::quarantine::{Acceptance, QuarantineReason, Quarantined};
use crate::retrofit::record::{ChangeKind, ChangeRecord};
use crate::retrofit::source_key::SourceKey;
use crate::retrofit::tests::event;
use crate::retrofit::{Pass, SegmentId};

/// Plays a command; the hook answers an effect in place of the world, or lets it.
pub(super) fn played(
    world: &mut World,
    command: Command,
    mut hook: impl FnMut(&mut World, &mut Operation, &Effect) -> Option<Result<Reply, Failure>>,
) -> Outcome {
    let mut operation = Operation::new(world.mapping.clone(), command, "nonce", world.now_ms);
    for _ in 0..20_000 {
        match operation.next() {
            Step::Over(outcome) => return *outcome,
            Step::Ask(effect) => {
                let answer = hook(world, &mut operation, &effect);
                let reply = answer.unwrap_or_else(|| world.perform(&effect));
                world.now_ms += 1;
                operation.answer(world.now_ms, reply);
            }
        }
    }
    panic!("it never ends: {:?}", operation.status())
}

pub(super) fn failure(kind: FailureKind) -> Failure {
    Failure { kind, code: "denied".to_owned(), message: "no".to_owned(), hint: None }
}

pub(super) fn back() -> Switch {
    Switch { back: true, unproven: true, ..by_policy() }
}

pub(super) fn reversed() -> World {
    let mut world = ready("moved");
    let done = world.drive(Command::Switch(by_policy())).unwrap();
    assert_eq!(done.end, End::Done, "{}", done.text());
    world
}

#[test]
fn the_right_to_delete_a_policy_is_tried_before_anybody_is_stopped() {
    let mut world = ready("moved");
    let outcome = played(&mut world, Command::Switch(by_policy()), |world, _, effect| {
        assert_eq!(world.head().phase, Phase::Tidy, "nobody is stopped");
        matches!(effect, Effect::SetPolicy { text: None, .. }).then(|| Err(failure(FailureKind::Denied)))
    });
    assert_eq!((outcome.end, outcome.open), (End::Failed, OpenTable::Source), "{}", outcome.text());
}

#[test]
fn a_policy_that_cannot_be_taken_off_is_in_the_last_words() {
    let mut world = reversed();
    let outcome = played(&mut world, Command::Switch(back()), |world, _, effect| {
        let opens = world.head().phase == Phase::Tidy;
        let denied = opens && matches!(effect, Effect::SetPolicy { table: TableRole::Source, .. });
        denied.then(|| Err(failure(FailureKind::Denied)))
    });
    assert!(world.denies(TableRole::Source));
    assert_eq!(outcome.open, OpenTable::Neither, "{}", outcome.text());
    assert!(outcome.text().contains("may still deny"), "{}", outcome.text());
    assert!(outcome.next.unwrap().contains("--back"));
}

#[test]
fn any_command_takes_off_a_policy_that_a_killed_operator_left() {
    let mut world = ready("moved");
    let before = world.head();
    let stopped = before.closing("target-stream").unwrap().exempting(&[ROLE.to_owned()]);
    world.put(&stopped.to(Phase::Tidy).unwrap().store(Some(&before)));
    let access = stopped.write_access(control::Direction::Forward);
    let policy = stopped.policy("arn:source", access, None).unwrap().unwrap();
    world.policies[0] = Some((policy, 0));
    let outcome = world.drive(Command::Tidy(Tidy { limits: Limits::LOCAL })).unwrap();
    assert_eq!(outcome.open, OpenTable::Source, "{}", outcome.text());
    assert!(!world.denies(TableRole::Source), "{}", outcome.text());
}

#[test]
fn a_policy_that_is_never_changed_gives_the_stop_back() {
    let mut world = ready("moved");
    let outcome = played(&mut world, Command::Switch(by_policy()), |world, _, effect| {
        let stopping = world.head().phase == Phase::Closing && matches!(effect, Effect::SetPolicy { .. });
        stopping.then_some(Ok(Reply::Changed(false)))
    });
    assert_eq!((outcome.end, outcome.open), (End::TakenBack, OpenTable::Source), "{}", outcome.text());
}

#[test]
fn an_interruption_during_the_pause_after_a_failure_is_no_reply() {
    let mut world = ready("moved");
    let mut failed = false;
    let outcome = played(&mut world, Command::Switch(by_policy()), |world, operation, effect| {
        if matches!(effect, Effect::Probe(_)) && world.head().phase == Phase::Closing && !failed {
            failed = true;
            return Some(Err(failure(FailureKind::Passing)));
        }
        if failed && matches!(effect, Effect::Wait { .. }) {
            operation.interrupt();
            return Some(Ok(Reply::Done));
        }
        None
    });
    assert_eq!((outcome.end, &*outcome.code), (End::TakenBack, "interrupted"), "{}", outcome.text());
    assert!(!world.denies(TableRole::Source));
}

#[test]
fn a_shard_that_ends_before_its_child_is_listed_is_waited_for() {
    let mut world = ready("moved");
    let mut listings = 0;
    let outcome = played(&mut world, Command::Switch(by_policy()), |_, _, effect| match effect {
        Effect::Shards { .. } => {
            listings += 1;
            let shard = |name: &str, parent: Option<&str>| Shard {
                name: name.to_owned(),
                parent: parent.map(str::to_owned),
            };
            let mut shards = vec![shard("shard", None)];
            shards.extend((listings > 3).then(|| shard("child", Some("shard"))));
            Some(Ok(Reply::Shards { shards, last: None }))
        }
        Effect::Records { from, .. } => {
            let page = |position: &ShardPosition| {
                Ok(ShardPage { ended: position.shard == "shard", ..ShardPage::default() })
            };
            Some(Ok(Reply::Records(from.iter().map(page).collect())))
        }
        _ => None,
    });
    assert_eq!(outcome.end, End::Done, "{}", outcome.text());
}

#[test]
fn the_limit_of_a_stop_holds_after_the_seals_too() {
    let mut world = ready("moved");
    let outcome = played(&mut world, Command::Switch(by_policy()), |world, _, effect| {
        let closing = world.head().phase == Phase::Closing;
        world.now_ms += if closing && matches!(effect, Effect::Describe(_)) { 200_000 } else { 0 };
        None
    });
    assert_eq!((outcome.end, &*outcome.code), (End::TakenBack, "stop-too-long"), "{}", outcome.text());
    assert_eq!(world.head().phase, Phase::Tidy);
}

#[test]
fn a_policy_that_somebody_overwrites_during_the_comparison_is_seen_before_the_turn() {
    let mut world = ready("moved");
    let mut overwritten = false;
    let for_good = Switch { for_good: true, ..by_policy() };
    let outcome = played(&mut world, Command::Switch(for_good), |world, _, effect| {
        let compares = matches!(effect, Effect::Page { of: PageSource::Scan(_), .. });
        if compares && world.head().phase == Phase::Closing && !overwritten {
            overwritten = true;
            world.policies[0] = None;
        }
        None
    });
    assert!(overwritten);
    assert_eq!((outcome.end, &*outcome.code), (End::TakenBack, "writers-not-denied"), "{}", outcome.text());
}

#[test]
fn tidy_waits_for_a_worker_whose_clock_is_behind() {
    let mut world = ready("moved");
    let started = RetrofitState::started(&world.mapping, Some("source-stream"));
    world.rows.clear();
    let tidying = started.to(Phase::Tidying).unwrap();
    world.put(&tidying.store(None));
    let until_ms = world.now_ms - 60_000;
    let segment = SegmentId::new(0, 1).unwrap();
    let lease = Lease { pass: Pass::Backfill, segment, owner: "worker".to_owned(), until_ms };
    world.put(&lease.take(&tidying.job(world.mapping.clone()), until_ms - 30_000));
    world.kill_after = Some(13);
    assert_eq!(world.drive(Command::Tidy(Tidy { limits: Limits::AWS })), None);
    assert_eq!(world.effects.last(), Some(&"wait"), "{:?}", world.effects);
    assert_eq!(world.head().since, None, "the worker may still write as in the phase before");
}

#[test]
fn each_phase_of_the_tidying_seals_the_repairs_of_the_phase_before() {
    let seals = |world: &World, generation: u64| {
        let is_of = |(partition, sort): &&(String, String)| {
            partition.starts_with("seal#") && sort.parse() == Ok(generation)
        };
        world.rows.keys().filter(is_of).count()
    };
    for (name, expected) in
        [("moved", vec![(Phase::Tidying, 0), (Phase::Tidy, 1)]), ("rekeyed", vec![(Phase::Tidy, 0)])]
    {
        let mut world = ready(name);
        world.rows.clear();
        world.put(&RetrofitState::started(&world.mapping, Some("source-stream")).store(None));
        compared(&mut world);
        let mut sealed = Vec::new();
        let done = played(&mut world, Command::Tidy(Tidy { limits: Limits::LOCAL }), |world, _, effect| {
            let head = world.head();
            let reads_leases = matches!(effect, Effect::Page { of: PageSource::Partition(partition), .. }
                if partition.starts_with("leases#"));
            if let Some(generation) = head.generation.filter(|_| reads_leases) {
                let former = generation.former().number();
                sealed.push((head.phase, former));
                assert_eq!(seals(world, former), usize::from(crate::retrofit::seal::SEALS), "{name}");
                assert_eq!(seals(world, generation.number()), 0, "{name}: a repair of now may write");
            }
            None
        });
        assert_eq!((done.end, sealed), (End::Done, expected), "{}", done.text());
    }
}

#[test]
fn changes_of_a_ledgers_target_have_rows_from_the_last_write_of_the_first_phase_on() {
    let mut world = ready("rekeyed");
    world.rows.clear();
    world.put(&RetrofitState::started(&world.mapping, Some("source-stream")).store(None));
    compared(&mut world);
    let mut begun = None;
    let done = played(&mut world, Command::Tidy(Tidy { limits: Limits::AWS }), |world, _, _| {
        begun = begun.or(world.head().since);
        None
    });
    assert_eq!(done.end, End::Done, "{}", done.text());
    let (seconds, head) = (world.now_ms / 1_000, world.head());
    // 1,262 seconds for requests in flight, and three times the difference of two clocks: elsewhere it counts once.
    assert_eq!(seconds - begun.unwrap(), 2_162);
    assert_eq!(seconds - head.rows_since.unwrap(), 600, "by each reader's clock");
}

#[test]
fn an_operator_that_wakes_up_late_opens_the_table_that_it_closed() {
    let mut world = ready("moved");
    let mut slept = false;
    let outcome = played(&mut world, Command::Switch(by_policy()), |world, _, effect| {
        let closes = matches!(effect, Effect::SetPolicy { table: TableRole::Source, .. });
        if closes && world.head().phase == Phase::Closing && !slept {
            slept = true;
            let other = world.drive(Command::Switch(Switch { take_back: true, ..by_policy() })).unwrap();
            assert_eq!(other.end, End::Done, "{}", other.text());
        }
        None
    });
    assert!(slept);
    assert_eq!(&*outcome.code, "retrofit-raced", "{}", outcome.text());
    assert!(!world.denies(TableRole::Source), "{}", outcome.text());
}

#[test]
fn whoever_wants_back_is_not_led_to_the_end_of_the_way_back() {
    let mut world = reversed();
    let checked = world.drive(Command::Switch(Switch { check: true, ..back() })).unwrap();
    assert_eq!(checked.end, End::Checked, "{}", checked.text());
    assert_eq!(checked.next.unwrap(), format!("keyfold retrofit switch --back {}", world.mapping.name()));
}

#[test]
fn a_check_of_what_was_switched_already_writes_nothing() {
    let mut world = reversed();
    world.effects.clear();
    let checked = world.drive(Command::Switch(Switch { check: true, ..by_policy() })).unwrap();
    assert_eq!(checked.end, End::Already, "{}", checked.text());
    let tags = world.effects.iter().filter(|effect| **effect == "tag").count();
    assert_eq!((tags, world.effects.contains(&"policy")), (2, false), "{:?}", world.effects);
}

#[test]
fn a_switch_compares_again_after_a_stop_that_was_taken_back() {
    let mut world = ready("moved");
    let before = world.head();
    world.put(&RetrofitState { version: before.version + 2, ..before.clone() }.store(Some(&before)));
    let outcome = played(&mut world, Command::Switch(by_policy()), |world, _, effect| {
        if matches!(effect, Effect::Pass { .. }) {
            world.rows.retain(|(partition, _), _| !partition.starts_with("segments#"));
            compared(world);
        }
        None
    });
    assert_eq!(outcome.end, End::Done, "{}", outcome.text());
}

/// A page with one change of an item.
pub(super) fn page_with_change(seconds: u64) -> ShardPage {
    let new = event("1", "joe");
    let key = Item::from(std::collections::HashMap::from([("id".to_owned(), new["id"].clone())]));
    let sequence = SequenceNumber::parse("5").unwrap();
    let record = ChangeRecord { sequence, key, kind: ChangeKind::Modify, old: None, new: Some(new) };
    let changes = vec![StreamedChange { record, seconds }];
    ShardPage { changes, last: Some("5".to_owned()), ended: false }
}

#[test]
fn records_of_the_closed_table_are_examined_before_the_stop() {
    let mut world = reversed();
    let before = world.head();
    let head = RetrofitState { rows_since: Some(1), version: before.version + 1, ..before.clone() };
    world.put(&head.store(Some(&before)));
    let (mut read, mut examined) = (false, false);
    played(&mut world, Command::Switch(back()), |world, _, effect| match effect {
        Effect::Records { table: TableRole::Source, .. } if !read => {
            read = true;
            Some(Ok(Reply::Records(vec![Ok(page_with_change(world.now_ms / 1_000))])))
        }
        Effect::Carry { .. } => {
            assert_eq!(world.head().phase, Phase::Reversed, "the writers are not stopped for it");
            examined = true;
            None
        }
        _ => None,
    });
    assert!(read && examined);
}

/// The writers are back in the source, and every change that a stream still has is from after the rows.
fn returned_long_ago() -> World {
    let mut world = reversed();
    assert_eq!(world.drive(Command::Switch(back())).unwrap().end, End::Done);
    let before = world.head();
    let head = RetrofitState { rows_since: Some(1), version: before.version + 1, ..before.clone() };
    world.put(&head.store(Some(&before)));
    world
}

/// After a return the target gets another stream. Its sequence numbers do not compare with the former ones.
#[test]
fn records_of_a_new_stream_are_examined_in_its_epoch_before_the_stop() {
    let mut world = returned_long_ago();
    world.streams[1] = "another-stream".to_owned();
    compared(&mut world);
    let mut page = page_with_change(world.now_ms / 1_000);
    let record = &mut page.changes[0].record;
    record.key = world.mapping.target_key(&record.key).unwrap().unwrap();
    let second = Epoch::FIRST.next().unwrap();
    let (record, mut pages, mut examined) = (record.clone(), vec![page], 0);
    played(&mut world, Command::Switch(by_policy()), |world, _, effect| match effect {
        Effect::Records { table: TableRole::Target, .. } => Some(Ok(Reply::Records(vec![Ok(pages.pop()?)]))),
        Effect::Carry { job, tasks } => {
            assert_eq!(world.head().phase, Phase::Tidy, "the writers are not stopped for it");
            assert_eq!(*tasks, [job.late(&record, second)]);
            examined += 1;
            None
        }
        _ => None,
    });
    assert_eq!(examined, 1);
}

/// A write is not late if the table was open for it, and the other operator may have opened it.
#[test]
fn records_are_not_examined_by_a_row_that_another_operator_changed_while_they_were_read() {
    let mut world = returned_long_ago();
    compared(&mut world);
    let mut pages = vec![page_with_change(world.now_ms / 1_000)];
    let outcome = played(&mut world, Command::Switch(by_policy()), |world, _, effect| match effect {
        Effect::Records { table: TableRole::Target, .. } => {
            let (head, page) = (world.head(), pages.pop()?);
            world.put(&RetrofitState { version: head.version + 1, ..head.clone() }.store(Some(&head)));
            Some(Ok(Reply::Records(vec![Ok(page)])))
        }
        Effect::Carry { .. } => panic!("it is examined"),
        _ => None,
    });
    assert!(pages.is_empty() && outcome.end != End::Done, "{}", outcome.text());
}

#[test]
fn the_time_of_the_reading_begins_with_it() {
    let mut world = ready("moved");
    let (mut waited, mut read) = (false, false);
    let outcome = played(&mut world, Command::Switch(by_policy()), |world, _, effect| match effect {
        Effect::Page { .. } if !waited => {
            waited = true;
            world.now_ms += 7_200_000;
            None
        }
        Effect::Records { .. } if !read => {
            read = true;
            Some(Ok(Reply::Records(vec![Ok(page_with_change(1))])))
        }
        _ => None,
    });
    assert_eq!(outcome.end, End::Done, "{}", outcome.text());
}

/// A switch for good whose source has one item that does not fit, and no record of it; with an acceptance, or without an entry.
fn switched_with_misfit(accepted: bool) -> Outcome {
    let mut world = ready("moved");
    let mut odd = event("1", "joe");
    odd.insert("accessedBy".to_owned(), AttributeValue::N("1".to_owned()));
    let key = Item::from(std::collections::HashMap::from([("id".to_owned(), odd["id"].clone())]));
    if accepted {
        let source = SourceKey::of(world.mapping.source(), &key).unwrap();
        let fence = Fence::of_scan(Epoch::FIRST);
        let entry = Quarantined::item(&key, &source, &QuarantineReason::Foreign, fence);
        let acceptance = Acceptance { because: "old".to_owned(), by: "ann".to_owned(), at: 1 };
        let mapping = world.mapping.clone();
        world.put(&entry.enter(&mapping));
        world.put(&entry.accept(&mapping, Some(&acceptance)));
    }
    let for_good = Switch { for_good: true, ..by_policy() };
    played(&mut world, Command::Switch(for_good), |_, _, effect| match effect {
        Effect::Page { of: PageSource::Scan(TableRole::Source), .. } => {
            Some(Ok(Reply::Page { items: vec![odd.clone()], last: None }))
        }
        _ => None,
    })
}

#[test]
fn for_good_only_an_accepted_misfit_stays_out() {
    let outcome = switched_with_misfit(false);
    assert_eq!((outcome.end, &*outcome.code), (End::TakenBack, "differences"), "{}", outcome.text());
    let outcome = switched_with_misfit(true);
    assert_eq!(outcome.end, End::Done, "{}", outcome.text());
}

#[test]
fn a_list_of_roles_is_corrected_before_anything_else() {
    let mut world = reversed();
    let roles = vec![ROLE.to_owned(), "arn:aws:iam::1:role/operator".to_owned()];
    let corrected = Switch { writers: Some(Writers::Policy(roles.clone())), ..back() };
    let mut corrected_in = None;
    played(&mut world, Command::Switch(corrected), |world, _, _| {
        if world.head().exempt == roles {
            corrected_in.get_or_insert(world.head().phase);
        }
        None
    });
    assert_eq!(corrected_in, Some(Phase::Reversed), "before the stop");
}

#[test]
fn a_read_that_does_not_show_the_own_policy_yet_is_read_again() {
    let mut world = ready("moved");
    let mut closed_ms = 0;
    let outcome = played(&mut world, Command::Switch(by_policy()), |world, operation, effect| {
        let phase = world.head().phase;
        match effect {
            Effect::Probe(_) if phase == Phase::Closing => {
                closed_ms = world.now_ms;
                operation.interrupt();
                None
            }
            // Eventually consistent: for five seconds the policy from before the stop.
            Effect::Policy(TableRole::Source) if closed_ms > 0 && world.now_ms < closed_ms + 5_000 => {
                Some(Ok(Reply::Policy(None)))
            }
            _ => None,
        }
    });
    assert_eq!(outcome.end, End::TakenBack, "{}", outcome.text());
    assert!(!world.denies(TableRole::Source), "{}", outcome.text());
}
