use super::*;
use crate::retrofit::tests::{event, job};
use crate::value::AttributeValue;

#[test]
fn of_items_that_claim_one_target_key_the_first_is_written_and_the_others_collide() {
    let job = job("rekeyed");
    let items = [event("1", "ann"), event("2", "bob"), event("3", "ann"), event("4", "ann")];
    let mut survey = Survey::of_all(&job);
    let results: Vec<_> = items.iter().map(|item| survey.add(item).name()).collect();
    assert_eq!(results, ["written", "written", "quarantined", "quarantined"]);
    let estimate = survey.of_these();
    assert_eq!((estimate.items, estimate.items_written, estimate.items_refused), (4, 2, 2));
    let collides = estimate.misfits.counts().next().unwrap();
    assert_eq!((collides.misfit.reason(), collides.items), ("collides", 2));
    assert_eq!(collides.examples[0], job.mapping().source().key_of(&items[2]).unwrap());

    // A sample says nothing of items outside it, so it does not count collisions at all.
    let sampled = RetrofitEstimate::of_sample(&job, 4, &items).unwrap();
    assert_eq!((sampled.items_written, sampled.items_refused), (4, 0));
    // Each write is in a transaction with its row: what collides is not written.
    assert_eq!(estimate.table_write * 2, sampled.table_write);
}

#[test]
fn an_item_that_is_too_large_only_with_its_fence_is_refused_as_the_backfill_does() {
    let job = job("moved");
    let mut large = event("1", "ann");
    let room = usize::try_from(400 * 1024 - crate::index::item_bytes(&large)).unwrap();
    // The folded key takes some of the room, too.
    large.insert("x".to_owned(), AttributeValue::S("x".repeat(room - 40)));
    assert!(job.mapping().target_item(&large).is_ok(), "it fits without the fence");
    let mut survey = Survey::of_all(&job);
    assert_eq!(survey.add(&large).name(), "quarantined");
    assert_eq!(survey.of_these().misfits.counts().next().unwrap().misfit.reason(), "too large");
}

#[test]
fn in_place_an_item_that_has_its_keys_is_left_alone() {
    let job = job("inPlace");
    let bare = event("1", "ann");
    let keyed = job.mapping().target_item(&bare).unwrap().unwrap();
    let mut survey = Survey::of_all(&job);
    assert_eq!([survey.add(&bare).name(), survey.add(&keyed).name()], ["written", "unchanged"]);
    assert_eq!(survey.of_these().items_written, 1);
}
