//! A delete succeeds only if the item matches the expectations.

use keyfold_dynamo::{DynamoError, Expected, WriteError, delete};

use crate::fixture::{audit, event, item, key, stored, text, things, with};

#[tokio::test]
async fn an_item_is_deleted_only_if_it_is_as_expected() {
    let audit = audit();
    let (_dynamo, client) = with(&audit, [event("1")]).await;
    let edited = Expected::nothing().value("action", text("edited"));
    let error = delete(&client, &audit, &key("1"), &edited).await.unwrap_err();
    let WriteError::Dynamo(DynamoError::ConditionFailed { item, .. }) = error else { panic!("{error:?}") };
    assert_eq!(item.into_revealed().map(|item| item["action"].clone()), Some(text("viewed")));
    let as_it_is = Expected::nothing().value("action", text("viewed")).absent("ended");
    let deleted = delete(&client, &audit, &key("1"), &as_it_is).await.unwrap();
    assert_eq!(deleted.item.map(|item| item["note"].clone()), Some(text("a note")));
    assert_eq!(stored(&client, &audit, &key("1")).await, None);
}

#[tokio::test]
async fn to_delete_what_is_not_there_is_an_error_only_for_whoever_expected_something() {
    let audit = audit();
    let (_dynamo, client) = with(&audit, []).await;
    assert_eq!(delete(&client, &audit, &key("1"), &Expected::nothing()).await.unwrap().item, None);
    // A missing item lacks the attribute too, but is not the expected item.
    let absent = Expected::nothing().absent("ended");
    let error = delete(&client, &audit, &key("1"), &absent).await.unwrap_err();
    assert_eq!(error.code(), "condition-failed");
}

#[tokio::test]
async fn a_folded_key_is_made_of_its_attributes() {
    let things = things();
    let tool = item([
        ("owner", text("ann")),
        ("kind", text("tool")),
        ("name", text("saw")),
        ("colour", text("red")),
    ]);
    let (_dynamo, client) = with(&things, [tool]).await;
    let key = item([("owner", text("ann")), ("kind", text("tool")), ("name", text("saw"))]);
    assert!(delete(&client, &things, &key, &Expected::nothing()).await.unwrap().item.is_some());
    let half = item([("owner", text("ann")), ("kind", text("tool"))]);
    let error = delete(&client, &things, &half, &Expected::nothing()).await.unwrap_err();
    assert_eq!(error.code(), "item-key-missing");
}
