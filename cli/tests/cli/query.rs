//! `keyfold query` and `ask`.

use keyfold_core::value::AttributeValue;
use serde_json::{Value, json};

use crate::support::{Site, assert_words, json_of, keyfold, keyfold_in, refusal_of, root, stderr, stdout};

#[tokio::test(flavor = "multi_thread")]
async fn a_question_is_asked_of_an_endpoint_page_by_page() {
    let site = Site::new(&std::fs::read_to_string(root().join("examples/projects/keyfold.toml")).unwrap());
    let table = site.table("projects");
    let lines = std::fs::read_to_string(root().join("examples/projects/projects.jsonl")).unwrap();
    let items: Vec<_> = lines
        .lines()
        .map(|line| serde_dynamo::to_item(serde_json::from_str::<Value>(line).unwrap()).unwrap())
        .collect();
    site.create(table, false).await;
    keyfold_dynamo::load(&site.client(), table, futures_util::stream::iter(items.clone())).await.unwrap();
    let ask = |more: &[&str]| {
        let words =
            ["query", "--table", "projects", "--where", "organisationId=acme", "--order", "projectId"];
        site.done(&[&words, more].concat())
    };
    let whole = ask(&["--all", "--limit", "2"]);
    let expected = items.iter().filter(|item| item["organisationId"] == AttributeValue::S("acme".to_owned()));
    assert_eq!(whole["items"].as_array().unwrap().len(), expected.count());
    assert_eq!(ask(&["--limit", "2"])["more"], true);
    assert_eq!(ask(&["--count"])["count"], whole["count"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_of_the_manifest_is_asked_by_name_and_printed_in_three_forms() {
    let site = Site::sample();
    let table = site.table("audit");
    let event = |id: &str, name: &str| {
        let event = json!({
            "id": id, "resourceId": "r1", "action": "viewed", "accessedBy": "joe", "timestamp": "2017-03-01T08:00:00.000Z",
            "resourceName": name, "note": { "pages": [1, 2] }
        });
        serde_dynamo::to_item(event).unwrap()
    };
    let items = [event("e1", "a, \"b\"\nc"), event("e2", "plain")];
    site.create(table, false).await;
    site.create(&keyfold_core::retrofit::control::table("keyfold-control"), false).await;
    keyfold_dynamo::load(&site.client(), table, futures_util::stream::iter(items)).await.unwrap();
    let ask = |more: &[&str]| {
        let output =
            keyfold(&[&["ask", "getEvent", "id=e1", "--endpoint", site.dynamo().endpoint()], more].concat());
        assert!(output.status.success(), "{}", stderr(&output));
        output
    };
    let names = "id,accessedBy,action,resourceId,resourceName,timestamp,note";
    let csv = "e1,joe,viewed,r1,\"a, \"\"b\"\"\nc\",2017-03-01T08:00:00.000Z,\"{\"\"pages\"\":[1,2]}\"";
    assert_eq!(stdout(&ask(&["--output", "csv"])), format!("{names}\n{csv}\n"));
    let with_keys = stdout(&ask(&["--output", "csv", "--keys"]));
    assert!(with_keys.starts_with(&format!("{names},byAction_pk,byResourceActionUser_pk\n")), "{with_keys}");
    let line = ask(&["--output", "jsonl"]);
    let item: Value = serde_json::from_str(&stdout(&line)).unwrap();
    assert_eq!(
        (item["resourceName"].as_str(), item["note"]["pages"][1].as_u64()),
        (Some("a, \"b\"\nc"), Some(2))
    );
    assert_eq!(item.get("byResourceActionUser_pk"), None);
    assert!(stderr(&line).starts_with("1 items"), "{}", stderr(&line));
    let shown = stdout(&ask(&[]));
    assert!(shown.starts_with("id  accessedBy  action") && shown.contains("\n1 items"), "{shown}");
}

#[test]
fn a_refused_question_is_a_problem_document_for_programs() {
    let refused = |arguments: &[&str]| -> Value {
        let output = keyfold(&[&["--json"], arguments].concat());
        assert_eq!(output.status.code(), Some(1), "{}", stdout(&output));
        serde_json::from_str(&stderr(&output)).unwrap()
    };
    let code = |arguments: &[&str]| refused(arguments)["code"].as_str().unwrap().to_owned();
    assert_eq!(code(&["ask", "whatDidUserDo"]), "missing-parameter");
    assert_eq!(code(&["ask", "whatDidUserDo", "accessedBy=j", "who=j"]), "unknown-parameter");
    assert_eq!(code(&["ask", "whatDidUserDo", "accessedBy=j", "action=seen"]), "unlisted-value");
    assert_eq!(code(&["ask", "nothing"]), "unknown-question");
    assert_eq!(code(&["ask", "--table", "audit", "nothing"]), "unknown-question");
    let unserved = refused(&["explain", "--table", "audit", "--where", "resourceName=Thing"]);
    assert_eq!(unserved["code"], "needs-scan");
    assert!(
        unserved["rejected"].as_array().unwrap().iter().all(|turned| turned["reason"].is_string()),
        "{unserved}"
    );
    assert!(unserved["suggestion"].as_str().unwrap().contains("resourceName"), "{unserved}");
    let missing = refused(&["--manifest", "no-such-file.toml", "ask"]);
    assert!(missing["detail"].as_str().unwrap().contains("no-such-file.toml"), "{missing}");
    let both = refused(&["ask", "getEvent", "id=e1", "--output", "csv"]);
    assert!(both["detail"].as_str().unwrap().contains("--output"), "{both}");
}

#[test]
fn questions_are_listed_with_their_parameters() {
    let listed = json_of(&keyfold(&["--json", "ask"]));
    assert_eq!(listed[1]["question"], "whenDidUserActOnResource");
    assert_eq!(listed[1]["parameters"], "resourceId= action= accessedBy= [timestamp.beginsWith=]");
    assert!(stdout(&keyfold(&["ask"])).contains("getEvent"));
}

#[test]
fn missing_credentials_a_missing_region_and_a_wrong_port_are_told_apart() {
    let query = |words: &[&str], variables: &[(&str, &str)]| {
        let mut command = keyfold_in(root(), &["query", "--table", "audit", "--where", "id=e1"]);
        command.env_clear().envs([("HOME", "/nonexistent"), ("AWS_EC2_METADATA_DISABLED", "true")]);
        refusal_of(&command.args(words).envs(variables.iter().copied()).output().unwrap())
    };
    let keys = [("AWS_ACCESS_KEY_ID", "a"), ("AWS_SECRET_ACCESS_KEY", "b")];
    let region = query(&[], &keys);
    assert_words(&region, &["no region is set", "(no-region)", "\nhint: set AWS_REGION"]);
    let credentials = query(&[], &[("AWS_REGION", "eu-west-1")]);
    assert_words(&credentials, &["no credentials were found", "(no-credentials)", "\nhint: set AWS_PROFILE"]);
    let port = query(&["--endpoint", "http://127.0.0.1:1"], &[]);
    assert_words(&port, &["did not reach DynamoDB: ", "Connection refused", "(not-reached)", "\nhint: "]);
    assert!(!port.contains("credentials") && !port.contains("region"), "{port}");
}
