//! An index that a retrofit still fills is not read.

use keyfold_core::retrofit::control::Phase;
use keyfold_core::retrofit::{Epoch, Job, Mapping, TableRole};
use keyfold_dynamo::retrofit::{Head, RequestSender};
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
        assert_eq!((got.status, &got.body["code"]), (503, &json!("index-pending")), "{}", got.body);
        let rejected = got.body["rejected"].to_string();
        assert!(rejected.contains("is being filled by retrofit `inPlace`: not started"), "{rejected}");
        assert_eq!(got.record.items_read, 0);
    }
    // The primary key answers all the same.
    let by_key = Sent::query(&json!({ "table": "things", "where": { "id": "1" } }));
    assert_eq!(send(&pending, &by_key).await.body["count"], 1);
    assert_eq!(send(&api(&dynamo).with_complete_indexes(), &Sent::query(&asked())).await.body["count"], 1);
    cut_over(&dynamo, &pending).await;
    assert_eq!(send(&api(&dynamo), &Sent::query(&asked())).await.body["count"], 1);
}

async fn cut_over(dynamo: &EmbeddedDynamo, api: &Api) {
    let job = Job::new(Mapping::of(api.model(), "inPlace").unwrap(), Epoch::FIRST);
    let sender = RequestSender::new(dynamo.client(), job, "keyfold-control");
    let control = sender.table(TableRole::Control);
    ensure_table(&dynamo.client(), control, TableOptions::default()).await.unwrap();
    let begun = Head::begun(sender.job().mapping(), None);
    sender.store(&Head { phase: Phase::CutOver, ..begun }, None).await.unwrap();
}
