//! Batches of new items: each has its own result, and existing items stay.

use std::time::Instant;

use keyfold_core::value::{AttributeValue, Item};
use keyfold_dynamo::{Inserted, PutNew, PutNewOptions, put_new_all};

use crate::fixture::{assert_keys_are_right, audit, event, item, key, number, stored, text, things, with};

fn codes(inserted: &Inserted) -> Vec<&'static str> {
    let code = |outcome: &Result<PutNew, keyfold_dynamo::WriteError>| match outcome {
        Ok(PutNew::Written) => "written",
        Ok(PutNew::Exists(_)) => "exists",
        Err(error) => error.code(),
    };
    inserted.outcomes.iter().map(code).collect()
}

#[tokio::test]
async fn a_hundred_new_items_take_four_requests_and_have_their_keys() {
    let audit = audit();
    let (_dynamo, client) = with(&audit, []).await;
    let events: Vec<Item> = (0..100).map(|at| event(&at.to_string())).collect();
    let inserted = put_new_all(&client, &audit, events, &PutNewOptions::default()).await;
    assert_eq!(codes(&inserted), ["written"; 100]);
    assert_eq!((inserted.requests, inserted.resent), (4, 0));
    // One for the table and one for each of the three indexes.
    assert_eq!(inserted.consumed.units, 400.0);
    for at in ["0", "57", "99"] {
        let now = stored(&client, &audit, &key(at)).await.unwrap();
        assert_keys_are_right(&audit, &now);
        assert!(now.contains_key("byAction_pk") && now.contains_key("byResourceActionUser_pk"));
    }
}

#[tokio::test]
async fn an_item_that_is_there_stays_and_is_shown_and_the_others_are_written() {
    let audit = audit();
    let (_dynamo, client) = with(&audit, [event("2")]).await;
    let mut other = event("2");
    other.insert("note".to_owned(), text("another"));
    let mut wrong = event("4");
    wrong.insert("action".to_owned(), text("touched"));
    let items = vec![event("1"), other, event("3"), wrong, event("2")];
    let inserted = put_new_all(&client, &audit, items, &PutNewOptions::default()).await;
    assert_eq!(codes(&inserted), ["written", "exists", "written", "item-key-not-foldable", "exists"]);
    let Ok(PutNew::Exists(found)) = &inserted.outcomes[1] else { panic!() };
    assert_eq!(found.reveal()["note"], text("a note"));
    assert_eq!(stored(&client, &audit, &key("2")).await.unwrap()["note"], text("a note"));
    assert_eq!(stored(&client, &audit, &key("4")).await, None);
}

#[tokio::test]
async fn of_items_with_one_key_the_first_is_written() {
    let audit = audit();
    let (_dynamo, client) = with(&audit, []).await;
    let items = ["first", "second", "third"].map(|note| {
        let mut event = event("1");
        event.insert("note".to_owned(), text(note));
        event
    });
    let inserted = put_new_all(&client, &audit, items.to_vec(), &PutNewOptions::default()).await;
    assert_eq!(codes(&inserted), ["written", "exists", "exists"]);
    assert_eq!(stored(&client, &audit, &key("1")).await.unwrap()["note"], text("first"));
}

#[tokio::test]
async fn every_type_and_every_name_survives_a_statement() {
    let audit = audit();
    let (_dynamo, client) = with(&audit, []).await;
    let mut strange = event("1");
    let nested: AttributeValue = serde_json::from_str(
        r#"{"M":{"it's":{"L":[{"N":"12345678901234567890123456789012345.678"},{"NULL":true},{"BOOL":false}]},"s":{"SS":["a","b"]},"n":{"NS":["1","2"]},"b":{"B":"AP8="},"e":{"S":""}}}"#,
    )
    .unwrap();
    for name in ["it's", "a \"quoted\" name", "?", "{x}: ?, 'y'", "--", "ünïcode \u{1F99C}", "select"] {
        strange.insert(name.to_owned(), nested.clone());
    }
    let inserted = put_new_all(&client, &audit, vec![strange.clone()], &PutNewOptions::default()).await;
    assert_eq!(codes(&inserted), ["written"]);
    assert_eq!(stored(&client, &audit, &key("1")).await, Some(audit.with_keys(strange).unwrap()));
}

#[tokio::test]
async fn an_item_with_too_long_a_statement_is_written_by_itself() {
    let audit = audit();
    let (_dynamo, client) = with(&audit, []).await;
    let mut long = event("1");
    for at in 0..50 {
        long.insert(format!("{at}{}", "x".repeat(200)), number(at));
    }
    let items = vec![long.clone(), event("2"), event("3")];
    let inserted = put_new_all(&client, &audit, items, &PutNewOptions::default()).await;
    assert_eq!((codes(&inserted), inserted.requests), (vec!["written"; 3], 2));
    let inserted = put_new_all(&client, &audit, vec![long], &PutNewOptions::default()).await;
    assert_eq!(codes(&inserted), ["exists"]);
}

#[tokio::test]
async fn the_size_of_each_item_collection_is_asked_for_once() {
    let things = things();
    let (_dynamo, client) = with(&things, []).await;
    let tool = |owner: &str, at: i64| {
        let name = text(&at.to_string());
        item([("owner", text(owner)), ("kind", text("tool")), ("name", name), ("colour", text("red"))])
    };
    let items = (0..10).map(|at| tool(if at < 9 { "ann" } else { "bob" }, at)).collect();
    let inserted = put_new_all(&client, &things, items, &PutNewOptions::default()).await;
    assert_eq!(codes(&inserted), ["written"; 10]);
    // A PutItem for each collection, and an INSERT batch for the rest.
    assert_eq!((inserted.collections.len(), inserted.requests), (2, 3));
    assert!(inserted.collections.iter().all(|collection| collection.upper_gb >= collection.lower_gb));
}

#[tokio::test]
async fn what_there_is_no_time_for_is_named() {
    let audit = audit();
    let (_dynamo, client) = with(&audit, []).await;
    let options = PutNewOptions { deadline: Some(Instant::now()), ..PutNewOptions::default() };
    let inserted = put_new_all(&client, &audit, vec![event("1"), event("2")], &options).await;
    assert_eq!(codes(&inserted), ["timed-out", "timed-out"]);
}

#[tokio::test]
async fn a_table_that_is_not_there_fails_every_item_at_once() {
    let dynamo = keyfold_local::EmbeddedDynamo::memory().unwrap();
    let items = vec![event("1"), event("2")];
    let inserted = put_new_all(&dynamo.client(), &audit(), items, &PutNewOptions::default()).await;
    assert_eq!(codes(&inserted), ["table-not-found", "table-not-found"]);
    assert_eq!(inserted.resent, 0);
}
