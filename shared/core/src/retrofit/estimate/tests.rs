use super::{Epoch, FENCE_ATTRIBUTE, Fence, Mapping, RetrofitEstimate};
use crate::cost::{Prices, ReadUnits, WriteUnits};
use crate::index::fixture::{audit, forum, global, item, local, table, thread};
use crate::index::{item_bytes, item_storage_bytes};
use crate::model::{Projection, Retrofit, Table};
use crate::retrofit::Job;
use crate::retrofit::tests::{event, job};
use crate::value::{AttributeValue, Item};

fn large() -> Item {
    let mut large = thread();
    large.insert("Body".to_owned(), AttributeValue::S("x".repeat(2900)));
    large
}

/// An estimate of a retrofit that copies a table without indexes, or changes a table in place.
fn estimate(to: &Table, in_place: bool, items: u64, sample: &[Item]) -> Option<RetrofitEstimate> {
    let from = if in_place { "to" } else { "from" };
    let retrofit = Retrofit {
        name: "r".to_owned(),
        from: from.to_owned(),
        to: "to".to_owned(),
        rename: Default::default(),
        set: Default::default(),
        drop: Vec::new(),
        only: Vec::new(),
        fills: to.indexes.iter().map(|index| index.name.clone()).collect(),
        changes_live_attributes: false,
        keep_folded: false,
        misfits: Default::default(),
    };
    let mapping = Mapping::new(&retrofit, to, to);
    RetrofitEstimate::of_sample(&Job::new(mapping, Epoch::FIRST), items, sample)
}

/// The item as a retrofit with fences writes it.
fn fenced(mut item: Item) -> Item {
    item.insert(FENCE_ATTRIBUTE, Fence::of_scan(Epoch::FIRST).value());
    item
}

#[test]
fn a_new_table_costs_a_scan_and_a_write_for_each_item_and_entry() {
    let to = forum(vec![
        local("i", "LastPostDateTime", Projection::All),
        local("sparse", "None", Projection::All),
    ]);
    let estimate = estimate(&to, false, 1000, &[thread(), large()]).unwrap();
    let bytes = item_bytes(&thread()) + item_bytes(&large());
    assert_eq!(estimate.scan_read, ReadUnits::from_halves(2 * (500 * bytes).div_ceil(4096)));
    assert_eq!((estimate.items_written, estimate.table_write), (1000, WriteUnits::new(500 + 500 * 3)));
    assert_eq!((estimate.indexes[0].entries, estimate.indexes[0].write), (1000, WriteUnits::new(2000)));
    assert_eq!((estimate.indexes[1].entries, estimate.indexes[1].write), (0, WriteUnits::ZERO));
    assert_eq!(estimate.ledger_write, WriteUnits::ZERO);
    assert_eq!(estimate.write_units(), WriteUnits::new(4000));
    let storage = item_storage_bytes(&fenced(thread())) + item_storage_bytes(&fenced(large()));
    assert_eq!(estimate.storage_bytes, i64::try_from(500 * 2 * storage).unwrap());
}

#[test]
fn a_key_that_can_move_doubles_the_writes_and_adds_two_rows() {
    let estimate = |name: &str| RetrofitEstimate::of_sample(&job(name), 10, &[event("1", "ann")]).unwrap();
    let (fixed, moving) = (estimate("moved"), estimate("rekeyed"));
    assert_eq!(moving.table_write, fixed.table_write * 2);
    assert_eq!((fixed.ledger_write, moving.ledger_write), (WriteUnits::ZERO, WriteUnits::new(40)));
}

#[test]
fn in_place_an_item_whose_keys_are_right_is_not_written() {
    let right = forum(vec![local("i", "LastPostDateTime", Projection::All)]);
    let estimate = estimate(&right, true, 10, &[thread()]).unwrap();
    assert_eq!((estimate.items_written, estimate.write_units()), (0, WriteUnits::ZERO));
    assert_eq!((estimate.storage_bytes, estimate.scan_read), (0, ReadUnits::from_halves(2)));
}

#[test]
fn in_place_a_stale_key_is_taken_away_from_item_and_index() {
    let stale = item(
        r#"{"id":{"S":"1"},"resourceId":{"S":"r"},"timestamp":{"S":"2017"},"byUserKey":{"S":"r-viewed-joe1"}}"#,
    );
    let estimate = estimate(&audit(), true, 10, std::slice::from_ref(&stale)).unwrap();
    assert_eq!((estimate.table_write, estimate.indexes[0].write), (WriteUnits::new(10), WriteUnits::new(10)));
    let entry = item_storage_bytes(&stale);
    let attribute = u64::try_from("byUserKey".len() + "r-viewed-joe1".len()).unwrap();
    assert_eq!(estimate.storage_bytes, -10 * i64::try_from(entry + attribute).unwrap());
}

#[test]
fn in_place_an_item_that_lacks_its_key_gets_it_and_its_entry() {
    let bare = item(
        r#"{"id":{"S":"1"},"resourceId":{"S":"r"},"action":{"S":"viewed"},"accessedBy":{"S":"joe1"},"timestamp":{"S":"2017"}}"#,
    );
    let keyed = audit().with_keys(bare.clone()).unwrap();
    let estimate = estimate(&audit(), true, 100, &[bare.clone(), keyed]).unwrap();
    assert_eq!((estimate.items_written, estimate.table_write), (50, WriteUnits::new(50)));
    assert_eq!((estimate.indexes[0].entries, estimate.indexes[0].write), (50, WriteUnits::new(50)));
    assert!(estimate.storage_bytes > 50 * i64::try_from(item_storage_bytes(&bare)).unwrap());
}

#[test]
fn in_place_only_the_keys_that_are_written_have_a_price() {
    let text = r#"
[tables.t]
name = "tbl"
partition = "id"
attributes = { id = "string", user = "string", note = "string" }
indexes.byUser.partition = "u:{user}-{id}"
indexes.byNote.partition = "n:{note}-{id}"
[retrofits.r]
from = "t"
to = "t"
fills = ["byUser"]
"#;
    let mapping = Mapping::of(&crate::manifest::parse("keyfold.toml", text).model.unwrap(), "r").unwrap();
    let bare = item(r#"{"id":{"S":"1"},"user":{"S":"a"},"note":{"S":"n"}}"#);
    let estimate = RetrofitEstimate::of_sample(&Job::new(mapping, Epoch::FIRST), 10, &[bare]).unwrap();
    let entries: Vec<u64> = estimate.indexes.iter().map(|index| index.entries).collect();
    assert_eq!((entries, estimate.write_units()), (vec![10, 0], WriteUnits::new(20)));
}

#[test]
fn items_that_cannot_be_written_are_counted() {
    let to = table("t", "missing", None, vec![global("g", &["g"], &[], Projection::All)]);
    let estimate = estimate(&to, false, 7, &[thread()]).unwrap();
    assert_eq!((estimate.items_refused, estimate.items_written), (7, 0));
    assert_eq!(estimate.write_units(), WriteUnits::ZERO);
}

#[test]
fn without_a_sample_there_is_no_estimate_unless_there_are_no_items() {
    let empty = forum(vec![]);
    assert_eq!(estimate(&empty, false, 1, &[]), None);
    let nothing = estimate(&empty, false, 0, &[]).unwrap();
    assert_eq!((nothing.write_units(), nothing.storage_bytes), (WriteUnits::ZERO, 0));
}

#[test]
fn the_estimate_has_a_price() {
    let to = forum(vec![local("i", "LastPostDateTime", Projection::All)]);
    let estimate = estimate(&to, false, 1_000_000, &[thread()]).unwrap();
    let dollars = estimate.dollars(&Prices::default());
    assert_eq!(dollars.writes.to_string(), "$1.25");
    assert!(dollars.reads.0 > 0.0 && dollars.storage_month.0 > 0.0);
}

#[test]
fn what_changes_is_counted_by_attribute() {
    let text = r#"
[tables.t]
name = "tbl"
partition = "id"
attributes = { id = "string", user = "string", note = "string" }
indexes.byUser.partition = "u:{user}-{id}"
[retrofits.r]
from = "t"
to = "t"
rename = { note = "remark" }
set = { origin = "web" }
drop = ["junk"]
only = { user = { exists = true } }
changes-live-attributes = true
"#;
    let model = crate::manifest::parse("keyfold.toml", text).model.unwrap();
    let mapping = Mapping::of(&model, "r").unwrap();
    let sample = [
        r#"{"id":{"S":"1"},"user":{"S":"a"},"note":{"S":"x"},"origin":{"S":"web"}}"#,
        r#"{"id":{"S":"2"},"user":{"S":"a"},"note":{"S":"x"},"junk":{"S":"x"}}"#,
        r#"{"id":{"S":"3"},"note":{"S":"x"},"junk":{"S":"x"}}"#,
    ]
    .map(item);
    let estimate = RetrofitEstimate::of_sample(&Job::new(mapping, Epoch::FIRST), 30, &sample).unwrap();
    let found: Vec<_> =
        estimate.diff.lines().map(|line| (line.attribute, line.change.name(), line.items)).collect();
    let expected = [
        ("byUser_pk", "added", 20),
        ("junk", "removed", 10),
        ("note", "removed", 20),
        ("origin", "added", 10),
        ("remark", "added", 20),
    ];
    assert_eq!(found, expected, "the third item is not selected");
}
