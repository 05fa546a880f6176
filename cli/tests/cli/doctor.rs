//! `keyfold doctor`, and commands that start without a manifest.

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::sync::Arc;

use keyfold_harness::{Between, Proxy, Request};
use serde_json::{Value, json};

use crate::support::{Site, assert_words, event, keyfold_in, refusal_of, stdout};

/// A site, with the findings of the doctor at an endpoint: check, state and what to do.
fn findings(site: &Site, endpoint: &str) -> (Option<i32>, Vec<[String; 3]>) {
    let output = site.command_at(endpoint, &["doctor"]).output().unwrap();
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let text = |one: &Value, name: &str| one[name].as_str().unwrap().to_owned();
    let row = |one: &Value| ["check", "state", "do"].map(|name| text(one, name));
    (output.status.code(), found.as_array().unwrap().iter().map(row).collect())
}

#[track_caller]
fn assert_found(found: &[[String; 3]], check: &str, state: &str, word: &str) {
    let is = |one: &&[String; 3]| one[0] == check && one[1] == state && one[2].contains(word);
    assert!(found.iter().any(|one| is(&one)), "no {state} of `{check}` with `{word}` in {found:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sound_deployment_has_no_problem_and_every_gap_says_what_to_do() {
    let site = Site::sample();
    let (code, found) = findings(&site, site.dynamo().endpoint());
    assert_eq!(code, Some(1));
    assert_found(&found, "table", "problem", "keyfold tables apply audit");
    let mut short = site.table("audit").clone();
    short.indexes.retain(|index| index.name != "byUserAction");
    site.create(&short, false).await;
    site.create(site.table("audit-legacy"), true).await;
    let (_, found) = findings(&site, site.dynamo().endpoint());
    assert_found(&found, "table", "problem", "keyfold index add audit byUserAction");
    assert_found(&found, "stream", "problem", "keyfold tables apply audit");
    for command in [&["tables", "apply"][..], &["index", "add", "audit", "--all"]] {
        site.run(command);
    }
    let (code, found) = findings(&site, site.dynamo().endpoint());
    assert_eq!(code, Some(0), "{found:#?}");
    for check in ["manifest", "region", "credentials", "endpoint", "table", "rights", "versions"] {
        assert_found(&found, check, "ok", "");
    }
    assert_words(&stdout(&site.run(&["doctor"])), &["no other right is tested"]);
}

/// Denies queries of an index, or everything with a reason.
struct Denies(&'static str);

impl Between for Denies {
    fn before(&self, request: &Request) -> Option<(u16, Value)> {
        let error = |kind: &str| json!({ "__type": format!("com.amazonaws#{kind}"), "message": "no" });
        match self.0 {
            "byAction" => (request.body["IndexName"] == "byAction" || request.operation == "ListTables")
                .then(|| (400, error("AccessDeniedException"))),
            "501" => Some((501, json!({}))),
            reason => Some((400, error(reason))),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_ports_expired_keys_and_missing_rights_are_told_apart() {
    let site = Site::sample();
    for table in ["audit", "audit-legacy"] {
        site.create(site.table(table), true).await;
    }
    let proxy = |kind| Proxy::start(site.dynamo().endpoint(), Arc::new(Denies(kind)));
    let apply = site.command_at(proxy("501").endpoint(), &["tables", "apply"]).output().unwrap();
    assert_words(&refusal_of(&apply), &["check the endpoint: this is not an answer of DynamoDB"]);
    let at = |kind: &'static str| {
        let proxy = proxy(kind);
        findings(&site, proxy.endpoint())
    };
    let (code, found) = at("byAction");
    assert_eq!(code, Some(1));
    assert_found(&found, "rights", "problem", "keyfold mcp --policy");
    assert_found(&found, "endpoint", "ok", "");
    assert_found(&at("ExpiredTokenException").1, "credentials", "problem", "aws sso login");
    assert_found(&at("UnrecognizedClientException").1, "credentials", "problem", "AWS_PROFILE");
    for kind in ["NoSuchThing", "501"] {
        assert_found(&at(kind).1, "endpoint", "problem", "another service");
    }
    let (code, found) = findings(&site, "http://127.0.0.1:1");
    assert_eq!(code, Some(1));
    assert_found(&found, "endpoint", "problem", "check the endpoint");
}

#[tokio::test(flavor = "multi_thread")]
async fn local_and_console_start_without_a_manifest() {
    let site = Site::sample();
    let folder = tempfile::tempdir().unwrap();
    let endpoint = site.dynamo().endpoint();
    let console = || keyfold_in(folder.path(), &["--endpoint", endpoint, "--json", "console", "--port", "0"]);
    let refused = console().output().unwrap();
    assert_eq!(refused.status.code(), Some(1), "{}", stdout(&refused));
    let unreached = ["--endpoint", "http://127.0.0.1:1", "console", "--port", "0"];
    let refused = refusal_of(&keyfold_in(folder.path(), &unreached).output().unwrap());
    assert_words(
        &refused,
        &["`ListTables` did not reach DynamoDB", "(not-reached)", "hint: check the endpoint"],
    );
    // With a manifest, too. If the endpoint were not asked first, the port would be the problem.
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let with_manifest = site.command_at(unreached[1], &["console", "--port", &port]).output().unwrap();
    assert_words(
        &refusal_of(&with_manifest),
        &["did not reach DynamoDB", "not-reached", "check the endpoint"],
    );
    site.create(site.table("audit"), false).await;
    let mut running = console().stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let url = value_of(running.stdout.take().unwrap(), "console");
    assert!(url.starts_with("http://127.0.0.1:"), "{url}");
    running.kill().unwrap();
    running.wait().unwrap();

    let words = ["--json", "local", "--port", "0", "--api-port", "0"];
    let mut local = keyfold_in(folder.path(), &words);
    let mut local = local.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(local.stdout.take().unwrap()).lines().map(Result::unwrap);
    let mut next = |name: &str| {
        let start = format!("\"{name}\": \"");
        lines.find_map(|line| Some(line.trim().strip_prefix(&start)?.split('"').next()?.to_owned())).unwrap()
    };
    let endpoint = next("dynamodb");
    let client = keyfold_dynamo::plain_client(&endpoint, &keyfold_dynamo::Settings::default());
    let table = site.table("audit");
    keyfold_dynamo::create_table(&client, table, keyfold_dynamo::TableOptions::default()).await.unwrap();
    keyfold_dynamo::put(&client, table, event(3)).await.unwrap();
    let api = next("api");
    assert!(api.starts_with("http://127.0.0.1:"), "the API starts with the first table: {api}");
    local.kill().unwrap();
    local.wait().unwrap();
    assert!(!folder.path().join("keyfold.toml").exists(), "nothing is written into the user's folder");
}

/// The first value with this name that a process prints.
fn value_of(output: std::process::ChildStdout, name: &str) -> String {
    let start = format!("\"{name}\": \"");
    let lines = BufReader::new(output).lines().map(Result::unwrap);
    let mut found =
        lines.filter_map(|line| Some(line.trim().strip_prefix(&start)?.split('"').next()?.to_owned()));
    found.next().unwrap()
}
