//! Keys by entity, there and back.

use std::borrow::Cow;

use crate::index::fixture::item;
use crate::manifest::parse;
use crate::retrofit::protocol_choice::moving_keys;
use crate::retrofit::{Mapping, Protocol};
use crate::value::Item;

/// A shop as `init` writes it: the keys tell the entities apart, but for customers with and without an address.
const SHOP: &str = r##"
[tables.shop]
partition = { attribute = "PK" }
sort = { attribute = "SK" }
attributes = { type = "string" }
indexes.gsi1 = { partition = { attribute = "GSI1PK" } }
[tables.shop.entities.customer]
when = { SK = { begins-with = "PROFILE" }, email = { exists = true } }
partition = "c#{customerId}"
sort = "PROFILE"
indexes.gsi1.partition = "mail#{email}"
attributes = { customerId = { type = "string", from-key = true }, email = "string" }
[tables.shop.entities.silent]
when = { SK = { begins-with = "PROFILE" }, email = { exists = false } }
partition = "c#{customerId}"
sort = "PROFILE"
attributes = { customerId = { type = "string", from-key = true }, email = "string" }
[tables.shop.entities.order]
when = { SK = { begins-with = "o#" } }
partition = "c#{customerId}"
sort = "o#{placed}#{orderId}"
indexes.gsi1.partition = "status#{status}"
attributes = { customerId = "string", orderId = "string", placed = { type = "timestamp", precision = "s" }, status = "string" }

[tables.new]
partition = { attribute = "pk" }
sort = { attribute = "sk" }
attributes = { type = "string" }
[tables.new.entities.customer]
when = { sk = { begins-with = "profile" }, email = { exists = true } }
partition = "customer/{customerId}"
sort = "profile"
attributes = { customerId = { type = "string", from-key = true }, email = "string" }
[tables.new.entities.silent]
when = { sk = { begins-with = "profile" }, email = { exists = false } }
partition = "customer/{customerId}"
sort = "profile"
attributes = { customerId = { type = "string", from-key = true }, email = "string" }
[tables.new.entities.order]
partition = "customer/{customerId}"
sort = "order/{orderId}/{placed}"
attributes = { customerId = "string", orderId = "string", placed = { type = "timestamp", precision = "s" }, status = "string" }

[retrofits.r]
from = "shop"
to = "new"
drop = ["PK", "SK", "GSI1PK"]
"##;

const CUSTOMER: &str =
    r##"{"PK":{"S":"c#7"},"SK":{"S":"PROFILE"},"email":{"S":"a@b"},"GSI1PK":{"S":"mail#a@b"}}"##;
const SILENT: &str = r##"{"PK":{"S":"c#7"},"SK":{"S":"PROFILE"},"type":{"S":"Customer"}}"##;
const ORDER: &str = r##"{"PK":{"S":"c#7"},"SK":{"S":"o#2024-05-01T00:00:00Z#42"},"customerId":{"S":"7"},"orderId":{"S":"42"},"placed":{"S":"2024-05-01T00:00:00Z"},"status":{"S":"open"},"GSI1PK":{"S":"status#open"}}"##;

fn mapping(manifest: &str) -> Mapping {
    let parsed = parse("keyfold.toml", manifest);
    let model = parsed.model.unwrap_or_else(|| panic!("{:?}", parsed.diagnostics));
    Mapping::of(&model, "r").unwrap()
}

fn with(from: &str, to: &str) -> Mapping {
    let text = SHOP.replace(from, to);
    assert_ne!(text, SHOP, "{from}");
    mapping(&text)
}

/// Why each entity's key can move.
fn reasons(mapping: &Mapping) -> Vec<String> {
    let reason = |(entity, reason): (Option<&str>, _)| format!("{}: {reason}", entity.unwrap_or("-"));
    let moving = moving_keys(&mapping.retrofit, &mapping.source, &mapping.target);
    moving.into_iter().map(reason).collect()
}

fn key_of<'i>(item: &'i Item, names: [&str; 2]) -> [&'i str; 2] {
    names.map(|name| match item.get(name) {
        Some(crate::value::AttributeValue::S(text)) => text.as_str(),
        other => panic!("{name}: {other:?}"),
    })
}

#[test]
fn each_entity_goes_to_its_own_key_and_comes_back() {
    let there = mapping(SHOP);
    assert_eq!(there.protocol(), Protocol::Fenced, "{}", there.reason());
    let back = there.reverse().unwrap();
    for (stored, place) in [
        (CUSTOMER, ["customer/7", "profile"]),
        (SILENT, ["customer/7", "profile"]),
        (ORDER, ["customer/7", "order/42/2024-05-01T00:00:00Z"]),
    ] {
        let stored = item(stored);
        let target = there.target_item(&stored).unwrap().unwrap();
        assert_eq!(key_of(&target, ["pk", "sk"]), place);
        assert!(
            !target.contains_key("PK") && target.get("customerId") == stored.get("customerId"),
            "{target:?}"
        );
        let (key, place) = (there.source().key_of(&stored).unwrap(), there.target().key_of(&target).unwrap());
        assert_eq!(there.target_key(&key).unwrap().as_ref(), Some(&place));
        assert_eq!((there.origin(&place).as_ref(), there.origin(&target).as_ref()), (Some(&key), Some(&key)));
        assert_eq!(back.target_key(&place).unwrap().as_ref(), Some(&key));
        let again = back.carried(Cow::Borrowed(&target)).map_err(|why| why.code().to_owned());
        assert_eq!(again, Ok(Some(stored)));
    }
}

/// A record of a deletion has the key alone. An item that is elsewhere than its key says would never be found again.
#[test]
fn an_item_whose_key_and_attributes_differ_is_refused() {
    let there = mapping(SHOP);
    let code = |stored: &str| there.target_item(&item(stored)).map_err(|error| error.code());
    for (stored, from, to) in [
        (ORDER, r#""orderId":{"S":"42"}"#, r#""orderId":{"S":"43"}"#),
        (ORDER, r#""PK":{"S":"c#7"}"#, r#""PK":{"S":"odd"}"#),
        (ORDER, r#""SK":{"S":"o#2024"#, r#""SK":{"S":"x#2024"#),
        (SILENT, "PROFILE", "PROFILES"),
    ] {
        let other = stored.replace(from, to);
        assert_ne!(other, stored);
        assert_eq!(code(&other), Err("item-key-not-fixed"), "{other}");
    }
    assert!(there.target_key(&item(r##"{"PK":{"S":"odd"},"SK":{"S":"PROFILE"}}"##)).is_err());
}

/// A shared target key could not be mapped back, so both source keys are refused.
#[test]
fn two_source_keys_never_have_one_target_key() {
    let text = SHOP.replace("sort = \"o#{placed}#{orderId}\"", "sort = \"o#{orderId}\"");
    let order = "when = { email = { exists = false } }\npartition = \"{customerId}\"\nsort = \"{orderId}\"";
    let text =
        text.replace("partition = \"customer/{customerId}\"\nsort = \"order/{orderId}/{placed}\"", order);
    let note = text.replace("[retrofits.r]", "[tables.shop.entities.note]\nwhen = { SK = { begins-with = \"n#\" } }\n\
        partition = \"c#{customerId}\"\nsort = \"n#{noteId}\"\n\
        attributes = { customerId = \"string\", noteId = { type = \"string\", from-key = true } }\n\
        [tables.new.entities.note]\nwhen = { email = { exists = true } }\npartition = \"{customerId}\"\nsort = \"{noteId}\"\n\
        attributes = { customerId = \"string\", noteId = { type = \"string\", from-key = true } }\n[retrofits.r]");
    let there = mapping(&note);
    assert_eq!(there.protocol(), Protocol::Fenced, "{}", there.reason());
    for key in [r##"{"PK":{"S":"c#7"},"SK":{"S":"o#1"}}"##, r##"{"PK":{"S":"c#7"},"SK":{"S":"n#1"}}"##] {
        let error = there.target_key(&item(key)).map_err(|error| error.code());
        assert_eq!(error, Err("item-key-not-fixed"), "{key}");
    }
}

#[test]
fn the_reason_says_which_entity_has_a_key_that_can_move() {
    assert_eq!(reasons(&mapping(SHOP)), [""; 0]);
    let moving = with("sort = \"order/{orderId}/{placed}\"", "sort = \"order/{status}/{orderId}/{placed}\"");
    assert_eq!(moving.protocol(), Protocol::Ledger);
    assert_eq!(reasons(&moving), ["order: the target's key contains `status`, which can change"]);
    // The item still gets the key of the target's entity with the same name, although the target recognizes it by this key only.
    let target = moving.target_item(&item(ORDER)).unwrap().unwrap();
    assert_eq!(key_of(&target, ["pk", "sk"]), ["customer/7", "order/open/42/2024-05-01T00:00:00Z"]);
    let lost = with("sort = \"order/{orderId}/{placed}\"", "sort = \"order/{orderId}\"");
    assert_eq!(reasons(&lost), ["order: the target's key does not keep `SK` of the source's key exactly"]);
    let typed = with("when = { SK = { begins-with = \"o#\" } }", "when = { type = \"Order\" }");
    assert_eq!(reasons(&typed).len(), 3, "{:?}", reasons(&typed));
    assert!(
        reasons(&typed)[1].contains("which the source recognizes by `type`, which can change"),
        "{:?}",
        reasons(&typed)
    );
    let other = with("[tables.new.entities.order]", "[tables.new.entities.purchase]");
    assert_eq!(
        reasons(&other),
        [
            "purchase: the target's key depends on the item's entity, and the source declares no entity of that name"
        ]
    );
    let renamed = with("[retrofits.r]\n", "[retrofits.r]\nrename = { status = \"orderId\" }\n");
    assert_eq!(reasons(&renamed), ["order: the target's key contains `orderId`, which can change"]);
}

/// An item that gets or loses its address is of another entity, and stays where it is. With another key it would move.
#[test]
fn entities_that_the_key_does_not_tell_apart_need_one_key() {
    let apart = with(
        "when = { sk = { begins-with = \"profile\" }, email = { exists = false } }\npartition = \"customer/{customerId}\"",
        "when = { sk = { begins-with = \"profile\" }, email = { exists = false } }\npartition = \"silent/{customerId}\"",
    );
    assert!(
        reasons(&apart).iter().all(|reason| reason.contains("recognizes by `email`")),
        "{:?}",
        reasons(&apart)
    );
    assert_eq!(reasons(&apart).len(), 2);
}

#[test]
fn the_digests_cover_how_the_source_makes_its_keys() {
    let there = mapping(SHOP);
    for (from, to) in [
        ("sort = \"o#{placed}#{orderId}\"", "sort = \"o#{placed}.{orderId}\""),
        ("SK = { begins-with = \"o#\" }", "SK = { begins-with = \"o\" }"),
        ("sort = \"order/{orderId}/{placed}\"", "sort = \"order/{placed}/{orderId}\""),
    ] {
        let other = with(from, to);
        assert_ne!(other.hash(), there.hash(), "{to}");
        assert_ne!(other.fixed_digest(), there.fixed_digest(), "{to}");
    }
}
