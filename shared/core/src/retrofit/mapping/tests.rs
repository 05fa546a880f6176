//! The digest: what it is, and what changes it.

use super::*;
use crate::index::fixture::item;
use crate::manifest::parse;

const AUDIT: &str = include_str!("golden/audit.toml");
const EVENTS: &str = include_str!("golden/events.toml");
const EVERYTHING: &str = include_str!("golden/everything.toml");

fn mapping(manifest: &str, name: &str) -> Mapping {
    let parsed = parse("keyfold.toml", manifest);
    let model = parsed.model.unwrap_or_else(|| panic!("{:?}", parsed.diagnostics));
    Mapping::of(&model, name).unwrap()
}

/// Control rows and checkpoints hold these: one that changes stops every running retrofit, and raises `control::FORMAT`.
#[test]
fn the_digests_stay_what_they_were() {
    for (manifest, name, digest) in [
        (AUDIT, "auditV2", "97bce07e0f4316463292ab40ec07772e"),
        (AUDIT, "auditInPlace", "2b58429e18c4faa8f5fccab2966f7dd9"),
        (EVENTS, "moved", "f8a2837249ce3a5a82d24122f7d6ba38"),
        (EVENTS, "keyed", "3af532e074db028a22ca3ffa49db38ff"),
        (EVENTS, "inPlace", "750737f394de3d128e746d55faf2e3f9"),
        (EVERYTHING, "folded", "b444d69826d470911efd0adbfade25e5"),
        (EVERYTHING, "kept", "f8b4fc22c8622e98f3800099da9ac47f"),
        (EVERYTHING, "inPlace", "8e4c795030614410f08c536a2bb5e6dd"),
        (EVERYTHING, "thingsInPlace", "8d03c32d90783a0d3ebfba73dbc8d6c8"),
    ] {
        assert_eq!(mapping(manifest, name).hash().as_str(), digest, "{name}");
    }
}

#[test]
fn the_canonical_form_reads_as_what_it_says() {
    let Mapping { retrofit, source, target, protocol, .. } = mapping(EVENTS, "moved");
    let text = canonical::text(protocol.name(), &retrofit, &source, &target);
    assert_eq!(
        text,
        concat!(
            r#"[["protocol","fence and tombstone"],["source",["old-events",[["id","S"]]]],"#,
            r#"["target",["new-events",[["id","S"]]]],["select",[]],["rename",[["place","site"]]],"#,
            r#"["set",[["origin",["S","old"]]]],["drop",["note"]],["keys",["#,
            r#"["byOwner_pk",[[null,["escaped",[[0,"attribute",["owner","string",["text"]]],[0,"literal","-"],"#,
            r#"[0,"attribute",["kind","string",["text"]]]]]]]],"#,
            r#"["byOwner_sk",[[null,["escaped",[[0,"attribute",["site","string",["text"]]],[0,"literal","."],"#,
            r#"[0,"attribute",["id","string",["text"]]]]]]]]]]]"#
        )
    );
}

/// Each change on its own; the text must be in the manifest.
fn changed(name: &str, from: &str, to: &str) -> bool {
    assert!(EVERYTHING.contains(from), "{from}");
    mapping(EVERYTHING, name).hash() != mapping(&EVERYTHING.replace(from, to), name).hash()
}

#[test]
fn what_alters_no_written_byte_does_not_change_the_digest() {
    let index = "[tables.things.indexes.byPrice]\npartition = [\"price\"]\n\n[tables.things.indexes.byOwner]";
    let question =
        "[questions.things.anyDay]\nwhere = [\"owner\", \"kind\"]\nscan = true\n\n[retrofits.folded]";
    for (from, to) in [
        ("items = 1_000", "items = 2_000"),
        ("collection-warning-gb = 5", "collection-warning-gb = 6"),
        ("projection = \"keys-only\"", "projection = \"all\""),
        ("[tables.things.indexes.byOwner]", index),
        ("[retrofits.folded]", question),
        ("ttl = \"gone\"\n", ""),
        ("scope = { owner = \"jwt.org\" }\n", ""),
        ("number\", required = true }", "number\" }"),
        ("values = [1, 2.50, 3]", "values = [3, 1, 2.5]"),
        ("{serial:08}", "{ serial:08}"),
        ("entities.tool]", "entities.aTool]"),
        ("only = { owner = [\"a\", \"b\"], gone", "only = { owner = [\"b\", \"a\"], gone"),
        ("drop = [\"gone\", \"junk\"]", "drop = [\"junk\", \"gone\"]"),
        ("tags = \"string-set\"\n", ""),
    ] {
        assert!(!changed("folded", from, to), "{to}");
    }
    let map = EVERYTHING.replace("short", "code");
    let id = EVERYTHING.replace("tables.things", "tables.stuff");
    let id = id.replace("to = \"things\"", "to = \"stuff\"").replace("from = \"things\"", "from = \"stuff\"");
    for (renamed, what) in [(map, "a map's name"), (id, "the table's id")] {
        assert_eq!(mapping(&renamed, "folded").hash(), mapping(EVERYTHING, "folded").hash(), "{what}");
    }
}

#[test]
fn what_alters_a_written_byte_or_where_it_goes_changes_the_digest() {
    for (from, to) in [
        ("name = \"things\"", "name = \"things-2\""),
        ("name = \"old-things\"", "name = \"older-things\""),
        ("attribute = \"SK\"", "attribute = \"SK2\""),
        ("{owner|lower}#{kind}", "{owner|lower}/{kind}"),
        ("{owner|lower}#{kind}", "{owner|upper}#{kind}"),
        ("precision = \"us\"", "precision = \"ms\""),
        ("{serial:08}", "{serial:09}"),
        ("|shard:10}", "|shard:11}"),
        ("[#{day}[#{seen}]]", "[#{day}#{seen}]"),
        ("small = \"s\"", "small = \"x\""),
        (
            "when = { kind = \"tool\", sold = { exists = true } }",
            "when = { kind = \"tool\", sold = { exists = false } }",
        ),
        ("only = { owner = [\"a\", \"b\"], gone", "only = { owner = [\"a\", \"c\"], gone"),
        ("label = \"size\"", "label = \"price\""),
        ("level = 2.5, origin", "level = 3, origin"),
        ("drop = [\"gone\", \"junk\"]", "drop = [\"gone\"]"),
    ] {
        assert!(changed("folded", from, to), "{from} -> {to}");
    }
    assert!(changed("kept", "verbatim = true\n", ""), "values with separators are escaped");
}

/// The names that an update writes are worked out from the manifest, before there is any item.
#[test]
fn an_update_in_place_makes_what_the_mapping_says() {
    let events = r#"
[tables.t]
name = "tbl"
partition = "id"
attributes = { id = "string", user = "string", note = "string", amount = "number" }
indexes.byUser.partition = "u:{user}-{id}"
indexes.byAmount.partition = "{amount:08}"
[retrofits.r]
from = "t"
to = "t"
rename = { note = "remark" }
set = { origin = "web" }
drop = ["junk"]
changes-live-attributes = true
[retrofits.r.misfits]
amount = { default = 7 }
"#;
    let shop = r##"
[tables.t]
name = "tbl"
partition = { attribute = "PK" }
sort = { attribute = "SK" }
attributes = { customer = { type = "string", from-key = true }, state = "string" }
indexes.byState.partition = { attribute = "GPK" }
[tables.t.entities.customer]
when = { SK = { begins-with = "PROFILE" } }
partition = "c#{customer}"
sort = "PROFILE"
indexes.byState.partition = "{state}"
[retrofits.r]
from = "t"
to = "t"
"##;
    let stored = [
        (events, r#"{"id":{"S":"1"},"user":{"S":"a"},"amount":{"N":"5"}}"#),
        (events, r#"{"id":{"S":"1"},"amount":{"S":"many"},"remark":{"S":"x"},"origin":{"S":"web"}}"#),
        (
            events,
            r#"{"id":{"S":"1"},"user":{"S":"a"},"note":{"S":"x"},"junk":{"S":"x"},"else":{"BOOL":true}}"#,
        ),
        (events, r#"{"id":{"S":"1"},"byUser_pk":{"S":"u:a-1"},"keyfold_fence":{"S":"1"}}"#),
        (shop, r##"{"PK":{"S":"c#7"},"SK":{"S":"PROFILE"},"state":{"S":"new"}}"##),
        (shop, r##"{"PK":{"S":"c#7"},"SK":{"S":"PROFILE"},"customer":{"S":"7"},"GPK":{"S":"old"}}"##),
    ];
    for (manifest, stored) in stored {
        let (mapping, stored) = (mapping(manifest, "r"), item(stored));
        let wanted = mapping.target_item(&stored).unwrap().unwrap();
        let update = mapping.in_place_update(Cow::Owned(stored.clone())).unwrap().unwrap();
        let mut updated = stored.clone();
        updated.extend(update.set);
        update.remove.iter().for_each(|name| drop(updated.remove(name)));
        assert_eq!(updated, wanted, "{stored:?}");
        assert_eq!(mapping.in_place_update(Cow::Owned(wanted)).unwrap(), None);
    }
}

/// One entity has its id only in its key; the others store theirs as well.
const SHOP: &str = r##"
[tables.shop]
partition = { attribute = "PK" }
sort = { attribute = "SK" }
attributes = { customerId = { type = "string", from-key = true }, orderId = { type = "string", from-key = true }, state = "string" }
indexes.gsi1 = { partition = { attribute = "GSI1PK" }, sort = { attribute = "GSI1SK" } }
indexes.byState.partition = { attribute = "state_pk" }
[tables.shop.entities.customer]
when = { SK = { begins-with = "PROFILE" } }
partition = "c#{customerId}"
sort = "PROFILE"
indexes.gsi1 = { partition = "mail#{customerId}", sort = "PROFILE" }
[tables.shop.entities.order]
when = { SK = { begins-with = "o#" } }
partition = "c#{customerId}"
sort = "o#{orderId}"
indexes.gsi1 = { partition = "o#{orderId}", sort = "{state}" }
indexes.byState.partition = "{state}#{customerId}"
[tables.other]
partition = { attribute = "PK2", fold = "T1#{PK}" }
sort = { attribute = "SK2", fold = "{SK}" }
attributes = { PK = "string", SK = "string" }
[retrofits.r]
from = "shop"
to = "shop"
fills = ["byState"]
[retrofits.moved]
from = "shop"
to = "other"
"##;

#[test]
fn in_place_nothing_changes_but_the_keys_of_the_filled_indexes() {
    let all = mapping(&SHOP.replace("fills = [\"byState\"]\n", ""), "r");
    let mapping = mapping(SHOP, "r");
    assert_ne!(mapping.hash(), all.hash(), "what is written depends on `fills`");
    for (stored, set) in [
        // Stored ids stay, and GSI1PK, which the templates would make otherwise, is left alone.
        (
            r##"{"PK":{"S":"c#7"},"SK":{"S":"o#42"},"customerId":{"S":"7"},"orderId":{"S":"42"},"state":{"S":"open"},"GSI1PK":{"S":"old"}}"##,
            Some("open#7"),
        ),
        // An id that only the key has is read from it, and not added.
        (r##"{"PK":{"S":"c#7"},"SK":{"S":"o#42"},"state":{"S":"open"}}"##, Some("open#7")),
        // No keys of another index for a customer that has none.
        (r##"{"PK":{"S":"c#7"},"SK":{"S":"PROFILE"}}"##, None),
        (r##"{"PK":{"S":"c#7"},"SK":{"S":"PROFILE"},"customerId":{"S":"7"}}"##, None),
    ] {
        let update = mapping.in_place_update(Cow::Owned(item(stored))).unwrap();
        let Some(key) = set else {
            assert_eq!(update, None, "{stored}");
            continue;
        };
        let update = update.unwrap();
        assert_eq!(update.set, [("state_pk".into(), AttributeValue::S(key.to_owned()))], "{stored}");
        assert_eq!(update.remove, [""; 0], "{stored}");
    }
}

#[test]
fn into_another_table_an_item_gets_its_new_keys_and_nothing_else() {
    let mapping = mapping(SHOP, "moved");
    for stored in [
        r##"{"PK":{"S":"c#7"},"SK":{"S":"o#42"},"customerId":{"S":"7"},"orderId":{"S":"42"},"GSI1PK":{"S":"old"}}"##,
        r##"{"PK":{"S":"c#7"},"SK":{"S":"o#42"},"state":{"S":"open"}}"##,
    ] {
        let mut wanted = item(stored);
        wanted.insert("PK2", AttributeValue::S("T1#c#7".to_owned()));
        wanted.insert("SK2", AttributeValue::S("o#42".to_owned()));
        assert_eq!(mapping.target_item(&item(stored)).unwrap(), Some(wanted));
    }
}

/// The way to a target where only one side reads the id from a key.
#[test]
fn an_id_goes_where_the_target_has_it() {
    let manifest = |source: &str, target: &str| {
        format!(
            "[tables.aaa]\n{source}\n[tables.bbb]\n{target}\n[retrofits.r]\nfrom = \"aaa\"\nto = \"bbb\"\n"
        )
    };
    let from_key = "partition = { attribute = \"PK\", fold = \"c#{id}\" }\n\
        attributes = { id = { type = \"string\", from-key = true }, note = \"string\" }";
    let natural = "partition = \"id\"\nattributes = { id = \"string\", note = \"string\" }";
    let stored = item(r##"{"PK":{"S":"c#7"},"note":{"S":"n"}}"##);
    let to_natural = mapping(&manifest(from_key, natural), "r");
    let mut wanted = stored.clone();
    wanted.insert("id", AttributeValue::S("7".to_owned()));
    assert_eq!(to_natural.target_item(&stored).unwrap(), Some(wanted), "the target's key is the id");
    assert!(to_natural.reverse().is_err(), "nothing says whether the source's item stored it");
    let plain = "partition = \"PK\"\nattributes = { PK = \"string\", note = \"string\" }";
    let entities = "partition = { attribute = \"PK\" }\nattributes = { id = { type = \"string\", from-key = true } }\n\
        entities.c = { when = { PK = { begins-with = \"c#\" } }, partition = \"c#{id}\" }";
    let to_entities = mapping(&manifest(plain, entities), "r");
    assert_eq!(to_entities.target_item(&stored).unwrap(), Some(stored), "the target reads its key");
}

/// The target stores the id of an item that has no other key with it.
const STORES_AN_ID: &str = r##"
[tables.aaa]
partition = { attribute = "PK" }
attributes = { id = { type = "string", from-key = true }, state = "string" }
entities.c = { when = { PK = { begins-with = "c#" } }, partition = "c#{id}" }
[tables.bbb]
partition = { attribute = "PK2", fold = "{PK}" }
attributes = { PK = "string", id = { type = "string", from-key = true }, state = "string" }
indexes.byId = { partition = "{id|upper}" }
indexes.byState = { partition = "{state}#{id}" }
[retrofits.r]
from = "aaa"
to = "bbb"
"##;

/// The source's key comes along as data. The target's writers cannot read an id from it, and their keys are made of that id.
#[test]
fn an_id_that_the_targets_keys_fold_is_stored_unless_one_of_them_tells_it() {
    let there = mapping(STORES_AN_ID, "r");
    for (stored, added) in [
        (r##"{"PK":{"S":"c#a7"}}"##, "PK2 byId_pk id"),
        (r##"{"PK":{"S":"c#a7"},"state":{"S":"open"}}"##, "PK2 byId_pk byState_pk"),
    ] {
        let stored = item(stored);
        let target = there.target_item(&stored).unwrap().unwrap();
        let names: Vec<_> =
            target.keys().map(Name::as_str).filter(|name| !stored.contains_key(*name)).collect();
        assert_eq!(names.join(" "), added);
        assert_eq!(there.target().with_keys(target.clone()).unwrap(), target, "its writers fold the same");
        assert!(there.reverse().unwrap().carried(Cow::Owned(target)).is_ok());
    }
}

#[test]
fn in_place_no_attribute_that_only_a_key_holds_is_lost_or_stored() {
    let manifest = r##"
[tables.aaa]
partition = "id"
verbatim = true
attributes = { id = "string", org = { type = "string", from-key = true }, state = "string" }
indexes.byOrg = { partition = { attribute = "GPK", fold = "{org}#{state}" } }
[retrofits.r]
from = "aaa"
to = "aaa"
fills = ["byOrg"]
"##;
    let lost = item(r##"{"id":{"S":"1"},"GPK":{"S":"acme#open"}}"##);
    let refused = mapping(manifest, "r").in_place_update(Cow::Borrowed(&lost)).unwrap_err();
    assert_eq!(refused.code(), "item-key-part-lost", "without `state` no key holds it");
    let beside = manifest.replace(
        "[retrofits.r]",
        "indexes.old = { partition = { attribute = \"OPK\", fold = \"o#{org}\" } }\n[retrofits.r]",
    );
    let mended = format!("{beside}misfits = {{ org = \"absent\" }}\n");
    let misfit = item(r##"{"id":{"S":"1"},"OPK":{"S":"o#7#8"},"state":{"S":"open"}}"##);
    assert_eq!(mapping(&mended, "r").in_place_update(Cow::Borrowed(&misfit)).unwrap(), None);
    let shared =
        beside.replace("fold = \"o#{org}\" }", "fold = \"o#{org}\" }, sort = { attribute = \"GPK\" }");
    let found = parse("keyfold.toml", &shared).diagnostics;
    assert!(found.iter().any(|found| found.code == "bad-value"), "{found:?}");
}

/// A manifest with all that a retrofit can announce.
const ANNOUNCING: &str = r##"
[tables.old]
name = "old"
partition = { attribute = "PK" }
attributes = { id = { type = "string", from-key = true }, a = "string", state = "string", n = "number" }
entities.one = { when = { PK = { begins-with = "c#" } }, partition = "c#{id}" }
[tables.new]
name = "new"
partition = { attribute = "PK2", fold = "{PK}" }
[tables.new.attributes]
PK = "string"
id = { type = "string", from-key = true }
kind = "string"
n = "number"
state = { type = "string", values = ["open", "done"] }
[tables.new.entities.open]
when = { kind = "o" }
attributes.b = { type = "string", required = true }
[tables.new.indexes.byState]
partition = "{state}#{id}"
[tables.new.indexes.byN]
partition = "n"
[retrofits.r]
from = "old"
to = "new"
rename = { a = "b" }
set = { made = "old" }
drop = ["junk"]
only = { a = { exists = true } }
[retrofits.r.misfits]
state = "lower"
b = { default = "x" }
n = "to-number"
"##;

/// The row of a retrofit keeps the mapping's digest, and a worker with another digest is refused. So whatever changes what is announced,
/// or on which items, must change the digest.
#[test]
fn the_digest_covers_all_that_is_announced() {
    let announced = mapping(ANNOUNCING, "r");
    for (from, to) in [
        ("rename = { a = \"b\" }", "rename = { a = \"c\" }"),
        ("set = { made = \"old\" }", "set = { made = \"new\" }"),
        ("set = { made", "set = { born"),
        ("drop = [\"junk\"]", "drop = [\"junk\", \"more\"]"),
        ("only = { a = { exists = true } }", "only = { a = { exists = false } }"),
        ("partition = \"{state}#{id}\"", "partition = \"{state}.{id}\""),
        ("indexes.byState]", "indexes.byStatus]"),
        // The target stores what stood in a key alone.
        ("PK = \"string\"\nid = { type = \"string\", from-key = true }", "PK = \"string\"\nid = \"string\""),
        // Which values do not fit, and get changed.
        ("state = \"lower\"", "state = \"upper\""),
        ("[\"open\", \"done\"]", "[\"open\", \"Done\"]"),
        ("attributes.b = { type = \"string\", required = true }", "attributes.b = \"string\""),
        ("attributes.b = { type", "attributes.b = { values = [\"x\"], type"),
        ("kind = \"o\"", "kind = \"p\""),
        ("n = \"number\"\nstate", "n = \"string\"\nstate"),
        (
            "[tables.new.indexes.byN]\npartition = \"n\"",
            "[tables.new.indexes.byN]\npartition = \"kind\"\nsort = \"n\"",
        ),
    ] {
        let text = ANNOUNCING.replace(from, to);
        assert_ne!(text, ANNOUNCING, "{from}");
        assert_ne!(mapping(&text, "r").hash(), announced.hash(), "{from} -> {to}");
    }
    let causes = |name: &str| announced.causes(name).join(", ");
    assert_eq!(causes("made"), "`set`");
    assert_eq!(causes("a"), "renamed to `b`");
    assert_eq!(causes("b"), "renamed from `a`, `misfits`");
    assert_eq!(causes("byState_pk"), "folded key");
    assert_eq!((causes("id").as_str(), causes("PK").as_str()), ("only in a key before", ""));
    assert_eq!(announced.key_of_indexes("PK2"), ["table"]);
}

/// Each way in which an item can change, and that no item changes in any other.
#[test]
fn nothing_changes_on_an_item_that_was_not_announced() {
    let mapping = mapping(ANNOUNCING, "r");
    let stored = item(
        r##"{"PK":{"S":"c#7"},"a":{"S":"x"},"state":{"S":"OPEN"},"n":{"S":"12"},"junk":{"S":"j"},"more":{"S":"m"},"keyfold_fence":{"S":"1"}}"##,
    );
    let mapped = mapping.target_item(&stored).unwrap().unwrap();
    let changes = crate::retrofit::diff::changed_attributes(&stored, &mapped);
    for (name, change) in &changes {
        let causes = mapping.announced().get(*name).unwrap_or_else(|| panic!("{name} is not announced"));
        assert!(causes.iter().any(|cause| cause.explains(*change)), "{name} {change:?}: {causes:?}");
    }
    let shown: Vec<_> = changes.iter().map(|(name, change)| format!("{name} {}", change.name())).collect();
    assert_eq!(
        shown,
        [
            "PK2 added",
            "b added",
            "byState_pk added",
            "made added",
            "n changed",
            "state changed",
            "a removed",
            "junk removed",
            "keyfold_fence removed"
        ]
    );
}

#[test]
fn in_place_a_key_that_nobody_writes_may_not_become_stale() {
    let manifest = SHOP.replace(
        "[retrofits.r]\n",
        "[retrofits.r]\nchanges-live-attributes = true\nset = { state = \"x\" }\n",
    );
    let stale = mapping(&manifest, "r");
    let refused = crate::retrofit::control::RetrofitState::check_begin(&stale).unwrap_err();
    assert_eq!(refused.code(), "stale-keys");
    let text = "a key of index `gsi1` is folded from `state`, and `fills` does not name it";
    assert!(refused.to_string().contains(text), "{refused}");
    let all = manifest.replace("fills = [\"byState\"]", "fills = [\"byState\", \"gsi1\"]");
    assert_eq!(mapping(&all, "r").stale_keys(), []);
}

/// The source's keys are declared per entity, and the target's key contains them: there and back, for items of every kind.
#[test]
fn keys_that_are_declared_per_entity_have_a_way_back() {
    let there = mapping(SHOP, "moved");
    let back = there.reverse().unwrap();
    for (stored, comes_back) in [
        (
            r##"{"PK":{"S":"c#7"},"SK":{"S":"o#42"},"customerId":{"S":"7"},"orderId":{"S":"42"},"state":{"S":"open"}}"##,
            true,
        ),
        (r##"{"PK":{"S":"c#7"},"SK":{"S":"o#42"},"state":{"S":"open"}}"##, true),
        (r##"{"PK":{"S":"c#7"},"SK":{"S":"PROFILE"}}"##, true),
        // Of no entity, and of a key that no template makes.
        (r##"{"PK":{"S":"config"},"SK":{"S":"v1"},"state":{"S":"open"}}"##, true),
        (r##"{"PK":{"S":"odd"},"SK":{"S":"o#42"},"customerId":{"S":"7"},"orderId":{"S":"42"}}"##, true),
    ] {
        let stored = item(stored);
        let target = there.target_item(&stored).unwrap().unwrap();
        let key = there.source().key_of(&stored).unwrap();
        let place = there.target().key_of(&target).unwrap();
        assert_eq!(there.target_key(&key).unwrap().as_ref(), Some(&place));
        assert_eq!(back.target_key(&place).unwrap().as_ref(), Some(&key), "{stored:?}");
        let again = back.carried(Cow::Borrowed(&target)).map_err(|why| why.code().to_owned());
        let without_index_keys = |item: &Item| {
            let mut item = item.clone();
            ["GSI1PK", "GSI1SK", "state_pk"].iter().for_each(|name| drop(item.remove(name)));
            item
        };
        let again = again.map(|again| again.as_ref().map(without_index_keys));
        assert_eq!(again == Ok(Some(without_index_keys(&stored))), comes_back, "{stored:?}: {again:?}");
    }
}

#[test]
fn an_item_of_the_targets_writers_gets_the_sources_keys_and_one_without_a_place_is_refused() {
    let back = mapping(SHOP, "moved").reverse().unwrap();
    let carried = |target: &str| back.carried(Cow::Owned(item(target))).map_err(|why| why.code().to_owned());
    let born =
        r##"{"PK2":{"S":"T1#c#8"},"SK2":{"S":"o#1"},"PK":{"S":"c#8"},"SK":{"S":"o#1"},"state":{"S":"new"}}"##;
    let source = carried(born).unwrap().unwrap();
    let text = |name: &str| source.get(name).cloned();
    assert_eq!(text("PK"), Some(AttributeValue::S("c#8".to_owned())));
    assert_eq!(text("state_pk"), Some(AttributeValue::S("new#8".to_owned())), "its keys are made again");
    assert_eq!((text("PK2"), text("customerId")), (None, None));
    // The source's key contradicts the item; and a key that is not of this manifest.
    let other = born.replace(r##""PK":{"S":"c#8"}"##, r##""PK":{"S":"c#9"}"##);
    assert_eq!(carried(&other), Err(NO_WAY_BACK.to_owned()));
    assert!(carried(&born.replace("T1#", "T2#")).is_err());
}

#[test]
fn there_and_back_tells_for_which_entity_the_way_back_changes_or_fails() {
    use crate::retrofit::{Epoch, Job, RetrofitEstimate};
    let stored = [
        r##"{"PK":{"S":"c#7"},"SK":{"S":"PROFILE"}}"##,
        r##"{"PK":{"S":"c#7"},"SK":{"S":"PROFILE"},"GSI1PK":{"S":"mail#7"},"GSI1SK":{"S":"PROFILE"}}"##,
    ]
    .map(item);
    let job = Job::new(mapping(SHOP, "moved"), Epoch::FIRST);
    let estimate = RetrofitEstimate::of_sample(&job, 2, &stored).unwrap();
    let tried = estimate.there_and_back.unwrap();
    assert_eq!((tried.refused().count(), tried.untried().collect::<Vec<_>>()), (0, vec!["order"]));
    let changes: Vec<_> =
        tried.changes().lines().map(|line| (line.entity, line.attribute, line.items)).collect();
    assert_eq!(changes, [(Some("customer"), "GSI1PK", 1), (Some("customer"), "GSI1SK", 1)]);
}

#[test]
fn items_that_come_back_with_an_id_stored_are_listed() {
    use crate::retrofit::{Epoch, Job, RetrofitEstimate};
    let stored = [
        r##"{"PK":{"S":"c#a7"}}"##,
        r##"{"PK":{"S":"c#a8"},"state":{"S":"open"}}"##,
        r##"{"PK":{"S":"x"}}"##,
    ];
    let job = Job::new(mapping(STORES_AN_ID, "r"), Epoch::FIRST);
    let estimate = RetrofitEstimate::of_sample(&job, 3, &stored.map(item)).unwrap();
    let tried = estimate.there_and_back.unwrap();
    assert_eq!(tried.refused().count(), 0);
    let table = tried.table(job.mapping());
    assert_eq!(table, [["c", "`id` of `aaa` is added", "1", r##"{"PK":{"S":"c#a7"}}"##]]);
}

#[test]
fn an_item_of_no_entity_is_refused_by_that_reason() {
    let manifest = r##"
[tables.aaa]
partition = "id"
attributes = { id = "string" }
[tables.bbb]
partition = { attribute = "PK" }
attributes = { id = "string" }
entities.x = { partition = "x#{id}" }
[retrofits.r]
from = "aaa"
to = "bbb"
"##;
    let refused = mapping(manifest, "r").target_item(&item(r#"{"id":{"S":"1"}}"#)).unwrap_err();
    assert_eq!((refused.code(), refused.hint().is_some()), ("item-no-entity", true));
    assert_eq!(crate::retrofit::Misfit::of(&refused).reason(), "of no entity");
}
