//! Every event in `events/query-api`, sent to the real binary over Lambda's Runtime API, with its outcome.
//!
//! Snapshots show numbers as doubles; `answers` tests that answers are exact.

use std::fs;
use std::process::{Child, Stdio};

use serde_json::Value;

use crate::answers::filled;
use crate::{MANIFEST, TOKEN_KEYS};
use keyfold_harness::Log;
use keyfold_local::runtime_api::{InvocationResult, RuntimeApi};

/// A running function. It is ended when it is dropped.
pub(crate) struct Function(Child, Option<Log>);

impl Function {
    pub(crate) fn start(runtime: &RuntimeApi, variables: &[(&str, &str)]) -> Function {
        let mut command = runtime.command(env!("CARGO_BIN_EXE_query-api"));
        command.envs(variables.iter().copied()).stdout(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let log = Log::of(&mut process);
        Function(process, Some(log))
    }

    /// The id of its process.
    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }

    /// Is it the process that was started?
    pub(crate) fn is_running(&mut self) -> bool {
        self.0.try_wait().unwrap().is_none()
    }

    /// Ends it, and returns its standard output.
    pub(crate) fn end(mut self) -> Vec<Value> {
        self.0.kill().unwrap();
        self.1.take().unwrap().lines()
    }
}

impl Drop for Function {
    fn drop(&mut self) {
        // It may have ended before.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A function's response.
pub(crate) struct Response {
    pub(crate) status: u64,
    pub(crate) body: Value,
    whole: Value,
}

impl Response {
    pub(crate) fn of(outcome: &InvocationResult) -> Response {
        let InvocationResult::Response(text) = outcome else { panic!("{outcome:?}") };
        let whole: Value = serde_json::from_str(text).unwrap();
        let body = serde_json::from_str(whole["body"].as_str().unwrap()).unwrap();
        Response { status: whole["statusCode"].as_u64().unwrap(), body, whole }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut all = [&self.whole["headers"], &self.whole["multiValueHeaders"]].into_iter();
        let value = all.find_map(|all| all.get(name))?;
        value.as_str().or_else(|| value[0].as_str())
    }
}

pub(crate) fn manifest_file() -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), MANIFEST).unwrap();
    file
}

/// Status, relevant headers and body, in a stable form.
fn shown(outcome: &InvocationResult) -> String {
    let mut response = Response::of(outcome);
    if let Some(page) = response.body.get_mut("page") {
        *page = Value::from("(a token)");
    }
    let header = |name: &str| Some(format!("{name}: {}\n", response.header(name)?));
    let headers: String =
        ["content-type", "allow", "www-authenticate"].into_iter().filter_map(header).collect();
    format!("{}\n{headers}\n{}", response.status, serde_json::to_string_pretty(&response.body).unwrap())
}

#[tokio::test]
async fn every_event_has_its_outcome() {
    let dynamo = filled().await;
    let runtime = RuntimeApi::start().await.unwrap();
    let manifest = manifest_file();
    let path = manifest.path().to_str().unwrap().to_owned();
    let variables = [
        ("KEYFOLD_MANIFEST", path.as_str()),
        ("KEYFOLD_ENDPOINT", dynamo.endpoint()),
        ("KEYFOLD_TOKEN_KEYS", TOKEN_KEYS),
        ("KEYFOLD_WRITE_SCOPE", "records/write"),
    ];
    let function = Function::start(&runtime, &variables);
    let events = keyfold_harness::events("query-api");
    assert!(events.len() >= 15);
    for (name, event) in &events {
        let outcome = runtime.invoke(event.as_str()).await;
        insta::assert_snapshot!(name.as_str(), shown(&outcome));
    }
    let lines = function.end();
    let (metrics, logs): (Vec<_>, Vec<_>) = lines.iter().partition(|line| line.get("_aws").is_some());
    assert_eq!((logs.len(), metrics.len()), (events.len(), events.len()));
    shows_no_value(&lines);
    let query = logs[events.iter().position(|(name, _)| name == "query").unwrap()];
    assert_eq!(query["sources"], "index byResourceActionUser");
    assert_eq!(query["request_id"], "JKJaXmPLvHcESHA=");
    assert_eq!(query["items_returned"], 3);
    assert_eq!(query["principal"], "joe1");
}

/// The log contains neither the contents of items nor the values of requests, but it names the caller.
fn shows_no_value(lines: &[Value]) {
    let without_principal = |line: &Value| {
        let mut line = line.clone();
        line.as_object_mut().unwrap().remove("principal");
        line.to_string()
    };
    let text = lines.iter().map(without_principal).collect::<String>();
    for value in ["123bbb", "joe1", "event-01", "2017-03-1", "secret-label", "umbrella", "AP8="] {
        assert!(!text.contains(value), "the log shows `{value}`");
    }
}

#[tokio::test]
async fn a_token_must_grant_the_scope_that_is_asked_for() {
    let dynamo = filled().await;
    let runtime = RuntimeApi::start().await.unwrap();
    let manifest = manifest_file();
    let variables = [
        ("KEYFOLD_MANIFEST", manifest.path().to_str().unwrap()),
        ("KEYFOLD_ENDPOINT", dynamo.endpoint()),
        ("KEYFOLD_TOKEN_KEYS", TOKEN_KEYS),
        ("KEYFOLD_READ_SCOPE", "audit:read"),
    ];
    let _function = Function::start(&runtime, &variables);
    let events = keyfold_harness::events("query-api");
    let (_, query) = events.iter().find(|(name, _)| name == "query").unwrap();
    let query: Value = serde_json::from_str(query).unwrap();
    for (granted, expected) in [("audit:write", 403), ("audit:write audit:read", 200)] {
        let mut event = query.clone();
        event["requestContext"]["authorizer"]["jwt"]["claims"]["scope"] = granted.into();
        let Response { status, body, .. } = Response::of(&runtime.invoke(event.to_string()).await);
        assert_eq!((status, body["code"] == "not-granted"), (expected, expected == 403), "{body}");
    }
}

#[tokio::test]
async fn a_function_that_cannot_start_says_which_setting_is_wrong() {
    let manifest = manifest_file();
    let path = manifest.path().to_str().unwrap();
    let keys = ("KEYFOLD_TOKEN_KEYS", TOKEN_KEYS);
    for (variables, wanted) in [
        (vec![("KEYFOLD_MANIFEST", path)], "`KEYFOLD_TOKEN_SECRET` is not set"),
        (vec![keys, ("KEYFOLD_MANIFEST", "/nowhere/keyfold.toml")], "`/nowhere/keyfold.toml` cannot be read"),
        (
            vec![keys, ("KEYFOLD_MANIFEST", path), ("KEYFOLD_AUTH", "nobody")],
            "`KEYFOLD_AUTH` is not `claims` or `open`",
        ),
        (
            vec![keys, ("KEYFOLD_MANIFEST", path), ("KEYFOLD_ENDPOINT", "htp://joe:pass-word@host")],
            "the endpoint is invalid",
        ),
        (
            vec![keys, ("KEYFOLD_MANIFEST", path), ("KEYFOLD_AUTH", "open")],
            "anyone could write table `orders`",
        ),
    ] {
        let runtime = RuntimeApi::start().await.unwrap();
        let mut function = Function::start(&runtime, &variables);
        assert!(!function.0.wait().unwrap().success());
        let lines = function.end();
        let logged =
            lines.iter().any(|line| line["error"].as_str().is_some_and(|error| error.contains(wanted)));
        assert!(logged, "{wanted}: {lines:?}");
        assert!(!format!("{lines:?}").contains("pass-word"), "{lines:?}");
    }
}
