//! `keyfold retrofit run` and `failures`, with a program in the place of the AWS CLI.

use std::process::Output;

use serde_json::{Value, json};

use crate::support::{assert_words, aws_cli, json_of, keyfold_in, refusal_of, root, stderr, stdout};

const ARN: &str = "arn:aws:states:us-east-1:123456789012:stateMachine:keyfold-retrofit";

fn retrofit(words: &[&str], path: &str) -> Output {
    let mut command = keyfold_in(root(), &["retrofit"]);
    command.env_remove("KEYFOLD_STATE_MACHINE").env("PATH", path).args(words).output().unwrap()
}

#[test]
fn the_state_machine_gets_the_input_that_it_reads() {
    let execution = "arn:aws:states:us-east-1:123456789012:execution:keyfold-retrofit:one";
    let notes = "for argument in \"$@\"; do echo \"$argument\"; done > \"$(dirname \"$0\")/asked\"";
    let (folder, path) = aws_cli(&format!("{notes}\necho {execution}"));
    let words =
        ["run", "auditV2", "--segments", "64", "--rate", "500", "--execution", "one", "--state-machine", ARN];
    let output = retrofit(&words, &path);
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(stdout(&output).trim(), execution);
    let asked = std::fs::read_to_string(folder.path().join("asked")).unwrap();
    let asked: Vec<&str> = asked.lines().collect();
    let after = |name: &str| asked[asked.iter().position(|argument| *argument == name).unwrap() + 1];
    assert_eq!(asked[..2], ["stepfunctions", "start-execution"]);
    assert_eq!((after("--state-machine-arn"), after("--name")), (ARN, "one"));
    let input: Value = serde_json::from_str(after("--input")).unwrap();
    assert_eq!(input, json!({ "retrofit": "auditV2", "segments": 64, "rate": 500.0 }));
}

#[test]
fn a_refusal_shows_the_message_of_step_functions_and_a_missing_aws_cli_is_named() {
    let run = ["run", "auditV2", "--state-machine", ARN];
    let (_folder, path) = aws_cli("echo StateMachineDoesNotExist >&2\nexit 254");
    assert_words(&refusal_of(&retrofit(&run, &path)), &["StateMachineDoesNotExist"]);
    assert_words(
        &refusal_of(&retrofit(&["failures", "auditV2", "--state-machine", ARN], &path)),
        &["StateMachineDoesNotExist"],
    );
    let empty = tempfile::tempdir().unwrap();
    assert_words(&refusal_of(&retrofit(&run, empty.path().to_str().unwrap())), &["cannot run the AWS CLI"]);
}

#[test]
fn without_a_state_machine_its_input_is_printed() {
    assert_eq!(
        json_of(&retrofit(&["run", "auditInPlace", "--no-stream", "--repair"], "")),
        json!({ "retrofit": "auditInPlace", "segments": 4, "sides": ["source"], "stream": false, "repair": true })
    );
    for wrong in [&["run", "auditV2", "--no-stream"][..], &["run", "nope"]] {
        assert!(!retrofit(wrong, "").status.success());
    }
}

/// The answers of Step Functions about a run in which one child of each map failed. As in AWS, the run has one error for all failures.
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
fn each_segment_that_failed_is_shown_with_its_own_error() {
    let (_folder, path) = aws_cli(FAILED);
    let output = retrofit(&["failures", "auditV2", "--state-machine", ARN], &path);
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(
        stdout(&output).lines().collect::<Vec<_>>(),
        [
            "RUN",
            "FAILED States.ExceedToleratedFailureThreshold The specified tolerated failure threshold was exceeded",
            "backfill        3 of 8  Keyfold.AccessDenied  `PutItem` on table `audit` is not allowed",
            "compare target  0 of 8  TIMED_OUT",
        ]
    );
    let words = ["failures", "auditV2", "--execution", "RUN", "--show", "1", "--json"];
    let shown = json_of(&retrofit(&words, &path))["failures"].clone();
    assert_eq!(
        (shown[0]["error"].as_str(), shown[0]["segment"].as_str()),
        (Some("Keyfold.AccessDenied"), Some("3 of 8"))
    );
    assert_eq!(shown.as_array().unwrap().len(), 1);
    for wrong in [&["failures", "auditV2"][..], &["failures", "nope", "--execution", "RUN"]] {
        assert!(!retrofit(wrong, &path).status.success());
    }
    let (_folder, path) = aws_cli("echo '{\"executions\":[]}'");
    let output = retrofit(&["failures", "auditV2", "--state-machine", ARN], &path);
    assert_eq!(stdout(&output), "no run of retrofit `auditV2` has failed\n");
}
