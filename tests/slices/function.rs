//! A running function of a retrofit's slices, and the tables that it works on: for the tests of the backfiller and the verifier,
//! which say in `BINARY` which one it is.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io::Read;
use std::process::{Child, Stdio};

use keyfold_core::manifest;
use keyfold_core::model::{Model, Table};
use keyfold_core::retrofit::control::Head;
use keyfold_core::retrofit::{Epoch, Job, Mapping, TableRole};
use keyfold_core::value::{AttributeValue, Item};
use keyfold_dynamo::retrofit::RequestSender;
use keyfold_dynamo::{PageRequest, ScanPage, TableOptions, load, scan_page};
use keyfold_local::EmbeddedDynamo;
use keyfold_local::runtime_api::{Outcome, RuntimeApi};
use serde_json::Value;

/// The project's own sample.
pub(crate) const SAMPLE: &str = include_str!("../../keyfold.toml");

/// A function on a DynamoDB of its own. It is ended when it is dropped.
pub(crate) struct Function {
    process: Child,
    runtime: RuntimeApi,
    pub(crate) dynamo: EmbeddedDynamo,
    pub(crate) model: Model,
    _manifest: tempfile::NamedTempFile,
}

impl Function {
    /// Starts one. There are no tables yet.
    pub(crate) async fn start(manifest_text: &str) -> Function {
        let model = manifest::parse("keyfold.toml", manifest_text).model.unwrap();
        let dynamo = EmbeddedDynamo::memory().unwrap();
        let manifest = tempfile::NamedTempFile::new().unwrap();
        fs::write(manifest.path(), manifest_text).unwrap();
        let runtime = RuntimeApi::start().await.unwrap();
        let process = runtime
            .command(crate::BINARY)
            .env("KEYFOLD_MANIFEST", manifest.path())
            .env("KEYFOLD_ENDPOINT", dynamo.endpoint())
            .env("KEYFOLD_CONTROL_TABLE", "retrofit-control")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        Function { process, runtime, dynamo, model, _manifest: manifest }
    }

    pub(crate) async fn invoke(&self, event: impl ToString) -> Outcome {
        self.runtime.invoke(event.to_string()).await
    }

    /// The name and the message of the error that an event gets.
    pub(crate) async fn refused(&self, event: impl ToString) -> (String, String) {
        match self.invoke(event).await {
            Outcome::Error(text) => {
                let error: Value = serde_json::from_str(&text).unwrap();
                let text = |name: &str| error[name].as_str().unwrap().to_owned();
                (text("errorType"), text("errorMessage"))
            }
            other => panic!("{other:?}"),
        }
    }

    /// The answer that an event gets.
    pub(crate) async fn answered(&self, event: impl ToString) -> Value {
        match self.invoke(event).await {
            Outcome::Response(text) => serde_json::from_str(&text).unwrap(),
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn table(&self, id: &str) -> &Table {
        self.model.table(id).unwrap()
    }

    pub(crate) async fn create(&self, table: &Table, stream: bool) {
        self.dynamo.create_tables([table], TableOptions { stream }).await.unwrap();
    }

    /// Items as a program wrote them that knew no folded keys.
    pub(crate) async fn load(&self, table: &str, ids: impl IntoIterator<Item = String> + Send) {
        let old = Table { indexes: Vec::new(), ..self.table(table).clone() };
        let items: Vec<Item> = ids.into_iter().map(|id| event(&id)).collect();
        load(&self.dynamo.client(), &old, futures_util::stream::iter(items)).await.unwrap();
    }

    pub(crate) fn sender(&self, retrofit: &str) -> RequestSender {
        let job = Job::new(Mapping::of(&self.model, retrofit).unwrap(), Epoch::FIRST);
        RequestSender::new(self.dynamo.client(), job, "retrofit-control")
    }

    /// Makes the control table, if there is none, and this row.
    pub(crate) async fn begin(&self, retrofit: &str, change: impl FnOnce(Head) -> Head) {
        let sender = self.sender(retrofit);
        self.create(sender.table(TableRole::Control), false).await;
        let stream = sender.preflight(true).await.ok().flatten();
        let head = change(Head::begun(sender.job().mapping(), stream.as_deref()));
        sender.store(&head, None).await.unwrap();
    }

    /// Every item of every table, as text.
    pub(crate) async fn everything(&self) -> BTreeMap<String, Vec<String>> {
        let client = self.dynamo.client();
        let mut all = BTreeMap::new();
        for name in client.list_tables().send().await.unwrap().table_names() {
            let page = PageRequest { table: name.clone(), consistent: true, ..PageRequest::default() };
            let items = scan_page(&client, &ScanPage { page, segment: None }).await.unwrap().items;
            let mut items: Vec<String> =
                items.iter().map(|item| serde_json::to_value(item).unwrap().to_string()).collect();
            items.sort();
            all.insert(name.clone(), items);
        }
        all
    }

    /// Ends it; what it has written to standard output.
    pub(crate) fn end(mut self) -> Vec<Value> {
        self.process.kill().unwrap();
        let mut text = String::new();
        self.process.stdout.take().unwrap().read_to_string(&mut text).unwrap();
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("no JSON: {line}")))
            .collect()
    }
}

impl Drop for Function {
    fn drop(&mut self) {
        // It may have ended before.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// An audit event with this id, without folded keys.
pub(crate) fn event(id: &str) -> Item {
    let attributes = [
        ("id", id),
        ("resourceId", "123bbb"),
        ("action", "viewed"),
        ("accessedBy", "joe1"),
        ("timestamp", "2017-03-01T08:00:00.000Z"),
    ];
    let attributes = attributes.map(|(name, value)| (name.to_owned(), AttributeValue::S(value.to_owned())));
    HashMap::from(attributes).into()
}
