//! An index that a retrofit still fills is not read.

use keyfold_core::retrofit::control::Phase;
use keyfold_core::retrofit::{Epoch, Job, Mapping, TableRole};
use keyfold_dynamo::retrofit::{RequestSender, RetrofitState};
use keyfold_dynamo::{TableOptions, ensure_table};
use keyfold_local::EmbeddedDynamo;
use keyfold_query_api::{Api, Auth, Limits};
use serde_json::{Value, json};

use crate::request::{Sent, api_of, send};

const MANIFEST: &str = r#"
[tables.things]
partition = "id"
[tables.things.attributes]
id = "string"
owner = { type = "string", required = true }
colour = { type = "string", required = true }
[tables.things.indexes.byOwner]
partition = "{owner}-{colour}"
allow = ["native-would-serve"]
[retrofits.inPlace]
from = "things"
to = "things"
"#;

fn api(dynamo: &EmbeddedDynamo) -> Api {
    api_of(MANIFEST, dynamo.endpoint(), Limits { auth: Auth::Open, ..Limits::default() })
}

fn asked() -> Value {
    json!({ "table": "things", "where": { "owner": "joe1", "colour": "red" } })
}

#[tokio::test]
async fn an_index_is_refused_with_the_retrofit_until_it_is_cut_over() {
    let dynamo = EmbeddedDynamo::memory().unwrap();
    let pending = api(&dynamo);
    dynamo.create_tables(&pending.model().tables, TableOptions::default()).await.unwrap();
    let item = json!({ "id": { "S": "1" }, "owner": { "S": "joe1" }, "colour": { "S": "red" } });
    let table = pending.model().table("things").unwrap();
    keyfold_dynamo::put(&dynamo.client(), table, serde_json::from_value(item).unwrap()).await.unwrap();
    for sent in [Sent::query(&asked()), Sent::post("/explain", asked().to_string())] {
        let got = send(&pending, &sent).await;
        assert_eq!((got.status, &got.body["code"]), (409, &json!("index-pending")), "{}", got.body);
        let rejected = got.body["rejected"].to_string();
        assert!(rejected.contains("is being filled by retrofit `inPlace`: not started"), "{rejected}");
        assert_eq!((got.record.items_read, got.record.outcome()), (0, "pending"));
    }
    // The primary key still works.
    let by_key = Sent::query(&json!({ "table": "things", "where": { "id": "1" } }));
    assert_eq!(send(&pending, &by_key).await.body["count"], 1);
    assert_eq!(send(&api(&dynamo).with_complete_indexes(), &Sent::query(&asked())).await.body["count"], 1);
    cut_over(&dynamo, &pending).await;
    assert_eq!(send(&api(&dynamo), &Sent::query(&asked())).await.body["count"], 1);
}

#[tokio::test]
async fn an_index_that_the_table_does_not_have_is_pending_until_it_has() {
    let dynamo = EmbeddedDynamo::memory().unwrap();
    let native = MANIFEST.replace("\"{owner}-{colour}\"", "[\"owner\", \"colour\"]");
    let native = native.split("allow").next().unwrap();
    let without = native.split("[tables.things.indexes").next().unwrap();
    let of = |manifest: &str| {
        api_of(
            manifest,
            dynamo.endpoint(),
            Limits { auth: Auth::Open, allow_scan: true, ..Limits::default() },
        )
    };
    dynamo.create_tables(&of(without).model().tables, TableOptions::default()).await.unwrap();
    let api = of(native);
    let got = send(&api, &Sent::query(&asked())).await;
    assert_eq!((got.status, &got.body["code"]), (409, &json!("index-pending")), "{}", got.body);
    assert!(
        got.body["detail"].as_str().unwrap().contains("`byOwner` of table `things` is not in the table yet")
    );
    // Another path is used while the index is pending.
    let mut scan = asked();
    scan["scan"] = json!(true);
    let got = send(&api, &Sent::query(&scan)).await;
    assert_eq!((got.status, &got.body["count"]), (200, &json!(0)), "{}", got.body);
    assert_eq!(send(&of(native), &Sent::query(&scan)).await.status, 200);
    // Also if two indexes answer, and the table has neither.
    let two = format!("{native}[tables.things.indexes.byColour]\npartition = [\"colour\", \"owner\"]\n");
    let got = send(&of(&two), &Sent::query(&scan)).await;
    assert_eq!((got.status, &got.body["count"]), (200, &json!(0)), "{}", got.body);
}

async fn cut_over(dynamo: &EmbeddedDynamo, api: &Api) {
    let job = Job::new(Mapping::of(api.model(), "inPlace").unwrap(), Epoch::FIRST);
    let sender = RequestSender::new(dynamo.client(), job, "keyfold-control");
    let control = sender.table(TableRole::Control);
    ensure_table(&dynamo.client(), control, TableOptions::default()).await.unwrap();
    let started = RetrofitState::started(sender.job().mapping(), None);
    sender.store(&RetrofitState { phase: Phase::CutOver, ..started }, None).await.unwrap();
}

#[tokio::test]
async fn a_table_that_a_retrofit_fills_is_not_written_and_its_source_is() {
    let table = |id: &str| format!("[tables.{id}]\npartition = \"id\"\nattributes = {{ id = \"string\" }}\n");
    let manifest = format!(
        "[deploy]\nquery-api = true\nquery-api-writes = [\"old\", \"new\"]\n{}{}[retrofits.moved]\nfrom = \"old\"\nto = \"new\"\n",
        table("old"),
        table("new")
    );
    let dynamo = EmbeddedDynamo::memory().unwrap();
    // The state of a retrofit is cached for some seconds, so each time is another process.
    let api = || api_of(&manifest, dynamo.endpoint(), Limits::default());
    dynamo.create_tables(&api().model().tables, TableOptions::default()).await.unwrap();
    let answers = async || {
        let (api, mut told) = (api(), Vec::new());
        for (path, more) in [
            ("/put", json!({ "item": { "id": "1" }, "replace": true })),
            ("/delete", json!({ "key": { "id": "1" } })),
        ] {
            for table in ["new", "old"] {
                let mut body = more.clone();
                body["table"] = json!(table);
                told.push(send(&api, &Sent::post(path, body.to_string())).await.status);
            }
        }
        told
    };
    let job = Job::new(Mapping::of(api().model(), "moved").unwrap(), Epoch::FIRST);
    let sender = RequestSender::new(dynamo.client(), job, "keyfold-control");
    ensure_table(&dynamo.client(), sender.table(TableRole::Control), TableOptions::default()).await.unwrap();
    let stream = "arn:aws:dynamodb:us-east-1:123456789012:table/old/stream/2026-03-01T08:00:00.000";
    let running = RetrofitState::started(sender.job().mapping(), Some(stream));
    sender.store(&running, None).await.unwrap();
    assert_eq!(answers().await, [409, 201, 409, 200]);
    let put = Sent::post("/put", json!({ "table": "new", "item": { "id": "2" } }).to_string());
    let got = send(&api(), &put).await;
    assert_eq!((&got.body["code"], got.record.outcome()), (&json!("table-pending"), "pending"));
    let over = RetrofitState { phase: Phase::CutOver, ..running.clone() };
    sender.store(&over, Some(&running)).await.unwrap();
    assert_eq!(answers().await, [201, 201, 200, 200]);
}
