//! Refusals of the embedded DynamoDB become errors with stable codes.

use keyfold_dynamo::{TableOptions, describe, put, query_page};
use keyfold_local::EmbeddedDynamo;

use crate::fixture::{item, loaded, query, text, visit, visits};

#[tokio::test]
async fn a_table_that_does_not_exist_is_not_found() {
    let dynamo = EmbeddedDynamo::memory().unwrap();
    let client = dynamo.client();
    let error = put(&client, &visits(), visit("joe", 1)).await.unwrap_err();
    assert_eq!(error.code(), "table-not-found");
    assert_eq!(error.to_string(), "`PutItem` on table `VisitsOfPlaces` found no such table");
    assert_eq!(
        describe(&client, &visits(), TableOptions::default()).await.unwrap_err().code(),
        "table-not-found"
    );
    assert_eq!(
        query_page(&client, &query(None, [("user", text("x"))])).await.unwrap_err().code(),
        "table-not-found"
    );
}

#[tokio::test]
async fn a_request_that_is_not_valid_says_so() {
    let (_dynamo, client) = loaded().await;
    let mut broken = query(None, [("user", text("joe"))]);
    broken.key_condition = "#k0 LIKE :k0".to_owned();
    let error = query_page(&client, &broken).await.unwrap_err();
    assert_eq!((error.code(), error.is_retryable()), ("invalid-request", false));
    assert_eq!(error.to_string(), "`Query` on table `VisitsOfPlaces` is not valid");
    assert!(error.detail().unwrap().contains("LIKE"), "{:?}", error.detail());
    assert!(!format!("{error:?}").contains("LIKE"), "{error:?}");

    let no_index = query(Some("byNothing"), [("user", text("joe"))]);
    let error = query_page(&client, &no_index).await.unwrap_err();
    assert_eq!(error.code(), "invalid-request");
    assert_eq!(error.to_string(), "`Query` on table `VisitsOfPlaces`, index `byNothing` is not valid");

    let mut consistent = query(Some("placeAll"), [("place", text("odd"))]);
    consistent.page.consistent = true;
    assert_eq!(query_page(&client, &consistent).await.unwrap_err().code(), "invalid-request");
}

#[tokio::test]
async fn an_item_without_its_key_or_with_a_wrong_one_is_not_even_sent() {
    let (_dynamo, client) = loaded().await;
    for (wrong, code) in [
        (item([("user", text("joe"))]), "item-key-missing"),
        (item([("user", text("joe")), ("at", text("noon"))]), "item-key-type"),
    ] {
        assert_eq!(put(&client, &visits(), wrong).await.unwrap_err().code(), code);
    }
}
