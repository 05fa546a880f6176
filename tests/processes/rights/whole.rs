//! A whole retrofit by the functions, with the rights that the template gives them: everything that can happen to it, happens.

use std::sync::Arc;
use std::time::Duration;

use aws_sdk_dynamodb::types::StreamSpecification;
use futures_util::stream;
use keyfold_core::value::{AttributeValue, Item};
use keyfold_dynamo::{Expected, PageRequest, ScanPage, delete, load, put, scan_page};
use keyfold_local::{PollerOptions, Start, StreamPoller};
use serde_json::{Value, json};

use crate::role::Role;
use crate::stage::{Guarded, Stage, item};

/// How long the stream may take to be drained.
const DRAIN_WAIT: Duration = Duration::from_secs(60);

/// A retrofit of the manifest.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Retrofit {
    pub(crate) name: &'static str,
    pub(crate) source: &'static str,
    pub(crate) target: &'static str,
    /// Are the target's tombstones deleted on the way?
    pub(crate) tidies: bool,
    /// The same at the end: rows of items that a ledger does not take are inserted alone before.
    pub(crate) tidies_late: bool,
    /// Do writers move to the target, and back?
    pub(crate) switches: bool,
}

/// The functions of a retrofit.
pub(crate) struct Workers {
    pub(crate) replicator: Guarded,
    pub(crate) backfiller: Guarded,
    pub(crate) verifier: Guarded,
    pub(crate) operator: Guarded,
}

impl Workers {
    pub(crate) fn all(&self) -> [(&'static str, &Role); 4] {
        [
            ("replicator", &*self.replicator.role),
            ("backfiller", &*self.backfiller.role),
            ("verifier", &*self.verifier.role),
            ("operator", &*self.operator.role),
        ]
    }
}

struct Play<'s> {
    stage: &'s Stage,
    retrofit: Retrofit,
    workers: Workers,
}

impl Retrofit {
    fn in_place(&self) -> bool {
        self.source == self.target
    }

    /// Plays it from its start to its cut-over, and gives the functions with their roles back.
    pub(crate) async fn play(self, stage: &Stage, workers: Workers) -> Workers {
        let mut old: Vec<Item> =
            (0..60).map(|number| event(&format!("old{number:02}"), number, "")).collect();
        // Too large for a statement among others.
        old.push(large("oldLarge"));
        // Without the attributes of a key; the ledger's retrofit does not select it.
        old.push(item(&[("id", "oldPart"), ("owner", "o1")]));
        load(&stage.dynamo.client(), &stage.unaware(self.source), stream::iter(old)).await.unwrap();
        let options = PollerOptions {
            start: Start::Latest,
            batch_records: 50,
            parallel: 1,
            ..PollerOptions::default()
        };
        let table = &stage.model.table(self.source).unwrap().name;
        let poller = StreamPoller::start(
            stage.dynamo.database(),
            table,
            Arc::clone(&workers.replicator.function),
            options,
        )
        .await
        .unwrap();
        stage.keyfold(&["retrofit", "run", self.name, "--until", "start"]).await;
        let play = Play { stage, retrofit: self, workers };
        let estimate = json!({ "retrofit": self.name, "segment": 0, "totalSegments": 1, "dryRun": true });
        play.workers.backfiller.answer(&estimate).await;
        play.round("a", &poller).await;
        if self.tidies {
            play.operate(json!({ "command": "tidy" }), "tidy").await;
            play.round("b", &poller).await;
        }
        poller.stop().await.unwrap();
        play.lost().await;
        if !self.in_place() {
            play.next_epoch().await;
        }
        play.raced().await;
        if self.tidies_late {
            play.operate(json!({ "command": "tidy" }), "tidy").await;
            play.late().await;
            play.next_epoch().await;
            play.backfill().await;
        }
        play.compare(true).await;
        play.compare(false).await;
        stage.keyfold(&["retrofit", "run", self.name, "--repair"]).await;
        if self.switches {
            play.there_and_back().await;
            stage.keyfold(&["retrofit", "run", self.name]).await;
        }
        // Nothing follows the target any longer.
        let switch = json!({ "command": "switch", "writers": "attested", "forGood": true });
        match self.in_place() {
            true => play.operate(json!({ "command": "switch" }), "cut-over").await,
            false => play.operate(switch, "settled").await,
        }
        play.operate(json!({ "command": "finish" }), "finalised").await;
        play.workers
    }
}

impl Play<'_> {
    /// The operator, until the operation is over.
    async fn operate(&self, operation: Value, phase: &str) {
        let event = json!({ "retrofit": self.retrofit.name, "operation": operation });
        let mut end = self.workers.operator.answer(&event).await;
        while end["done"] == false {
            end = self.workers.operator.answer(&event).await;
        }
        assert_eq!((&end["success"], &end["phase"]), (&json!(true), &json!(phase)), "{end}");
    }

    /// Writers, a backfill, an item that cannot be copied, damage and its repair.
    async fn round(&self, name: &str, poller: &StreamPoller) {
        self.write(name, poller).await;
        self.backfill().await;
        self.late().await;
        self.too_long(name, poller).await;
        self.compare(false).await;
        self.damage().await;
        self.compare(true).await;
    }

    async fn put(&self, item: Item) {
        put(&self.stage.dynamo.client(), &self.stage.unaware(self.retrofit.source), item).await.unwrap();
    }

    async fn delete(&self, id: &str) {
        let source = self.stage.unaware(self.retrofit.source);
        delete(&self.stage.dynamo.client(), &source, &item(&[("id", id)]), &Expected::nothing())
            .await
            .unwrap();
    }

    /// New items, several at once and one alone; changed ones with moving keys; deletes.
    async fn write(&self, round: &str, poller: &StreamPoller) {
        let id = |number: usize| format!("{round}{number}");
        let new = (0..9).map(|number| event(&id(number), number, ""));
        let source = self.stage.unaware(self.retrofit.source);
        load(&self.stage.dynamo.client(), &source, stream::iter(new.collect::<Vec<_>>())).await.unwrap();
        drained(poller).await;
        self.put(event(&id(10), 10, "")).await;
        drained(poller).await;
        for number in 0..3 {
            self.put(event(&id(number), number + 1, "changed")).await;
        }
        self.put(event("old01", 4, round)).await;
        for id in [id(3), id(4), "old02".to_owned(), format!("old1{}", if round == "a" { 0 } else { 1 })] {
            self.delete(&id).await;
        }
        drained(poller).await;
        self.put(large(&id(11))).await;
        drained(poller).await;
    }

    async fn backfill(&self) {
        let event =
            json!({ "retrofit": self.retrofit.name, "segment": 0, "totalSegments": 1, "worker": "one" });
        self.workers.backfiller.to_its_end(event).await;
    }

    /// A late record with an old state of an item.
    async fn late(&self) {
        let (image, arn) = (event("old05", 0, "long ago"), self.stage.stream_arn(self.retrofit.source).await);
        let record = json!({ "eventID": "late", "eventName": "MODIFY", "eventSource": "aws:dynamodb", "eventSourceARN": arn, "awsRegion": "us-east-1",
            "dynamodb": { "Keys": { "id": { "S": "old05" } }, "OldImage": image, "NewImage": image, "SequenceNumber": "1",
                "SizeBytes": 300, "StreamViewType": "NEW_AND_OLD_IMAGES" } });
        self.workers.replicator.answer(&json!({ "Records": [record] })).await;
    }

    /// An item whose key is too long, and then is not.
    async fn too_long(&self, round: &str, poller: &StreamPoller) {
        let mut bad = event(&format!("{round}long"), 1, "");
        bad.insert("owner".to_owned(), AttributeValue::S("y".repeat(2_100)));
        self.put(bad).await;
        drained(poller).await;
        self.put(event(&format!("{round}long"), 1, "")).await;
        drained(poller).await;
    }

    /// Changes whose records are lost: only a comparison finds them.
    async fn lost(&self) {
        self.put(event("old07", 1, "lost")).await;
        self.put(event("lostNew", 1, "lost")).await;
        self.delete("old08").await;
        self.compare(true).await;
    }

    /// The stream is switched off and on, and changes are lost in between.
    async fn next_epoch(&self) {
        let (client, source) =
            (self.stage.dynamo.client(), self.stage.model.table(self.retrofit.source).unwrap());
        let off = StreamSpecification::builder().stream_enabled(false).build().unwrap();
        client.update_table().table_name(&source.name).stream_specification(off).send().await.unwrap();
        self.put(event("old09", 1, "lost")).await;
        keyfold_dynamo::enable_stream(&client, source).await.unwrap();
        self.stage.keyfold(&["retrofit", "run", self.retrofit.name, "--until", "start"]).await;
    }

    /// Writers of the target change, add and delete items; one of the source's continues.
    async fn there_and_back(&self) {
        let (client, database) = (self.stage.dynamo.client(), self.stage.dynamo.database());
        let moved = async |back: bool, phase: &str| {
            self.operate(json!({ "command": "switch", "writers": "attested", "back": back }), phase).await;
        };
        let follow = async |id: &str| {
            let table = &self.stage.model.table(id).unwrap().name;
            let options = PollerOptions { start: Start::Latest, ..PollerOptions::default() };
            let replicator = Arc::clone(&self.workers.replicator.function);
            StreamPoller::start(database, table, replicator, options).await.unwrap()
        };
        let pollers = [follow(self.retrofit.source).await, follow(self.retrofit.target).await];
        moved(false, "reversed").await;
        let target = self.stage.model.table(self.retrofit.target).unwrap();
        let keys_move = self.retrofit.tidies_late;
        let key = |number: usize, id: &str| match keys_move {
            true => target.key_of(&target.with_keys(event(id, number, "")).unwrap()).unwrap(),
            false => item(&[("id", id)]),
        };
        if keys_move {
            // `write` has moved it.
            delete(&client, target, &key(4, "old01"), &Expected::nothing()).await.unwrap();
        }
        for id in ["there1", "old01"] {
            let said = [("id", id), ("owner", "o1"), ("kind", "k1")];
            let said = match keys_move {
                true => [&said[..], &[("place", "p1")]].concat(),
                false => [&said[..], &[("site", "p1"), ("origin", "old")]].concat(),
            };
            put(&client, target, item(&said)).await.unwrap();
        }
        delete(&client, target, &key(5, "old05"), &Expected::nothing()).await.unwrap();
        drained(&pollers[1]).await;
        self.put(event("old06", 1, "too late")).await;
        drained(&pollers[0]).await;
        moved(true, "tidy").await;
        for poller in pollers {
            poller.stop().await.unwrap();
        }
    }

    /// While the backfill works on a page, items of it are changed and deleted.
    async fn raced(&self) {
        for number in 0..3 {
            self.put(event(&format!("raced{number}"), number, "")).await;
        }
        let (client, source) = (self.stage.dynamo.client(), self.stage.unaware(self.retrofit.source));
        let runtime = tokio::runtime::Handle::current();
        self.workers.backfiller.role.meanwhile("Scan", move |_| {
            runtime.block_on(async {
                put(&client, &source, event("raced0", 4, "raced")).await.unwrap();
                let key = item(&[("id", "old20")]);
                delete(&client, &source, &key, &Expected::nothing()).await.unwrap();
            });
        });
        self.backfill().await;
        self.put(event("failed1", 1, "")).await;
        self.put(event("failed2", 2, "")).await;
        // DynamoDB may not return the reason of a statement that failed among others.
        self.workers.backfiller.role.meanwhile("BatchExecuteStatement", |answer| {
            answer["Responses"][0] = json!({ "Error": { "Code": "ValidationError", "Message": "" } });
        });
        self.backfill().await;
    }

    /// Changes the target without the retrofit.
    async fn damage(&self) {
        let (client, target) = (self.stage.dynamo.client(), self.stage.unaware(self.retrofit.target));
        let page = PageRequest { table: target.name.clone(), consistent: true, ..PageRequest::default() };
        let items = scan_page(&client, &ScanPage { page, segment: None }).await.unwrap().items;
        let mut live = items.into_iter().filter(|item| !item.contains_key("keyfold_tombstone"));
        let mut wrong = live.next().unwrap();
        wrong.insert("note".to_owned(), AttributeValue::S("wrong".to_owned()));
        let table = self.stage.model.table(self.retrofit.target).unwrap();
        let key = table.key_of(&wrong).unwrap();
        let folded: Vec<String> =
            table.folded(&wrong).unwrap().into_iter().map(|(name, _)| name.to_owned()).collect();
        for name in folded.into_iter().filter(|name| !key.contains_key(name)) {
            wrong.insert(name, AttributeValue::S("wrong".to_owned()));
        }
        put(&client, &target, wrong).await.unwrap();
        if self.retrofit.in_place() {
            return;
        }
        let lost = live.next().unwrap();
        let key = table.key_of(&lost).unwrap();
        delete(&client, &target, &key, &Expected::nothing()).await.unwrap();
    }

    async fn compare(&self, repair: bool) {
        let sides = if self.retrofit.in_place() { &["source"][..] } else { &["source", "target"] };
        for side in sides {
            let mut event = json!({ "retrofit": self.retrofit.name, "side": side, "segment": 0, "totalSegments": 1, "worker": "one",
                "lagSeconds": 0 });
            if repair {
                event["repair"] = json!(true);
            }
            self.workers.verifier.to_its_end(event).await;
        }
    }
}

async fn drained(poller: &StreamPoller) {
    poller.drained(DRAIN_WAIT).await.unwrap();
}

fn large(id: &str) -> Item {
    let mut large = event(id, 11, "");
    large.insert("blob".to_owned(), AttributeValue::S("x".repeat(20_000)));
    large
}

/// An event of this id; a number decides which one it is of many.
fn event(id: &str, number: usize, note: &str) -> Item {
    let (owner, place, kind) =
        (format!("o{}", number % 5), format!("p{}", number % 3), format!("k{}", number % 7));
    item(&[("id", id), ("owner", &owner), ("place", &place), ("kind", &kind), ("note", note)])
}
