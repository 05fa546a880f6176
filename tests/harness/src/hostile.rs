//! Hostile events: a function must answer each of them, and the same process the next.
//!
//! They are made from a function's sample events (each field gets each kind of invalid value), and from a list of
//! events that broke functions before: invalid hosts, paths of 100 KB, events of other services.

use keyfold_local::runtime_api::InvocationResult;
use serde_json::{Value, json};

/// The length of long texts.
const LONG: usize = 100_000;
/// The depth of nested JSON, too deep for a recursive parser.
const DEEP: usize = 50_000;
/// Maximum changed fields of a sample, so that a large sample does not use up the time.
const FIELDS_MAX: usize = 60;

/// An event with its name.
type Named = (String, String);

/// Sends these events to a function. Each must be answered, with a response or an error.
pub async fn survives(events: &[Named], invoke: impl AsyncFn(String) -> InvocationResult) -> usize {
    for (name, event) in events {
        let outcome = invoke(event.clone()).await;
        let answered = matches!(outcome, InvocationResult::Response(_) | InvocationResult::Error(_));
        assert!(answered, "{name}: {outcome:?}");
        // Where a panic does not end the process, as in a debug build, the runtime reports it as an error.
        let panicked = matches!(&outcome, InvocationResult::Error(text) if text.contains("Lambda panicked"));
        assert!(!panicked, "{name}: {outcome:?}");
    }
    events.len()
}

/// The hostile events made from these samples, and those that are the same for every function.
pub fn hostile<'s>(samples: impl IntoIterator<Item = &'s str>) -> Vec<Named> {
    let mut events = no_events();
    events.extend(of_other_services());
    events.extend(of_http());
    for (number, sample) in samples.into_iter().enumerate() {
        let sample: Value = serde_json::from_str(sample).unwrap();
        events.extend(mutations(&format!("sample {number}"), &sample));
    }
    events
}

/// Invalid JSON, and JSON that is no event.
fn no_events() -> Vec<Named> {
    let long = "x".repeat(LONG);
    let texts = [
        "null".to_owned(),
        "true".to_owned(),
        "-1".to_owned(),
        "1e999999".to_owned(),
        "\"\"".to_owned(),
        "[]".to_owned(),
        "{}".to_owned(),
        "[null]".to_owned(),
        String::new(),
        "{".to_owned(),
        "\u{feff}{}".to_owned(),
        "{\"a\":\"\\ud800\"}".to_owned(),
        format!("\"{long}\""),
        format!("{{\"{long}\":1}}"),
        format!("[{}1]", "1,".repeat(LONG)),
        format!("{}{}", "[".repeat(DEEP), "]".repeat(DEEP)),
        format!("{}1{}", "{\"a\":".repeat(DEEP), "}".repeat(DEEP)),
        format!("{}1{}", "{\"requestContext\":".repeat(DEEP), "}".repeat(DEEP)),
        format!("{{\"id\":{}1{}}}", "[".repeat(DEEP), "]".repeat(DEEP)),
        "{\"requestContext\":{},\"requestContext\":{}}".to_owned(),
        "{\"Records\":[],\"Records\":[1]}".to_owned(),
        "{\"id\":\"1\",\"id\":\"2\",\"retrofit\":\"x\",\"retrofit\":\"y\"}".to_owned(),
    ];
    numbered("no event", texts)
}

/// Events of other services, and of APIs in other formats.
fn of_other_services() -> Vec<Named> {
    let headers = json!({ "Host": "x", "X-Forwarded-Proto": "https" });
    let events = [
        json!({ "resource": "/", "path": "/query", "httpMethod": "POST", "headers": headers, "multiValueHeaders": {},
            "requestContext": { "resourcePath": "/", "httpMethod": "POST", "stage": "prod" }, "body": "{}" }),
        json!({ "version": "1.0", "path": "/query", "httpMethod": "GET", "requestContext": {} }),
        json!({ "requestContext": { "elb": { "targetGroupArn": "arn" } }, "httpMethod": "GET", "path": "/",
            "queryStringParameters": {}, "headers": headers, "body": "", "isBase64Encoded": false }),
        json!({ "requestContext": { "routeKey": "$connect", "eventType": "CONNECT", "connectionId": "c" } }),
        json!({ "Records": [{ "eventSource": "aws:s3", "s3": { "bucket": { "name": "b" } } }] }),
        json!({ "Records": [{ "EventSource": "aws:sns", "Sns": { "Message": "{}" } }] }),
        json!({ "Records": [{ "eventSource": "aws:kinesis", "kinesis": { "data": "AA==" } }] }),
        json!({ "Records": [{ "eventSource": "aws:sqs", "messageId": "m", "body": null }] }),
        json!({ "Records": [{ "eventSource": "aws:dynamodb", "dynamodb": null }] }),
        json!({ "Records": { "eventSource": "aws:sqs" } }),
        json!({ "Records": [{ "cf": { "request": { "uri": "/" } } }] }),
        json!({ "version": "0", "detail-type": "Scheduled Event", "source": "aws.events", "detail": {} }),
        json!({ "triggerSource": "PreSignUp_SignUp", "request": {}, "response": {} }),
        json!({ "type": "TOKEN", "authorizationToken": "x", "methodArn": "arn" }),
        json!({ "awslogs": { "data": "H4sI" } }),
    ];
    numbered("another service", events.map(|event| event.to_string()))
}

/// Requests of an HTTP API with one part that is odd.
fn of_http() -> Vec<Named> {
    let long = "a".repeat(LONG);
    let mut events = Vec::new();
    for (number, host) in
        ["", "[", "a b", "::1]", "\u{0}", "é", "http://x/", "a:b:c", "%", "x:99999999", &long]
            .into_iter()
            .enumerate()
    {
        let mut event = request("GET", "/health");
        event["headers"] = json!({ "host": host, "Host": host, "x-forwarded-proto": "https" });
        event["requestContext"]["domainName"] = json!(host);
        events.push((format!("host {number}"), event.to_string()));
    }
    for (number, proto) in
        ["", "ht tp", "\n", "javascript", "é", "1", "https,http", &long].into_iter().enumerate()
    {
        let mut event = request("GET", "/health");
        event["headers"] = json!({ "host": "x", "x-forwarded-proto": proto, "x-forwarded-port": proto });
        event["requestContext"]["http"]["protocol"] = json!(proto);
        events.push((format!("proto {number}"), event.to_string()));
    }
    for (number, method) in
        ["", " ", "GET POST", "\u{0}", "PÖST", "CONNECT", "TRACE", "get", &long].into_iter().enumerate()
    {
        events.push((format!("method {number}"), request(method, "/query").to_string()));
    }
    let paths =
        ["", "*", "//", "http://x/", "/%", "/%zz", "/\u{0}", "/../../x", "/\u{202e}", "?", "#", "/ ", "\\"];
    let long_paths = [
        format!("/{long}"),
        "/a".repeat(LONG / 2),
        "/%ff".repeat(LONG / 4),
        "/tables/%C3%28/questions/x".into(),
    ];
    for (number, path) in paths.into_iter().map(str::to_owned).chain(long_paths).enumerate() {
        for method in ["GET", "POST"] {
            events.push((format!("path {number} {method}"), request(method, &path).to_string()));
        }
    }
    let queries = ["%", "a=%ff", "a[=1", "=", "&", "limit=1e999", "format=\u{0}", "page=AAAA", "a=1&a=2&a=3"];
    let long_queries =
        ["&".repeat(LONG), format!("a={long}"), "a=1&".repeat(LONG / 4), "%00".repeat(LONG / 3)];
    for (number, query) in queries.into_iter().map(str::to_owned).chain(long_queries).enumerate() {
        let mut event = request("GET", "/tables/audit/questions/x");
        event["rawQueryString"] = json!(query);
        events.push((format!("query string {number}"), event.to_string()));
    }
    events.extend(with_bodies());
    events.extend(with_headers());
    events
}

fn with_bodies() -> Vec<Named> {
    let bodies = [
        (false, "\u{0}".to_owned()),
        (false, "\u{feff}{}".to_owned()),
        (false, "[".repeat(LONG)),
        (false, "{\"a\":".repeat(LONG / 5)),
        (false, format!("{{\"table\":\"audit\",\"where\":{}1{}}}", "{\"not\":".repeat(500), "}".repeat(500))),
        (false, format!("{{\"table\":\"audit\",\"where\":{{\"id\":1e{}}}}}", "9".repeat(5_000))),
        (false, format!("{{\"id\":{}}}", "9".repeat(LONG))),
        (false, format!("{{\"id\":\"{}\"}}", "x".repeat(LONG))),
        (false, "{\"id\":\"\\ud800\"}".to_owned()),
        (false, "{\"id\":\"1\",\"id\":\"2\"}".to_owned()),
        (true, "=".repeat(5)),
        (true, "é".to_owned()),
        (true, "gA==".to_owned()),
        (true, "/////w==".to_owned()),
        (true, "eyJhIjoi/yJ9".to_owned()),
        (true, "QUFB".repeat(LONG / 4)),
    ];
    let mut events = Vec::new();
    for (number, (base64, body)) in bodies.into_iter().enumerate() {
        for path in ["/query", "/explain", "/put", "/update", "/delete", "/audit"] {
            let mut event = request("POST", path);
            (event["body"], event["isBase64Encoded"]) = (json!(body), json!(base64));
            events.push((format!("body {number} {path}"), event.to_string()));
        }
    }
    events
}

fn with_headers() -> Vec<Named> {
    let many: serde_json::Map<String, Value> = (0..5_000).map(|n| (format!("h{n}"), json!("v"))).collect();
    let headers = [
        json!(many),
        json!({ "x": "v".repeat(LONG) }),
        json!({ "": "", "a b": "c\r\nd: e", "é": "\u{0}" }),
        json!({ "host": ["a", "b"], "x": { "y": 1 }, "z": null }),
        json!([1, 2]),
        json!("host: x"),
    ];
    let mut events = Vec::new();
    for (number, headers) in headers.into_iter().enumerate() {
        let mut event = request("GET", "/health");
        event["headers"] = headers.clone();
        event["multiValueHeaders"] = headers;
        event["cookies"] = json!(["a=b", "\u{0}", "c".repeat(1_000)]);
        events.push((format!("headers {number}"), event.to_string()));
    }
    events
}

/// A request of an HTTP API.
fn request(method: &str, path: &str) -> Value {
    json!({
        "version": "2.0", "routeKey": "$default", "rawPath": path, "rawQueryString": "", "headers": {},
        "requestContext": {
            "stage": "$default", "requestId": "hostile", "domainName": "x", "http": { "method": method, "path": path },
            "authorizer": { "jwt": { "claims": { "sub": "joe1" }, "scopes": null } },
        },
        "isBase64Encoded": false,
    })
}

/// The sample with each of its fields removed, and with each kind of invalid value in each of them.
fn mutations(name: &str, sample: &Value) -> Vec<Named> {
    let mut pointers = Vec::new();
    collect(sample, String::new(), &mut pointers);
    let step = pointers.len().div_ceil(FIELDS_MAX).max(1);
    let mut events = Vec::new();
    for pointer in pointers.iter().step_by(step) {
        if let Some(without) = without(sample, pointer) {
            events.push((format!("{name}: without {pointer}"), without));
        }
        for (number, odd) in odd_values().into_iter().enumerate() {
            let mut event = sample.clone();
            *event.pointer_mut(pointer).unwrap() = odd;
            events.push((format!("{name}: {pointer} as {number}"), event.to_string()));
        }
    }
    events
}

fn odd_values() -> [Value; 9] {
    let deep = (0..100).fold(json!(1), |inner, _| json!([inner]));
    [
        Value::Null,
        json!(true),
        json!(-1),
        json!(1.5e300),
        json!(""),
        json!("\u{0}é\u{1f600}"),
        json!("x".repeat(2_000)),
        json!({ "x": 1 }),
        deep,
    ]
}

/// The places of a value, its own first.
fn collect(value: &Value, at: String, pointers: &mut Vec<String>) {
    let inside: Vec<(String, &Value)> = match value {
        Value::Object(members) => members.iter().map(|(name, value)| (escaped(name), value)).collect(),
        Value::Array(elements) => {
            elements.iter().enumerate().map(|(number, value)| (number.to_string(), value)).collect()
        }
        _ => Vec::new(),
    };
    let children: Vec<(String, &Value)> =
        inside.into_iter().map(|(name, value)| (format!("{at}/{name}"), value)).collect();
    pointers.push(at);
    children.into_iter().for_each(|(at, value)| collect(value, at, pointers));
}

fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

fn without(sample: &Value, pointer: &str) -> Option<String> {
    let (parent, name) = pointer.rsplit_once('/')?;
    let mut event = sample.clone();
    let members = event.pointer_mut(parent)?.as_object_mut()?;
    members.remove(&name.replace("~1", "/").replace("~0", "~"))?;
    Some(event.to_string())
}

fn numbered(name: &str, events: impl IntoIterator<Item = String>) -> Vec<Named> {
    events.into_iter().enumerate().map(|(number, event)| (format!("{name} {number}"), event)).collect()
}
