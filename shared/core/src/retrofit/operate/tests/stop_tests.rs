//! Stops: resumed ones, those of two operators, limits and clocks, policies, tags, rights.

use super::faults_tests::{back, failure, page_with_change, played, reversed};
use super::*;
use crate::retrofit::lease::Lease;
use crate::retrofit::tests::changed;
use crate::retrofit::{Pass, SegmentId};

/// An operator dies in the stop of this switch, after this number of its effects.
fn killed_in_stop(world: &mut World, switch: Switch, after: usize) {
    let mut operation =
        Operation::new(world.mapping.clone(), Command::Switch(switch), "killed", world.now_ms);
    let mut effects = 0;
    while effects < after {
        let Step::Ask(effect) = operation.next() else { panic!("{:?}", operation.next()) };
        let reply = world.perform(&effect);
        effects += usize::from(world.head().phase.is_stop());
        operation.answer(world.now_ms, reply);
    }
}

fn for_good() -> Switch {
    Switch { for_good: true, ..by_policy() }
}

fn closes_source(effect: &Effect) -> bool {
    matches!(effect, Effect::SetPolicy { table: TableRole::Source, text: Some(_), .. })
}

/// The row that this effect stores is in this phase.
fn stores(effect: &Effect, phase: Phase) -> bool {
    let Effect::Send(writes) = effect else { return false };
    let Some(Action::Put(row)) = writes.first().map(|write| &write.action) else { return false };
    text(row, "phase") == phase.name()
}

#[test]
fn a_stop_goes_on_to_where_it_was_begun_for() {
    for (started, resumed, phase) in [
        (for_good(), by_policy(), Phase::Settled),
        (by_policy(), for_good(), Phase::Reversed),
        (for_good(), for_good(), Phase::Settled),
    ] {
        let mut world = ready("moved");
        killed_in_stop(&mut world, started, 5);
        let done = world.drive(Command::Switch(resumed)).unwrap();
        assert_eq!((done.end, world.head().phase), (End::Done, phase), "{}", done.text());
    }
}

#[test]
fn a_stop_of_writers_who_stand_still_by_themselves_goes_on() {
    let mut world = ready("moved");
    killed_in_stop(&mut world, switch(Writers::Attested), 3);
    let done = world.drive(Command::Switch(switch(Writers::Attested))).unwrap();
    assert_eq!((done.end, world.head().phase), (End::Done, Phase::Reversed), "{}", done.text());
}

#[test]
fn a_ledger_stopped_for_good_goes_on_with_the_command_that_it_names() {
    let mut world = ready("rekeyed");
    killed_in_stop(&mut world, for_good(), 5);
    let run = Run::default();
    let refused = world.drive(Command::Run(run)).unwrap();
    assert_eq!(refused.next.unwrap(), "keyfold retrofit switch rekeyed");
    let done = world.drive(Command::Switch(by_policy())).unwrap();
    assert_eq!((done.end, world.head().phase), (End::Done, Phase::Settled), "{}", done.text());
}

#[test]
fn for_good_after_a_return_reads_both_streams_and_ends() {
    for killed in [false, true] {
        let mut world = reversed();
        assert_eq!(world.drive(Command::Switch(back())).unwrap().end, End::Done);
        compared(&mut world);
        if killed {
            killed_in_stop(&mut world, for_good(), 5);
        }
        let mut read = false;
        let outcome = played(&mut world, Command::Switch(for_good()), |_, _, effect| {
            read |= matches!(effect, Effect::Shards { table: TableRole::Target, .. });
            None
        });
        assert_eq!((outcome.end, read), (End::Done, true), "{}", outcome.text());
        assert_eq!(world.head().phase, Phase::Settled);
    }
}

#[test]
fn an_operator_that_slept_before_the_policy_closes_nothing_that_was_opened_since() {
    let mut world = ready("moved");
    let mut slept = false;
    let outcome = played(&mut world, Command::Switch(by_policy()), |world, _, effect| {
        let reads = matches!(effect, Effect::Policy(TableRole::Source));
        if reads && world.head().phase == Phase::Closing && !slept {
            slept = true;
            let other = world.drive(Command::Switch(Switch { take_back: true, ..by_policy() })).unwrap();
            assert_eq!((other.end, other.is_success()), (End::Done, true), "{}", other.text());
        }
        assert!(!slept || !closes_source(effect), "the table is open by the row");
        None
    });
    assert!(slept);
    assert_eq!(&*outcome.code, "retrofit-raced", "{}", outcome.text());
}

#[test]
fn a_late_stop_is_taken_back_without_closing_the_table_again() {
    let mut world = ready("moved");
    killed_in_stop(&mut world, by_policy(), 1);
    world.now_ms += 3_600_000;
    let outcome = played(&mut world, Command::Switch(by_policy()), |world, _, _| {
        assert!(!world.denies(TableRole::Source), "nobody was stopped");
        None
    });
    assert_eq!((outcome.end, &*outcome.code), (End::TakenBack, "stop-too-long"), "{}", outcome.text());
}

#[test]
fn a_failure_at_the_stop_takes_no_time_from_the_opening() {
    let mut world = ready("moved");
    let (mut stopped, mut slow, mut opened) = (false, false, false);
    let outcome = played(&mut world, Command::Switch(by_policy()), |world, _, effect| {
        if stores(effect, Phase::Closing) && !stopped {
            stopped = true;
            return Some(Err(failure(FailureKind::Passing)));
        }
        if matches!(effect, Effect::Probe(_)) && world.head().phase == Phase::Closing && !slow {
            slow = true;
            world.now_ms += 110_000;
        }
        if stores(effect, Phase::Reversed) {
            world.now_ms += 20_000;
        }
        if matches!(effect, Effect::Policy(_)) && world.head().phase == Phase::Reversed && !opened {
            opened = true;
            return Some(Err(failure(FailureKind::Passing)));
        }
        None
    });
    assert!(stopped && slow && opened);
    assert_eq!(outcome.end, End::Done, "{}", outcome.text());
}

#[test]
fn a_row_that_dynamodb_rejects_is_no_race() {
    let mut world = ready("moved");
    let outcome = played(&mut world, Command::Switch(by_policy()), |_, _, effect| {
        let rejected = Response::Rejected("ValidationException".to_owned());
        stores(effect, Phase::Reversed).then(|| Ok(Reply::Responses(vec![rejected])))
    });
    assert_eq!((outcome.end, &*outcome.code), (End::Failed, "write-refused"), "{}", outcome.text());
}

#[test]
fn a_stream_that_is_gone_gives_the_table_back_at_once() {
    let mut world = ready("moved");
    let outcome = played(&mut world, Command::Switch(by_policy()), |world, _, effect| {
        let reads = matches!(effect, Effect::Records { .. }) && world.head().phase == Phase::Closing;
        reads.then(|| Ok(Reply::Records(vec![Err(failure(FailureKind::Gone))])))
    });
    assert_eq!(outcome.end, End::TakenBack, "{}", outcome.text());
    assert!(outcome.paused_ms.unwrap() < 5_000, "{:?}", outcome.paused_ms);
}

#[test]
fn a_slow_listing_after_the_seals_is_no_write_of_somebody() {
    let mut world = ready("moved");
    let outcome = played(&mut world, Command::Switch(by_policy()), |world, _, effect| {
        let sealed = world.rows.keys().any(|(partition, _)| partition.starts_with("seal#"));
        world.now_ms += if sealed && matches!(effect, Effect::Shards { .. }) { 200_000 } else { 0 };
        None
    });
    assert_eq!((outcome.end, &*outcome.code), (End::TakenBack, "stop-too-long"), "{}", outcome.text());
}

#[test]
fn a_worker_whose_clock_is_behind_keeps_the_gates_closed() {
    let mut world = ready("moved");
    let segment = SegmentId::new(0, 1).unwrap();
    let until_ms = world.now_ms - 60_000;
    let lease = Lease { pass: Pass::VerifySource, segment, owner: "worker".to_owned(), until_ms };
    world.put(&lease.take(&world.head().job(world.mapping.clone()), until_ms - 30_000));
    let refused = world.drive(Command::Switch(Switch { limits: Limits::AWS, ..by_policy() })).unwrap();
    let codes: Vec<_> = refused.gates.iter().map(crate::retrofit::gates::Gate::code).collect();
    assert_eq!((refused.end, codes), (End::Refused, vec!["still-at-work"]), "{}", refused.text());
}

#[test]
fn a_clock_that_is_set_back_makes_no_wait_longer() {
    let mut world = ready("moved");
    let mut set_back = false;
    let outcome = played(&mut world, Command::Switch(by_policy()), |world, _, effect| {
        if matches!(effect, Effect::Probe(_)) && world.head().phase == Phase::Closing && !set_back {
            set_back = true;
            world.now_ms -= 600_000;
        }
        if let Effect::Wait { until_ms } = effect {
            assert!(*until_ms < world.now_ms + 10_000, "{} ms", until_ms - world.now_ms);
        }
        None
    });
    assert!(set_back);
    assert_eq!(outcome.end, End::Done, "{}", outcome.text());
}

#[test]
fn an_empty_page_is_not_the_end_of_a_shard() {
    let mut world = ready("moved");
    let mut pages = 0;
    let outcome = played(&mut world, Command::Switch(by_policy()), |world, _, effect| match effect {
        Effect::Records { .. } => {
            pages += 1;
            if pages != 4 {
                return None;
            }
            assert_eq!(world.head().phase, Phase::Tidy, "old records are read before the stop");
            Some(Ok(Reply::Records(vec![Ok(page_with_change(1))])))
        }
        _ => None,
    });
    assert_eq!(outcome.end, End::Done, "{}", outcome.text());
}

#[test]
fn tags_hold_nobody_up() {
    for writes in [true, false] {
        let mut world = ready("moved");
        let started_ms = world.now_ms;
        let outcome = played(&mut world, Command::Switch(by_policy()), |world, _, effect| match effect {
            Effect::Tag { write, .. } if write.is_some() == writes => {
                assert!(!world.head().phase.is_stop(), "writers stand still");
                Some(Err(failure(FailureKind::Passing)))
            }
            _ => None,
        });
        assert_eq!(outcome.end, End::Done, "{}", outcome.text());
        assert!(outcome.notes.iter().any(|note| note.contains("is not noticed")), "{:?}", outcome.notes);
        assert!(world.now_ms < started_ms + 30_000);
    }
}

#[test]
fn the_end_of_a_retrofit_is_in_the_tags() {
    let mut world = reversed();
    let before = world.rows.clone();
    let done = world.drive(Command::Finish(Finish { leave_marks: true, limits: Limits::LOCAL })).unwrap();
    assert_eq!((done.end, world.head().phase), (End::Done, Phase::Finalised), "{}", done.text());
    world.rows = before;
    let refused = world.drive(Command::Switch(back())).unwrap();
    assert_eq!(&*refused.code, "control-table-restored", "{}", refused.text());
    world.rows.clear();
    let run = Run::default();
    let refused = world.drive(Command::Run(run)).unwrap();
    assert!(refused.text().contains("delete the tags"), "{}", refused.text());
}

#[test]
fn a_stop_is_taken_back_without_the_other_table_and_by_a_mended_manifest() {
    let mut world = ready("moved");
    killed_in_stop(&mut world, by_policy(), 12);
    assert!(world.denies(TableRole::Source));
    world.mapping = changed(
        "moved",
        "partition = \"{resourceId}-{accessedBy}\"",
        "partition = \"{accessedBy}-{resourceId}\"",
    );
    let takes_back = Switch { take_back: true, ..by_policy() };
    let outcome = played(&mut world, Command::Switch(takes_back), |_, _, effect| match effect {
        Effect::Describe(TableRole::Target)
        | Effect::Policy(TableRole::Target)
        | Effect::SetPolicy { table: TableRole::Target, .. }
        | Effect::Tag { table: TableRole::Target, .. } => Some(Err(failure(FailureKind::Gone))),
        _ => None,
    });
    assert_eq!((outcome.end, world.head().phase), (End::Done, Phase::Tidy), "{}", outcome.text());
    assert!(!world.denies(TableRole::Source), "{}", outcome.text());
}

#[test]
fn a_policy_that_would_become_too_large_is_refused_before_the_stop() {
    let mut world = ready("moved");
    // Large enough for the statement that stops all writers, too large for the one with the exempt roles.
    let roles: Vec<String> = (0..20).map(|at| format!("{ROLE}-{at}")).collect();
    let theirs = "x".repeat(crate::retrofit::stop::POLICY_BYTES_MAX - 900);
    world.policies[0] = Some((format!(r#"{{"Statement":[{{"Sid":"{theirs}"}}]}}"#), 1));
    let outcome = played(&mut world, Command::Switch(switch(Writers::Policy(roles))), |world, _, effect| {
        assert_eq!(world.head().phase, Phase::Tidy, "nobody is stopped");
        matches!(effect, Effect::Probe(_)).then_some(Ok(Reply::Denied(false)))
    });
    assert_eq!((outcome.end, &*outcome.code), (End::Refused, "policy-unusable"), "{}", outcome.text());
}

#[test]
fn a_run_that_repairs_compares_again() {
    let mut world = ready("moved");
    let mut passes = Vec::new();
    let run = Run { repair: true, ..Run::default() };
    let outcome = played(&mut world, Command::Run(run), |_, _, effect| {
        if let Effect::Pass { pass, repair } = effect {
            passes.push((*pass, *repair));
        }
        None
    });
    let both = [Pass::VerifySource, Pass::VerifyTarget];
    let wanted: Vec<_> = [true, false].iter().flat_map(|repair| both.map(|pass| (pass, *repair))).collect();
    assert_eq!((outcome.end, passes), (End::Done, wanted), "{}", outcome.text());
}

#[test]
fn a_run_that_leaves_gates_closed_is_no_success() {
    let mut world = ready("moved");
    let run = Run::default();
    let outcome = played(&mut world, Command::Run(run), |world, _, effect| {
        matches!(effect, Effect::Pass { .. }).then(|| {
            world.rows.retain(|(partition, sort), _| {
                !partition.starts_with("segments#") || !sort.starts_with("verify")
            });
            Ok(Reply::Pass { done: true, counts: BTreeMap::new() })
        })
    });
    assert_eq!((&*outcome.code, outcome.is_success()), ("gates-closed", false), "{}", outcome.text());
}

#[test]
fn a_run_fills_nothing_that_has_writers_or_another_mapping() {
    let cut_over = |name: &str, mapping: Mapping| {
        let mut world = World::tidy("moved");
        world.rows.clear();
        world.mapping = job(name).mapping().clone();
        let started = RetrofitState::started(&world.mapping, Some("source-stream"));
        world.put(&RetrofitState { phase: Phase::CutOver, ..started }.store(None));
        world.mapping = mapping;
        let run = Run { repair: true, ..Run::default() };
        let outcome = played(&mut world, Command::Run(run), |_, _, effect| {
            assert!(!matches!(effect, Effect::Pass { .. }));
            None
        });
        outcome.code
    };
    assert_eq!(cut_over("moved", job("moved").mapping().clone()), "already-cut-over");
    let other = changed(
        "inPlace",
        "partition = \"{resourceId}-{accessedBy}\"",
        "partition = \"{accessedBy}-{resourceId}\"",
    );
    assert_eq!(cut_over("inPlace", other), "mapping-changed");
}

#[test]
fn tidy_says_what_it_swept() {
    let mut world = ready("moved");
    let mapping = world.mapping.clone();
    world.rows.clear();
    world.put(&RetrofitState::started(&mapping, Some("source-stream")).store(None));
    compared(&mut world);
    let outcome = played(&mut world, Command::Tidy(Tidy { limits: Limits::LOCAL }), |_, _, effect| {
        let counts = BTreeMap::from([("swept".to_owned(), 3)]);
        matches!(effect, Effect::Pass { .. }).then(|| Ok(Reply::Pass { done: true, counts }))
    });
    assert_eq!(outcome.end, End::Done, "{}", outcome.text());
    assert_eq!(outcome.counts.get("swept"), Some(&3));
}

#[test]
fn a_comparison_that_takes_longer_than_the_stop_says_what_helps() {
    let mut world = ready("moved");
    let outcome = played(&mut world, Command::Switch(for_good()), |world, _, effect| {
        let compares = matches!(effect, Effect::Page { of: PageSource::Scan(_), .. });
        world.now_ms += if compares && world.head().phase == Phase::Closing { 200_000 } else { 0 };
        None
    });
    assert_eq!((outcome.end, &*outcome.code), (End::TakenBack, "stop-too-long"), "{}", outcome.text());
    assert!(outcome.hint.unwrap().contains("a larger --stop-max"));
}
