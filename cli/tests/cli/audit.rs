//! `keyfold audit` from end to end: the whole stack on this machine, an anchor in a folder, and a changed event.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Output;

use keyfold_core::value::AttributeValue;
use keyfold_dynamo::{BatchGet, batch_get, put};
use keyfold_local::{AllowedHosts, Stack, StackOptions};
use serde_json::{Value, json};

use crate::support::{keyfold, keyfold_in, root};

fn text(output: &Output) -> String {
    String::from_utf8([&*output.stdout, &*output.stderr].concat()).unwrap()
}

/// Sends one event to the audit writer; the status of its answer.
fn post(api: &str, event: &Value) -> String {
    let host = api.trim_start_matches("http://");
    let mut stream = TcpStream::connect(host).unwrap();
    let body = event.to_string();
    write!(
        stream,
        "POST /audit HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.lines().next().unwrap().to_owned()
}

async fn stack(folder: &Path, manifest: &str) -> Stack {
    let path = folder.join("keyfold.toml");
    std::fs::write(&path, manifest).unwrap();
    let model = keyfold_core::manifest::parse("keyfold.toml", manifest).model.unwrap();
    let options = StackOptions {
        manifest: path,
        data: None,
        port: 0,
        api_port: 0,
        functions: None,
        hosts: AllowedHosts::default(),
        sweep_every: std::time::Duration::from_secs(60),
    };
    Stack::start(&model, &options).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trail_is_anchored_and_verified_and_a_change_is_named_by_its_key() {
    let folder = tempfile::tempdir().unwrap();
    let sample = std::fs::read_to_string(root().join("keyfold.toml")).unwrap();
    let manifest = sample.replace("[deploy]", "[deploy]\naudit-journal = \"Journal\"");
    let stack = stack(folder.path(), &manifest).await;
    let endpoint = stack.dynamo().endpoint().to_owned();
    let anchors = folder.path().join("anchors").display().to_string();
    std::fs::create_dir(&anchors).unwrap();
    let on = |arguments: &[&str]| {
        let words = [&["audit"], arguments, &["--endpoint", &endpoint]].concat();
        keyfold_in(folder.path(), &words).output().unwrap()
    };
    let nothing = on(&["verify"]);
    assert_eq!(nothing.status.code(), Some(1));
    assert!(text(&nothing).contains("does not say when it began"), "{}", text(&nothing));

    for id in ["1", "2", "3"] {
        let event = json!({
            "id": id, "resourceId": "123bbb", "action": "viewed", "accessedBy": "secret-joe",
            "timestamp": "2017-03-01T08:00:00Z",
        });
        assert_eq!(post(&stack.api(), &event), "HTTP/1.1 201 Created");
    }
    let today = keyfold_trail::now()[..10].to_owned();
    for _ in 0..2 {
        let anchored = on(&["anchor", "--anchors", &anchors, "--day", &today]);
        assert!(
            anchored.status.success() && text(&anchored).contains("1 chain, 6 rows"),
            "{}",
            text(&anchored)
        );
    }
    let clean = on(&["verify", "--anchors", &anchors]);
    assert!(clean.status.success(), "{}", text(&clean));
    assert!(text(&clean).contains("the trail is as it was written"), "{}", text(&clean));
    let warned = on(&["verify", "--day", &today]);
    assert!(warned.status.success() && text(&warned).contains("without anchors"), "{}", text(&warned));

    let model = keyfold_core::manifest::parse("keyfold.toml", &manifest).model.unwrap();
    let (client, table) = (stack.dynamo().client(), model.table("audit").unwrap());
    let keys = vec![serde_json::from_str(r#"{"id":{"S":"2"}}"#).unwrap()];
    let get = BatchGet { table: table.name.clone(), keys, consistent: true, ..BatchGet::default() };
    let mut item = batch_get(&client, &get).await.unwrap().items.remove(0);
    item.insert("action".to_owned(), AttributeValue::S("deleted".to_owned()));
    put(&client, table, item).await.unwrap();
    let found = on(&["verify", "--anchors", &anchors]);
    assert_eq!(found.status.code(), Some(1));
    assert!(text(&found).starts_with("changed {\"id\":\"2\"}\n"), "{}", text(&found));
    assert!(text(&found).contains("the trail is NOT as it was written"));
    let found = on(&["verify", "--anchors", &anchors, "--json"]);
    let value: Value = serde_json::from_slice(&found.stdout).unwrap();
    assert_eq!((&value["clean"], &value["found"]), (&json!(false), &json!({ "changed": 1 })));
    assert_eq!(value["findings"], json!([{ "kind": "changed", "key": { "id": "2" } }]));
    assert_eq!((&value["events"]["proved"], &value["anchors"]), (&json!(2), &json!(2)));
    assert!(!text(&found).contains("secret-joe"), "contents are not shown");

    // An anchor that was changed or removed is found too, and no further one is made.
    let mut files: Vec<_> = std::fs::read_dir(&anchors).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let first = std::fs::read_to_string(&files[0]).unwrap();
    std::fs::write(&files[0], first.replace("\"rows\": 6", "\"rows\": 5")).unwrap();
    let found = on(&["verify", "--anchors", &anchors]);
    assert!(text(&found).contains("anchor-broken"), "{}", text(&found));
    let refused = on(&["anchor", "--anchors", &anchors, "--day", &today]);
    assert!(text(&refused).contains("do not follow one another"), "{}", text(&refused));
    stack.shutdown();
}

#[test]
fn without_a_journal_the_command_says_what_to_do() {
    let output = keyfold(&["audit", "verify"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output).contains("set `audit-journal` under [deploy]"), "{}", text(&output));
}
