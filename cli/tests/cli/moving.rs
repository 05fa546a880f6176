//! `keyfold retrofit switch` where the target's keys can move: there, back, and there again. Whole items are compared.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use keyfold_core::model::Table;
use keyfold_core::value::Item;
use keyfold_dynamo::{Expected, PageRequest, ScanPage, TableOptions, delete, put, scan_page};
use keyfold_local::{InProcessReplicator, PollerOptions, Start, StreamPoller};
use serde_json::{Value, json};

use crate::support::{FAST, Site, item_of};

const MANIFEST: &str = r#"
[tables.old]
partition = "id"
attributes = { id = "string", owner = "string", state = "string", note = "string" }
[tables.new]
partition = "{owner}"
sort = "{state}/{id}"
[tables.new.attributes]
id = { type = "string", required = true }
owner = { type = "string", required = true }
state = { type = "string", required = true }
note = "string"
[retrofits.rekeyed]
from = "old"
to = "new"
"#;
const ITEMS: usize = 60;
const SETTLE: Duration = Duration::from_secs(60);

/// Id, owner, state, note.
type Row = [String; 4];

struct Moving {
    site: Site,
    pollers: Vec<StreamPoller>,
    /// The application's items, as it wrote them last.
    truth: BTreeMap<String, Row>,
    table: &'static str,
}

fn row(id: usize, owner: &str, state: &str, note: &str) -> Row {
    [format!("i{id:03}"), owner.to_owned(), state.to_owned(), note.to_owned()]
}

fn plain([id, owner, state, note]: &Row) -> Item {
    let [id, owner, state, note] = [id, owner, state, note].map(Clone::clone);
    item_of([("id", id), ("owner", owner), ("state", state), ("note", note)])
}

/// The keys of one table are ids, those of the other one owner, state and id.
fn key(table: &str, [id, owner, state, _]: &Row) -> Item {
    match table {
        "old" => item_of([("id", id.clone())]),
        _ => item_of([("owner", owner.clone()), ("sk", format!("{state}/{id}"))]),
    }
}

impl Moving {
    async fn begin() -> Moving {
        let site = Site::new(MANIFEST);
        site.dynamo().create_tables(&site.model.tables, TableOptions { stream: true }).await.unwrap();
        let rows = (0..ITEMS).map(|id| row(id, &format!("o{}", id % 5), &format!("s{}", id % 3), "first"));
        let truth: BTreeMap<String, Row> = rows.map(|row| (row[0].clone(), row)).collect();
        site.load(site.table("old"), truth.values().map(plain)).await;
        let mut moving = Moving { site, pollers: Vec::new(), truth, table: "old" };
        moving.done(&["run", "rekeyed", "--until", "start"]);
        for id in ["old", "new"] {
            let (model, dynamo) = (&moving.site.model, moving.site.dynamo());
            let replicator = Arc::new(InProcessReplicator::new(model, "rekeyed", "keyfold-control", dynamo));
            let options = PollerOptions { start: Start::Latest, ..PollerOptions::default() };
            let name = &moving.site.table(id).name;
            let poller = StreamPoller::start(dynamo.database(), name, replicator, options);
            moving.pollers.push(poller.await.unwrap());
        }
        moving
    }

    #[track_caller]
    fn done(&self, words: &[&str]) -> Value {
        self.site.done(&[&["retrofit"], words].concat())
    }

    fn table(&self, id: &str) -> &Table {
        self.site.table(id)
    }

    /// The application's new state of an item. Where that is in the key, its old place goes.
    async fn write(&mut self, row: Row) {
        let before = self.truth.insert(row[0].clone(), row.clone());
        if let Some(before) = before.filter(|before| key(self.table, before) != key(self.table, &row)) {
            self.delete_at(&before).await;
        }
        put(&self.site.client(), self.table(self.table), plain(&row)).await.unwrap();
    }

    async fn delete_at(&self, row: &Row) {
        let key = key(self.table, row);
        delete(&self.site.client(), self.table(self.table), &key, &Expected::nothing()).await.unwrap();
    }

    async fn delete(&mut self, id: usize) {
        let row = self.truth.remove(&format!("i{id:03}")).unwrap();
        self.delete_at(&row).await;
    }

    /// Items by their keys, without marks; the second: how many have one.
    async fn items(&self, id: &str) -> (BTreeMap<String, String>, usize) {
        let (name, table) = (self.table(id).name.clone(), self.table(id));
        let page = PageRequest { table: name, consistent: true, ..PageRequest::default() };
        let items = scan_page(&self.site.client(), &ScanPage { page, segment: None }).await.unwrap().items;
        let marked = items.iter().filter(|item| item.keys().any(|name| name.starts_with("keyfold_")));
        let marked = marked.count();
        let told = items.into_iter().map(|item| {
            let sorted = |item: &Item| {
                let attributes = item.iter().filter(|(name, _)| !name.starts_with("keyfold_"));
                format!(
                    "{:?}",
                    attributes.map(|(name, value)| (name.to_string(), value)).collect::<BTreeMap<_, _>>()
                )
            };
            (sorted(&table.key_of(&item).unwrap()), sorted(&item))
        });
        (told.collect(), marked)
    }

    /// Both tables have what the application wrote, and nothing else, once the replicator is idle.
    async fn agrees(&self, when: &str) {
        let until = Instant::now() + SETTLE;
        loop {
            for poller in &self.pollers {
                poller.drained(SETTLE).await.unwrap();
            }
            let sides = [self.items("old").await.0, self.items("new").await.0];
            let wanted = ["old", "new"].map(|id| {
                self.truth.values().map(|row| {
                    let mut item = plain(row);
                    item.extend(key(id, row));
                    let all: BTreeMap<_, _> =
                        item.iter().map(|(name, value)| (name.to_string(), value)).collect();
                    format!("{all:?}")
                })
            });
            let differs = sides.iter().zip(wanted).find_map(|(side, wanted)| {
                let (mut found, mut wanted): (Vec<_>, Vec<_>) =
                    (side.values().cloned().collect(), wanted.collect());
                found.sort();
                wanted.sort();
                let differing = found.iter().find(|item| !wanted.contains(item));
                (found != wanted).then(|| format!("{} items, {}; {differing:?}", found.len(), wanted.len()))
            });
            match differs {
                None => return,
                Some(differs) => assert!(Instant::now() < until, "{when}: {differs}"),
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    async fn switch(&mut self, to: &'static str, phase: &str) {
        let back: &[&str] = if to == "old" { &["--back"] } else { &[] };
        let words = [&["switch", "rekeyed", "--writers", "attested"], back].concat();
        assert_eq!(self.done(&words)["phase"], phase);
        self.table = to;
        self.agrees(&format!("after the switch to {to}")).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_keys_move_writers_move_there_and_back_and_there_again() {
    let mut moving = Moving::begin().await;
    let plan = moving.done(&["plan", "rekeyed", "--full"]);
    assert_eq!((&plan["protocol"], &plan["noWayBack"]), (&json!("ledger"), &Value::Null), "{plan}");
    assert_eq!(plan["thereAndBack"]["refused"], json!([]), "{plan}");
    moving.done(&["run", "rekeyed", "--until", "backfill", "--rate", FAST]);
    moving.write(row(7, "o7", "s1", "moved while the source is open")).await;
    moving.agrees("after the backfill").await;
    moving.done(&["run", "rekeyed", "--rate", FAST]);

    moving.switch("new", "reversed").await;
    moving.write(row(1, "o1", "s9", "moved within its collection")).await;
    moving.write(row(2, "o9", "s2", "moved to another owner")).await;
    moving.write(row(3, "o3", "s0", "not moved")).await;
    moving.write(row(100, "o1", "s1", "new")).await;
    moving.delete(4).await;
    moving.agrees("changes of the target").await;
    // A writer of the source that was not stopped.
    put(&moving.site.client(), moving.table("old"), plain(&row(5, "o5", "s5", "late"))).await.unwrap();
    moving.agrees("a late change of the source").await;
    let noted = moving.done(&["quarantine", "rekeyed", "--images"])["late"].clone();
    assert_eq!(
        (noted.as_array().unwrap().len(), &noted[0]["new"]["note"]["S"]),
        (1, &json!("late")),
        "{noted}"
    );

    moving.switch("old", "tidy").await;
    moving.write(row(1, "o1", "s1", "back at its first key")).await;
    moving.write(row(4, "o4", "s4", "there again")).await;
    moving.write(row(6, "o6", "s6", "moved")).await;
    moving.delete(100).await;
    moving.agrees("changes of the source").await;
    // A writer of the target that was not stopped: it deletes an item, and puts one where there was none.
    let late = [row(8, "o3", "s2", ""), row(8, "o8", "s8", "late")];
    delete(&moving.site.client(), moving.table("new"), &key("new", &late[0]), &Expected::nothing())
        .await
        .unwrap();
    put(&moving.site.client(), moving.table("new"), plain(&late[1])).await.unwrap();
    moving.agrees("a late change of the target").await;
    let noted = moving.done(&["quarantine", "rekeyed", "--images"])["late"].clone();
    assert_eq!(noted.as_array().unwrap().len(), 3, "{noted}");

    moving.switch("new", "reversed").await;
    moving.write(row(6, "o6", "s7", "moved in the target")).await;
    moving.agrees("changes of the target, again").await;
    assert_eq!(moving.done(&["finish", "rekeyed"])["phase"], "finalised");
    assert_eq!(moving.items("new").await.1, 0, "no mark is left");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_items_of_the_target_that_claim_one_key_of_the_source_are_for_an_operator() {
    let mut moving = Moving::begin().await;
    moving.done(&["run", "rekeyed", "--until", "backfill", "--rate", FAST]);
    moving.done(&["run", "rekeyed", "--rate", FAST]);
    moving.switch("new", "reversed").await;
    // The same id once more, under another owner; the first one stays.
    let second = row(1, "o9", "s9", "a second one");
    put(&moving.site.client(), moving.table("new"), plain(&second)).await.unwrap();
    for poller in &moving.pollers {
        poller.drained(SETTLE).await.unwrap();
    }
    let entries = moving.done(&["quarantine", "rekeyed"])["entries"].clone();
    assert_eq!(
        (entries.as_array().unwrap().len(), &entries[0]["code"]),
        (1, &json!("target-key-collision")),
        "{entries}"
    );
    // The first one goes: the second one takes its place.
    moving.delete_at(&moving.truth["i001"].clone()).await;
    moving.truth.insert("i001".to_owned(), second);
    moving.done(&["quarantine", "rekeyed", "--retry"]);
    moving.agrees("after the retry").await;
    moving.switch("old", "tidy").await;
}
