//! An update also updates folded keys, or returns why it cannot.

use keyfold_core::model::Table;
use keyfold_core::value::Item;
use keyfold_dynamo::{Client, Expected, Update, UpdateError, UpdateRefusal, update};

use crate::fixture::{assert_keys_are_right, audit, event, item, key, number, stored, text, things, with};

async fn refused(client: &Client, table: &Table, key: &Item, change: &Update) -> UpdateError {
    let before = stored(client, table, key).await;
    let error = update(client, table, key, change).await.unwrap_err();
    assert_eq!(stored(client, table, key).await, before, "a refused update writes nothing");
    error
}

#[tokio::test]
async fn an_update_of_a_key_input_that_cannot_be_known_is_refused() {
    let audit = audit();
    let (_dynamo, client) = with(&audit, [event("1")]).await;
    let error = refused(&client, &audit, &key("1"), &Update::new().set("accessedBy", text("sam"))).await;
    assert_eq!(error.code(), "update-needs-reading");
    assert_eq!(
        error.to_string(),
        "`byResourceActionUser_pk` of table `audit` cannot be computed without `action`, `resourceId`"
    );
    assert!(error.hint().is_some_and(|hint| hint.contains("reading")));
}

#[tokio::test]
async fn an_update_that_may_read_makes_every_touched_key_anew() {
    let audit = audit();
    let (_dynamo, client) = with(&audit, [event("1")]).await;
    let change = Update::new().set("action", text("deleted")).reading();
    let updated = update(&client, &audit, &key("1"), &change).await.unwrap();
    assert_eq!((updated.attempts, updated.read), (1, true));
    let now = stored(&client, &audit, &key("1")).await.unwrap();
    assert_eq!(now["byResourceActionUser_pk"], text("123ccc-deleted-joe1"));
    assert_keys_are_right(&audit, &now);
    assert_eq!(now["note"], text("a note"));
}

#[tokio::test]
async fn an_update_that_gives_all_inputs_reads_nothing() {
    let audit = audit();
    let (_dynamo, client) = with(&audit, [event("1")]).await;
    let change = Update::new()
        .set("resourceId", text("9"))
        .set("action", text("edited"))
        .set("accessedBy", text("sam"));
    let updated = update(&client, &audit, &key("1"), &change).await.unwrap();
    assert!(!updated.read);
    let now = stored(&client, &audit, &key("1")).await.unwrap();
    assert_eq!(now["byResourceActionUser_pk"], text("9-edited-sam"));
    assert_keys_are_right(&audit, &now);
}

#[tokio::test]
async fn what_is_expected_counts_as_known_and_must_be_so() {
    let audit = audit();
    let (_dynamo, client) = with(&audit, [event("1")]).await;
    let expected = |user: &str| {
        Expected::nothing()
            .value("resourceId", text("123ccc"))
            .value("accessedBy", text(user))
            .absent("ended")
    };
    let change = |user: &str| Update::new().set("action", text("edited")).expecting(expected(user));
    let error = refused(&client, &audit, &key("1"), &change("sam")).await;
    let UpdateError::Refused(UpdateRefusal::Expectation { attributes, item, .. }) = &error else {
        panic!("{error:?}")
    };
    assert_eq!((attributes.as_slice(), &item.reveal()["id"]), (&["accessedBy".to_owned()][..], &text("1")));
    assert!(!format!("{error} {error:?}").contains("joe1"), "{error:?}");
    assert!(!update(&client, &audit, &key("1"), &change("joe1")).await.unwrap().read);
    assert_keys_are_right(&audit, &stored(&client, &audit, &key("1")).await.unwrap());
}

#[tokio::test]
async fn what_touches_no_key_is_a_plain_update_of_an_item_that_exists() {
    let audit = audit();
    let (_dynamo, client) = with(&audit, [event("1")]).await;
    let change = Update::new().set("resourceName", text("a name")).remove("note");
    assert!(!update(&client, &audit, &key("1"), &change).await.unwrap().read);
    let now = stored(&client, &audit, &key("1")).await.unwrap();
    assert_eq!((now.get("note"), &now["resourceName"]), (None, &text("a name")));
    assert_keys_are_right(&audit, &now);
    for change in [change.clone(), change.set("action", text("edited")).reading()] {
        let error = refused(&client, &audit, &key("2"), &change).await;
        assert_eq!(error.code(), "item-not-found", "an update must not make a stub");
    }
}

#[tokio::test]
async fn a_key_that_loses_an_input_goes() {
    let audit = audit();
    let (_dynamo, client) = with(&audit, [event("1")]).await;
    let change = Update::new().remove("accessedBy").reading();
    update(&client, &audit, &key("1"), &change).await.unwrap();
    let now = stored(&client, &audit, &key("1")).await.unwrap();
    assert_eq!(now.get("byResourceActionUser_pk"), None);
    assert_keys_are_right(&audit, &now);
    let back = Update::new().set("accessedBy", text("sam")).reading();
    update(&client, &audit, &key("1"), &back).await.unwrap();
    let now = stored(&client, &audit, &key("1")).await.unwrap();
    assert_eq!(now["byResourceActionUser_pk"], text("123ccc-viewed-sam"));
}

#[tokio::test]
async fn what_an_update_may_not_do_has_a_code() {
    let audit = audit();
    let (_dynamo, client) = with(&audit, [event("1")]).await;
    for (change, code) in [
        (Update::new(), "update-empty"),
        (Update::new().set("byAction_pk", text("viewed.3")), "update-folded-attribute"),
        (Update::new().remove("byAction_pk"), "update-folded-attribute"),
        (Update::new().set("id", text("2")), "update-primary-key"),
        (Update::new().remove("timestamp"), "item-attribute-required"),
        (Update::new().set("resourceName", number(1)), "item-attribute-type"),
        (Update::new().set("action", text("touched")).reading(), "item-value-not-listed"),
        (Update::new().set("accessedBy", text("")).reading(), "item-key-empty"),
        (Update::new().set("note", text(&"x".repeat(410_000))), "item-too-large"),
    ] {
        let error = refused(&client, &audit, &key("1"), &change).await;
        assert_eq!(error.code(), code, "{error}");
    }
}

fn part() -> Item {
    item([
        ("owner", text("ann")),
        ("kind", text("part")),
        ("name", text("bolt")),
        ("size", number(12)),
        ("colour", text("grey")),
    ])
}

#[tokio::test]
async fn the_key_of_an_item_can_be_given_by_what_it_is_folded_from() {
    let things = things();
    let (_dynamo, client) = with(&things, [part()]).await;
    let key = item([("owner", text("ann")), ("kind", text("part")), ("name", text("bolt"))]);
    let change = Update::new().set("colour", text("black")).reading();
    update(&client, &things, &key, &change).await.unwrap();
    let now = stored(&client, &things, &key).await.unwrap();
    assert_eq!(now["byLook_sk"], text("part:000012:black"));
    assert_keys_are_right(&things, &now);
}

#[tokio::test]
async fn an_update_never_moves_an_item_to_another_key() {
    let things = things();
    let (_dynamo, client) = with(&things, [part()]).await;
    let key = item([("owner", text("ann")), ("kind", text("part")), ("name", text("bolt"))]);
    for change in [
        Update::new().set("name", text("nut")).reading(),
        Update::new()
            .set("name", text("nut"))
            .set("kind", text("part"))
            .set("size", number(1))
            .set("colour", text("grey")),
        Update::new().set("kind", text("tool")).remove("size").reading(),
        Update::new().remove("name").reading(),
    ] {
        let error = refused(&client, &things, &key, &change).await;
        assert_eq!(error.code(), "update-primary-key", "{change:?}");
    }
    // The same value changes no key.
    let same = Update::new().set("name", text("bolt")).reading();
    update(&client, &things, &key, &same).await.unwrap();
}

#[tokio::test]
async fn what_an_entity_requires_cannot_be_taken_away() {
    let things = things();
    let (_dynamo, client) = with(&things, [part()]).await;
    let key = item([("owner", text("ann")), ("kind", text("part")), ("name", text("bolt"))]);
    let error = refused(&client, &things, &key, &Update::new().remove("size").reading()).await;
    assert_eq!(error.code(), "item-attribute-required");
    let error = refused(&client, &things, &key, &Update::new().remove("size")).await;
    assert_eq!(error.code(), "update-needs-reading");
    let kind = Expected::nothing().value("kind", text("part")).value("colour", text("grey"));
    let error = refused(&client, &things, &key, &Update::new().remove("size").expecting(kind)).await;
    assert_eq!(error.code(), "item-attribute-required");
}

#[tokio::test]
async fn an_update_that_reads_also_repairs_a_stale_key() {
    let audit = audit();
    let (_dynamo, client) = with(&audit, [event("1")]).await;
    // A program without folded keys.
    client
        .update_item()
        .table_name(&audit.name)
        .key("id", aws_sdk_dynamodb::types::AttributeValue::S("1".to_owned()))
        .update_expression("SET resourceId = :r")
        .expression_attribute_values(":r", aws_sdk_dynamodb::types::AttributeValue::S("other".to_owned()))
        .send()
        .await
        .unwrap();
    let change = Update::new().set("action", text("edited")).reading();
    update(&client, &audit, &key("1"), &change).await.unwrap();
    let now = stored(&client, &audit, &key("1")).await.unwrap();
    assert_eq!(now["byResourceActionUser_pk"], text("other-edited-joe1"));
}

#[tokio::test]
async fn an_attribute_that_only_a_key_has_is_read_from_it_and_never_updated() {
    let text_of = r#"
        [tables.shop]
        partition = { attribute = "PK", fold = "c#{customer}" }
        attributes = { customer = { type = "string", from-key = true }, status = "string", note = "string" }
        indexes.byStatus = { partition = "{status}#{customer}" }
    "#;
    let shop = keyfold_core::manifest::parse("keyfold.toml", text_of).model.unwrap().tables.remove(0);
    let ann = item([("PK", text("c#ann")), ("status", text("open"))]);
    let (_dynamo, client) = with(&shop, [ann.clone()]).await;
    let key = item([("PK", text("c#ann"))]);
    for change in [Update::new().set("customer", text("bob")), Update::new().remove("customer").reading()] {
        assert_eq!(refused(&client, &shop, &key, &change).await.code(), "update-key-part");
    }
    let change = Update::new().set("status", text("closed"));
    update(&client, &shop, &key, &change.reading()).await.unwrap();
    let now = stored(&client, &shop, &key).await.unwrap();
    assert_eq!(now["byStatus_pk"], text("closed#ann"));
    assert!(!now.contains_key("customer"), "{now:?}");
}
