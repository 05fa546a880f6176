//! `keyfold retrofit run` with a state machine, and its runs in `status`. A server answers as Step Functions does.

use std::process::{Command, Output};

use serde_json::{Value, json};

use crate::retrofit::{command, old_and_new, start};
use crate::services::Services;
use crate::support::{Site, assert_words, json_of, refusal_of, stderr, stdout};

const MACHINE: &str = "arn:aws:states:us-east-1:123456789012:stateMachine:keyfold-auditV2";

/// `keyfold retrofit ...`, where this state machine is deployed.
fn deployed(site: &Site, states: &Services, words: &[&str]) -> Command {
    let mut command = command(site, words);
    command.env("KEYFOLD_STATE_MACHINE", MACHINE).env("AWS_ENDPOINT_URL_SFN", states.endpoint());
    command
}

fn retrofit(site: &Site, states: &Services, words: &[&str]) -> Output {
    deployed(site, states, words).output().unwrap()
}

fn asked(action: &str, input: &Value) -> String {
    format!("{action} {input}")
}

#[tokio::test]
async fn a_run_is_started_with_the_input_that_the_state_machine_reads_and_followed_to_its_end() {
    let site = old_and_new().await;
    let states = Services::answering([
        ("StartExecution", json!({ "executionArn": "RUN" }).to_string()),
        ("DescribeExecution", json!({ "status": "SUCCEEDED", "output": "{\"clean\":true}" }).to_string()),
    ]);
    let words = ["run", "auditV2", "--segments", "64", "--rate", "500", "--execution", "one", "--repair"];
    let output = retrofit(&site, &states, &words);
    let ended = json_of(&output);
    assert_eq!((&ended["status"], &ended["output"]), (&json!("SUCCEEDED"), &json!({ "clean": true })));
    assert_words(&stderr(&output), &["started RUN", "keyfold retrofit status auditV2 --watch"]);
    let request = states.input("StartExecution");
    assert_eq!((&request["stateMachineArn"], &request["name"]), (&json!(MACHINE), &json!("one")));
    let input: Value = serde_json::from_str(request["input"].as_str().unwrap()).unwrap();
    assert_eq!(input, json!({ "retrofit": "auditV2", "segments": 64, "rate": 500.0, "repair": true }));
    // This command started it. With `--here` no state machine is called.
    assert_eq!(crate::retrofit::done(&site, &["status", "auditV2"])["phase"], "running");
    let nobody = Services::answering::<String>([]);
    json_of(&retrofit(&site, &nobody, &["run", "auditV2", "--here"]));
    assert_words(
        &refusal_of(&retrofit(&site, &nobody, &["run", "auditV2"])),
        &["Step Functions refused", "InvalidArn"],
    );
    let mut unreached = deployed(&site, &nobody, &["run", "auditV2"]);
    let output = unreached.env("AWS_ENDPOINT_URL_SFN", "http://127.0.0.1:9").output().unwrap();
    assert_words(&refusal_of(&output), &["service-not-reached", "Step Functions was not reached"]);
}

/// A run in which one child of each map failed. As in AWS, the run has one error for all failures.
fn failed() -> Services {
    let machine = json!({ "stateMachineArn": MACHINE, "maxResults": 1 });
    let of_map = |map: &str, status: &str| {
        asked("ListExecutions", &json!({ "mapRunArn": map, "statusFilter": status, "maxResults": 20 }))
    };
    let described = |run: &str| asked("DescribeExecution", &json!({ "executionArn": run }));
    let executions = |runs: &[&str]| {
        let all: Vec<Value> = runs.iter().map(|run| json!({ "executionArn": run })).collect();
        json!({ "executions": all }).to_string()
    };
    let threshold = "The specified tolerated failure threshold was exceeded";
    let cause = json!({ "errorType": "Keyfold.AccessDenied", "errorMessage": "`PutItem` on table `audit` is not allowed" });
    let first = json!({ "event": { "retrofit": "auditV2", "segment": 3, "totalSegments": 8 }, "slices": 0 });
    let second = json!({ "event": { "side": "target", "segment": 0, "totalSegments": 8 } });
    Services::answering([
        (asked("ListExecutions", &machine), executions(&["RUN"])),
        (asked("ListMapRuns", &json!({ "executionArn": "RUN" })), json!({ "mapRuns": [{ "mapRunArn": "MAP1" }, { "mapRunArn": "MAP2" }] }).to_string()),
        (of_map("MAP1", "FAILED"), executions(&["CHILD1"])),
        (of_map("MAP1", "TIMED_OUT"), executions(&[])),
        (of_map("MAP2", "FAILED"), executions(&[])),
        (of_map("MAP2", "TIMED_OUT"), executions(&["CHILD2"])),
        (described("RUN"), json!({ "status": "FAILED", "error": "States.ExceedToleratedFailureThreshold", "cause": threshold }).to_string()),
        (described("CHILD1"), json!({ "status": "FAILED", "error": "Keyfold.AccessDenied", "cause": cause.to_string(), "input": first.to_string() }).to_string()),
        (described("CHILD2"), json!({ "status": "TIMED_OUT", "input": second.to_string() }).to_string()),
    ])
}

#[tokio::test]
async fn each_segment_that_failed_is_shown_with_its_own_error() {
    let site = old_and_new().await;
    start(&site, "auditV2");
    let states = failed();
    let shown = json_of(&retrofit(&site, &states, &["status", "auditV2"]))["run"].clone();
    assert_eq!((&shown["status"], &shown["execution"]), (&json!("FAILED"), &json!("RUN")));
    let [one, two] = shown["failures"].as_array().unwrap().as_slice() else { panic!("{shown}") };
    assert_eq!((&one["error"], &one["segment"]), (&json!("Keyfold.AccessDenied"), &json!("3 of 8")));
    assert_eq!((&two["pass"], &two["error"]), (&json!("compare target"), &json!("TIMED_OUT")));
    let text = deployed(&site, &states, &["status", "auditV2"]);
    let words: Vec<_> = text.get_args().filter(|word| *word != "--json").map(ToOwned::to_owned).collect();
    let mut plain = Command::new(text.get_program());
    plain.args(words).envs(text.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let text = stdout(&plain.current_dir(site.folder.path()).output().unwrap());
    let lines = [
        "FAILED States.ExceedToleratedFailureThreshold The specified tolerated failure threshold was exceeded",
        "backfill        3 of 8  Keyfold.AccessDenied  `PutItem` on table `audit` is not allowed",
        "compare target  0 of 8  TIMED_OUT",
    ];
    assert_words(&text, &lines);
    let none = Services::answering([("ListExecutions", json!({ "executions": [] }).to_string())]);
    assert_eq!(json_of(&retrofit(&site, &none, &["status", "auditV2"]))["run"], Value::Null);
}
