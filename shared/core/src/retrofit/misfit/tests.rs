//! Each reason, with an item for each.

use super::*;
use crate::index::fixture::item;
use crate::manifest::parse;
use crate::retrofit::{
    Epoch, Fence, Job, Mapping, QuarantineReason, Quarantined, RetrofitEstimate, SourceKey,
};
use crate::value::AttributeValue;

const MANIFEST: &str = r#"
[tables.t]
name = "tbl"
partition = "id"
[tables.t.attributes]
id = "string"
owner = { type = "string", required = true }
action = { type = "string", values = ["view", "edit"] }
text = "string"
at = "timestamp"
count = "number"
tail = "string"
near = "string"
far = "string"
[tables.t.indexes.byAction]
partition = "{action}#{text}"
[tables.t.indexes.byTime]
partition = "t#{at}"
[tables.t.indexes.byCount]
partition = "n#{count:03}"
[tables.t.indexes.byWay]
partition = "w#{id}[-{near}[-{far}]]"
[tables.t.indexes.byTail]
partition = "tail"
[retrofits.r]
from = "t"
to = "t"
"#;

fn mapping() -> Mapping {
    let parsed = parse("keyfold.toml", MANIFEST);
    let model = parsed.model.unwrap_or_else(|| panic!("{:?}", parsed.diagnostics));
    Mapping::of(&model, "r").unwrap()
}

/// An item with an owner, and these attributes of type S or N.
fn with(attributes: &[(&str, AttributeValue)]) -> Item {
    let mut item = item(r#"{"id":{"S":"1"},"owner":{"S":"ann"}}"#);
    item.extend(attributes.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
    item
}

fn text(text: &str) -> AttributeValue {
    AttributeValue::S(text.to_owned())
}

fn number(text: &str) -> AttributeValue {
    AttributeValue::N(text.to_owned())
}

#[test]
fn every_reason_names_attribute_and_index_and_no_value() {
    let secret = "s3cret";
    let long = secret.repeat(500);
    let huge = secret.repeat(80_000);
    let cases: [(Item, Option<&str>, Option<&str>, &str); 9] = [
        (item(r#"{"id":{"S":"1"}}"#), Some("owner"), None, "missing"),
        (
            with(&[("text", number("1")), ("action", text("view"))]),
            Some("text"),
            Some("byAction"),
            "wrong type",
        ),
        (
            with(&[("action", text(secret)), ("text", text("x"))]),
            Some("action"),
            Some("byAction"),
            "unlisted value",
        ),
        (
            with(&[("action", text("view")), ("text", text(&long))]),
            Some("byAction"),
            Some("byAction"),
            "too long",
        ),
        (with(&[("far", text("x"))]), Some("far"), Some("byWay"), "gap before it"),
        (with(&[("tail", text(""))]), Some("tail"), Some("byTail"), "empty"),
        (with(&[("at", text(secret))]), Some("at"), Some("byTime"), "bad timestamp"),
        (with(&[("count", number("1000"))]), Some("count"), Some("byCount"), "number out of width"),
        (with(&[("free", text(&huge))]), None, None, "too large"),
    ];
    let mapping = mapping();
    for (item, attribute, index, reason) in cases {
        let misfit = Misfit::of(&mapping.target_item(&item).unwrap_err());
        let found = (misfit.attribute.as_deref(), misfit.index.as_deref(), misfit.reason());
        // A key that is too long is about the attribute that holds it.
        if reason == "too long" {
            assert_eq!((found.1, found.2), (index, reason), "{misfit:?}");
        } else {
            assert_eq!(found, (attribute, index, reason), "{misfit:?}");
        }
        assert!(!format!("{misfit:?}").contains(secret));
    }
    assert_eq!(Misfit::of_code(QuarantineReason::Collision.code()).reason(), "collides");
    assert_eq!(Misfit::of_code("item-two-entities").reason(), "item-two-entities");
}

#[test]
fn every_name_of_a_kind_is_read_again() {
    for (kind, name) in MisfitKind::NAMES {
        assert_eq!((kind.name(), MisfitKind::named(name)), (name, Some(kind)));
    }
}

#[test]
fn items_are_counted_by_reason_with_a_few_keys() {
    let sample: Vec<Item> = (0..8)
        .map(|at| {
            let mut item =
                with(&[("action", text(if at % 2 == 0 { "view" } else { "secret" })), ("text", text("x"))]);
            item.insert("id", text(&at.to_string()));
            item
        })
        .collect();
    let estimate = RetrofitEstimate::of_sample(&Job::new(mapping(), Epoch::FIRST), 800, &sample).unwrap();
    let counts: Vec<_> = estimate.misfits.counts().collect();
    let [count] = counts.as_slice() else { panic!("{counts:?}") };
    assert_eq!((count.items, count.examples.len(), estimate.items_refused), (400, EXAMPLES_MAX, 400));
    assert_eq!(count.examples[0], item(r#"{"id":{"S":"1"}}"#));
    let shown = estimate.misfits.json();
    assert_eq!(
        (&shown[0]["attribute"], &shown[0]["index"], &shown[0]["reason"]),
        (&"action".into(), &"byAction".into(), &"unlisted value".into())
    );
    assert!(!shown.to_string().contains("secret"), "{shown}");
}

#[test]
fn an_entry_of_the_quarantine_keeps_the_reason() {
    let mapping = mapping();
    let bad = with(&[("at", text("never"))]);
    let key = mapping.source().key_of(&bad).unwrap();
    let reason = QuarantineReason::unmappable(&mapping.target_item(&bad).unwrap_err());
    let source = SourceKey::of(mapping.source(), &key).unwrap();
    let entry = Quarantined::item(&key, &source, &reason, Fence::of_scan(Epoch::FIRST));
    let crate::retrofit::Action::Put(row) = entry.enter(&mapping).action else { panic!("an entry is put") };
    assert_eq!(Quarantined::read(&row).as_ref(), Some(&entry));
    assert_eq!(entry.misfit.reason(), "bad timestamp");
}
