//! Many concurrent writers, each changing an attribute in a folded key: no key is ever stale.

use keyfold_dynamo::{Update, update};

use crate::fixture::{assert_keys_are_right, audit, event, key, stored, text, with};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_writer_leaves_a_stale_key_whoever_comes_between() {
    let audit = audit();
    let (_dynamo, client) = with(&audit, [event("1")]).await;
    let writers = (0..8).map(|writer| {
        let (client, audit) = (client.clone(), audit.clone());
        tokio::spawn(async move {
            let mut tries_more = 0;
            for turn in 0..12 {
                let value = format!("{writer}.{turn}");
                let change = match writer % 3 {
                    0 => Update::new().set("resourceId", text(&value)),
                    1 => Update::new().set("accessedBy", text(&value)),
                    _ => Update::new().set("action", text(["viewed", "edited", "deleted"][turn % 3])),
                };
                match update(&client, &audit, &key("1"), &change.reading()).await {
                    Ok(updated) => tries_more += updated.attempts - 1,
                    Err(error) => assert_eq!(error.code(), "update-contended"),
                }
                assert_keys_are_right(&audit, &stored(&client, &audit, &key("1")).await.unwrap());
            }
            tries_more
        })
    });
    let mut tries_more = 0;
    for writer in writers.collect::<Vec<_>>() {
        tries_more += writer.await.unwrap();
    }
    assert!(tries_more > 0, "the writers never met: the test proves nothing");
    assert_keys_are_right(&audit, &stored(&client, &audit, &key("1")).await.unwrap());
}
