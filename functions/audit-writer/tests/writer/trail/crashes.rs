//! The function's process ends at each of its requests to DynamoDB, before it arrives and before its answer does.

use keyfold_core::value::{AttributeValue, Item};
use keyfold_dynamo::{Expected, delete};
use serde_json::json;

use super::gate::When;
use super::{REQUESTS, gate, report, sample, told};
use crate::function::{Function, direct, event};

#[tokio::test]
async fn wherever_a_process_ends_the_trail_is_clean_and_a_retry_completes_it() {
    for at in 1..=REQUESTS {
        for when in [When::Before, When::After] {
            crash(at, when).await;
        }
    }
}

async fn crash(at: usize, when: When) {
    let place = format!("{when:?} the end of request {at}");
    let retrying = Function::start(&sample(), &[]).await;
    let gate = gate(&retrying.dynamo(), at, when).await;
    let crashing = Function::start_on(retrying.dynamo(), &gate.endpoint, &sample(), &[]).await;
    let both = [event("1", &json!({})), event("2", &json!({}))];
    tokio::select! {
        outcome = crashing.invoke(direct(&both)) => panic!("{place}: it answered {outcome:?}"),
        () = gate.shut.notified() => {}
    }
    drop(crashing);
    let written = retrying.items().await.len();
    assert_eq!(written, if (at, when) >= (3, When::After) { 2 } else { 0 }, "{place}");
    let dated = (at, when) >= (1, When::After);
    if dated {
        let after = report(&retrying, Vec::new()).await;
        assert!(after.is_clean(), "{place}: {:?}", told(&after));
        assert_eq!(after.events.proved + after.events.unconfirmed, written as u64, "{place}");
    }
    // A caller without an answer sends the events again.
    let (status, body) = retrying.post(&json!(both).to_string()).await;
    assert_eq!((status, body["failed"].as_u64()), (if written == 2 { 200 } else { 201 }, Some(0)), "{place}");
    let after = report(&retrying, Vec::new()).await;
    assert!(after.is_clean(), "{place}: {:?}", told(&after));
    assert_eq!((after.events.proved, after.events.unconfirmed), (2, 0), "{place}");
    // From now on its absence is a finding, though the crash took the word that it was written.
    let key =
        Item::from(std::collections::HashMap::from([("id".to_owned(), AttributeValue::S("1".to_owned()))]));
    delete(&retrying.dynamo().client(), &retrying.table, &key, &Expected::nothing()).await.unwrap();
    assert_eq!(told(&report(&retrying, Vec::new()).await), ["removed 1"], "{place}");
}
