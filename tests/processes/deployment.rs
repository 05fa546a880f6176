//! Tables on an embedded DynamoDB, and the command that works on them.

use std::collections::HashMap;
use std::path::PathBuf;
use std::process::Output;

use futures_util::stream;
use keyfold_core::manifest;
use keyfold_core::model::{Model, Table};
use keyfold_core::value::{AttributeValue, Item};
use keyfold_dynamo::{PageRequest, ScanPage, TableOptions, load, scan_page};
use keyfold_local::EmbeddedDynamo;
use serde_json::Value;
use tokio::process::Command;

use crate::own::{Plain, plain};
use crate::programs::program;

const MANIFEST: &str = include_str!("keyfold.toml");
/// Items that are there before the retrofit begins.
const OLD_ITEMS: usize = 800;
/// The attribute of a tombstone.
pub(crate) const TOMBSTONE: &str = "keyfold_tombstone";
/// How long the steps wait.
const WAITS: &str = "in-flight=0,quiet=1,denied=2,proof=30,lag=2";
/// Items of a page, when all of a table are read.
const PAGE_ITEMS: u32 = 1000;

pub(crate) struct Deployment {
    pub(crate) dynamo: EmbeddedDynamo,
    /// Where the command finds DynamoDB.
    pub(crate) endpoint: String,
    pub(crate) folder: tempfile::TempDir,
    model: Model,
}

impl Deployment {
    /// The tables, and old items in the source, which has a stream.
    pub(crate) async fn start(source: &str) -> Deployment {
        let deployment = Deployment::of(MANIFEST, source).await;
        let unaware = deployment.unaware(source);
        load(&deployment.dynamo.client(), &unaware, stream::iter((0..OLD_ITEMS).map(old_item)))
            .await
            .unwrap();
        deployment
    }

    /// The empty tables of a manifest; the source has a stream.
    pub(crate) async fn of(text: &str, source: &str) -> Deployment {
        let model = manifest::parse("keyfold.toml", text).model.unwrap();
        let dynamo = EmbeddedDynamo::memory().unwrap();
        let (read, written): (Vec<&Table>, Vec<&Table>) =
            model.tables.iter().partition(|table| table.id == source);
        dynamo.create_tables(read, TableOptions { stream: true }).await.unwrap();
        dynamo.create_tables(written, TableOptions::default()).await.unwrap();
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("keyfold.toml"), text).unwrap();
        let endpoint = dynamo.endpoint().to_owned();
        Deployment { dynamo, endpoint, folder, model }
    }

    pub(crate) fn model(&self) -> &Model {
        &self.model
    }

    pub(crate) fn table(&self, id: &str) -> &Table {
        self.model.table(id).unwrap()
    }

    /// The table as a program without folded keys declares it.
    pub(crate) fn unaware(&self, id: &str) -> Table {
        Table { indexes: Vec::new(), ..self.table(id).clone() }
    }

    pub(crate) fn manifest(&self) -> PathBuf {
        self.folder.path().join("keyfold.toml")
    }

    /// `keyfold retrofit` with these words.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(program("keyfold"));
        command
            .env_remove("KEYFOLD_MANIFEST")
            .env("NO_COLOR", "1")
            // A request lives for milliseconds here, and no function of a former phase is left when the next begins.
            .env("KEYFOLD_WAITS", WAITS)
            .arg("--manifest")
            .arg(self.manifest())
            .args(["--json", "retrofit"])
            .args(words)
            .args(["--endpoint", &self.endpoint])
            .kill_on_drop(true);
        command
    }

    /// The output of a step, which must succeed.
    pub(crate) async fn done(&self, words: &[&str]) -> Value {
        let output: Output = self.command(words).output().await.unwrap();
        let (said, error) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{words:?}: {said} {error}");
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// Starts a retrofit, copies the existing items, and runs the stages of a switch before the writers stop.
    pub(crate) async fn prepared(&self, retrofit: &str, more: &[&str]) {
        self.done(&["run", retrofit, "--until", "backfill"]).await;
        let output = self.command(&[&["switch", retrofit], more].concat()).output().await.unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("writers-not-stopped"), "{said}");
    }

    /// How many tombstones a table has.
    pub(crate) async fn tombstones(&self, id: &str) -> usize {
        self.items(id).await.iter().filter(|item| item.contains_key(TOMBSTONE)).count()
    }

    /// Every item of a table, as texts.
    pub(crate) async fn items(&self, id: &str) -> Vec<Plain> {
        self.stored(&self.table(id).name).await.iter().map(plain).collect()
    }

    /// Every item of the table with this name.
    pub(crate) async fn stored(&self, name: &str) -> Vec<Item> {
        let client = self.dynamo.client();
        let (mut items, mut start_key) = (Vec::new(), None);
        loop {
            let page = PageRequest {
                table: name.to_owned(),
                limit: Some(PAGE_ITEMS),
                consistent: true,
                start_key,
                ..PageRequest::default()
            };
            let page = scan_page(&client, &ScanPage { page, segment: None }).await.unwrap();
            items.extend(page.items);
            start_key = page.last_key;
            if start_key.is_none() {
                return items;
            }
        }
    }
}

fn old_item(number: usize) -> Item {
    event(&format!("i{number:04}"), number, true)
}

/// An event of this id; which one it is of many is decided by a number.
pub(crate) fn event(id: &str, number: usize, whole: bool) -> Item {
    let mut attributes = HashMap::from([
        ("id".to_owned(), id.to_owned()),
        ("owner".to_owned(), format!("o{}", number % 5)),
        ("place".to_owned(), format!("p{}", number % 3)),
        ("note".to_owned(), format!("note {number}")),
    ]);
    if whole {
        attributes.insert("kind".to_owned(), format!("k{}", number % 7));
    }
    let texts = attributes.into_iter().map(|(name, text)| (name, AttributeValue::S(text)));
    texts.collect::<HashMap<_, _>>().into()
}
