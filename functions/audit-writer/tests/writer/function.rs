//! A running function, and the table that it writes to.

use std::fs;
use std::process::{Child, Stdio};
use std::sync::Arc;

use keyfold_core::audit::journal_table;
use keyfold_core::manifest;
use keyfold_core::model::Table;
use keyfold_core::value::{AttributeValue, Item};
use keyfold_dynamo::{PageRequest, ScanPage, TableOptions, scan_page};
use keyfold_harness::Log;
use keyfold_local::EmbeddedDynamo;
use keyfold_local::runtime_api::{InvocationResult, RuntimeApi};
use serde_json::{Value, json};

/// The project's own sample.
pub(crate) const SAMPLE: &str = include_str!("../../../../keyfold.toml");

/// A function with its own DynamoDB. It is ended when it is dropped.
pub(crate) struct Function {
    process: Child,
    log: Option<Log>,
    runtime: RuntimeApi,
    dynamo: Arc<EmbeddedDynamo>,
    pub(crate) table: Table,
    _manifest: tempfile::NamedTempFile,
}

impl Function {
    /// Starts one that writes to the manifest's table `audit`.
    pub(crate) async fn start(manifest_text: &str, variables: &[(&str, &str)]) -> Function {
        let parsed = manifest::parse("keyfold.toml", manifest_text);
        let model = parsed.model.unwrap();
        let dynamo = EmbeddedDynamo::memory().unwrap();
        dynamo.create_tables(model.table("audit"), TableOptions::default()).await.unwrap();
        let journal = model.deploy.audit_journal.as_deref().map(journal_table);
        dynamo.create_tables(&journal, TableOptions::default()).await.unwrap();
        let endpoint = dynamo.endpoint().to_owned();
        Function::start_on(Arc::new(dynamo), &endpoint, manifest_text, variables).await
    }

    /// Starts one on existing tables, at this endpoint.
    pub(crate) async fn start_on(
        dynamo: Arc<EmbeddedDynamo>,
        endpoint: &str,
        manifest_text: &str,
        variables: &[(&str, &str)],
    ) -> Function {
        let parsed = manifest::parse("keyfold.toml", manifest_text);
        let table = parsed.model.unwrap().table("audit").unwrap().clone();
        let manifest = tempfile::NamedTempFile::new().unwrap();
        fs::write(manifest.path(), manifest_text).unwrap();
        let runtime = RuntimeApi::start().await.unwrap();
        let mut process = runtime
            .command(env!("CARGO_BIN_EXE_audit-writer"))
            .env("KEYFOLD_MANIFEST", manifest.path())
            .env("KEYFOLD_ENDPOINT", endpoint)
            .envs(variables.iter().copied())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let log = Some(Log::of(&mut process));
        Function { process, log, runtime, dynamo, table, _manifest: manifest }
    }

    pub(crate) async fn invoke(&self, event: impl Into<String>) -> InvocationResult {
        self.runtime.invoke(event).await
    }

    /// The status and the body that a request gets.
    pub(crate) async fn post(&self, body: &str) -> (u64, Value) {
        let outcome =
            self.invoke(request(body, &json!({ "jwt": { "claims": { "sub": "service1" } } }))).await;
        let InvocationResult::Response(text) = outcome else { panic!("{outcome:?}") };
        parts(&text)
    }

    /// The endpoint of its DynamoDB.
    pub(crate) fn endpoint(&self) -> &str {
        self.dynamo.endpoint()
    }

    /// Its DynamoDB, for another function.
    pub(crate) fn dynamo(&self) -> Arc<EmbeddedDynamo> {
        Arc::clone(&self.dynamo)
    }

    /// Its peak memory, in kB.
    pub(crate) fn peak_kb(&self) -> u64 {
        keyfold_harness::peak_kb(self.process.id())
    }

    /// Every item of the table.
    pub(crate) async fn items(&self) -> Vec<Item> {
        self.items_of(&self.table).await
    }

    /// Every item of another table.
    pub(crate) async fn items_of(&self, table: &Table) -> Vec<Item> {
        let page = PageRequest { table: table.name.clone(), consistent: true, ..PageRequest::default() };
        scan_page(&self.dynamo.client(), &ScanPage { page, segment: None }).await.unwrap().items
    }

    /// The item with this id.
    pub(crate) async fn item(&self, id: &str) -> Option<Item> {
        let wanted = AttributeValue::S(id.to_owned());
        self.items().await.into_iter().find(|item| item.get("id") == Some(&wanted))
    }

    /// Ends it, and returns its standard output.
    pub(crate) fn end(mut self) -> Vec<Value> {
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

/// `POST /audit`, as an HTTP API sends it.
pub(crate) fn request(body: &str, authorizer: &Value) -> String {
    json!({
        "version": "2.0", "rawPath": "/audit", "rawQueryString": "", "headers": {},
        "requestContext": {
            "stage": "$default", "requestId": "request-1", "authorizer": authorizer,
            "http": { "method": "POST", "path": "/audit" },
        },
        "body": body, "isBase64Encoded": false,
    })
    .to_string()
}

/// A direct call with these audit events.
pub(crate) fn direct(events: &[Value]) -> String {
    json!({ "auditEvents": events }).to_string()
}

/// The status and the body of a response.
pub(crate) fn parts(response: &str) -> (u64, Value) {
    let response: Value = serde_json::from_str(response).unwrap();
    let body = serde_json::from_str(response["body"].as_str().unwrap()).unwrap();
    (response["statusCode"].as_u64().unwrap(), body)
}

/// An audit event with this id and some more.
pub(crate) fn event(id: &str, more: &Value) -> Value {
    let mut event = json!({
        "id": id, "resourceId": "123bbb", "action": "viewed", "accessedBy": "joe1",
        "timestamp": "2017-03-01T08:00:00Z",
    });
    event.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    event
}
