//! The whole stack on one machine, over its ports.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::path::{Path, PathBuf};
use std::time::Duration;

use keyfold_core::manifest;
use keyfold_core::model::Model;
use keyfold_core::retrofit::{Epoch, Job, Mapping};
use keyfold_core::value::{AttributeValue, Item};
use keyfold_dynamo::retrofit::{RequestSender, RetrofitState};
use keyfold_dynamo::{BatchGet, batch_get, put};
use keyfold_local::{AllowedHosts, CONTROL_TABLE, MissingIndex, Stack, StackError, StackOptions};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// How often to check for the result of another task, and the pause between two checks.
const LOOKS_MAX: usize = 200;
const LOOK: Duration = Duration::from_millis(50);

fn manifest_path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../keyfold.toml")
}

fn model() -> Model {
    manifest::parse("keyfold.toml", &std::fs::read_to_string(manifest_path()).unwrap()).model.unwrap()
}

fn options() -> StackOptions {
    StackOptions {
        manifest: manifest_path(),
        data: None,
        port: 0,
        api_port: 0,
        functions: None,
        hosts: AllowedHosts::default(),
        sweep_every: LOOK,
    }
}

#[tokio::test]
async fn an_item_whose_time_is_over_goes_and_another_stays() {
    let manifest = "[tables.notes]\npartition = \"id\"\nttl = \"until\"\n\
                    [tables.notes.attributes]\nid = \"string\"\nuntil = \"number\"\n";
    let model = manifest::parse("notes.toml", manifest).model.unwrap();
    let table = model.table("notes").unwrap();
    let stack = Stack::start(&model, &options()).await.unwrap();
    let client = stack.dynamo().client();
    let item = |id: &str, until: &str| {
        Item::from(std::collections::HashMap::from([
            ("id".to_owned(), AttributeValue::S(id.to_owned())),
            ("until".to_owned(), AttributeValue::N(until.to_owned())),
        ]))
    };
    put(&client, table, item("stays", "9000000000")).await.unwrap();
    put(&client, table, item("goes", "1700000000")).await.unwrap();
    let left = || async {
        let scanned = client.scan().table_name(&table.name).send().await.unwrap();
        scanned.items().iter().map(|item| item["id"].as_s().unwrap().clone()).collect::<Vec<_>>()
    };
    for _ in 0..LOOKS_MAX {
        if left().await.len() == 1 {
            break;
        }
        tokio::time::sleep(LOOK).await;
    }
    assert_eq!(left().await, ["stays"]);
}

async fn ask(stack: &Stack, method: &str, path: &str, body: &str, more: &str) -> (u16, Value) {
    let address = stack.api().strip_prefix("http://").unwrap().to_owned();
    let mut stream = TcpStream::connect(&address).await.unwrap();
    let host = if more.contains("host:") { String::new() } else { format!("host: {address}\r\n") };
    let request = format!(
        "{method} {path} HTTP/1.1\r\n{host}{more}content-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    let status = text.split(' ').nth(1).unwrap().parse().unwrap();
    let body = text.split_once("\r\n\r\n").unwrap().1;
    (status, serde_json::from_str(body).unwrap_or(Value::Null))
}

fn event(id: &str) -> Value {
    json!({ "id": id, "resourceId": "r1", "action": "viewed", "accessedBy": "joe1", "timestamp": "2017-03-01T08:00:00Z" })
}

const QUESTION: &str =
    "/tables/audit/questions/whenDidUserActOnResource?resourceId=r1&action=viewed&accessedBy=joe1";

#[tokio::test]
async fn what_is_posted_is_found_by_its_question_and_survives_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let options = StackOptions { data: Some(folder.path().join("data")), ..options() };
    let stack = Stack::start(&model(), &options).await.unwrap();
    assert_eq!(ask(&stack, "GET", "/health", "", "").await.0, 200);
    let (status, body) = ask(&stack, "POST", "/audit", &event("e1").to_string(), "").await;
    assert_eq!(status, 201, "{body}");
    let (status, body) = ask(&stack, "GET", QUESTION, "", "").await;
    assert_eq!((status, &body["items"][0]["id"]), (200, &json!("e1")), "{body}");
    assert_eq!(ask(&stack, "GET", "/console/model", "", "").await.0, 200);
    let busy = Stack::start(&model(), &options).await.unwrap_err();
    assert!(matches!(busy, StackError::Embedded(_)), "{busy}");
    stack.shutdown();

    let stack = Stack::start(&model(), &options).await.unwrap();
    let (_, body) = ask(&stack, "GET", QUESTION, "", "").await;
    assert_eq!(body["items"][0]["id"], "e1", "{body}");
}

#[tokio::test]
async fn a_table_of_an_earlier_run_that_lacks_an_index_starts_and_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let options = StackOptions { data: Some(folder.path().to_owned()), ..options() };
    let full = model();
    let at = full.tables.iter().position(|table| table.id == "audit").unwrap();
    let mut before = full.clone();
    let index = before.tables[at].indexes.pop().unwrap();
    let stack = Stack::start(&before, &options).await.unwrap();
    assert_eq!(stack.missing(), []);
    stack.shutdown();

    let missing = MissingIndex { table: "audit".to_owned(), index: index.name.clone() };
    for _ in 0..2 {
        let stack = Stack::start(&full, &options).await.unwrap();
        assert_eq!(stack.missing(), std::slice::from_ref(&missing), "it is not added by itself");
        assert_eq!(ask(&stack, "GET", "/health", "", "").await.0, 200);
        stack.shutdown();
    }

    // A key cannot become another one.
    let mut other = full.clone();
    other.tables[at].partition.name = "other".to_owned();
    let error = Stack::start(&other, &options).await.unwrap_err();
    assert!(matches!(error, StackError::Differs(_)), "{error}");
}

#[tokio::test]
async fn a_page_of_another_site_gets_nothing() {
    let stack = Stack::start(&model(), &options()).await.unwrap();
    assert_eq!(ask(&stack, "GET", "/health", "", "host: evil.example\r\n").await.0, 403);
    let origin = "origin: http://evil.example\r\n";
    assert_eq!(ask(&stack, "POST", "/audit", &event("e1").to_string(), origin).await.0, 403);
}

#[tokio::test]
async fn a_started_retrofit_is_followed() {
    let model = model();
    let stack = Stack::start(&model, &options()).await.unwrap();
    begun_with_an_item(&stack, &model).await;
    is_carried_over(&stack, &model).await;
}

#[tokio::test]
async fn a_retrofit_that_the_manifest_has_only_later_is_followed_without_a_restart() {
    let full = model();
    let mut before = full.clone();
    before.retrofits.clear();
    before.tables.retain(|table| table.id != "audit");
    let mut stack = Stack::start(&before, &options()).await.unwrap();
    stack.reload(&full).await.unwrap();
    begun_with_an_item(&stack, &full).await;
    is_carried_over(&stack, &full).await;
    // A table that is there otherwise: everything goes on as before.
    let mut other = full.clone();
    other.tables.iter_mut().for_each(|table| table.partition.name = "another".to_owned());
    let error = stack.reload(&other).await.unwrap_err();
    assert!(matches!(error, StackError::Differs(_)), "{error}");
    assert_eq!(ask(&stack, "GET", "/health", "", "").await.0, 200);
}

/// The retrofit begins, and its source gets an item.
async fn begun_with_an_item(stack: &Stack, model: &Model) {
    let client = stack.dynamo().client();
    let job = Job::new(Mapping::of(model, "auditV2").unwrap(), Epoch::FIRST);
    let sender = RequestSender::new(client.clone(), job, CONTROL_TABLE);
    let stream = sender.preflight(true).await.unwrap();
    let item: Item = event("e1")
        .as_object()
        .unwrap()
        .iter()
        .map(|(name, value)| (name.clone(), AttributeValue::S(value.as_str().unwrap().to_owned())))
        .collect::<std::collections::HashMap<_, _>>()
        .into();
    put(&client, model.table("audit-legacy").unwrap(), item).await.unwrap();
    sender.store(&RetrofitState::started(sender.job().mapping(), stream.as_deref()), None).await.unwrap();
}

/// The replicator carries the item into the target.
async fn is_carried_over(stack: &Stack, model: &Model) {
    let client = stack.dynamo().client();
    let key: Item =
        std::collections::HashMap::from([("id".to_owned(), AttributeValue::S("e1".to_owned()))]).into();
    let get = BatchGet {
        table: model.table("audit").unwrap().name.clone(),
        keys: vec![key],
        consistent: true,
        ..BatchGet::default()
    };
    for _ in 0..LOOKS_MAX {
        if let Some(found) = batch_get(&client, &get).await.unwrap().items.pop() {
            let folded = AttributeValue::S("r1-viewed-joe1".to_owned());
            assert_eq!(found.get("byResourceActionUser_pk"), Some(&folded));
            return;
        }
        tokio::time::sleep(LOOK).await;
    }
    panic!("the record was not carried over");
}

#[tokio::test]
async fn what_is_in_the_way_is_named() {
    let taken = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = taken.local_addr().unwrap().port();
    let error = Stack::start(&model(), &StackOptions { api_port: port, ..options() }).await.unwrap_err();
    assert_eq!(error.to_string(), format!("port {port} is in use; give another with --api-port"));
    let error = Stack::start(&model(), &StackOptions { port, ..options() }).await.unwrap_err();
    assert!(error.to_string().contains(&port.to_string()), "{error}");
    let folder = tempfile::tempdir().unwrap();
    let functions = Some(folder.path().to_owned());
    let error = Stack::start(&model(), &StackOptions { functions, ..options() }).await.unwrap_err();
    assert!(error.to_string().starts_with("there is no `query-api` in"), "{error}");
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let error = Stack::start(&model(), &StackOptions { data: Some(file), ..options() }).await.unwrap_err();
    assert!(error.to_string().starts_with("cannot create the folder"), "{error}");
}
