//! The trial of the way back before a switch.

use super::faults_tests::played;
use super::*;
use crate::index::fixture::item;
use crate::manifest::parse;
use crate::retrofit::tests::{changed, event, job};
use crate::retrofit::there_and_back::ThereAndBack;

/// The target does not fold `total`. On the way back the source's index does, and a total of five digits does not fit its key.
const SHOP: &str = r##"
[tables.shop]
partition = { attribute = "PK" }
indexes.byTotal = { partition = { attribute = "T" } }
[tables.shop.entities.customer]
when = { PK = { begins-with = "c#" } }
partition = "c#{id}"
attributes = { id = { type = "string", from-key = true } }
[tables.shop.entities.order]
when = { PK = { begins-with = "o#" } }
partition = "o#{id}"
indexes.byTotal.partition = "total#{total:04}"
attributes = { id = { type = "string", from-key = true }, total = "number" }
[tables.new]
partition = { attribute = "k", fold = "{PK}" }
attributes = { PK = "string" }
[retrofits.moved]
from = "shop"
to = "new"
"##;

const CUSTOMER: &str = r##"{"PK":{"S":"c#1"}}"##;
const ORDER: &str = r##"{"PK":{"S":"o#1"},"total":{"N":"1234"}}"##;
const WIDE: &str = r##"{"PK":{"S":"o#2"},"total":{"N":"12345"}}"##;

/// A switch where the scan of the source has these pages.
fn switched(pages: &[&[&str]], switch: Switch) -> (World, Outcome) {
    switched_from(Phase::Tidy, pages, switch)
}

fn switched_from(phase: Phase, pages: &[&[&str]], switch: Switch) -> (World, Outcome) {
    let parsed = parse("keyfold.toml", SHOP);
    let model = parsed.model.unwrap_or_else(|| panic!("{:?}", parsed.diagnostics));
    let mut world = World::of(Mapping::of(&model, "moved").unwrap());
    compared(&mut world);
    if phase == Phase::CutOver {
        let head = world.head();
        assert_eq!(world.put(&head.to(phase).unwrap().store(Some(&head))), Response::Written);
    }
    let mut pages = pages.iter();
    let outcome = played(&mut world, Command::Switch(switch), |_, _, effect| {
        let Effect::Page { of: PageSource::Scan(TableRole::Source), .. } = effect else { return None };
        let items: Vec<Item> = pages.next()?.iter().map(|text| item(text)).collect();
        let last = (!pages.as_slice().is_empty()).then(|| items[0].clone());
        Some(Ok(Reply::Page { items, last }))
    });
    assert!(pages.as_slice().is_empty(), "every page is read");
    (world, outcome)
}

#[test]
fn an_entity_that_cannot_come_back_is_named_before_anything_is_written() {
    for (phase, check) in [(Phase::Tidy, false), (Phase::Tidy, true), (Phase::CutOver, false)] {
        let switch = Switch { check, ..by_policy() };
        let (world, outcome) = switched_from(phase, &[&[CUSTOMER, WIDE]], switch);
        assert_eq!((outcome.end, &*outcome.code), (End::Refused, "entity-without-way-back"));
        assert_eq!((outcome.open, world.head().phase), (OpenTable::Source, phase));
        let text = outcome.text();
        assert!(text.contains("1 of entity `order` (`item-key-not-foldable`), for example"), "{text}");
        assert!(!world.effects.iter().any(|effect| ["send", "set-policy", "pass"].contains(effect)));
    }
}

#[test]
fn single_items_that_cannot_come_back_are_a_note() {
    let (_, outcome) = switched(&[&[CUSTOMER, WIDE, ORDER]], by_policy());
    assert_eq!(outcome.end, End::Done, "{}", outcome.text());
    assert!(outcome.notes.iter().any(|note| note.contains("1 of entity `order`")), "{:?}", outcome.notes);
    let (_, outcome) = switched(&[&[CUSTOMER, ORDER]], by_policy());
    assert_eq!((outcome.end, outcome.notes), (End::Done, Vec::new()));
}

#[test]
fn the_trial_reads_on_until_it_has_met_every_entity() {
    let (_, outcome) = switched(&[&[CUSTOMER], &[CUSTOMER], &[WIDE]], by_policy());
    assert_eq!(outcome.code, "entity-without-way-back");
    let (_, outcome) = switched(&[&[CUSTOMER]], by_policy());
    assert_eq!(outcome.end, End::Done, "{}", outcome.text());
    assert!(outcome.notes[0].contains("was not tried for these entities"), "{:?}", outcome.notes);
}

#[test]
fn writers_who_move_for_good_need_no_trial() {
    let for_good = Switch { for_good: true, ..by_policy() };
    let (world, outcome) = switched(&[], for_good);
    assert_eq!((outcome.end, world.head().phase), (End::Done, Phase::Settled), "{}", outcome.text());
}

#[test]
fn a_dropped_attribute_is_named_before_anything_is_read() {
    let mut world = World::of(changed("rekeyed", "to = \"keyed\"", "to = \"keyed\"\ndrop = [\"junk\"]"));
    let outcome = world.drive(Command::Switch(by_policy())).unwrap();
    assert_eq!((outcome.end, &*outcome.code), (End::Refused, "no-way-back"));
    assert!(outcome.message.contains("the retrofit drops `junk`"), "{}", outcome.text());
    assert!(!world.effects.contains(&"page"), "{:?}", world.effects);
}

#[test]
fn an_item_that_comes_back_under_another_key_has_no_way_back() {
    let job = job("moved");
    let mut tried = ThereAndBack::of(job.mapping()).unwrap();
    for id in ["1", "2"] {
        let mapped = job.mapping().target_item(&event(id, "joe")).unwrap().unwrap();
        tried.add(&event("1", "joe"), &mapped);
    }
    let refused: Vec<_> = tried.refused().map(|one| (one.code, one.items)).collect();
    assert_eq!(refused, [("no-way-back", 1)]);
}
