//! Occasional faults of DynamoDB, injected between client and endpoint.

use keyfold_core::query::plan::Delivery;
use keyfold_dynamo::{READ_ATTEMPTS_MAX, RunOptions, run};

use crate::plans::{ascending, ats, by_kind_score, first, of_user, plan};
use crate::views;
use crate::watch::{Fault, Watch};

#[tokio::test]
async fn a_throttled_read_is_tried_again() {
    let (client, watch) = Watch::over(&views::shared());
    let query = plan(vec![of_user(1)], Delivery::Sequential, ascending("at"), 10);
    let calm = first(&client, &query).await;
    watch.break_next([Fault::Throttled, Fault::Throttled]);
    let throttled = first(&client, &query).await;
    assert_eq!(ats(&throttled.items), ats(&calm.items));
    assert_eq!((throttled.requests, watch.sent().len()), (3, 4));
}

#[tokio::test]
async fn throttling_that_does_not_end_is_an_error_after_so_many_attempts() {
    let (client, watch) = Watch::over(&views::shared());
    watch.break_next([Fault::Throttled; 50]);
    let query = plan(vec![of_user(1)], Delivery::Sequential, ascending("at"), 10);
    let error = run(&client, &views::table(), &query, None, &RunOptions::default()).await.unwrap_err();
    assert_eq!((error.code(), error.is_retryable()), ("throttled", true));
    assert_eq!(watch.sent().len(), READ_ATTEMPTS_MAX as usize);
}

#[tokio::test]
async fn keys_left_unprocessed_are_asked_for_again() {
    let (client, watch) = Watch::over(&views::shared());
    let query = plan(vec![by_kind_score("viewed")], Delivery::Sequential, ascending("score"), 10);
    let calm = first(&client, &query).await;
    assert_eq!(watch.sent().len(), 2);
    watch.break_next([Fault::None, Fault::Unprocessed, Fault::Unprocessed]);
    let after = first(&client, &query).await;
    assert_eq!(ats(&after.items), ats(&calm.items));
    assert_eq!(watch.sent().len(), 2 + 4);
}
