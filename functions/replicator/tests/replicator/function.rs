//! A running replicator, its tables, and its retrofit's row in the control table.

use std::fs;
use std::path::PathBuf;

use keyfold_core::manifest;
use keyfold_core::model::Table;
use keyfold_core::retrofit::{Epoch, Job, Mapping, TableRole};
use keyfold_core::value::Item;
use keyfold_dynamo::retrofit::{RequestSender, RetrofitState};
use keyfold_dynamo::{PageRequest, ScanPage, TableOptions, ensure_table, scan_page};
use keyfold_local::runtime_api::InvocationResult;
use keyfold_local::{EmbeddedDynamo, FunctionOptions, LocalFunction};
use serde_json::{Value, json};

pub(crate) const MANIFEST: &str = include_str!("keyfold.toml");
/// The stream of the events; the table that is its own target has another one.
const STREAM: &str =
    "arn:aws:dynamodb:us-east-1:123456789012:table/ResourceAccessAudit/stream/2026-03-01T08:00:00.000";
pub(crate) const CONTROL: &str = "retrofits";

/// A replicator with its own DynamoDB.
pub(crate) struct Function {
    pub(crate) process: LocalFunction,
    pub(crate) dynamo: EmbeddedDynamo,
    pub(crate) sender: RequestSender,
    folder: tempfile::TempDir,
}

impl Function {
    /// Starts one for this retrofit, which was started as well.
    pub(crate) async fn start(retrofit: &str) -> Function {
        let function = Function::unstarted(retrofit, |options| options).await;
        let head = RetrofitState::started(function.sender.job().mapping(), Some(&function.stream()));
        function.sender.store(&head, None).await.unwrap();
        function
    }

    /// The same for a retrofit that was not started.
    pub(crate) async fn unstarted(
        retrofit: &str,
        changed: impl FnOnce(FunctionOptions) -> FunctionOptions,
    ) -> Function {
        let model = manifest::parse("keyfold.toml", MANIFEST).model.unwrap();
        let dynamo = EmbeddedDynamo::memory().unwrap();
        dynamo.create_tables(&model.tables, TableOptions::default()).await.unwrap();
        let job = Job::new(Mapping::of(&model, retrofit).unwrap(), Epoch::FIRST);
        let sender = RequestSender::new(dynamo.client(), job, CONTROL);
        let control = sender.table(TableRole::Control);
        ensure_table(&dynamo.client(), control, TableOptions::default()).await.unwrap();
        let folder = tempfile::tempdir().unwrap();
        let manifest = folder.path().join("keyfold.toml");
        fs::write(&manifest, MANIFEST).unwrap();
        let options = FunctionOptions::of(env!("CARGO_BIN_EXE_replicator"))
            .env("KEYFOLD_MANIFEST", manifest.to_str().unwrap())
            .env("KEYFOLD_ENDPOINT", dynamo.endpoint())
            .env("KEYFOLD_CONTROL_TABLE", CONTROL)
            .env("KEYFOLD_RETROFIT", retrofit);
        let options = FunctionOptions { log: Some(folder.path().join("log")), ..options };
        Function { process: LocalFunction::new(changed(options)), dynamo, sender, folder }
    }

    /// The stream that the retrofit follows.
    pub(crate) fn stream(&self) -> String {
        STREAM.replace("ResourceAccessAudit", &self.sender.table(TableRole::Source).name)
    }

    pub(crate) async fn invoke(&self, event: impl Into<String>) -> InvocationResult {
        self.process.invoke(event).await
    }

    /// The answer to these records.
    pub(crate) async fn answer(&self, records: &[Value]) -> Value {
        match self.invoke(json!({ "Records": records }).to_string()).await {
            InvocationResult::Response(text) => serde_json::from_str(&text).unwrap(),
            other => panic!("{other:?}"),
        }
    }

    /// The type of the error that these records end with.
    pub(crate) async fn refusal(&self, records: &[Value]) -> String {
        match self.invoke(json!({ "Records": records }).to_string()).await {
            InvocationResult::Error(text) => {
                let error: Value = serde_json::from_str(&text).unwrap();
                error["errorType"].as_str().unwrap().to_owned()
            }
            other => panic!("{other:?}"),
        }
    }

    /// A record that the retrofit takes.
    pub(crate) fn record(&self, id: &str, sequence: u64) -> Value {
        let image = json!({
            "id": { "S": id }, "resourceId": { "S": "r" }, "action": { "S": "viewed" },
            "accessedBy": { "S": "joe1" }, "timestamp": { "S": "2017-03-01T08:00:00.000Z" },
        });
        json!({
            "eventID": format!("id-{sequence}"), "eventName": "INSERT", "eventSource": "aws:dynamodb", "awsRegion": "us-east-1",
            "eventSourceARN": self.stream(),
            "dynamodb": {
                "Keys": { "id": { "S": id } }, "NewImage": image, "SequenceNumber": sequence.to_string(),
                "SizeBytes": 300, "StreamViewType": "NEW_AND_OLD_IMAGES",
            },
        })
    }

    /// Every item of a table, in the order of their text.
    pub(crate) async fn items(&self, table: &Table) -> Vec<Item> {
        let page = PageRequest {
            table: table.name.clone(),
            limit: Some(1000),
            consistent: true,
            ..PageRequest::default()
        };
        let mut items =
            scan_page(&self.dynamo.client(), &ScanPage { page, segment: None }).await.unwrap().items;
        items.sort_by_key(shown);
        items
    }

    pub(crate) async fn targets(&self) -> Vec<Item> {
        self.items(self.sender.table(TableRole::Target)).await
    }

    /// The log so far.
    pub(crate) fn log(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.path("log")).unwrap();
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("no JSON: {line}")))
            .collect()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

/// An item as one line, the same each time.
pub(crate) fn shown(item: &Item) -> String {
    let mut value = serde_json::to_value(item).unwrap();
    sort(&mut value);
    value.to_string()
}

/// Sets have no order of their own.
fn sort(value: &mut Value) {
    match value {
        Value::Object(members) => {
            for (name, member) in members.iter_mut() {
                sort(member);
                if let ("SS" | "NS" | "BS", Value::Array(elements)) = (name.as_str(), &mut *member) {
                    elements.sort_by_key(Value::to_string);
                }
            }
        }
        Value::Array(elements) => elements.iter_mut().for_each(sort),
        _ => {}
    }
}
