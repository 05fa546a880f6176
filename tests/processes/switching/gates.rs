//! Every reason not to move writers, one after the other: the command is refused, and the retrofit is in the phase that it was in.

use std::sync::Mutex;

use keyfold_core::retrofit::{Action, Epoch, Fence, Job, Mapping, Quarantined, control};
use keyfold_dynamo::retrofit::RequestSender;
use keyfold_harness::{Between, Proxy, Request};
use serde_json::json;

use super::*;

/// A member in the description of a table, replaced by a given value.
#[derive(Default)]
struct Described(Mutex<Option<(&'static str, &'static str, Value)>>);

impl Described {
    fn as_if(&self, said: Option<(&'static str, &'static str, Value)>) {
        *self.0.lock().unwrap() = said;
    }
}

impl Between for Described {
    fn after(&self, request: &Request, answer: &mut Value) {
        if let Some((table, member, value)) = &*self.0.lock().unwrap()
            && request.operation == "DescribeTable"
            && request.body["TableName"] == *table
        {
            answer["Table"][member] = value.clone();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_gate_of_a_move_closes_by_itself() {
    let mut deployment = Deployment::start(TABLES[0]).await;
    let described = Arc::new(Described::default());
    let between: Arc<Described> = Arc::clone(&described);
    deployment.endpoint = Proxy::start(deployment.dynamo.endpoint(), between).endpoint().to_owned();
    enable_stream(&deployment.dynamo.client(), deployment.table(TABLES[1])).await.unwrap();
    let deployment = deployment;
    let mapping = Mapping::of(deployment.model(), RETROFIT).unwrap();
    let job = Job::new(mapping.clone(), Epoch::FIRST);
    let sender = RequestSender::new(deployment.dynamo.client(), job, CONTROL);
    let function = replicator(&deployment, deployment.dynamo.endpoint(), RETROFIT);
    let pollers =
        [follow(&deployment, &function, TABLES[0]).await, follow(&deployment, &function, TABLES[1]).await];
    let attested = |flags: &[&'static str], quiet: &'static str, stop_max: &'static str| {
        let quick = ["--waits", quiet, "--stop-max", stop_max];
        [&["switch", RETROFIT, "--writers", "attested"][..], &quick, flags].concat()
    };
    let switch = attested(&[], "quiet=0", "30");
    let is_refused = async |words: &[&str], code: &str, says: &str| {
        let before = sender.head().await.unwrap();
        let said = refused(&deployment, words).await;
        assert!(
            said.contains(&format!("\"code\":\"{code}\"")) && said.contains(says),
            "{code}, {says}: {said}"
        );
        assert_eq!(sender.head().await.unwrap().phase, before.phase, "{code}");
    };

    deployment.done(&["run", RETROFIT, "--until", "start"]).await;
    is_refused(&switch, "gates-closed", "backfill was not started").await;
    deployment.prepared(RETROFIT, &[]).await;
    let entered = quarantined(&deployment, &mapping).await;
    is_refused(&switch, "gates-closed", "in quarantine").await;
    left(&deployment, &entered).await;
    is_refused(&["switch", RETROFIT], "writers-not-stopped", "--writers attested").await;

    let replicas = json!([{ "RegionName": "eu-west-1", "ReplicaStatus": "ACTIVE" }]);
    described.as_if(Some(("old-events", "Replicas", replicas)));
    let policy = ["switch", RETROFIT, "--writers", "policy", "--exempt", "arn:aws:iam::1:role/r"];
    is_refused(&policy, "global-table", "old").await;
    described.as_if(None);

    // A program continues to write.
    let going_on = going_on(&deployment);
    is_refused(&attested(&[], "quiet=1", "3"), "stop-too-long", "is open").await;
    going_on.abort();
    deployment.done(&["run", RETROFIT, "--repair"]).await;

    verified(&deployment, RETROFIT, "0").await;
    assert_eq!(deployment.done(&switch).await["phase"], "reversed");
    assert_eq!(deployment.done(&attested(&["--back"], "quiet=0", "30")).await["phase"], "tidy");
    for poller in pollers {
        poller.stop().await.unwrap();
    }
}

/// An entry in the quarantine.
async fn quarantined(deployment: &Deployment, mapping: &Mapping) -> Item {
    let entry = Quarantined::set_aside("s3://bucket/batch", Fence::of_scan(Epoch::FIRST));
    let Action::Put(row) = entry.enter(mapping).action else { panic!("an entry is put") };
    put(&deployment.dynamo.client(), &control::table(CONTROL), row.clone()).await.unwrap();
    row
}

async fn left(deployment: &Deployment, row: &Item) {
    let control = control::table(CONTROL);
    let key = control.key_of(row).unwrap();
    delete(&deployment.dynamo.client(), &control, &key, &Expected::nothing()).await.unwrap();
}

/// A writer that was not stopped.
fn going_on(deployment: &Deployment) -> JoinHandle<()> {
    let (client, table) = (deployment.dynamo.client(), deployment.table(TABLES[0]).clone());
    tokio::spawn(async move {
        for number in 0.. {
            put(&client, &table, event("i0000", number, true)).await.unwrap();
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })
}
