//! Retrofits in the console.

use std::ops::ControlFlow;

use keyfold_core::retrofit::{Checkpoint, Epoch, Job, Mapping, Pass, SegmentId, TableRole};
use keyfold_dynamo::ensure_table;
use keyfold_dynamo::retrofit::{RequestSender, RetrofitState, SliceOptions, backfill_slice};

use super::*;

const MANIFEST: &str = r#"
    [tables.old]
    partition = "id"
    attributes = { id = "string", kind = "string" }

    [tables.new]
    partition = "id"
    attributes = { id = "string", kind = { type = "string", required = true } }

    [retrofits.moved]
    from = "old"
    to = "new"
"#;

/// Starts the retrofit and runs its backfill.
async fn begin(world: &World) {
    let client = world.dynamo.client();
    let mapping = Mapping::of(world.api.model(), "moved").unwrap();
    let sender = RequestSender::new(client.clone(), Job::new(mapping, Epoch::FIRST), "keyfold-control");
    ensure_table(&client, sender.table(TableRole::Control), TableOptions::default()).await.unwrap();
    sender.store(&RetrofitState::started(sender.job().mapping(), None), None).await.unwrap();
    for item in [json!({ "id": { "S": "a" }, "kind": { "S": "x" } }), json!({ "id": { "S": "b<i>" } })] {
        world.put("old", item).await;
    }
    let options = SliceOptions { store: true, ..SliceOptions::default() };
    let start = Checkpoint::start(sender.job(), Pass::Backfill, SegmentId::WHOLE);
    let end = backfill_slice(&sender, start, &options, &mut |_| ControlFlow::Continue(())).await;
    assert!(end.error.is_none(), "{:?}", end.error);
}

#[tokio::test]
async fn a_retrofit_tells_its_phase_its_gates_and_its_quarantine() {
    let world = World::of(MANIFEST).await;
    let path = "/console/retrofits/moved";
    assert_eq!(world.view(path).await["started"], false);
    begin(&world).await;
    let shown = world.view(path).await;
    assert_eq!(
        (&shown["phase"], &shown["protocol"]),
        (&json!("running"), &json!("fence and tombstone")),
        "{shown}"
    );
    assert_eq!((&shown["segmentsDone"], &shown["segments"]), (&json!(1), &json!(1)));
    assert_eq!(shown["passes"][0]["counts"]["items"], 2);
    assert_eq!(shown["quarantine"]["entries"][0]["key"], json!({ "id": { "S": "b<i>" } }));
    let codes: Vec<&str> =
        shown["gates"].as_array().unwrap().iter().map(|gate| gate["code"].as_str().unwrap()).collect();
    assert_eq!(codes, ["not-verified", "quarantine-not-empty", "tombstones"]);
    let other = api(MANIFEST, &world.dynamo).with_control_table("another");
    let console = ConsoleServer::of(other, world.dynamo.endpoint()).await.unwrap();
    assert_eq!(World { console, ..world }.view(path).await["started"], false);
}
