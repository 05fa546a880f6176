//! `keyfold retrofit run` and `failures`, with a program in the place of the AWS CLI.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};

const ARN: &str = "arn:aws:states:us-east-1:123456789012:stateMachine:keyfold-retrofit";

fn keyfold(arguments: &[&str], variables: &[(&str, &str)]) -> Output {
    retrofit("run", arguments, variables)
}

fn retrofit(command: &str, arguments: &[&str], variables: &[(&str, &str)]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_keyfold"))
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap())
        .env_remove("KEYFOLD_MANIFEST")
        .env_remove("KEYFOLD_STATE_MACHINE")
        .env("NO_COLOR", "1")
        .envs(variables.iter().copied())
        .args(["retrofit", command])
        .args(arguments)
        .output()
        .unwrap()
}

/// A folder with a program `aws` that notes its arguments, one a line, and answers so.
fn aws(says: &str, code: i32) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("aws");
    let script = format!(
        "#!/bin/sh\nfor argument in \"$@\"; do echo \"$argument\"; done > \"$(dirname \"$0\")/asked\"\n{says}\nexit {code}\n"
    );
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    folder
}

fn path(folder: &Path) -> String {
    format!("{}:{}", folder.display(), std::env::var("PATH").unwrap())
}

#[test]
fn the_state_machine_gets_the_input_that_it_reads() {
    let execution = "arn:aws:states:us-east-1:123456789012:execution:keyfold-retrofit:one";
    let folder = aws(&format!("echo {execution}"), 0);
    let arguments =
        ["auditV2", "--segments", "64", "--rate", "500", "--execution", "one", "--state-machine", ARN];
    let output = keyfold(&arguments, &[("PATH", &path(folder.path()))]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8(output.stdout).unwrap().trim(), execution);
    let asked = std::fs::read_to_string(folder.path().join("asked")).unwrap();
    let asked: Vec<&str> = asked.lines().collect();
    let after = |name: &str| asked[asked.iter().position(|argument| *argument == name).unwrap() + 1];
    assert_eq!(asked[..2], ["stepfunctions", "start-execution"]);
    assert_eq!((after("--state-machine-arn"), after("--name")), (ARN, "one"));
    let input: Value = serde_json::from_str(after("--input")).unwrap();
    assert_eq!(input, json!({ "retrofit": "auditV2", "segments": 64, "rate": 500.0 }));
}

#[test]
fn a_refusal_says_what_step_functions_says() {
    let folder = aws("echo StateMachineDoesNotExist >&2", 254);
    let output = keyfold(&["auditV2", "--state-machine", ARN], &[("PATH", &path(folder.path()))]);
    assert_eq!(output.status.code(), Some(1));
    let shown = String::from_utf8(output.stderr).unwrap();
    assert!(shown.contains("StateMachineDoesNotExist"), "{shown}");
}

#[test]
fn without_the_aws_cli_it_is_said_how_else() {
    let empty = tempfile::tempdir().unwrap();
    let output = keyfold(&["auditV2", "--state-machine", ARN], &[("PATH", empty.path().to_str().unwrap())]);
    assert_eq!(output.status.code(), Some(1));
    let shown = String::from_utf8(output.stderr).unwrap();
    assert!(shown.contains("cannot run the AWS CLI"), "{shown}");
}

#[test]
fn without_a_state_machine_its_input_is_printed() {
    let printed = |arguments: &[&str]| -> Value {
        let output = keyfold(arguments, &[]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    };
    assert_eq!(
        printed(&["auditInPlace", "--no-stream", "--repair"]),
        json!({ "retrofit": "auditInPlace", "segments": 4, "sides": ["source"], "stream": false, "repair": true })
    );
    let lossy = keyfold(&["auditV2", "--no-stream"], &[]);
    assert!(!lossy.status.success());
    assert!(!keyfold(&["nope"], &[]).status.success());
}

/// What Step Functions says of a run in which one child of each map failed. As in AWS, the run has a name for all failures.
const FAILED: &str = r#"
case "$2 $4" in
  "list-executions arn:aws:states:us-east-1:123456789012:stateMachine:keyfold-retrofit")
    [ "$6" = FAILED ] && echo '{"executions":[{"executionArn":"RUN"}]}' ;;
  "list-map-runs RUN") echo '{"mapRuns":[{"mapRunArn":"MAP1"},{"mapRunArn":"MAP2"}]}' ;;
  "list-executions MAP1") [ "$6" = FAILED ] && echo '{"executions":[{"executionArn":"CHILD1"}]}' || echo '{"executions":[]}' ;;
  "list-executions MAP2") [ "$6" = TIMED_OUT ] && echo '{"executions":[{"executionArn":"CHILD2"}]}' || echo '{"executions":[]}' ;;
  "describe-execution RUN") echo '{"status":"FAILED","error":"States.ExceedToleratedFailureThreshold","cause":"The specified tolerated failure threshold was exceeded"}' ;;
  "describe-execution CHILD1") cat <<'JSON'
{"status":"FAILED","error":"Keyfold.AccessDenied","cause":"{\"errorType\":\"Keyfold.AccessDenied\",\"errorMessage\":\"`PutItem` on table `audit` is not allowed\"}","input":"{\"event\":{\"retrofit\":\"auditV2\",\"segment\":3,\"totalSegments\":8},\"slices\":0}"}
JSON
  ;;
  "describe-execution CHILD2") echo '{"status":"TIMED_OUT","input":"{\"event\":{\"side\":\"target\",\"segment\":0,\"totalSegments\":8}}"}' ;;
  *) echo "not asked for: $*" >&2; exit 1 ;;
esac
"#;

#[test]
fn each_segment_that_failed_is_told_with_its_own_error() {
    let folder = aws(FAILED, 0);
    let path = path(folder.path());
    let output = retrofit("failures", &["auditV2", "--state-machine", ARN], &[("PATH", &path)]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let shown = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = shown.lines().collect();
    assert_eq!(
        lines,
        [
            "RUN",
            "FAILED States.ExceedToleratedFailureThreshold The specified tolerated failure threshold was exceeded",
            "backfill        3 of 8  Keyfold.AccessDenied  `PutItem` on table `audit` is not allowed",
            "compare target  0 of 8  TIMED_OUT",
        ]
    );
    let output =
        retrofit("failures", &["auditV2", "--execution", "RUN", "--show", "1", "--json"], &[("PATH", &path)]);
    let shown: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(shown["failures"].as_array().unwrap().len(), 1);
    assert_eq!(
        (&shown["failures"][0]["error"], &shown["failures"][0]["segment"]),
        (&json!("Keyfold.AccessDenied"), &json!("3 of 8"))
    );
    assert!(!retrofit("failures", &["auditV2"], &[("PATH", &path)]).status.success(), "of which run?");
    assert!(!retrofit("failures", &["nope", "--execution", "RUN"], &[("PATH", &path)]).status.success());
}

#[test]
fn no_run_that_failed_is_no_failure_and_a_refusal_is_told() {
    let folder = aws("echo '{\"executions\":[]}'", 0);
    let output =
        retrofit("failures", &["auditV2", "--state-machine", ARN], &[("PATH", &path(folder.path()))]);
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "no run of retrofit `auditV2` has failed\n");
    let folder = aws("echo AccessDeniedException >&2", 254);
    let output =
        retrofit("failures", &["auditV2", "--state-machine", ARN], &[("PATH", &path(folder.path()))]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8(output.stderr).unwrap().contains("AccessDeniedException"));
}
