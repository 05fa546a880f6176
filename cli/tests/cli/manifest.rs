//! The commands that need no DynamoDB: check, fold, explain, schema, template, demo.

use serde_json::{Value, json};

use crate::support::{assert_words, json_of, keyfold, refusal_of, root, stderr, stdout};

fn json(words: &[&str]) -> Value {
    json_of(&keyfold(words))
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
    let shown = refusal_of(&keyfold(&["--manifest", path.to_str().unwrap(), "check"]));
    assert_words(
        &shown,
        &["unknown attribute `nope`", "unknown-field", "keyfold.toml:2:", "keyfold.toml:3:"],
    );
    let machine = keyfold(&["--manifest", path.to_str().unwrap(), "check", "--json"]);
    assert_eq!(machine.status.code(), Some(1));
    let value: Value = serde_json::from_slice(&machine.stdout).unwrap();
    assert_eq!(value["errors"], value["diagnostics"].as_array().unwrap().len(), "{value}");
}

#[test]
fn the_schema_is_json_and_completions_know_the_commands() {
    assert_eq!(json(&["schema"])["type"], "object");
    assert_words(&stdout(&keyfold(&["completions", "zsh"])), &["keyfold", "retrofit", "--endpoint"]);
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
    assert_words(&stdout(&output), &["parrot:words:000005", "not in it: attribute `skill` is missing"]);
}

#[test]
fn bad_items_are_named_by_their_key_and_never_shown() {
    let item = r#"{"id":"1","resourceId":"secret","action":"stolen","accessedBy":"joe1","timestamp":"2017-05-01T00:00:00.000"}"#;
    let shown = refusal_of(&keyfold(&["fold", "--table", "audit", "--item", item]));
    assert_words(&shown, &["action", "audit", "id="]);
    assert!(!shown.contains("stolen") && !shown.contains("secret"), "{shown}");
}

#[test]
fn a_question_is_explained_without_a_database() {
    let conditions = ["resourceId=123ccc", "action=viewed", "accessedBy=joe1", "timestamp^=2017-03"];
    let mut words = vec!["--json", "explain", "--table", "audit", "--order", "-timestamp"];
    words.extend(conditions.iter().flat_map(|one| ["--where", one]));
    let plan = json(&words);
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
    assert!(stderr(&folded).contains("after `keyfold retrofit switch auditV2`"), "{}", stderr(&folded));
    assert!(stdout(&folded).contains("index byAction"), "{}", stdout(&folded));
    assert_eq!((stderr(&own).contains("auditV2"), own.status.success()), (false, true), "{}", stderr(&own));
}

#[test]
fn what_only_a_scan_can_answer_is_refused_with_the_index_that_would() {
    let shown = refusal_of(&keyfold(&["explain", "--table", "audit", "--where", "resourceName=Thing"]));
    assert_words(&shown, &["without a scan", "partition = \"resourceName\""]);
}

#[test]
fn wrong_usage_exits_with_2_and_a_missing_manifest_with_1() {
    assert_eq!(keyfold(&["fold"]).status.code(), Some(2));
    assert_eq!(keyfold(&["nonsense"]).status.code(), Some(2));
    let missing = refusal_of(&keyfold(&["--manifest", "no-such-file.toml", "check"]));
    assert_words(&missing, &["no-such-file.toml"]);
}

#[test]
fn the_demo_ends_with_the_whole_answer() {
    for way in [
        ["--json", "demo", "--items", "3000"].as_slice(),
        &["--json", "demo", "--items", "3000", "--in-place"],
    ] {
        let summary = json(way);
        assert_eq!(summary["keyfold"], json!({ "lost": 0, "stale": 0, "ghosts": 0 }), "{summary}");
        assert_eq!(summary["answer"], summary["expected"], "{summary}");
        assert!(
            summary["expected"].as_u64().unwrap() > 0 && summary["recordsCarriedOver"].as_u64().unwrap() > 0,
            "{summary}"
        );
        assert!(summary["written"].as_u64().unwrap() > 2500, "{summary}");
    }
}

#[test]
fn the_secret_that_the_template_makes_is_a_key_of_page_tokens() {
    let template = json(&["--json", "template"]);
    let made = &template["Resources"]["PageTokenKey"]["Properties"]["GenerateSecretString"];
    assert_eq!((&made["PasswordLength"], &made["ExcludePunctuation"]), (&42.into(), &true.into()));
    assert_eq!(made["GenerateStringKey"], "key");
    for generated in ["z9".repeat(21), "0".repeat(42), "z".repeat(41)] {
        let text = json!({ "key": generated }).to_string();
        let version = keyfold_dynamo::SecretVersion { id: "1b0b5a4e".to_owned(), text };
        assert!(keyfold_dynamo::TokenKeys::of_versions(&[version]).is_ok());
    }
}

#[test]
fn the_template_is_printed_checked_and_staged() {
    let printed = keyfold(&["template"]);
    let text = std::fs::read_to_string(root().join("template.yaml")).unwrap();
    assert_eq!(stdout(&printed), text);
    assert_words(&stderr(&printed), &["--out"]);
    let right = keyfold(&["template", "--check"]);
    assert!(right.status.success(), "{}", stderr(&right));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("template.yaml");
    std::fs::write(&path, text.replace("StartingPosition: TRIM_HORIZON", "StartingPosition: LATEST"))
        .unwrap();
    let wrong = refusal_of(&keyfold(&["template", "--check", path.to_str().unwrap()]));
    assert_words(&wrong, &["`AuditV2ReplicatorMapping.Properties.StartingPosition`: is \"LATEST\""]);
    let rights = json(&["template", "--only", "rights"]);
    assert_eq!(rights["AuditV2ReplicatorFunction"]["environment"]["KEYFOLD_RETROFIT"], "auditV2");
    assert_eq!(rights["AuditV2ReplicatorFunction"]["mappings"].as_array().unwrap().len(), 3);
    let out = folder.path().join("out/template.yaml");
    assert!(keyfold(&["template", "--out", out.to_str().unwrap()]).status.success());
    assert_eq!(std::fs::read_to_string(&out).unwrap(), text);
    let layer = text.split_once("ContentUri: ").and_then(|(_, rest)| rest.lines().next()).unwrap();
    let packed = std::fs::read(out.with_file_name(layer).join("keyfold.toml")).unwrap();
    assert_eq!(packed, std::fs::read(root().join("keyfold.toml")).unwrap());
    assert!(out.with_file_name(".keyfold/retrofit.asl.json").is_file());
    let staged = json(&["--json", "template", "--stages"]);
    assert_eq!(staged.as_array().unwrap().len(), 3);
    assert_eq!(staged[0]["adds"]["audit"], "byResourceActionUser");
    let rest = keyfold(&["template", "--stages", "--have", "audit.byAction", "--have", "audit.byUserAction"]);
    assert_eq!(stdout(&rest), "deployment 1: index `byResourceActionUser` to table `audit`\n");
    let unknown = keyfold(&["template", "--stages", "--have", "audit.nope"]);
    assert!(!unknown.status.success() && stderr(&unknown).contains("`audit.nope`"));
}
