//! The `keyfold` command as its users run it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

fn keyfold(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_keyfold"))
        .current_dir(root())
        .env_remove("KEYFOLD_MANIFEST")
        .env("NO_COLOR", "1")
        .args(arguments)
        .output()
        .unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn json(arguments: &[&str]) -> Value {
    let output = keyfold(arguments);
    assert!(output.status.success(), "{}", stderr(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

const EVENT: &str = r#"{"id":"1","resourceId":"123ccc","action":"viewed","accessedBy":"joe1","timestamp":"2017-05-01T00:00:00.000"}"#;

#[test]
fn the_samples_are_clean_and_every_question_is_served() {
    for manifest in ["keyfold.toml", "examples/pets/keyfold.toml", "examples/projects/keyfold.toml"] {
        let check = keyfold(&["--manifest", manifest, "check", "--strict"]);
        assert!(check.status.success(), "{manifest}: {}", stderr(&check));
        let plan = keyfold(&["--manifest", manifest, "plan"]);
        assert!(plan.status.success(), "{manifest}: {}", stdout(&plan));
    }
}

#[test]
fn a_manifest_with_mistakes_exits_with_1_and_shows_each() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keyfold.toml");
    std::fs::write(
        &path,
        "[tables.t]\npartition = \"{id}-{nope}\"\ncolour = 1\n[tables.t.attributes]\nid = \"string\"\n",
    )
    .unwrap();
    let check = keyfold(&["--manifest", path.to_str().unwrap(), "check"]);
    assert_eq!(check.status.code(), Some(1));
    let shown = stderr(&check);
    assert!(shown.contains("unknown attribute `nope`") && shown.contains("unknown-field"), "{shown}");
    assert!(shown.contains("keyfold.toml:2:") && shown.contains("keyfold.toml:3:"), "{shown}");
    let machine = keyfold(&["--manifest", path.to_str().unwrap(), "check", "--json"]);
    assert_eq!(machine.status.code(), Some(1));
    let value: Value = serde_json::from_slice(&machine.stdout).unwrap();
    assert_eq!(value["errors"], value["diagnostics"].as_array().unwrap().len(), "{value}");
}

#[test]
fn an_item_is_folded_and_its_key_unfolds() {
    let folded = json(&["--json", "fold", "--table", "audit", "--item", EVENT]);
    assert_eq!(folded["item"]["byResourceActionUser_pk"], "123ccc-viewed-joe1");
    assert_eq!(folded["indexes"].as_array().unwrap().len(), 3);
    let unfolded = json(&["--json", "unfold", "--table", "audit", "123ccc-viewed-joe1"]);
    assert_eq!(unfolded["parts"]["accessedBy"], "joe1");
}

#[test]
fn an_item_that_is_absent_from_an_index_shows_why() {
    let text = r#"{"owner":"ana","petId":"a1","species":"parrot","born":"2015-04-01","words":5}"#;
    let output =
        keyfold(&["--manifest", "examples/pets/keyfold.toml", "fold", "--table", "pets", "--item", text]);
    let shown = stdout(&output);
    assert!(shown.contains("parrot:words:000005"), "{shown}");
    assert!(shown.contains("not in it: attribute `skill` is missing"), "{shown}");
}

#[test]
fn bad_items_are_named_by_their_key_and_never_shown() {
    let item = r#"{"id":"1","resourceId":"secret","action":"stolen","accessedBy":"joe1","timestamp":"2017-05-01T00:00:00.000"}"#;
    let output = keyfold(&["fold", "--table", "audit", "--item", item]);
    assert_eq!(output.status.code(), Some(1));
    let shown = stderr(&output);
    assert!(shown.contains("action") && shown.contains("audit") && shown.contains("id="), "{shown}");
    assert!(!shown.contains("stolen") && !shown.contains("secret"), "{shown}");
}

#[test]
fn a_question_is_explained_without_a_database() {
    let plan = json(&[
        "--json",
        "explain",
        "--table",
        "audit",
        "--where",
        "resourceId=123ccc",
        "--where",
        "action=viewed",
        "--where",
        "accessedBy=joe1",
        "--where",
        "timestamp^=2017-03",
        "--order",
        "-timestamp",
    ]);
    assert_eq!(plan["reads"][0]["source"], "index byResourceActionUser");
    assert_eq!(plan["reads"][0]["descending"], true);
    assert_eq!(
        plan["reads"][0]["keyCondition"],
        r#"byResourceActionUser_pk = "123ccc-viewed-joe1" AND begins_with(timestamp, "2017-03")"#
    );
}

#[test]
fn an_explanation_names_the_retrofit_that_must_be_cut_over_first() {
    let explained = |condition: &str| keyfold(&["explain", "--table", "audit", "--where", condition]);
    let (folded, own) = (explained("action=viewed"), explained("id=e1"));
    assert!(stderr(&folded).contains("retrofit `auditV2` is cut over"), "{}", stderr(&folded));
    assert!(stdout(&folded).contains("index byAction"), "{}", stdout(&folded));
    assert_eq!((stderr(&own).contains("auditV2"), own.status.success()), (false, true), "{}", stderr(&own));
}

#[test]
fn what_only_a_scan_can_answer_is_refused_with_the_index_that_would() {
    let output = keyfold(&["explain", "--table", "audit", "--where", "resourceName=Thing"]);
    assert_eq!(output.status.code(), Some(1));
    let shown = stderr(&output);
    assert!(shown.contains("without a scan") && shown.contains("partition = \"resourceName\""), "{shown}");
}

#[test]
fn wrong_usage_exits_with_2() {
    assert_eq!(keyfold(&["fold"]).status.code(), Some(2));
    assert_eq!(keyfold(&["nonsense"]).status.code(), Some(2));
    let missing = keyfold(&["--manifest", "no-such-file.toml", "check"]);
    assert_eq!(missing.status.code(), Some(1));
    assert!(stderr(&missing).contains("no-such-file.toml"));
}

#[test]
fn the_schema_is_json() {
    let schema = json(&["schema"]);
    assert_eq!(schema["type"], "object");
}

#[test]
fn the_demo_ends_with_the_whole_answer() {
    for way in [
        ["--json", "demo", "--items", "3000"].as_slice(),
        &["--json", "demo", "--items", "3000", "--in-place"],
    ] {
        let summary = json(way);
        assert_eq!(
            summary["keyfold"],
            serde_json::json!({ "lost": 0, "stale": 0, "ghosts": 0 }),
            "{summary}"
        );
        assert_eq!(summary["answer"], summary["expected"], "{summary}");
        assert!(
            summary["expected"].as_u64().unwrap() > 0 && summary["recordsCarriedOver"].as_u64().unwrap() > 0,
            "{summary}"
        );
        assert!(summary["written"].as_u64().unwrap() > 2500, "{summary}");
    }
}

#[test]
fn a_question_is_asked_of_an_endpoint_page_by_page() {
    use keyfold_dynamo::{TableOptions, load};
    let manifest = "examples/projects/keyfold.toml";
    let text = std::fs::read_to_string(root().join(manifest)).unwrap();
    let model = keyfold_core::manifest::parse(manifest, &text).model.unwrap();
    let table = model.table("projects").unwrap();
    let server = keyfold_local::EmbeddedDynamo::memory().unwrap();
    let lines = std::fs::read_to_string(root().join("examples/projects/projects.jsonl")).unwrap();
    let items: Vec<_> = lines
        .lines()
        .map(|line| serde_dynamo::to_item(serde_json::from_str::<Value>(line).unwrap()).unwrap())
        .collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        server.create_tables([table], TableOptions::default()).await.unwrap();
        load(&server.client(), table, futures_util::stream::iter(items.clone())).await.unwrap();
    });
    let ask = |more: &[&str]| {
        let mut arguments = vec!["--manifest", manifest, "--json", "query", "--table", "projects", "--where"];
        arguments.extend(["organisationId=acme", "--order", "projectId", "--endpoint", server.endpoint()]);
        arguments.extend(more);
        json(&arguments)
    };
    let whole = ask(&["--all", "--limit", "2"]);
    let expected = items
        .iter()
        .filter(|item| item["organisationId"] == keyfold_core::value::AttributeValue::S("acme".to_owned()));
    assert_eq!(whole["items"].as_array().unwrap().len(), expected.count());
    assert_eq!(ask(&["--limit", "2"])["more"], true);
    let counted = ask(&["--count"]);
    assert_eq!(counted["count"], whole["count"]);
}

#[test]
fn a_question_of_the_manifest_is_asked_by_name_and_printed_in_three_forms() {
    use keyfold_dynamo::{TableOptions, load};
    let text = std::fs::read_to_string(root().join("keyfold.toml")).unwrap();
    let model = keyfold_core::manifest::parse("keyfold.toml", &text).model.unwrap();
    let table = model.table("audit").unwrap();
    let server = keyfold_local::EmbeddedDynamo::memory().unwrap();
    let event = |id: &str, name: &str| {
        let event = serde_json::json!({
            "id": id, "resourceId": "r1", "action": "viewed", "accessedBy": "joe", "timestamp": "2017-03-01T08:00:00.000Z",
            "resourceName": name, "note": { "pages": [1, 2] }
        });
        serde_dynamo::to_item(event).unwrap()
    };
    let items = [event("e1", "a, \"b\"\nc"), event("e2", "plain")];
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        server.create_tables([table], TableOptions::default()).await.unwrap();
        server
            .create_tables(
                [&keyfold_core::retrofit::control::table("keyfold-control")],
                TableOptions::default(),
            )
            .await
            .unwrap();
        load(&server.client(), table, futures_util::stream::iter(items)).await.unwrap();
    });
    let ask = |more: &[&str]| {
        let mut arguments = vec!["ask", "getEvent", "id=e1", "--endpoint", server.endpoint()];
        arguments.extend(more);
        let output = keyfold(&arguments);
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
    let listed = json(&["--json", "ask"]);
    assert_eq!(listed[1]["question"], "whenDidUserActOnResource");
    assert_eq!(listed[1]["parameters"], "resourceId= action= accessedBy= [timestamp.beginsWith=]");
    assert!(stdout(&keyfold(&["ask"])).contains("getEvent"));
}

#[test]
fn the_secret_that_the_template_makes_is_a_key_of_page_tokens() {
    let template = json(&["template", "--format", "json"]);
    let made = &template["Resources"]["PageTokenKey"]["Properties"]["GenerateSecretString"];
    assert_eq!((&made["PasswordLength"], &made["ExcludePunctuation"]), (&42.into(), &true.into()));
    assert_eq!(made["GenerateStringKey"], "key");
    for generated in ["z9".repeat(21), "0".repeat(42), "z".repeat(41)] {
        let text = serde_json::json!({ "key": generated }).to_string();
        let version = keyfold_dynamo::SecretVersion { id: "1b0b5a4e".to_owned(), text };
        assert!(keyfold_dynamo::TokenKeys::of_versions(&[version]).is_ok());
    }
}

#[test]
fn the_template_is_printed_checked_and_staged() {
    let printed = keyfold(&["template"]);
    let text = std::fs::read_to_string(root().join("template.yaml")).unwrap();
    assert_eq!(stdout(&printed), text);
    let right = keyfold(&["template", "--check"]);
    assert!(right.status.success(), "{}", stderr(&right));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("template.yaml");
    std::fs::write(&path, text.replace("StartingPosition: TRIM_HORIZON", "StartingPosition: LATEST"))
        .unwrap();
    let wrong = keyfold(&["template", "--check", path.to_str().unwrap()]);
    assert_eq!(wrong.status.code(), Some(1));
    assert!(
        stderr(&wrong).contains("`AuditV2ReplicatorMapping.Properties.StartingPosition`: is \"LATEST\""),
        "{}",
        stderr(&wrong)
    );
    let rights = json(&["template", "--format", "json", "--only", "rights"]);
    assert_eq!(rights["AuditV2ReplicatorFunction"]["environment"]["KEYFOLD_RETROFIT"], "auditV2");
    assert_eq!(rights["AuditV2ReplicatorFunction"]["mappings"].as_array().unwrap().len(), 2);
    let staged = json(&["--json", "template", "--stages"]);
    assert_eq!(staged.as_array().unwrap().len(), 3);
    assert_eq!(staged[0]["adds"]["audit"], "byResourceActionUser");
    let rest = keyfold(&["template", "--stages", "--have", "audit.byAction", "--have", "audit.byUserAction"]);
    assert_eq!(stdout(&rest), "deployment 1: index `byResourceActionUser` to table `audit`\n");
    let unknown = keyfold(&["template", "--stages", "--have", "audit.nope"]);
    assert!(!unknown.status.success() && stderr(&unknown).contains("`audit.nope`"));
}
