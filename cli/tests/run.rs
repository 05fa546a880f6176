//! `keyfold retrofit run`, against something that answers as Step Functions does.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};

const ARN: &str = "arn:aws:states:us-east-1:123456789012:stateMachine:keyfold-retrofit";

fn keyfold(arguments: &[&str], variables: &[(&str, &str)]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_keyfold"))
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap())
        .env_remove("KEYFOLD_MANIFEST")
        .env_remove("KEYFOLD_STATE_MACHINE")
        .envs([("AWS_REGION", "us-east-1"), ("AWS_ACCESS_KEY_ID", "none"), ("AWS_SECRET_ACCESS_KEY", "none")])
        .envs([("AWS_EC2_METADATA_DISABLED", "true"), ("NO_COLOR", "1")])
        .envs(variables.iter().copied())
        .args(["retrofit", "run"])
        .args(arguments)
        .output()
        .unwrap()
}

/// Answers one request; what was asked.
fn answer(listener: &TcpListener, status: &str, body: &Value) -> (String, Value) {
    let (mut stream, _) = listener.accept().unwrap();
    let (mut text, mut buffer) = (Vec::new(), [0; 4096]);
    let (head, length) = loop {
        let read = stream.read(&mut buffer).unwrap();
        text.extend_from_slice(&buffer[..read]);
        let so_far = String::from_utf8(text.clone()).unwrap();
        let Some((head, _)) = so_far.split_once("\r\n\r\n") else { continue };
        let head = head.to_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
        let length: usize = length.parse().unwrap();
        if text.len() >= head.len() + 4 + length {
            break (head, length);
        }
    };
    let asked = serde_json::from_slice(&text[text.len() - length..]).unwrap();
    let body = body.to_string();
    write!(
        stream,
        "HTTP/1.1 {status}\r\ncontent-type: application/x-amz-json-1.0\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    (head, asked)
}

#[test]
fn the_state_machine_gets_the_input_that_it_reads() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let execution = "arn:aws:states:us-east-1:123456789012:execution:keyfold-retrofit:one";
    let server = std::thread::spawn(move || {
        answer(&listener, "200 OK", &json!({ "executionArn": execution, "startDate": 1.0 }))
    });
    let arguments =
        ["auditV2", "--segments", "64", "--rate", "500", "--execution", "one", "--state-machine", ARN];
    let output = keyfold(&arguments, &[("AWS_ENDPOINT_URL_SFN", &endpoint)]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8(output.stdout).unwrap().trim(), execution);
    let (head, asked) = server.join().unwrap();
    assert!(head.contains("x-amz-target: awsstepfunctions.startexecution"), "{head}");
    assert_eq!((&asked["stateMachineArn"], &asked["name"]), (&json!(ARN), &json!("one")));
    let input: Value = serde_json::from_str(asked["input"].as_str().unwrap()).unwrap();
    assert_eq!(input, json!({ "retrofit": "auditV2", "segments": 64, "rate": 500.0 }));
}

#[test]
fn a_refusal_says_what_step_functions_says() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let refusal = json!({ "__type": "StateMachineDoesNotExist", "message": "no such state machine" });
    let server = std::thread::spawn(move || answer(&listener, "400 Bad Request", &refusal));
    let output = keyfold(&["auditV2", "--state-machine", ARN], &[("AWS_ENDPOINT_URL_SFN", &endpoint)]);
    server.join().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let shown = String::from_utf8(output.stderr).unwrap();
    assert!(shown.contains("StateMachineDoesNotExist"), "{shown}");
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
