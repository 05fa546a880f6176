//! Remedies on items that do not fit, and on items that do.

use super::*;
use crate::index::fixture::item;
use crate::manifest::{Severity, parse};
use crate::retrofit::Mapping;
use std::borrow::Cow;

fn manifest(to: &str, misfits: &str) -> String {
    let table = |id: &str| {
        format!(
            "[tables.{id}]\nname = \"{id}-events\"\npartition = \"id\"\n\
             [tables.{id}.attributes]\nid = \"string\"\nowner = \"string\"\namount = \"number\"\nat = \"timestamp\"\n\
             status = {{ type = \"string\", values = [\"open\", \"done\"] }}\n\
             [tables.{id}.indexes.byStatus]\npartition = \"s-{{status}}\"\nsort = \"{{at}}-{{id}}\"\n\
             [tables.{id}.indexes.byOwner]\npartition = \"o-{{owner}}\"\nsort = \"{{amount:08}}\"\n"
        )
    };
    let tables = if to == "old" { table("old") } else { table("old") + &table(to) };
    format!(
        "{tables}[retrofits.r]\nfrom = \"old\"\nto = \"{to}\"\nchanges-live-attributes = {}\n[retrofits.r.misfits]\n{misfits}\n",
        to == "old"
    )
}

fn mapping_to(to: &str, misfits: &str) -> Mapping {
    let parsed = parse("keyfold.toml", &manifest(to, misfits));
    let model = parsed.model.unwrap_or_else(|| panic!("{:?}", parsed.diagnostics));
    Mapping::of(&model, "r").unwrap()
}

fn mapping(misfits: &str) -> Mapping {
    mapping_to("new", misfits)
}

/// An event with one attribute as given.
fn event(name: &str, value: &str) -> Item {
    let mut event = item(
        r#"{"id":{"S":"1"},"owner":{"S":"ann"},"amount":{"N":"5"},"at":{"S":"2026-01-01T00:00:00Z"},"status":{"S":"open"}}"#,
    );
    event.remove(name);
    event.extend(
        item(&format!("{{\"{name}\":{value}}}")).iter().map(|(name, value)| (name.clone(), value.clone())),
    );
    event
}

/// What becomes of the event: this attribute and the keys of both indexes; the reason if it is refused.
fn becomes(mapping: &Mapping, event: &Item, name: &str) -> Result<[Option<String>; 3], &'static str> {
    let mapped = mapping.target_item(event).map_err(|error| error.code())?.unwrap();
    let text = |name: &str| match mapped.get(name) {
        Some(AttributeValue::S(text) | AttributeValue::N(text)) => Some(text.clone()),
        _ => None,
    };
    Ok([text(name), text("byStatus_pk"), text("byOwner_pk")])
}

fn some(texts: [&str; 3]) -> Result<[Option<String>; 3], &'static str> {
    Ok(texts.map(|text| (!text.is_empty()).then(|| text.to_owned())))
}

#[test]
fn without_a_remedy_an_item_that_does_not_fit_is_refused() {
    let mapping = mapping("owner = \"absent\"");
    assert_eq!(becomes(&mapping, &event("status", r#"{"S":"new"}"#), "status"), Err("item-key-not-foldable"));
}

#[test]
fn what_counts_as_absent_stays_on_the_item_and_leaves_its_index_alone() {
    let mapping = mapping("status = \"absent\"\nowner = \"absent\"");
    assert_eq!(becomes(&mapping, &event("status", r#"{"S":"new"}"#), "status"), some(["new", "", "o-ann"]));
    assert_eq!(becomes(&mapping, &event("status", r#"{"N":"7"}"#), "status"), some(["7", "", "o-ann"]));
    assert_eq!(becomes(&mapping, &event("owner", r#"{"BOOL":true}"#), "owner"), some(["", "s-open", ""]));
    let long = format!(r#"{{"S":"{}"}}"#, "x".repeat(3_000));
    let [_, status, owner] = becomes(&mapping, &event("owner", &long), "owner").unwrap();
    assert_eq!(
        (status.as_deref(), owner),
        (Some("s-open"), None),
        "a key that is too long names no attribute"
    );
}

#[test]
fn values_are_made_to_fit() {
    let mapping = mapping(
        "status = [\"trim\", \"lower\", { default = \"open\" }]\namount = \"to-number\"\nat = \"to-timestamp\"\nowner = \"to-text\"",
    );
    for (name, value, becomes_now) in [
        ("status", r#"{"S":" Done "}"#, "done"),
        ("status", r#"{"S":"gone"}"#, "open"),
        ("status", r#"{"BOOL":true}"#, "open"),
        ("amount", r#"{"S":" 12 "}"#, "12"),
        ("at", r#"{"N":"1700000000"}"#, "2023-11-14T22:13:20Z"),
        ("owner", r#"{"N":"17"}"#, "17"),
    ] {
        let [now, status, owner] = becomes(&mapping, &event(name, value), name).unwrap();
        assert_eq!(now.as_deref(), Some(becomes_now), "{name} {value}");
        assert!(status.is_some() && owner.is_some(), "{name} {value}: it is in both indexes");
    }
    assert_eq!(
        becomes(&mapping, &event("amount", r#"{"S":"twelve"}"#), "amount"),
        Err("item-key-not-foldable")
    );
}

#[test]
fn a_remedy_touches_nothing_that_fits() {
    let mapping = mapping("owner = [\"trim\", \"lower\"]\nstatus = { default = \"done\" }");
    let fits = event("owner", r#"{"S":" Ann "}"#);
    assert_eq!(becomes(&mapping, &fits, "owner"), some([" Ann ", "s-open", "o- Ann "]));
    assert_eq!(mapping.mended(&fits), []);
    let mended = event("status", r#"{"S":"gone"}"#);
    let used: Vec<_> =
        mapping.mended(&mended).into_iter().map(|(name, remedy)| (name, remedy.word())).collect();
    assert_eq!(used, [("status", "default")]);
}

#[test]
fn in_place_what_counts_as_absent_changes_keys_alone_and_once() {
    let mapping = mapping_to("old", "status = \"absent\"");
    let stored = event("status", r#"{"S":"new"}"#);
    let update = mapping.in_place_update(Cow::Borrowed(&stored)).unwrap().unwrap();
    let names: Vec<_> = update.set.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["byOwner_pk", "byOwner_sk", "byStatus_sk"]);
    assert_eq!(mapping.live_changes(), []);
    let again = mapping.target_item(&stored).unwrap().unwrap();
    assert_eq!(mapping.in_place_update(Cow::Borrowed(&again)).unwrap(), None);
}

#[test]
fn a_changed_attribute_is_a_live_change_and_has_no_way_back() {
    let said: Vec<_> =
        mapping_to("old", "amount = \"to-number\"").live_changes().iter().map(ToString::to_string).collect();
    assert_eq!(said, ["`amount` gets another value where it does not fit"]);
    let no_way = mapping("amount = \"to-number\"").reverse().unwrap_err();
    assert_eq!(no_way.to_string(), "the retrofit changes `amount` where it does not fit");
}

#[test]
fn what_counts_as_absent_has_a_way_back() {
    let there = mapping("status = \"absent\"");
    let event = event("status", r#"{"S":"new"}"#);
    let target = there.target_item(&event).unwrap().unwrap();
    let source = there.reverse().unwrap().carried(Cow::Borrowed(&target)).unwrap().unwrap();
    assert_eq!(source.get("status"), event.get("status"));
}

#[test]
fn what_does_not_fit_and_stayed_in_the_source_is_not_the_way_backs_to_delete() {
    let back = mapping("").reverse().unwrap();
    let stayed = event("status", r#"{"S":"new"}"#);
    assert!(!back.may_own(&stayed), "the target never had it");
    assert!(back.may_take(&stayed), "a late change of it is noted all the same");
    assert!(back.may_own(&event("status", r#"{"S":"done"}"#)));
}

#[test]
fn remedies_are_part_of_the_mapping_and_their_order_too() {
    let hash = |misfits: &str| mapping(misfits).hash().clone();
    let (none, absent) = (hash(""), hash("status = \"absent\""));
    assert_ne!(none, absent);
    assert_ne!(hash("status = [\"trim\", \"lower\"]"), hash("status = [\"lower\", \"trim\"]"));
}

/// The source declares no entities; the target has events and notes.
fn of_entities(misfits: &str) -> Mapping {
    let entities = "[tables.new.entities.event]\nwhen = { owner = \"ann\" }\n[tables.new.entities.note]\nwhen = { owner = \"joe\" }\n[retrofits";
    let text = manifest("new", misfits).replacen("[retrofits", entities, 1);
    let parsed = parse("keyfold.toml", &text);
    Mapping::of(&parsed.model.unwrap_or_else(|| panic!("{:?}", parsed.diagnostics)), "r").unwrap()
}

#[test]
fn an_entity_has_remedies_of_its_own_in_place_of_those_for_all() {
    let mapping = of_entities("status = \"lower\"\nnote.status = [\"absent\"]");
    let becomes = |owner: &str| {
        let mut event = event("status", r#"{"S":"OPEN"}"#);
        event.insert("owner".to_owned(), AttributeValue::S(owner.to_owned()));
        becomes(&mapping, &event, "status").unwrap()
    };
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(becomes("ann"), [text("open"), text("s-open"), text("o-ann")]);
    assert_eq!(becomes("eve"), [text("open"), text("s-open"), text("o-eve")], "of no entity");
    assert_eq!(becomes("joe"), [text("OPEN"), None, text("o-joe")]);
    let hash = |misfits: &str| of_entities(misfits).hash().clone();
    assert_ne!(hash("status = \"absent\""), hash("note.status = \"absent\""));
    assert_ne!(hash("event.status = \"absent\""), hash("note.status = \"absent\""));
    assert!(of_entities("note.status = \"absent\"").reverse().is_ok());
    assert!(of_entities("note.status = \"lower\"").reverse().is_err());
}

#[test]
fn remedies_that_cannot_be_are_reported() {
    for (misfits, code) in [
        ("staus = \"absent\"", "unknown-attribute"),
        ("status = \"away\"", "bad-value"),
        ("status = { default = 5 }", "wrong-type"),
        ("status = { }", "missing-field"),
        ("status = { default = \"open\", else = 1 }", "unknown-field"),
        ("id = \"trim\"", "retrofit-key"),
        ("status = 5", "wrong-type"),
        ("event.status = \"absent\"", "unknown-attribute"),
    ] {
        let found = parse("keyfold.toml", &manifest("new", misfits)).diagnostics;
        let codes: Vec<_> =
            found.iter().filter(|found| found.severity == Severity::Error).map(|found| found.code).collect();
        assert!(codes.contains(&code), "{misfits}: {codes:?}");
    }
}

#[test]
fn a_time_is_in_seconds_or_in_milliseconds() {
    let read = |text: &str| timestamp(text).unwrap_or_default();
    assert_eq!(read("1700000000"), "2023-11-14T22:13:20Z");
    assert_eq!(read("1700000000123"), "2023-11-14T22:13:20.123Z");
    assert_eq!(read("0"), "1970-01-01T00:00:00Z");
    assert_eq!([timestamp("soon"), timestamp("1.5"), timestamp("99999999999999999")], [None, None, None]);
}
