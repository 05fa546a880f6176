//! Somebody switches a stream off while writers are stopped: nothing tells any more whether all has arrived.

use std::process::Stdio;

use aws_sdk_dynamodb::types::{StreamSpecification, StreamViewType};

use super::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_whose_stream_is_gone_can_be_taken_back() {
    let deployment = Deployment::start(TABLES[0]).await;
    enable_stream(&deployment.dynamo.client(), deployment.table(TABLES[1])).await.unwrap();
    deployment.done(&["start", RETROFIT]).await;
    deployment.done(&["backfill", RETROFIT]).await;
    deployment.done(&["tidy", RETROFIT, "--wait", "0"]).await;
    verified(&deployment, RETROFIT, "0").await;
    let take_back = ["switch", RETROFIT, "--take-back"];
    assert!(refused(&deployment, &take_back).await.contains("nothing-to-take-back"));

    // An operator begins, and dies.
    let words = ["switch", RETROFIT, "--writers", "attested", "--quiet", "600", "--stop-max", "600"];
    let mut begun = deployment.command(&words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    while deployment.done(&["status", RETROFIT]).await["phase"] != "closing" {
        assert!(begun.try_wait().unwrap().is_none(), "the switch ended");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    begun.kill().await.unwrap();

    // Meanwhile somebody gives the source another stream.
    let again = ["switch", RETROFIT, "--writers", "attested", "--quiet", "0"];
    stream(&deployment, false).await;
    assert!(refused(&deployment, &again).await.contains("stream-replaced"), "it is off");
    // Streams are told apart by the millisecond.
    tokio::time::sleep(Duration::from_millis(5)).await;
    stream(&deployment, true).await;
    assert!(refused(&deployment, &again).await.contains("--take-back"), "it is another one");
    assert_eq!(deployment.done(&take_back).await["phase"], "tidy");
    assert!(refused(&deployment, &again).await.contains("stream"), "the new one is not followed yet");
    assert_eq!(deployment.done(&["start", RETROFIT]).await["epoch"], 2);
}

async fn stream(deployment: &Deployment, on: bool) {
    let wanted = StreamSpecification::builder().stream_enabled(on);
    let wanted = if on { wanted.stream_view_type(StreamViewType::NewAndOldImages) } else { wanted };
    let table = &deployment.table(TABLES[0]).name;
    let update = deployment.dynamo.client().update_table().table_name(table);
    update.stream_specification(wanted.build().unwrap()).send().await.unwrap();
}

async fn refused(deployment: &Deployment, words: &[&str]) -> String {
    let output = deployment.command(words).output().await.unwrap();
    assert!(!output.status.success(), "{words:?}");
    String::from_utf8(output.stderr).unwrap()
}
