//! A stream is disabled while writers are stopped: it is then unknown whether all records have arrived.

use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};

use aws_sdk_dynamodb::types::{StreamSpecification, StreamViewType};
use keyfold_harness::{Between, Proxy, Request};

use super::*;

/// Lets the source have another stream. As in AWS, and not in the embedded DynamoDB, the former one can still be read.
#[derive(Default)]
struct Replaced(AtomicBool);

impl Between for Replaced {
    fn after(&self, request: &Request, answer: &mut Value) {
        let of_source = request.operation == "DescribeTable" && request.body["TableName"] == "old-events";
        if of_source && self.0.load(Ordering::Relaxed) {
            answer["Table"]["LatestStreamArn"] =
                "arn:aws:dynamodb:us-east-1:1:table/old-events/stream/another".into();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_whose_stream_is_gone_is_taken_back() {
    let mut deployment = Deployment::start(TABLES[0]).await;
    let replaced = Arc::new(Replaced::default());
    let between: Arc<Replaced> = Arc::clone(&replaced);
    deployment.endpoint = Proxy::start(deployment.dynamo.endpoint(), between).endpoint().to_owned();
    enable_stream(&deployment.dynamo.client(), deployment.table(TABLES[1])).await.unwrap();
    let function = replicator(&deployment, &deployment.endpoint, RETROFIT);
    let pollers =
        [follow(&deployment, &function, TABLES[0]).await, follow(&deployment, &function, TABLES[1]).await];
    deployment.prepared(RETROFIT, &[]).await;
    let take_back = ["switch", RETROFIT, "--back"];
    assert!(refused(&deployment, &take_back).await.contains("wrong-phase"));

    // While the command waits for silence, the source gets another stream. The end of the former one is silent too.
    let words = ["switch", RETROFIT, "--writers", "attested", "--waits", "quiet=4"];
    let started = deployment.command(&words).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let closing = async {
        while deployment.done(&["status", RETROFIT]).await["phase"] != "closing" {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    // A command that ends before the phase was seen must not keep the test waiting.
    tokio::time::timeout(Duration::from_secs(60), closing).await.expect("the writers were never stopped");
    replaced.0.store(true, Ordering::Relaxed);
    let ended = started.wait_with_output().await.unwrap();
    let said = String::from_utf8(ended.stderr).unwrap();
    assert!(!ended.status.success() && said.contains("stream-replaced"), "{said}");
    assert_eq!(deployment.done(&["status", RETROFIT]).await["phase"], "tidy", "the stop is taken back");

    replaced.0.store(false, Ordering::Relaxed);
    stream(&deployment, false).await;
    let again = ["switch", RETROFIT, "--writers", "attested"];
    assert!(refused(&deployment, &again).await.contains("stream"), "it is off");
    // Stream labels differ by milliseconds.
    tokio::time::sleep(Duration::from_millis(5)).await;
    stream(&deployment, true).await;
    assert!(refused(&deployment, &again).await.contains("stream"), "the new one is not followed yet");
    assert_eq!(deployment.done(&["run", RETROFIT, "--until", "start"]).await["epoch"], 2);
    for poller in pollers {
        poller.stop().await.unwrap();
    }
}

async fn stream(deployment: &Deployment, on: bool) {
    let wanted = StreamSpecification::builder().stream_enabled(on);
    let wanted = if on { wanted.stream_view_type(StreamViewType::NewAndOldImages) } else { wanted };
    let table = &deployment.table(TABLES[0]).name;
    let update = deployment.dynamo.client().update_table().table_name(table);
    update.stream_specification(wanted.build().unwrap()).send().await.unwrap();
}
