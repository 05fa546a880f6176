//! Tests of the classes that have to do with time; the simulator has the others.

use super::*;
use crate::index::fixture::item;
use crate::manifest::parse;
use crate::retrofit::attributes::FENCE_ATTRIBUTE;
use crate::retrofit::{Epoch, Mapping};
use crate::value::AttributeValue;

const NOW: u64 = 1_700_000_000;

/// A retrofit from a table to another, of which these have a time to live.
fn job(source: bool, target: bool) -> Job {
    let ttl = |given: bool| if given { "ttl = \"ends\"\n" } else { "" };
    let table = |id: &str, ttl: &str| {
        format!(
            "[tables.{id}]\nname = \"{id}-things\"\npartition = \"id\"\n{ttl}\
             [tables.{id}.attributes]\nid = \"string\"\nwhat = \"string\"\nends = \"number\"\n"
        )
    };
    let (old, new) = (table("old", ttl(source)), table("new", ttl(target)));
    let text = format!("{old}{new}[retrofits.r]\nfrom = \"old\"\nto = \"new\"\n");
    let parsed = parse("keyfold.toml", &text);
    let model = parsed.model.unwrap_or_else(|| panic!("{:?}", parsed.diagnostics));
    Job::new(Mapping::of(&model, "r").unwrap(), Epoch::FIRST)
}

fn thing(what: &str, ends: u64) -> Item {
    item(&format!(r#"{{"id":{{"S":"1"}},"what":{{"S":"{what}"}},"ends":{{"N":"{ends}"}}}}"#))
}

fn fenced(mut thing: Item) -> Item {
    let fence = crate::retrofit::Fence::of_scan(Epoch::FIRST);
    thing.insert(FENCE_ATTRIBUTE.to_owned(), fence.value());
    thing
}

/// The result of a check that sees these two sides at each read.
fn found(job: &Job, source: Option<&Item>, target: Option<&Item>) -> Class {
    found_at(job, Some(NOW), source, target)
}

fn found_at(job: &Job, now: Option<u64>, source: Option<&Item>, target: Option<&Item>) -> Class {
    found_by(job, CheckOptions { now_seconds: now, ..CheckOptions::default() }, source, target)
}

fn found_by(job: &Job, options: CheckOptions, source: Option<&Item>, target: Option<&Item>) -> Class {
    let (mut check, mut step) = match (source, target) {
        (Some(source), _) => Check::of_source(job, source.clone(), options),
        (None, Some(target)) => Check::of_target(job, target.clone(), options),
        (None, None) => panic!("nothing to compare"),
    };
    for _ in 0..100 {
        step = match step {
            CheckStep::Done(finding) => return finding.class,
            CheckStep::Pause => check.paused(job),
            CheckStep::Send(Request::Get { role, .. }) => {
                let seen = match role {
                    TableRole::Source => source,
                    TableRole::Target => target,
                    TableRole::Control => None,
                };
                check.respond(job, Response::Item(seen.cloned()))
            }
            CheckStep::Send(other) => panic!("{other:?}"),
        };
    }
    panic!("a check without an end");
}

#[test]
fn an_item_that_its_time_to_live_deletes_any_time_is_no_drift() {
    let job = job(true, false);
    for target in [None, Some(fenced(thing("another", NOW - 5)))] {
        let class = found(&job, Some(&thing("a", NOW - 5)), target.as_ref());
        assert_eq!((class, class.is_drift(), class.is_repairable()), (Class::Expired, false, false));
    }
    assert_eq!(found(&job, Some(&thing("a", NOW + 5)), None), Class::Missing);
}

#[test]
fn the_targets_own_time_to_live_counts_too() {
    let job = job(false, true);
    assert_eq!(found(&job, Some(&thing("a", NOW)), None), Class::Expired);
    assert_eq!(found(&job, None, Some(&fenced(thing("a", NOW)))), Class::Expired);
    assert_eq!(found(&job, None, Some(&thing("nobody's", NOW))), Class::Expired);
    assert_eq!(found(&job, None, Some(&fenced(thing("a", NOW + 1)))), Class::Extra);
}

#[test]
fn a_copy_whose_time_is_over_while_the_sources_is_not_is_drift() {
    // Its life was made longer in the source. The target's time to live would delete a living item.
    let job = job(true, true);
    let class = found(&job, Some(&thing("a", NOW + 500)), Some(&fenced(thing("a", NOW - 5))));
    assert_eq!(class, Class::Different);
}

#[test]
fn a_ghost_of_an_expired_source_item_is_drift_where_the_target_keeps_it() {
    assert_eq!(found(&job(true, false), None, Some(&fenced(thing("a", NOW - 5)))), Class::Extra);
}

#[test]
fn what_dynamodb_does_not_delete_is_not_expired() {
    let job = job(true, false);
    let table = job.mapping().source();
    let over = |value: AttributeValue| {
        let mut thing = thing("a", 0);
        thing.insert("ends".to_owned(), value);
        expiry::is_over(table, &thing, NOW)
    };
    let number = |text: &str| AttributeValue::N(text.to_owned());
    assert!(over(number(&NOW.to_string())) && over(number("1699999999.5")));
    assert!(!over(number("0")), "five years ago or more");
    assert!(!over(number(&(NOW - expiry::PAST_SECONDS_MAX).to_string())));
    assert!(over(number(&(NOW - expiry::PAST_SECONDS_MAX + 1).to_string())));
    assert!(!over(AttributeValue::S((NOW - 5).to_string())), "not a number");
    assert!(!over(number("-5")) && !over(number("1E9999")));
}

#[test]
fn without_a_time_nothing_is_expired() {
    let source = thing("a", NOW - 5);
    assert_eq!(found_at(&job(true, true), None, Some(&source), None), Class::Missing);
}

#[test]
fn where_the_tables_time_to_live_is_off_nothing_is_expired() {
    let job = job(true, true);
    let off = CheckOptions {
        now_seconds: Some(NOW),
        source_expires: false,
        target_expires: false,
        ..CheckOptions::default()
    };
    let (thing, copy) = (thing("a", NOW - 5), fenced(thing("a", NOW - 5)));
    assert_eq!(found_by(&job, off, Some(&thing), None), Class::Missing);
    assert_eq!(found_by(&job, off, None, Some(&copy)), Class::Extra);
    let on = CheckOptions { target_expires: true, ..off };
    assert_eq!(found_by(&job, on, Some(&thing), None), Class::Expired);
    assert_eq!(found_by(&job, on, None, Some(&copy)), Class::Expired);
}

#[test]
fn a_difference_is_looked_at_for_twice_the_lag() {
    assert_eq!([0, 1, 5, 20, 60, 10_000].map(looks_again), [2, 2, 2, 3, 4, 4]);
    let waited = |looks: u32| PAUSES_SECONDS.iter().take(looks as usize).sum::<u64>();
    assert!((0..=80).all(|lag| waited(looks_again(lag)) >= 2 * lag));
}

/// The result of a check whose reads return these targets in turn.
fn found_in_turn(targets: &[Option<Item>]) -> (Class, usize) {
    let (job, source) = (job(false, false), thing("now", NOW));
    let options = CheckOptions { looks_again: 3, ..CheckOptions::default() };
    let (mut check, mut step) = Check::of_source(&job, source.clone(), options);
    let mut looks = 0;
    loop {
        step = match step {
            CheckStep::Done(finding) => return (finding.class, looks),
            CheckStep::Pause => check.paused(&job),
            CheckStep::Send(Request::Get { role: TableRole::Target, .. }) => {
                looks += 1;
                check.respond(&job, Response::Item(targets[looks - 1].clone()))
            }
            CheckStep::Send(Request::Get { role: TableRole::Source, .. }) => {
                check.respond(&job, Response::Item(Some(source.clone())))
            }
            CheckStep::Send(_) => check.respond(&job, Response::Item(None)),
        };
    }
}

#[test]
fn a_target_that_moves_between_the_looks_is_in_flight_and_no_drift() {
    let old = |what: &str| Some(fenced(thing(what, NOW)));
    let [one, two, right] = ["1", "2", "now"].map(old);
    let still = [one.clone(), one.clone(), one.clone(), one.clone()];
    assert_eq!(found_in_turn(&still), (Class::Different, 4), "it stood still for all looks");
    let late = [one.clone(), one.clone(), one.clone(), right];
    assert_eq!(found_in_turn(&late), (Class::Same, 4), "it arrived after the longest pause");
    let (class, looks) = found_in_turn(&[one.clone(), two.clone(), two.clone(), two]);
    assert_eq!((class, looks, class.is_drift(), class.is_repairable()), (Class::InFlight, 4, false, true));
}
