//! Records are delivered in order, once if nothing fails, and a new poller continues where another stopped.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use keyfold_local::runtime_api::InvocationResult;
use keyfold_local::{PollerCounts, PollerOptions, Start, StreamPoller};
use serde_json::Value;

use crate::fixture::{DRAIN_WAIT, Seen, all, dynamo, quick, records_of, success, write};

fn remembering(
    seen: &Seen,
) -> Arc<impl Fn(String) -> std::future::Ready<InvocationResult> + Send + Sync + 'static> {
    let seen = Arc::clone(seen);
    Arc::new(move |event: String| {
        seen.lock().unwrap().push(records_of(&event));
        std::future::ready(success())
    })
}

#[tokio::test]
async fn records_come_once_in_their_order_and_another_pump_goes_on() {
    let dynamo = dynamo(true).await;
    for number in 0..25 {
        write(&dynamo, "a", number).await;
    }
    let seen = Seen::default();
    let options = PollerOptions { batch_records: 10, ..quick() };
    let poller =
        StreamPoller::start(dynamo.database(), "streamed-events", remembering(&seen), options.clone())
            .await
            .unwrap();
    poller.drained(DRAIN_WAIT).await.unwrap();
    let sizes: Vec<usize> = seen.lock().unwrap().iter().map(Vec::len).collect();
    assert_eq!(sizes, [10, 10, 5]);
    write(&dynamo, "a", 25).await;
    poller.drained(DRAIN_WAIT).await.unwrap();
    let (counts, position) = poller.stop().await.unwrap();
    assert_eq!(counts, PollerCounts { records: 26, invocations: 4, ..PollerCounts::default() });
    let start = Start::After(position.unwrap());
    let poller = StreamPoller::start(
        dynamo.database(),
        "streamed-events",
        remembering(&seen),
        PollerOptions { start, ..options },
    )
    .await
    .unwrap();
    poller.drained(DRAIN_WAIT).await.unwrap();
    write(&dynamo, "a", 26).await;
    poller.drained(DRAIN_WAIT).await.unwrap();
    assert!(all(&seen).into_iter().map(|(_, number)| number).eq(0..27));
}

#[tokio::test]
async fn the_latest_record_is_the_first_that_is_written_afterwards() {
    let dynamo = dynamo(true).await;
    write(&dynamo, "a", 1).await;
    let seen = Seen::default();
    let options = PollerOptions { start: Start::Latest, ..quick() };
    let poller =
        StreamPoller::start(dynamo.database(), "streamed-events", remembering(&seen), options).await.unwrap();
    poller.drained(DRAIN_WAIT).await.unwrap();
    write(&dynamo, "a", 2).await;
    poller.drained(DRAIN_WAIT).await.unwrap();
    assert_eq!(all(&seen), [("a".to_owned(), 2)]);
}

#[tokio::test]
async fn items_at_once_keep_the_order_of_each_item() {
    let dynamo = dynamo(true).await;
    for number in 0..200 {
        write(&dynamo, &format!("item-{}", number % 7), number).await;
    }
    let seen = Seen::default();
    let at_once = Arc::new(Mutex::new((0_usize, 0_usize)));
    let handler = {
        let (seen, at_once) = (Arc::clone(&seen), Arc::clone(&at_once));
        move |event: String| {
            let (seen, at_once) = (Arc::clone(&seen), Arc::clone(&at_once));
            async move {
                {
                    let mut at_once = at_once.lock().unwrap();
                    at_once.0 += 1;
                    at_once.1 = at_once.0.max(at_once.1);
                }
                tokio::time::sleep(Duration::from_millis(2)).await;
                seen.lock().unwrap().push(records_of(&event));
                at_once.lock().unwrap().0 -= 1;
                success()
            }
        }
    };
    let options = PollerOptions { batch_records: 5, parallel: 4, ..quick() };
    let poller =
        StreamPoller::start(dynamo.database(), "streamed-events", Arc::new(handler), options).await.unwrap();
    poller.drained(DRAIN_WAIT).await.unwrap();
    assert!(at_once.lock().unwrap().1 > 1, "never two at once");
    let mut items: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (id, number) in all(&seen) {
        items.entry(id).or_default().push(number);
    }
    assert_eq!(items.values().map(Vec::len).sum::<usize>(), 200);
    assert!(items.values().all(|numbers| numbers.is_sorted()), "{items:?}");
}

#[tokio::test]
async fn a_record_has_the_shape_that_lambda_gives_it() {
    let dynamo = dynamo(true).await;
    let client = dynamo.client();
    let ttl = aws_sdk_dynamodb::types::TimeToLiveSpecification::builder()
        .enabled(true)
        .attribute_name("number")
        .build()
        .unwrap();
    client
        .update_time_to_live()
        .table_name("streamed-events")
        .time_to_live_specification(ttl)
        .send()
        .await
        .unwrap();
    write(&dynamo, "a", 1).await;
    dynamo.database().sweep_ttl().unwrap();
    let events = Arc::new(Mutex::new(Vec::new()));
    let handler = {
        let events = Arc::clone(&events);
        move |event: String| {
            events.lock().unwrap().push(event);
            std::future::ready(success())
        }
    };
    let poller =
        StreamPoller::start(dynamo.database(), "streamed-events", Arc::new(handler), quick()).await.unwrap();
    poller.drained(DRAIN_WAIT).await.unwrap();
    let event: Value = serde_json::from_str(&events.lock().unwrap()[0]).unwrap();
    let [insert, remove] = event["Records"].as_array().unwrap().as_slice() else { panic!("{event}") };
    assert_eq!((&insert["eventName"], &remove["eventName"]), (&"INSERT".into(), &"REMOVE".into()));
    assert_eq!(insert["eventSourceARN"], poller.stream_arn());
    assert_eq!(insert["dynamodb"]["StreamViewType"], "NEW_AND_OLD_IMAGES");
    assert_eq!(insert["userIdentity"], Value::Null);
    assert_eq!(remove["userIdentity"]["principalId"], "dynamodb.amazonaws.com");
}
