//! The replicator's record of its lag.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::json;

use crate::function::Function;

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

#[tokio::test]
async fn a_batch_says_how_old_its_newest_change_is_but_not_every_batch_does() {
    let function = Function::start("moved").await;
    function.answer(&[function.record("1", 1)]).await;
    assert_eq!(function.sender.lag().await.unwrap(), None, "no record says when it was");
    let batch = |ids: [u64; 2], seconds: u64| {
        ids.map(|id| {
            let mut record = function.record(&id.to_string(), id);
            record["dynamodb"]["ApproximateCreationDateTime"] = json!(now() - seconds * id);
            record
        })
    };
    function.answer(&batch([2, 3], 1_000)).await;
    let lag = function.sender.lag().await.unwrap().unwrap();
    assert!((3_000_000..3_060_000).contains(&lag.behind_ms) && lag.told + 60 > now(), "{lag:?}");
    function.answer(&batch([4, 5], 1_000)).await;
    assert_eq!(function.sender.lag().await.unwrap(), Some(lag), "too soon");
    let another = Function::unstarted("moved", |options| options).await;
    another.refusal(&batch([6, 7], 1_000)).await;
    assert_eq!(another.sender.lag().await.unwrap(), None, "a batch that is refused");
}
