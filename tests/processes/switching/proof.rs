//! The replicator cannot copy back, for one reason after the other: no writer is stopped, and nothing is changed.

use std::sync::atomic::{AtomicBool, Ordering};

use keyfold_harness::{Between, Proxy, Request, needs};
use serde_json::json;

use super::*;

/// The current faults, for the replicator and the operator.
#[derive(Default)]
struct Wrong {
    /// The replicator may not put items of the old table.
    denied: AtomicBool,
    /// The new table has another stream than the followed one.
    replaced: AtomicBool,
}

impl Between for Wrong {
    fn before(&self, request: &Request) -> Option<(u16, Value)> {
        let is_put =
            |action: &str, table: &str| action == "dynamodb:PutItem" && table.ends_with("table/old-events");
        let denied = self.denied.load(Ordering::Relaxed)
            && needs(request).iter().any(|needed| is_put(&needed.action, &needed.resource));
        denied.then(|| {
            (400, json!({ "__type": "com.amazon.coral.service#AccessDeniedException", "message": "" }))
        })
    }

    fn after(&self, request: &Request, answer: &mut Value) {
        let of_target =
            request.operation == "DescribeTable" && request.body["TableName"] == "switched-events";
        if of_target && self.replaced.load(Ordering::Relaxed) {
            answer["Table"]["LatestStreamArn"] =
                "arn:aws:dynamodb:us-east-1:1:table/switched-events/stream/another".into();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writers_do_not_move_before_the_replicator_has_shown_that_it_can_carry_items_back() {
    let mut deployment = Deployment::start(TABLES[0]).await;
    let wrong = Arc::new(Wrong::default());
    let proxy = |wrong: &Arc<Wrong>| {
        let between: Arc<Wrong> = Arc::clone(wrong);
        Proxy::start(deployment.dynamo.endpoint(), between).endpoint().to_owned()
    };
    let [operator, replicating] = [proxy(&wrong), proxy(&wrong)];
    deployment.endpoint = operator;
    enable_stream(&deployment.dynamo.client(), deployment.table(TABLES[1])).await.unwrap();
    let function = replicator(&deployment, &replicating, RETROFIT);
    let there = follow(&deployment, &function, TABLES[0]).await;
    deployment.prepared(RETROFIT, &[]).await;
    verified(&deployment, RETROFIT, "0").await;

    let words = |flags: &[&'static str], waits: &'static str| {
        [&["switch", RETROFIT, "--writers", "attested", "--waits", waits][..], flags].concat()
    };
    // No mapping follows the new table.
    let said = refused(&deployment, &words(&[], "proof=1")).await;
    assert!(said.contains("reverse-unproven") && said.contains("FollowBack"), "{said}");
    assert_eq!(phase(&deployment).await, "tidy");

    // It is followed, and the old table cannot be written.
    wrong.denied.store(true, Ordering::Relaxed);
    let back = follow(&deployment, &function, TABLES[1]).await;
    let said = refused(&deployment, &words(&[], "proof=2")).await;
    assert!(said.contains("reverse-denied"), "{said}");
    assert_eq!(phase(&deployment).await, "tidy");
    wrong.denied.store(false, Ordering::Relaxed);

    // The followed stream is not the table's current one.
    wrong.replaced.store(true, Ordering::Relaxed);
    let said = refused(&deployment, &words(&[], "proof=2")).await;
    assert!(said.contains("reverse-unproven") && said.contains("another one now"), "{said}");
    assert_eq!(phase(&deployment).await, "tidy");
    wrong.replaced.store(false, Ordering::Relaxed);

    // Without faults it succeeds, and the failed attempts have not voided the comparison.
    assert_eq!(deployment.done(&words(&[], "proof=30")).await["phase"], "reversed");

    // In the other direction: the flow before the switch may have been disabled since.
    there.stop().await.unwrap();
    let said = refused(&deployment, &words(&["--back"], "proof=1")).await;
    assert!(said.contains("reverse-unproven") && said.contains("FollowStream"), "{said}");
    assert_eq!(phase(&deployment).await, "reversed");
    assert_eq!(deployment.done(&words(&["--back", "--for-good"], "proof=1")).await["phase"], "tidy");
    back.stop().await.unwrap();
}

async fn phase(deployment: &Deployment) -> String {
    deployment.done(&["status", RETROFIT]).await["phase"].as_str().unwrap().to_owned()
}
