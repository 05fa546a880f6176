//! Findings from items, with the proof that the items fold to their stored keys.

use crate::seeds::{DESCRIBE, ITEMS, TTL};
use crate::{has, import};

/// A table with `pk` and `sk`, and one index by `gsi1pk`.
const TABLE: &str = r#"{"TableName":"data","KeySchema":[{"AttributeName":"pk","KeyType":"HASH"},{"AttributeName":"sk","KeyType":"RANGE"}],
"AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"},{"AttributeName":"sk","AttributeType":"S"},{"AttributeName":"gsi1pk","AttributeType":"S"}],
"GlobalSecondaryIndexes":[{"IndexName":"byMark","KeySchema":[{"AttributeName":"gsi1pk","KeyType":"HASH"}],"Projection":{"ProjectionType":"ALL"}}]}"#;

fn lines(rows: impl IntoIterator<Item = serde_json::Value>) -> String {
    rows.into_iter().map(|row| format!("{row}\n")).collect()
}

#[test]
fn keys_tell_entities_apart_and_a_status_splits_a_sparse_one() {
    let report = import(&[DESCRIBE, TTL, ITEMS]);
    has(
        &report,
        &[
            "partition = \"CUST#{customerId}\"",
            "sort = \"TICKET#{openedAt}#{ticketId}\"",
            "sort = \"PROFILE\"",
            "openedAt = { type = \"timestamp\", precision = \"s\", required = true }",
            "day = \"date\"",
            "when = { SK = { begins-with = \"PROFILE\" } }",
            "when = { SK = { begins-with = \"TICKET#\" }, status = \"open\" }",
            "when = { SK = { begins-with = \"TICKET#\" }, status = \"closed\" }",
            "indexes.active.partition = \"ACTIVE#{customerId}\"",
        ],
    );
    assert!(report.agrees(), "{:?}", report.proofs);
    assert_eq!(report.proofs.iter().map(|proof| proof.same + proof.absent).sum::<usize>(), 18);
}

#[test]
fn evidence_is_counted_and_values_stay_out_of_comments() {
    let report = import(&[DESCRIBE, ITEMS]);
    has(&report, &["email = \"string\" # in 2 of 2 sampled items"]);
    assert!(!report.manifest.contains("example.com"), "{}", report.manifest);
}

/// Customers, whose id is in the key alone, and orders, which store the customer's id. One in ten has no `type`.
fn shop(type_of: impl Fn(usize) -> Option<&'static str>, order_key: &str) -> String {
    lines((0..40).map(|n| {
        let mut row = match n % 2 {
            0 => serde_json::json!({ "pk": format!("c#u{n}"), "sk": "PROFILE", "name": format!("N{n}"), "gsi1pk": "m" }),
            _ => serde_json::json!({
                "pk": format!("o#x{n}"), "sk": format!("{order_key}{n}"), "customerId": format!("u{}", n - 1), "orderId": format!("x{n}"),
                "total": n, "gsi1pk": "m",
            }),
        };
        if n % 4 == 1 {
            row["note"] = serde_json::json!("n");
        }
        if let Some(name) = type_of(n) {
            row["type"] = serde_json::json!(name);
        }
        row
    }))
}

/// The text of one section.
fn section<'t>(manifest: &'t str, name: &str) -> &'t str {
    let after =
        manifest.split_once(&format!("[{name}]\n")).unwrap_or_else(|| panic!("no {name} in {manifest}")).1;
    after.split("\n[").next().unwrap()
}

#[test]
fn each_entity_has_its_own_attributes_and_an_id_in_a_key_belongs_to_one_of_them() {
    let named = |n: usize| (n % 10 != 3).then_some(if n.is_multiple_of(2) { "Customer" } else { "Order" });
    let report = import(&[TABLE, &shop(named, "ORDER#")]);
    let of = |entity: &str| section(&report.manifest, &format!("tables.data.entities.{entity}.attributes"));
    let (customer, order) = (of("Customer"), of("Order"));
    assert!(customer.contains("from-key = true"), "{}", report.manifest);
    assert!(order.contains("customerId = \"string\" # in 20 of 20 sampled items"), "{order}");
    assert!(
        order.contains("orderId = { type = \"string\", required = true }") && !order.contains("from-key"),
        "{order}"
    );
    assert!(order.contains("total = ") && !customer.contains("total"), "{customer}");
    let shared = section(&report.manifest, "tables.data.attributes");
    assert!(
        shared.contains("note = \"string\" # in 10 of 40"),
        "customers beyond the sample can have one: {shared}"
    );
    assert!(
        !report.manifest.contains("when = { type"),
        "`type` is absent in some items: {}",
        report.manifest
    );
    assert!(report.agrees(), "{:?}", report.proofs);
}

#[test]
fn an_attribute_tells_entities_apart_where_keys_cannot() {
    // The key of an order could be that of a customer.
    let named = |n: usize| Some(if n.is_multiple_of(2) { "Customer" } else { "Order" });
    let rows = shop(named, "PROFILE").replace("\"pk\":\"o#", "\"pk\":\"c#");
    let report = import(&[TABLE, &rows]);
    has(&report, &["when = { type = \"Customer\" }", "when = { type = \"Order\" }"]);
}

#[test]
fn letter_case_padding_and_an_optional_tail_are_found() {
    let rows = (0..30).map(|n| {
        let name = format!("User{n}");
        let (team, pad) = (format!("Team{}", n % 3), format!("{:05}", n * 7));
        let mut row = serde_json::json!({
            "pk": format!("t#{}", team.to_lowercase()), "sk": format!("n#{pad}"), "team": team, "n": n * 7,
            "name": name, "gsi1pk": "m#",
        });
        if n % 2 == 0 {
            row["boss"] = serde_json::json!(format!("B{n}"));
            row["gsi1pk"] = serde_json::json!(format!("m#b{n}"));
        }
        row
    });
    let report = import(&[TABLE, &lines(rows)]);
    has(
        &report,
        &[
            "partition = { attribute = \"pk\", fold = \"t#{team|lower}\" }",
            "sort = { attribute = \"sk\", fold = \"n#{n:05}\" }",
            "partition = { attribute = \"gsi1pk\", fold = \"m#[{boss|lower}]\" }",
        ],
    );
    assert!(report.agrees(), "{:?}", report.proofs);
}

#[test]
fn a_key_that_is_its_own_value_stays_natural() {
    let rows = (0..10)
        .map(|n| serde_json::json!({ "pk": format!("u{n}"), "sk": format!("p-{n:03}"), "gsi1pk": "x" }));
    has(&import(&[TABLE, &lines(rows)]), &["partition = \"pk\"", "sort = \"sk\"", "partition = \"gsi1pk\""]);
}

#[test]
fn an_item_that_breaks_the_form_of_all_others_is_reported() {
    let mut rows: Vec<_> = (0..40)
        .map(|n| serde_json::json!({ "pk": format!("o#{n}"), "sk": format!("i#{}", n + 100), "order": n, "item": n + 100 }))
        .collect();
    rows[7]["sk"] = serde_json::json!("i#999");
    let report = import(&[TABLE, &lines(rows)]);
    has(&report, &["partition = { attribute = \"pk\", fold = \"o#{order}\" }"]);
    let differs: usize = report.proofs.iter().map(|proof| proof.differs).sum();
    assert!(!report.agrees() && differs >= 1, "{:?}", report.proofs);
}

#[test]
fn one_name_with_two_types_stays_undeclared() {
    let rows = [
        serde_json::json!({ "pk": "a", "sk": "b", "v": 1 }),
        serde_json::json!({ "pk": "c", "sk": "d", "v": "x" }),
    ];
    let report = import(&[TABLE, &lines(rows)]);
    assert!(report.manifest.contains("# v is not declared. # in 2 of 2"), "{}", report.manifest);
}

/// Rows of a table without attributes for its ids: `o#1` and `c#1` belong to different entities, though both end in the
/// same digits.
#[test]
fn a_part_that_only_the_key_has_is_read_from_it_and_named_by_its_prefix() {
    let kinds = [("customer", "c#1", "c#1"), ("customer", "c#2", "c#2"), ("orderItem", "o#1", "p#1")];
    let more = [("orderItem", "o#2", "p#1"), ("product", "p#1", "p#1"), ("product", "p#2", "p#2")];
    let rows = kinds.iter().chain(&more).map(|(kind, pk, sk)| {
        let mut row = serde_json::json!({ "pk": pk, "sk": sk, "kind": kind });
        if *kind == "orderItem" {
            row["gsi1pk"] = serde_json::json!(pk.replace('o', "c"));
        }
        row
    });
    let report = import(&[TABLE, &lines(rows)]);
    has(
        &report,
        &[
            "customer_id = { type = \"string\", from-key = true }",
            "partition = \"c#{customer_id}\"",
            "partition = \"o#{order_id}\"",
            "sort = \"p#{product_id}\"",
            "indexes.byMark.partition = \"c#{customer_id}\"",
        ],
    );
    assert!(report.agrees() && report.items == 6, "{:?}", report.proofs);
}

/// A visit stands under its patient, and an index has it by its day: neither is the id of a visit, and they are not the same.
#[test]
fn parts_of_different_keys_have_different_names() {
    let visits = (0..30).map(|n| {
        serde_json::json!({
            "pk": format!("PATIENT#p{}", n % 7), "sk": format!("VISIT#2026-0{}-1{}T08:00:00Z#v{n}", n % 9 + 1, n % 10),
            "gsi1pk": format!("DOC#d{}", n % 5), "gsi1sk": format!("VISIT#2026-0{}-1{}", n % 9 + 1, n % 10),
        })
    });
    let doctors = (0..5).map(|n| {
        serde_json::json!({ "pk": "CLINIC#c1", "sk": format!("DOC#d{n}"), "gsi1pk": format!("DOC#d{n}"), "gsi1sk": "PROFILE" })
    });
    let sort = TABLE.replace(
        r#"gsi1pk","KeyType":"HASH"}"#,
        r#"gsi1pk","KeyType":"HASH"},{"AttributeName":"gsi1sk","KeyType":"RANGE"}"#,
    );
    let table = sort.replace(
        r#"gsi1pk","AttributeType":"S"}"#,
        r#"gsi1pk","AttributeType":"S"},{"AttributeName":"gsi1sk","AttributeType":"S"}"#,
    );
    let report = import(&[&table, &lines(visits.chain(doctors))]);
    has(
        &report,
        &[
            "partition = \"PATIENT#{patient_id}\"",
            "indexes.byMark.partition = \"DOC#{doc_id}\"",
            "indexes.byMark.sort = \"VISIT#{visit_date}\"",
        ],
    );
    assert!(report.agrees() && report.items == 35, "{:?}", report.proofs);
}

#[test]
fn entities_that_nothing_but_the_key_tells_apart_are_told_by_how_it_begins() {
    let rows = (0..12).map(|n| {
        let sk = if n % 3 == 0 { "root".to_owned() } else { format!("title_1#t{n}") };
        serde_json::json!({ "pk": format!("e#{}", n / 3), "sk": sk, "employee": n / 3, "name": format!("n{n}") })
    });
    let report = import(&[TABLE, &lines(rows)]);
    has(
        &report,
        &[
            "when = { sk = { begins-with = \"root\" } }",
            "when = { sk = { begins-with = \"title_1#\" } }",
            "partition = \"e#{employee}\"",
        ],
    );
    assert!(report.agrees(), "{:?}", report.proofs);
}

#[test]
fn a_shard_that_is_the_remainder_of_the_sort_key_is_found() {
    let ids = [1024, 2051, 3073, 4099, 5120, 6147, 7170, 8191];
    let rows = ids.map(|id| {
        serde_json::json!({ "pk": format!("2026-08-01.{}", id % 4), "sk": id.to_string(), "value": "v" })
    });
    let report = import(&[TABLE, &lines(rows)]);
    has(
        &report,
        &[
            "partition = { attribute = \"pk\", fold = \"{date}.{id|mod:4}\" }",
            "sort = { attribute = \"sk\", fold = \"{id}\" }",
        ],
    );
    assert!(report.agrees(), "{:?}", report.proofs);
}

#[test]
fn the_id_of_a_natural_key_keeps_its_prefix_and_a_date_in_one_is_a_part() {
    let table = r#"{"TableName":"Orders","KeySchema":[{"AttributeName":"DeviceId","KeyType":"HASH"},{"AttributeName":"OrderId","KeyType":"RANGE"}],
"AttributeDefinitions":[{"AttributeName":"DeviceId","AttributeType":"S"},{"AttributeName":"OrderId","AttributeType":"S"}]}"#;
    let rows = (0..6).map(|n| {
        serde_json::json!({ "DeviceId": format!("d#{}", n % 2), "OrderId": format!("2026060{}-{}", n + 1, n * 71 + 5), "Amount": n })
    });
    let report = import(&[table, &lines(rows)]);
    has(
        &report,
        &[
            "partition = \"DeviceId\"",
            "sort = { attribute = \"OrderId\", fold = \"{OrderDate}-{OrderSeq}\" }",
        ],
    );
    assert!(report.agrees(), "{:?}", report.proofs);
}

/// Owners and orders. Only open orders have the index's key.
fn with_status(gsi: &str) -> String {
    lines((0..24).map(|n| {
        if n % 4 == 0 {
            return serde_json::json!({ "pk": format!("c#u{n}"), "sk": "PROFILE", "name": format!("N{n}") });
        }
        let status = ["open", "closed", "late"][n % 3];
        let mut row = serde_json::json!({
            "pk": format!("c#u{}", n / 4 * 4), "sk": format!("o#x{n}"), "orderId": format!("x{n}"), "status": status,
        });
        if status == "open" {
            row["gsi1pk"] = serde_json::json!(format!("open#{gsi}"));
        }
        row
    }))
}

#[test]
fn a_status_that_selects_the_items_of_an_index_is_literal_text() {
    let report = import(&[TABLE, &with_status("orders")]);
    has(&report, &["indexes.byMark.partition = \"open#orders\""]);
    let lost = "not `status`: literal text, as items with another value lack the key";
    assert!(report.manifest.contains(lost), "{}", report.manifest);
    assert!(report.agrees(), "{:?}\n{}", report.proofs, report.manifest);
    // Behind other text, too.
    let report = import(&[TABLE, &with_status("orders").replace("\"open#", "\"m#open#")]);
    has(&report, &["indexes.byMark.partition = \"m#open#orders\""]);
    assert!(report.manifest.contains(lost), "{}", report.manifest);
}

#[test]
fn a_constant_attribute_at_the_beginning_of_a_key_is_literal_text() {
    let rows = (0..12).map(|n| {
        let (kind, own) = if n % 2 == 0 { ("order", "orderId") } else { ("ticket", "ticketId") };
        serde_json::json!({ "pk": format!("{kind}#{n}"), "sk": "A", "made": kind, "origin": kind, own: n.to_string() })
    });
    let report = import(&[TABLE, &lines(rows)]);
    has(&report, &["partition = \"order#{orderId}\"", "partition = \"ticket#{ticketId}\""]);
    let lost = "not `made`: literal text, as the key of each of these items begins with it";
    assert!(report.agrees() && report.manifest.contains(lost), "{}", report.manifest);
}

#[test]
fn the_name_of_a_key_decides_between_attributes_with_equal_values() {
    let table = TABLE.replace("gsi1pk", "Status#Day");
    let rows = (0..12).map(|n| {
        let status = ["open", "closed"][n % 2];
        let day = format!("2026-03-{:02}", n + 1);
        serde_json::json!({
            "pk": format!("u{n}"), "sk": format!("x{n}"), "day": day, "phase": status, "status": status,
            "Status#Day": format!("{status}#{day}"), "active": status, "stage": status,
        })
    });
    let report = import(&[&table, &lines(rows)]);
    has(&report, &["partition = { attribute = \"Status#Day\", fold = \"{status}#{day}\" }"]);
    for rival in ["active", "phase"] {
        let lost = format!("not `{rival}`: the text before it, the key or an index names `status`");
        assert!(report.manifest.contains(&lost), "{}", report.manifest);
    }
    assert!(!report.manifest.contains("not `stage`"), "at most two are shown: {}", report.manifest);
    assert!(report.agrees(), "{:?}", report.proofs);
}

#[test]
fn a_constant_sort_key_is_a_template() {
    let rows = (0..12).map(|n| match n % 2 {
        0 => serde_json::json!({ "pk": format!("user#{n}"), "sk": "A", "name": format!("N{n}"), "userId": n.to_string() }),
        _ => serde_json::json!({ "pk": format!("shop#{n}"), "sk": "A", "town": format!("T{n}"), "shopId": n.to_string() }),
    });
    let report = import(&[TABLE, &lines(rows)]);
    has(&report, &["partition = \"user#{userId}\"", "partition = \"shop#{shopId}\"", "sort = \"A\""]);
    assert!(report.agrees(), "{:?}", report.proofs);
}

/// Orders and tickets of an owner; orders have another attribute with the owner's id.
fn owned(partition: impl Fn(usize) -> String) -> String {
    lines((0..24).map(|n| match n % 2 {
        0 => serde_json::json!({
            "pk": partition(n / 4), "sk": format!("order#{n}"), "orderId": n.to_string(), "owner": format!("u{}", n / 4),
            "agent": format!("u{}", n / 4),
        }),
        _ => serde_json::json!({ "pk": partition(n / 4), "sk": format!("ticket#{n}"), "ticketId": n.to_string(), "owner": format!("u{}", n / 4) }),
    }))
}

#[test]
fn the_attribute_that_other_entities_of_the_collection_have_wins() {
    let why = "not `agent`: other entities of the item collection have `owner` here";
    let report = import(&[TABLE, &owned(|n| format!("x#u{n}"))]);
    assert_eq!(report.manifest.matches("partition = \"x#{owner}\"").count(), 2, "{}", report.manifest);
    assert!(report.manifest.contains(why), "{}", report.manifest);
    // Without a prefix, equal values of the key show the collection.
    let report = import(&[TABLE, &owned(|n| format!("u{n}"))]);
    assert_eq!(report.manifest.matches("partition = \"{owner}\"").count(), 2, "{}", report.manifest);
    // The name in the key says more.
    let report = import(&[TABLE, &owned(|n| format!("agent#u{n}"))]);
    has(&report, &["partition = \"agent#{agent}\"", "partition = \"agent#{owner}\""]);
    // Entities of different collections do not decide.
    let apart = |n: usize, kind: &str| serde_json::json!({ "pk": format!("u{n}"), "sk": format!("{kind}#{n}"), "owner": format!("u{n}") });
    let orders = (0..6).map(|n| {
        let mut order = apart(n, "order");
        order["agent"] = order["owner"].clone();
        order
    });
    let report = import(&[TABLE, &lines(orders.chain((6..12).map(|n| apart(n, "ticket"))))]);
    let first = "not `owner`: the sample shows no difference, and `agent` is first by name";
    assert!(report.manifest.contains(first), "{}", report.manifest);
}

#[test]
fn old_items_can_lack_an_attribute_that_their_key_holds() {
    let rows = |lack: usize| {
        let row = move |n: usize| {
            let mut row = serde_json::json!({ "pk": format!("o#x{n}"), "sk": "A", "orderId": format!("x{n}"), "gsi1pk": "m" });
            if n < lack {
                row.as_object_mut().unwrap().remove("orderId");
            }
            row
        };
        lines((0..12).map(row))
    };
    let report = import(&[TABLE, &rows(3)]);
    has(
        &report,
        &[
            "partition = { attribute = \"pk\", fold = \"o#{orderId}\" }",
            "orderId = { type = \"string\", from-key = true }",
        ],
    );
    assert!(report.manifest.contains("read from the key of items that lack it"), "{}", report.manifest);
    assert!(report.agrees(), "{:?}", report.proofs);
    let report = import(&[TABLE, &rows(6)]);
    assert!(!report.manifest.contains("o#{orderId}"), "half of the items are too few: {}", report.manifest);
}

#[test]
fn a_number_that_old_items_hold_as_text_is_a_number_in_a_key() {
    let rows = |is_text: fn(usize) -> bool, other: &str| {
        lines((0..12).map(|n| {
            let number =
                if is_text(n) { serde_json::json!(format!("{n}{other}")) } else { serde_json::json!(n) };
            serde_json::json!({ "pk": format!("o#{n:04}"), "sk": format!("{n}"), "number": number })
        }))
    };
    let report = import(&[TABLE, &rows(|n| n < 3, "")]);
    has(
        &report,
        &[
            "partition = { attribute = \"pk\", fold = \"o#{number:04}\" }",
            "number = { type = \"number\", required = true }",
        ],
    );
    assert!(report.manifest.contains("a key needs one type: 3 items have it as text"), "{}", report.manifest);
    assert!(!report.agrees(), "the keys of the three cannot be folded");
}

#[test]
fn an_attribute_with_several_types_that_no_number_explains_keeps_them() {
    let rows = (0..12).map(|n| {
        let mut row = serde_json::json!({ "pk": format!("p{n}"), "sk": "A", "number": n });
        match n {
            0 => row["number"] = serde_json::json!(true),
            1..4 => row["number"] = serde_json::json!(n.to_string()),
            _ => {}
        }
        if n > 0 {
            row["gsi1pk"] = serde_json::json!(format!("o#{n:04}"));
        }
        row
    });
    let report = import(&[TABLE, &lines(rows)]);
    assert!(!report.manifest.contains("a key needs one type"), "{}", report.manifest);
}

#[test]
fn one_value_in_most_items_does_not_explain_a_part_of_their_key() {
    let rows = (0..6).map(|n| {
        let mut row = serde_json::json!({ "pk": "o#77", "sk": format!("s{n}"), "size": "77" });
        if n == 0 {
            row.as_object_mut().unwrap().remove("size");
        }
        row
    });
    let report = import(&[TABLE, &lines(rows)]);
    assert!(!report.manifest.contains("{size}"), "{}", report.manifest);
}

#[test]
fn a_natural_key_is_not_made_of_a_copy_that_most_items_have() {
    let table = TABLE.replace("\"pk\"", "\"ownerId\"").replace("\"sk\"", "\"noteId\"");
    let rows = (0..12).map(|n| {
        let mut row =
            serde_json::json!({ "ownerId": format!("a{n}b"), "noteId": format!("n{n}"), "user": format!("a{n}b") });
        if n < 3 {
            row.as_object_mut().unwrap().remove("user");
        }
        row
    });
    let report = import(&[&table, &lines(rows)]);
    has(&report, &["partition = \"ownerId\"", "sort = \"noteId\""]);
}

/// The winner among attributes with one text is the first that differs: a name in the key, then what other entities have, then an id, then
/// the text as it is.
#[test]
fn the_criteria_of_the_ranking_have_an_order() {
    let ranked = |row: fn(usize) -> serde_json::Value| {
        let report = import(&[TABLE, &lines((0..12).map(row))]);
        report.manifest.lines().find(|line| line.starts_with("partition = ")).unwrap_or_default().to_owned()
    };
    let named = ranked(
        |n| serde_json::json!({ "pk": format!("owner#u{n}"), "sk": "A", "agentId": format!("u{n}"), "owner": format!("u{n}") }),
    );
    assert!(named.contains("{owner}") && named.contains("not `agentId`: the text before it"), "{named}");
    let id = ranked(
        |n| serde_json::json!({ "pk": format!("x#u{n}"), "sk": "A", "agent": format!("u{n}"), "ownerId": format!("u{n}") }),
    );
    assert!(
        id.contains("{ownerId}") && id.contains("not `agent`: the name of `ownerId` ends with `id`"),
        "{id}"
    );
    let simple = ranked(
        |n| serde_json::json!({ "pk": format!("x#u{n}"), "sk": "A", "agent": format!("U{n}"), "owner": format!("u{n}") }),
    );
    assert!(
        simple.contains("{owner}") && simple.contains("not `agent`: the key has it in another notation"),
        "{simple}"
    );
    let id_first = ranked(
        |n| serde_json::json!({ "pk": format!("x#u{n}"), "sk": "A", "agentId": format!("U{n}"), "owner": format!("u{n}") }),
    );
    assert!(id_first.contains("{agentId|lower}"), "{id_first}");
    let longer = ranked(
        |n| serde_json::json!({ "pk": format!("owner#u{n}-a"), "sk": "A", "zone": format!("u{n}-a"), "owner": format!("u{n}") }),
    );
    assert!(
        longer.contains("{zone}") && longer.contains("not `owner`: explains less of the key"),
        "{longer}"
    );
}

#[test]
fn an_attribute_of_the_only_item_of_an_entity_is_a_part_at_the_beginning_of_its_key() {
    let rows = (0..4).map(|n| serde_json::json!({ "pk": format!("x#{n}"), "sk": "A" }));
    let only = serde_json::json!({ "pk": "u1#a", "sk": "B#1", "owner": "u1" });
    let report = import(&[TABLE, &lines(rows.chain([only]))]);
    assert!(report.manifest.contains("partition = \"{owner}#"), "{}", report.manifest);
}

/// Too few items have an owner for it to be a part of `pk`, so that part gets another name. `others`: items of another
/// entity, which have no owner.
fn with_few_owners(others: usize) -> String {
    let of_owner = (0..12).map(|n| {
        let mut row = serde_json::json!({ "pk": format!("c#u{n}"), "sk": "A" });
        if n < 5 {
            row["owner"] = serde_json::json!(format!("u{n}"));
            row["gsi1pk"] = serde_json::json!(format!("u{n}"));
        }
        row
    });
    let others = (0..others).map(
        |n| serde_json::json!({ "pk": format!("c#u{n}"), "sk": format!("B#{n}"), "gsi1pk": format!("u{n}") }),
    );
    lines(of_owner.chain(others))
}

#[test]
fn an_attribute_wins_over_a_part_of_another_key_unless_other_entities_have_that() {
    // Before the criterion of the id.
    let report = import(&[TABLE, &with_few_owners(0)]);
    let why = "not `id`: only another key holds it";
    assert!(
        report.manifest.contains("fold = \"{owner}\"") && report.manifest.contains(why),
        "{}",
        report.manifest
    );
    let report = import(&[TABLE, &with_few_owners(5)]);
    let why = "not `owner`: other entities of the item collection have `a_id` here";
    assert!(report.manifest.contains(why), "{}", report.manifest);
}
