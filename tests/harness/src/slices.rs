//! A running backfiller or verifier, and the tables that it works on.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::ops::ControlFlow;
use std::process::{Child, Stdio};

use keyfold_core::manifest;
use keyfold_core::model::{Model, Table};
use keyfold_core::retrofit::control::RetrofitState;
use keyfold_core::retrofit::{Checkpoint, Epoch, Job, Mapping, Pass, SegmentId, TableRole};
use keyfold_core::value::{AttributeValue, Item};
use keyfold_dynamo::retrofit::{RequestSender, SliceOptions, backfill_slice};
use keyfold_dynamo::{PageRequest, ScanPage, TableOptions, load, scan_page};
use keyfold_local::EmbeddedDynamo;
use keyfold_local::runtime_api::{InvocationResult, RuntimeApi};
use serde_json::Value;

use crate::Log;

/// The project's own sample.
pub const SAMPLE: &str = include_str!("../../../keyfold.toml");

/// A function with its own DynamoDB. It is ended when it is dropped.
pub struct Function {
    process: Child,
    log: Option<Log>,
    runtime: RuntimeApi,
    /// Its DynamoDB.
    pub dynamo: EmbeddedDynamo,
    /// Its manifest.
    pub model: Model,
    _manifest: tempfile::NamedTempFile,
}

impl Function {
    /// Starts the program at this path. There are no tables yet.
    pub async fn start(binary: &str, manifest_text: &str) -> Function {
        let model = manifest::parse("keyfold.toml", manifest_text).model.unwrap();
        let dynamo = EmbeddedDynamo::memory().unwrap();
        let manifest = tempfile::NamedTempFile::new().unwrap();
        fs::write(manifest.path(), manifest_text).unwrap();
        let runtime = RuntimeApi::start().await.unwrap();
        let mut process = runtime
            .command(binary)
            .env("KEYFOLD_MANIFEST", manifest.path())
            .env("KEYFOLD_ENDPOINT", dynamo.endpoint())
            .env("KEYFOLD_CONTROL_TABLE", "retrofit-control")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let log = Some(Log::of(&mut process));
        Function { process, log, runtime, dynamo, model, _manifest: manifest }
    }

    /// The result of an event.
    pub async fn invoke(&self, event: impl ToString) -> InvocationResult {
        self.runtime.invoke(event.to_string()).await
    }

    /// The name and the message of the error that an event gets.
    pub async fn refused(&self, event: impl ToString) -> (String, String) {
        match self.invoke(event).await {
            InvocationResult::Error(text) => {
                let error: Value = serde_json::from_str(&text).unwrap();
                let text = |name: &str| error[name].as_str().unwrap().to_owned();
                (text("errorType"), text("errorMessage"))
            }
            other => panic!("{other:?}"),
        }
    }

    /// The answer that an event gets.
    pub async fn answered(&self, event: impl ToString) -> Value {
        match self.invoke(event).await {
            InvocationResult::Response(text) => serde_json::from_str(&text).unwrap(),
            other => panic!("{other:?}"),
        }
    }

    /// The table with this id in the manifest.
    pub fn table(&self, id: &str) -> &Table {
        self.model.table(id).unwrap()
    }

    /// Creates a table, with or without a stream.
    pub async fn create(&self, table: &Table, stream: bool) {
        self.dynamo.create_tables([table], TableOptions { stream }).await.unwrap();
    }

    /// Items as written by a program without folded keys.
    pub async fn load(&self, table: &str, ids: impl IntoIterator<Item = String> + Send) {
        let old = Table { indexes: Vec::new(), ..self.table(table).clone() };
        let items: Vec<Item> = ids.into_iter().map(|id| event(&id)).collect();
        load(&self.dynamo.client(), &old, futures_util::stream::iter(items)).await.unwrap();
    }

    /// Executes a retrofit's writes outside of the function.
    pub fn sender(&self, retrofit: &str) -> RequestSender {
        let job = Job::new(Mapping::of(&self.model, retrofit).unwrap(), Epoch::FIRST);
        RequestSender::new(self.dynamo.client(), job, "retrofit-control")
    }

    /// Creates the control table, if necessary, and this row.
    pub async fn begin(&self, retrofit: &str, change: impl FnOnce(RetrofitState) -> RetrofitState) {
        let sender = self.sender(retrofit);
        self.create(sender.table(TableRole::Control), false).await;
        let stream = sender.preflight(true).await.ok().flatten();
        let head = change(RetrofitState::started(sender.job().mapping(), stream.as_deref()));
        sender.store(&head, None).await.unwrap();
    }

    /// Every item of a table.
    pub async fn items(&self, table: &str) -> Vec<Item> {
        self.scan(&self.table(table).name).await
    }

    async fn scan(&self, name: &str) -> Vec<Item> {
        let page = PageRequest { table: name.to_owned(), consistent: true, ..PageRequest::default() };
        scan_page(&self.dynamo.client(), &ScanPage { page, segment: None }).await.unwrap().items
    }

    /// Copies all items, as the backfiller does.
    pub async fn backfill(&self, retrofit: &str) {
        let sender = self.sender(retrofit);
        sender.begin_writing().await.unwrap();
        let started = Checkpoint::start(sender.job(), Pass::Backfill, SegmentId::WHOLE);
        let options = SliceOptions { store: true, ..SliceOptions::default() };
        let end = backfill_slice(&sender, started, &options, &mut |_| ControlFlow::Continue(())).await;
        assert!(end.error.is_none() && end.checkpoint.is_done());
    }

    /// Every item of every table, as text.
    pub async fn everything(&self) -> BTreeMap<String, Vec<String>> {
        let client = self.dynamo.client();
        let mut all = BTreeMap::new();
        for name in client.list_tables().send().await.unwrap().table_names() {
            let items = self.scan(name).await;
            let mut items: Vec<String> =
                items.iter().map(|item| serde_json::to_value(item).unwrap().to_string()).collect();
            items.sort();
            all.insert(name.clone(), items);
        }
        all
    }

    /// Ends it, and returns its standard output.
    pub fn end(mut self) -> Vec<Value> {
        self.process.kill().unwrap();
        self.log.take().unwrap().lines()
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
pub fn event(id: &str) -> Item {
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
