//! Items during a stop: expired, accepted, and those that changed before the last move.

use super::faults_tests::{back, page_with_change, played, reversed};
use super::*;
use crate::retrofit::Generation;
use crate::retrofit::attributes::FENCE_ATTRIBUTE;
use crate::retrofit::fence::{Epoch, Fence, SequenceNumber};
use crate::retrofit::protocol::LedgerRow;
use crate::retrofit::quarantine::{Acceptance, QuarantineReason, Quarantined};
use crate::retrofit::record::{ChangeKind, ChangeRecord};
use crate::retrofit::source_key::SourceKey;
use crate::retrofit::tests::{changed, event};

fn page(records: Vec<ChangeRecord>, seconds: u64) -> Result<Reply, Failure> {
    let changes = records.into_iter().map(|record| StreamedChange { record, seconds }).collect();
    Ok(Reply::Records(vec![Ok(ShardPage { changes, last: Some("9".to_owned()), ended: false })]))
}

fn key_of(item: &Item) -> Item {
    Item::from(std::collections::HashMap::from([("id".to_owned(), item["id"].clone())]))
}

fn record(item: &Item, kind: ChangeKind, sequence: u64) -> ChangeRecord {
    let sequence = SequenceNumber::parse(&sequence.to_string()).unwrap();
    let new = (!matches!(kind, ChangeKind::Remove { .. })).then(|| item.clone());
    ChangeRecord { sequence, key: key_of(item), kind, old: Some(item.clone()), new }
}

/// The retrofit `moved`, with a time to live of both tables.
fn with_time_to_live() -> World {
    let ttl = "partition = \"id\"\nttl = \"ends\"\n[tables.old.attributes]\nends = \"number\"\n";
    let mut world = World::of(changed("moved", "partition = \"id\"\n[tables.old.attributes]\n", ttl));
    compared(&mut world);
    world
}

/// The table as it is, with its time to live switched on.
fn expiring(world: &mut World, effect: &Effect) -> Option<Result<Reply, Failure>> {
    matches!(effect, Effect::Describe(_)).then(|| match world.perform(effect) {
        Ok(Reply::Table(facts)) => Ok(Reply::Table(TableFacts { expires: true, ..facts })),
        other => other,
    })
}

#[test]
fn deletions_by_time_to_live_do_not_keep_a_stop_from_ending() {
    let mut world = ready("moved");
    let mut sequence = 10;
    let outcome = played(&mut world, Command::Switch(by_policy()), |world, _, effect| match effect {
        Effect::Records { .. } if world.head().phase == Phase::Closing => {
            sequence += 1;
            let removed = record(&event("1", "joe"), ChangeKind::Remove { expired: true }, sequence);
            Some(page(vec![removed], world.now_ms / 1_000))
        }
        _ => None,
    });
    assert_eq!(outcome.end, End::Done, "{}", outcome.text());
}

/// The deletion itself is the service's, but a record of the change would be noted as late after the turn.
#[test]
fn a_change_before_a_deletion_by_time_to_live_has_to_arrive() {
    for changed in [false, true] {
        let mut world = World::tidy("moved");
        let before = world.head();
        let head = RetrofitState { rows_since: Some(1), version: before.version + 1, ..before.clone() };
        world.put(&head.store(Some(&before)));
        compared(&mut world);
        let joe = event("1", "joe");
        let removed = record(&joe, ChangeKind::Remove { expired: true }, 6);
        let change = changed.then(|| record(&joe, ChangeKind::Modify, 5));
        let mut records: Vec<ChangeRecord> = change.into_iter().chain([removed]).collect();
        let mut carried = false;
        let outcome = played(&mut world, Command::Switch(by_policy()), |world, _, effect| match effect {
            Effect::Records { .. } => Some(page(std::mem::take(&mut records), world.now_ms / 1_000)),
            Effect::Carry { .. } => {
                carried = true;
                let source = SourceKey::of(world.mapping.source(), &key_of(&joe)).unwrap();
                let mut row = LedgerRow::key(&world.mapping, &source);
                let place = place(&row);
                let sequence = SequenceNumber::parse("6").unwrap();
                row.insert(control::FENCE, Fence::of_record(Epoch::FIRST, sequence).value());
                world.rows.insert(place, row);
                None
            }
            _ => None,
        });
        assert_eq!((outcome.end, carried), (End::Done, changed), "{}", outcome.text());
    }
}

#[test]
fn other_deletions_keep_a_stop_from_ending() {
    let mut world = ready("moved");
    let mut sequence = 10;
    let outcome = played(&mut world, Command::Switch(by_policy()), |world, _, effect| match effect {
        Effect::Records { .. } if world.head().phase == Phase::Closing => {
            sequence += 1;
            let removed = record(&event("1", "joe"), ChangeKind::Remove { expired: false }, sequence);
            Some(page(vec![removed], world.now_ms / 1_000))
        }
        _ => None,
    });
    assert_eq!(outcome.end, End::TakenBack, "{}", outcome.text());
}

#[test]
fn for_good_an_item_whose_time_is_over_is_no_difference() {
    for (expires, end) in [(true, End::Done), (false, End::TakenBack)] {
        let mut world = with_time_to_live();
        let mut over = event("1", "joe");
        over.insert("ends".to_owned(), AttributeValue::N((world.now_ms / 1_000 - 60).to_string()));
        let for_good = Switch { for_good: true, ..by_policy() };
        let outcome = played(&mut world, Command::Switch(for_good), |world, _, effect| match effect {
            Effect::Page { of: PageSource::Scan(TableRole::Source), .. } => {
                Some(Ok(Reply::Page { items: vec![over.clone()], last: None }))
            }
            _ if expires => expiring(world, effect),
            _ => None,
        });
        assert_eq!(outcome.end, end, "{}", outcome.text());
    }
}

#[test]
fn after_a_return_an_item_of_the_target_that_names_no_item_of_the_source_is_a_difference() {
    let mut world = ready("rekeyed");
    let unproven = || Switch { unproven: true, ..by_policy() };
    assert_eq!(world.drive(Command::Switch(unproven())).unwrap().end, End::Done);
    world.now_ms += 7_200_000;
    assert_eq!(world.drive(Command::Switch(back())).unwrap().end, End::Done);
    world.now_ms += 7_200_000;
    compared(&mut world);
    let mut theirs = world.mapping.target_item(&event("1", "joe")).unwrap().unwrap();
    theirs.remove("id");
    let for_good = Switch { for_good: true, ..unproven() };
    let outcome = played(&mut world, Command::Switch(for_good), |_, _, effect| match effect {
        Effect::Page { of: PageSource::Scan(TableRole::Target), .. } => {
            Some(Ok(Reply::Page { items: vec![theirs.clone()], last: None }))
        }
        _ => None,
    });
    assert_eq!((outcome.end, &*outcome.code), (End::TakenBack, "differences"), "{}", outcome.text());
}

#[test]
fn an_accepted_difference_does_not_keep_a_stop_from_ending() {
    for (accepted, end) in [(true, End::Done), (false, End::TakenBack)] {
        let mut world = ready("moved");
        let joe = event("1", "joe");
        if accepted {
            let source = SourceKey::of(world.mapping.source(), &key_of(&joe)).unwrap();
            let fence = Fence::of_record(Epoch::FIRST, SequenceNumber::parse("5").unwrap());
            let entry = Quarantined::item(&key_of(&joe), &source, &QuarantineReason::Foreign, fence);
            let acceptance = Acceptance { because: "old".to_owned(), by: "ann".to_owned(), at: 1 };
            let mapping = world.mapping.clone();
            world.put(&entry.enter(&mapping));
            world.put(&entry.accept(&mapping, Some(&acceptance)));
        }
        let mut read = false;
        let outcome = played(&mut world, Command::Switch(by_policy()), |world, _, effect| match effect {
            Effect::Records { .. } if !read => {
                read = true;
                Some(Ok(Reply::Records(vec![Ok(page_with_change(world.now_ms / 1_000))])))
            }
            Effect::Read { table: TableRole::Source, keys } => {
                Some(Ok(Reply::Items(vec![Some(joe.clone()); keys.len()])))
            }
            Effect::Read { table: TableRole::Target, keys } => {
                Some(Ok(Reply::Items(vec![Some(event("1", "ann")); keys.len()])))
            }
            _ => None,
        });
        assert_eq!(outcome.end, end, "{}", outcome.text());
    }
}

/// The reply to a read of a table: this item of the source, or its copy in the target, whichever keys are asked.
fn read_of(effect: &Effect, source: &Item, copy: &Item) -> Option<Result<Reply, Failure>> {
    let (item, keys) = match effect {
        Effect::Read { table: TableRole::Source, keys } => (source, keys),
        Effect::Read { table: TableRole::Target, keys } => (copy, keys),
        _ => return None,
    };
    Some(Ok(Reply::Items(vec![Some(item.clone()); keys.len()])))
}

/// The second move of a table's writers to the target. An item has a write of the retrofit that has left the target's stream;
/// the item's own newest change was this number of seconds before the return.
fn second_move(before_turn: u64) -> Outcome {
    let mut world = reversed();
    world.now_ms += 7_200_000;
    assert_eq!(world.drive(Command::Switch(back())).unwrap().end, End::Done);
    let turned = world.head().turned_at.unwrap();
    world.now_ms += 600_000;
    compared(&mut world);
    let joe = event("1", "joe");
    let mut copy = world.mapping.target_item(&joe).unwrap().unwrap();
    copy.insert(FENCE_ATTRIBUTE.to_owned(), Fence::of_scan(Epoch::FIRST).value());
    let mut read = false;
    played(&mut world, Command::Switch(by_policy()), |_, _, effect| match effect {
        Effect::Records { table: TableRole::Source, .. } if !read => {
            read = true;
            Some(Ok(Reply::Records(vec![Ok(page_with_change(turned - before_turn))])))
        }
        _ => read_of(effect, &joe, &copy),
    })
}

#[test]
fn what_changed_before_the_last_move_needs_no_sign_in_the_closed_tables_stream() {
    let outcome = second_move(3_600);
    assert_eq!(outcome.end, End::Done, "{}", outcome.text());
    let outcome = second_move(0);
    assert_eq!((outcome.end, &*outcome.code), (End::TakenBack, "stop-too-long"), "{}", outcome.text());
}

/// How the retrofit came to delete the copy of an item whose time is over.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Deleted {
    /// Nothing else happened to the item.
    Alone,
    /// After a change of the item.
    AfterChange,
    /// In this stop, which carries that change.
    ByStop,
    /// In this stop, which met a late write of the copy.
    AsLate,
}

/// The same move. An item's time is over in the source; the retrofit deleted its copy with this fence, and the target's stream shows that or not.
fn second_move_with_a_deletion(how: Deleted, removed: &Fence, is_shown: bool) -> Outcome {
    let mut world = reversed();
    world.now_ms += 7_200_000;
    assert_eq!(world.drive(Command::Switch(back())).unwrap().end, End::Done);
    world.now_ms += 600_000;
    if how == Deleted::AsLate {
        let before = world.head();
        let head = RetrofitState { rows_since: Some(1), version: before.version + 1, ..before.clone() };
        world.put(&head.store(Some(&before)));
    }
    compared(&mut world);
    let joe = event("1", "joe");
    let source = SourceKey::of(world.mapping.source(), &key_of(&joe)).unwrap();
    let mut row = LedgerRow::key(&world.mapping, &source);
    let place = place(&row);
    row.insert(control::FENCE, fence("3").value());
    world.rows.insert(place.clone(), row.clone());
    row.insert(control::FENCE, fence("6").repaired().repaired().value());
    row.insert(control::REMOVED, removed.value());
    let mut row = Some(row);
    if how != Deleted::ByStop {
        world.rows.extend(row.take().map(|row| (place.clone(), row)));
    }
    let mut copy = world.mapping.target_item(&joe).unwrap().unwrap();
    let key = world.mapping.target().key_of(&copy).unwrap();
    let late = ChangeRecord { key: key.clone(), ..record(&copy, ChangeKind::Modify, 8) };
    copy.insert(FENCE_ATTRIBUTE.to_owned(), removed.value());
    let deleted = record(&copy, ChangeKind::Remove { expired: false }, 9);
    let mut shown = if is_shown { vec![ChangeRecord { key, ..deleted }] } else { Vec::new() };
    if how == Deleted::AsLate {
        shown.insert(0, late);
    }
    let mut over = vec![record(&joe, ChangeKind::Remove { expired: true }, 6)];
    if matches!(how, Deleted::AfterChange | Deleted::ByStop) {
        over.insert(0, record(&joe, ChangeKind::Modify, 5));
    }
    played(&mut world, Command::Switch(by_policy()), |world, _, effect| match effect {
        Effect::Records { table: TableRole::Source, .. } => {
            Some(page(std::mem::take(&mut over), world.now_ms / 1_000))
        }
        Effect::Records { .. } => Some(page(std::mem::take(&mut shown), world.now_ms / 1_000)),
        Effect::Carry { .. } => {
            world.rows.extend(row.take().map(|row| (place.clone(), row)));
            None
        }
        _ => None,
    })
}

/// The same move where keys can move. A change from before the return is carried by the stop, or was carried over before the return;
/// the target's stream shows that write or not.
fn second_move_of_a_moving_key(by_stop: bool, is_shown: bool) -> Outcome {
    let unproven = || Switch { unproven: true, ..by_policy() };
    let mut world = ready("rekeyed");
    assert_eq!(world.drive(Command::Switch(unproven())).unwrap().end, End::Done);
    world.now_ms += 7_200_000;
    assert_eq!(world.drive(Command::Switch(back())).unwrap().end, End::Done);
    let turned = world.head().turned_at.unwrap();
    world.now_ms += 600_000;
    compared(&mut world);
    let mapping = world.mapping.clone();
    let joe = event("1", "joe");
    let mut copy = mapping.target_item(&joe).unwrap().unwrap();
    copy.insert(FENCE_ATTRIBUTE.to_owned(), fence("9").value());
    let key = mapping.target().key_of(&copy).unwrap();
    let mut written = vec![record(&joe, ChangeKind::Modify, 5)];
    let own = ChangeRecord { key: key.clone(), ..record(&copy, ChangeKind::Modify, 9) };
    let mut shown = if is_shown { vec![own] } else { Vec::new() };
    played(&mut world, Command::Switch(unproven()), |world, _, effect| match effect {
        Effect::Records { table: TableRole::Source, .. } => {
            Some(page(std::mem::take(&mut written), turned - 3_600))
        }
        Effect::Records { .. } => Some(page(std::mem::take(&mut shown), world.now_ms / 1_000)),
        Effect::Carry { .. } => {
            let row =
                |target: &Item| LedgerRow { target: Some(target.clone()), ..LedgerRow::new(fence("9")) };
            let source = SourceKey::of(mapping.source(), &key_of(&joe)).unwrap();
            world.put(&row(&key).put_over(None, &mapping, &source, &key_of(&joe)));
            let generation = if by_stop { world.head().generation } else { Some(Generation::FIRST) };
            let place = LedgerRow { shown: Some(fence("9")), generation, ..row(&key_of(&joe)) };
            let name = SourceKey::of(mapping.target(), &key).unwrap();
            world.put(&place.put_place(None, &mapping, &name, &key));
            None
        }
        _ => read_of(effect, &joe, &copy),
    })
}

#[test]
fn where_keys_can_move_the_targets_stream_must_show_what_a_stop_has_carried() {
    for (by_stop, is_shown) in [(true, true), (false, false)] {
        let outcome = second_move_of_a_moving_key(by_stop, is_shown);
        assert_eq!(outcome.end, End::Done, "{}", outcome.text());
    }
    let outcome = second_move_of_a_moving_key(true, false);
    assert_eq!((outcome.end, &*outcome.code), (End::TakenBack, "stop-too-long"), "{}", outcome.text());
}

fn fence(sequence: &str) -> Fence {
    Fence::of_record(Epoch::FIRST, SequenceNumber::parse(sequence).unwrap())
}

#[test]
fn a_deletion_by_time_to_live_waits_for_what_the_retrofit_deleted_after_it() {
    // The fence of what the retrofit deletes is of what it knew then.
    for (how, removed) in [
        (Deleted::Alone, fence("6").repaired()),
        (Deleted::AfterChange, fence("5").repaired()),
        (Deleted::ByStop, fence("4").repaired()),
        (Deleted::AsLate, fence("4").repaired()),
    ] {
        let outcome = second_move_with_a_deletion(how, &removed, false);
        assert_eq!(
            (outcome.end, &*outcome.code),
            (End::TakenBack, "stop-too-long"),
            "{how:?}: {}",
            outcome.text()
        );
        let outcome = second_move_with_a_deletion(how, &removed, true);
        assert_eq!(outcome.end, End::Done, "{how:?}: {}", outcome.text());
    }
    for how in [Deleted::Alone, Deleted::AfterChange] {
        let outcome = second_move_with_a_deletion(how, &fence("4"), false);
        assert_eq!(outcome.end, End::Done, "{how:?}: {}", outcome.text());
    }
}

#[test]
fn no_read_has_more_than_a_thousand_keys() {
    let mut world = ready("moved");
    let odd = |at: u64| {
        let mut item = event(&at.to_string(), "joe");
        item.insert("accessedBy".to_owned(), AttributeValue::N("1".to_owned()));
        item
    };
    let (mut read, mut acceptances) = (false, 0);
    let short = Switch { limits: Limits { stop_max_ms: 300, ..Limits::LOCAL }, ..by_policy() };
    played(&mut world, Command::Switch(short), |world, _, effect| match effect {
        Effect::Records { .. } if !read => {
            read = true;
            let records = (0..1_500).map(|at| record(&odd(at), ChangeKind::Modify, 10 + at)).collect();
            Some(page(records, world.now_ms / 1_000))
        }
        Effect::Read { table, keys } => {
            assert!(keys.len() <= 1_000, "{} keys", keys.len());
            acceptances = acceptances.max(keys.len());
            (*table == TableRole::Source).then(|| Ok(Reply::Items(vec![Some(odd(1)); keys.len()])))
        }
        _ => None,
    });
    assert_eq!(acceptances, 1_000, "they were asked for their acceptances");
}
