//! A struct in, with its folded keys.

use keyfold_dynamo::{Update, item_of, put, update};
use serde::Serialize;

use crate::fixture::{audit, key, stored, text, with};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Event {
    id: &'static str,
    resource_id: &'static str,
    action: Action,
    accessed_by: Option<&'static str>,
    timestamp: &'static str,
    tags: Vec<u8>,
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Action {
    Viewed,
    Edited,
}

fn event(accessed_by: Option<&'static str>) -> Event {
    let timestamp = "2017-03-01T08:00:00.000Z";
    Event { id: "1", resource_id: "123ccc", action: Action::Viewed, accessed_by, timestamp, tags: vec![1, 2] }
}

#[tokio::test]
async fn a_struct_gets_its_folded_keys() {
    let audit = audit();
    let (_dynamo, client) = with(&audit, []).await;
    put(&client, &audit, item_of(&audit, &event(Some("joe1"))).unwrap()).await.unwrap();
    let now = stored(&client, &audit, &key("1")).await.unwrap();
    assert_eq!(now["byResourceActionUser_pk"], text("123ccc-viewed-joe1"));
    let change = Update::new().set_typed("action", &Action::Edited).unwrap().reading();
    update(&client, &audit, &key("1"), &change).await.unwrap();
    let now = stored(&client, &audit, &key("1")).await.unwrap();
    assert_eq!(now["byResourceActionUser_pk"], text("123ccc-edited-joe1"));
}

#[tokio::test]
async fn a_part_that_is_none_leaves_the_item_out_of_the_index() {
    let audit = audit();
    let (_dynamo, client) = with(&audit, []).await;
    put(&client, &audit, item_of(&audit, &event(None)).unwrap()).await.unwrap();
    let now = stored(&client, &audit, &key("1")).await.unwrap();
    assert_eq!((now.get("accessedBy"), now.get("byResourceActionUser_pk")), (None, None));
}

#[test]
fn what_has_no_fields_is_no_item() {
    let error = item_of(&audit(), &"a secret text").unwrap_err();
    assert_eq!(error.code(), "not-an-item");
    assert!(!format!("{error} {error:?}").contains("secret"));
}
