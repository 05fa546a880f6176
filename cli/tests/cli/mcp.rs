//! `keyfold mcp`, as a client of another make would use it: lines of JSON over standard input and output.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::{Arc, Mutex};

use keyfold_core::value::{AttributeValue, Item};
use keyfold_harness::{Between, Proxy, Request, needs};
use serde_json::{Value, json};

use crate::support::{Site, assert_words, event, item_of, keyfold_in, refusal_of, root, stderr, stdout};

/// The units of the largest page, eventually consistent.
const PAGE_UNITS: f64 = 128.0;
/// The values of the attribute that tests hide begin with it.
const SECRET: &str = "secretive";

/// A running server and its client.
struct Agent {
    server: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    /// The metadata of every request, for the protocol without a session.
    meta: Option<Value>,
    next: u64,
    /// Every line of the server.
    heard: String,
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

impl Agent {
    /// A server of this site, in a session of protocol 2025-11-25.
    fn start(site: &Site, words: &[&str]) -> Agent {
        Agent::at(site, site.dynamo().endpoint(), words)
    }

    fn at(site: &Site, endpoint: &str, words: &[&str]) -> Agent {
        let mut agent = Agent::spawn(site, endpoint, words);
        let client = json!({ "name": "test", "version": "1" });
        let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
        assert_eq!(agent.asked("initialize", hello)["protocolVersion"], "2025-11-25");
        agent.line(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string());
        agent
    }

    fn spawn(site: &Site, endpoint: &str, words: &[&str]) -> Agent {
        let state = site.folder.path().join("state");
        let mut command = keyfold_in(site.folder.path(), &["--endpoint", endpoint, "mcp", "--state"]);
        command.arg(state).args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut server = command.spawn().unwrap();
        let (input, output) = (server.stdin.take().unwrap(), server.stdout.take().unwrap());
        let output = BufReader::new(output).lines();
        Agent { server, input, output, meta: None, next: 1, heard: String::new() }
    }

    fn line(&mut self, text: &str) {
        writeln!(self.input, "{text}").unwrap();
    }

    /// The response to a request.
    fn response(&mut self, method: &str, mut params: Value) -> Value {
        if let Some(meta) = &self.meta {
            params["_meta"] = meta.clone();
        }
        let id = self.next;
        self.next += 1;
        self.line(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string());
        loop {
            let line = self.output.next().expect("the server has ended").unwrap();
            let message: Value = serde_json::from_str(&line).expect("only JSON-RPC is printed");
            assert!(line.len() < 160 * 1024, "an answer of {} bytes", line.len());
            self.heard.push_str(&line);
            if message["id"] == json!(id) {
                return message;
            }
        }
    }

    #[track_caller]
    fn asked(&mut self, method: &str, params: Value) -> Value {
        let response = self.response(method, params);
        assert_eq!(response.get("error"), None, "{method}");
        response["result"].clone()
    }

    /// The answer of a tool, or its problem document.
    fn tool(&mut self, name: &str, arguments: Value) -> Result<Value, Value> {
        let mut call = json!({ "name": name });
        call["arguments"] = arguments;
        let result = self.asked("tools/call", call);
        if result["isError"] == true {
            assert_eq!(result.get("structuredContent"), None, "an error does not fit the schema of answers");
            return Err(serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap());
        }
        let text: Value = serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
        assert_eq!(result["structuredContent"], text);
        Ok(text)
    }

    #[track_caller]
    fn code(&mut self, name: &str, arguments: Value) -> String {
        self.tool(name, arguments).unwrap_err()["code"].as_str().unwrap().to_owned()
    }

    /// All items of a request, page by page.
    fn all(&mut self, tool: &str, mut arguments: Value) -> Vec<Value> {
        let mut items = Vec::new();
        loop {
            let answer = self.tool(tool, arguments.clone()).unwrap();
            items.extend(answer["items"].as_array().unwrap().iter().cloned());
            match answer.get("page") {
                Some(page) => arguments["page"] = page.clone(),
                None => return items,
            }
        }
    }
}

/// Records what a server asks DynamoDB for, and the units that it is charged.
#[derive(Default)]
struct Meter(Mutex<(BTreeSet<(String, String)>, f64)>);

impl Between for Meter {
    fn before(&self, request: &Request) -> Option<(u16, Value)> {
        let needed = needs(request).into_iter().map(|one| {
            let resource = one.resource.rsplit(':').next().unwrap_or_default().to_owned();
            (one.action, resource)
        });
        self.0.lock().unwrap().0.extend(needed);
        None
    }

    fn after(&self, _: &Request, answer: &mut Value) {
        let consumed = &answer["ConsumedCapacity"];
        let all = consumed.as_array().cloned().unwrap_or_else(|| vec![consumed.clone()]);
        let units: f64 = all.iter().filter_map(|one| one["CapacityUnits"].as_f64()).sum();
        self.0.lock().unwrap().1 += units;
    }
}

/// The sample with events of which the user is secret, and the control table.
async fn sample() -> Site {
    let site = Site::sample();
    let table = site.table("audit");
    site.create(table, false).await;
    let control = keyfold_core::retrofit::control::table("keyfold-control");
    site.create(&control, false).await;
    let secret = |number: usize| {
        let mut item = event(number);
        item.insert("accessedBy", AttributeValue::S(format!("{SECRET}-{}", number % 11)));
        item
    };
    fold(&site, "audit", (0..100).map(secret)).await;
    // The sample's second retrofit fills the folded index, so it is not used before its cut-over.
    site
}

/// Writes items with their folded keys.
async fn fold(site: &Site, table: &str, items: impl Iterator<Item = Item>) {
    let items = futures_util::stream::iter(items.collect::<Vec<_>>());
    keyfold_dynamo::load(&site.client(), site.table(table), items).await.unwrap();
}

/// The rights that a server without scans may need.
const READS: [&str; 3] = ["dynamodb:Query", "dynamodb:BatchGetItem", "dynamodb:DescribeTable"];
const TOOLS: [&str; 6] = ["describe_model", "explain", "ask", "query", "budget", "retrofit_status"];

#[tokio::test(flavor = "multi_thread")]
async fn all_tools_answer_in_both_protocols_and_none_writes() {
    let site = sample().await;
    let meter = Arc::new(Meter::default());
    let proxy = Proxy::start(site.dynamo().endpoint(), Arc::clone(&meter) as Arc<dyn Between>);
    let mut session = Agent::at(&site, proxy.endpoint(), &[]);
    let mut stateless = Agent::spawn(&site, proxy.endpoint(), &[]);
    let key = |name: &str| format!("io.modelcontextprotocol/{name}");
    stateless.meta = Some(json!({
        key("protocolVersion"): "2026-07-28", key("clientCapabilities"): {},
        key("clientInfo"): { "name": "test", "version": "1" },
    }));
    let found = stateless.asked("server/discover", json!({}));
    assert!(found["supportedVersions"].as_array().unwrap().contains(&json!("2026-07-28")), "{found}");
    for agent in [&mut session, &mut stateless] {
        let listed = agent.asked("tools/list", json!({}));
        let tools = listed["tools"].as_array().unwrap();
        assert_eq!(tools.iter().map(|tool| &tool["name"]).collect::<Vec<_>>(), TOOLS);
        for tool in tools {
            assert_eq!(tool["annotations"]["readOnlyHint"], true);
            assert_eq!(tool["outputSchema"]["type"], "object");
            assert_eq!(tool["inputSchema"]["additionalProperties"], false);
        }
        let model = agent.tool("describe_model", json!({ "table": "audit" })).unwrap();
        assert_eq!(model["tables"][0]["table"], "audit");
        let by_user = json!({ "question": "whatDidUserDo", "parameters": { "accessedBy": format!("{SECRET}-1"), "action": "viewed" } });
        let answer = agent.tool("ask", by_user).unwrap();
        assert!(answer["count"].as_u64().unwrap() > 5, "{answer}");
        assert_eq!(answer["items"][0].get("byResourceActionUser_pk"), None, "folded keys are hidden");
        let request = json!({ "table": "audit", "where": { "id": "event-00007" } });
        let explained = agent.tool("explain", request.clone()).unwrap();
        assert_eq!(
            (explained["allowed"].as_bool(), explained["estimated"]["readUnits"].as_f64()),
            (Some(true), Some(0.5))
        );
        let answer = agent.tool("query", request).unwrap();
        assert_eq!(answer["items"][0]["resourceId"], "r0");
        assert_eq!(answer["consumed"]["readUnits"], 0.5);
        assert!(answer["consumed"]["dollars"].as_f64().unwrap() > 0.0);
        let budget = agent.tool("budget", json!({})).unwrap();
        assert!(budget["left"]["day"].as_f64().unwrap() < 20_000.0, "{budget}");
        let status = agent.tool("retrofit_status", json!({ "retrofit": "auditV2" })).unwrap();
        assert_eq!(status["retrofits"][0]["phase"], "not-started");
        for (request, code) in [
            (json!({ "table": "audit-legacy", "where": { "resourceId": "x" } }), "needs-scan"),
            (json!({ "table": "audit-legacy", "scan": true }), "needs-scan"),
            (json!({ "table": "audit", "where": { "resourceName": "x" } }), "needs-scan"),
            (json!({ "table": "keyfold-control" }), "unknown-table"),
        ] {
            assert_eq!(agent.code("query", request), code);
        }
    }
    // The policy allows all calls, and nothing that writes.
    let output = keyfold_in(site.folder.path(), &["mcp", "--policy"]).output().unwrap();
    let policy: Value = serde_json::from_slice(&output.stdout).unwrap();
    let mut allowed = BTreeSet::new();
    for statement in policy["Statement"].as_array().unwrap() {
        let texts = |name: &str| statement[name].as_array().unwrap().iter().map(|one| one.as_str().unwrap());
        for action in texts("Action") {
            assert!(READS.contains(&action), "{action}");
            let resources = texts("Resource").map(|arn| arn.rsplit(':').next().unwrap().to_owned());
            allowed.extend(resources.map(|resource| (action.to_owned(), resource)));
        }
    }
    let asked = meter.0.lock().unwrap().0.clone();
    assert!(asked.len() > 2 && asked.is_subset(&allowed), "{:?}", asked.difference(&allowed));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hidden_attribute_is_in_no_answer_and_no_condition_depends_on_it() {
    let site = sample().await;
    let mut agent = Agent::start(&site, &["--hide", "accessedBy", "--allow-scans", "--keys"]);
    let model = agent.tool("describe_model", json!({ "table": "audit" })).unwrap();
    let table = &model["tables"][0];
    assert!(table["attributes"].get("resourceId").is_some());
    let questions: Vec<&Value> =
        table["questions"].as_array().unwrap().iter().map(|one| &one["question"]).collect();
    assert_eq!(questions, ["getEvent"], "{questions:?}");
    assert_eq!(
        table["indexes"],
        json!([{ "index": "byAction", "partition": ["{action}.{id|shard:10}"], "sort": ["timestamp"] }])
    );
    let hidden = [
        json!({ "accessedBy": format!("{SECRET}-1") }),
        json!({ "or": [{ "id": "event-00001" }, { "not": { "accessedBy": { "beginsWith": "s" } } }] }),
        json!({ "id": "event-00001", "accessedBy": { "exists": false } }),
        json!([{ "attribute": "accessedBy", "operator": ">", "value": "s" }]),
    ];
    for condition in hidden {
        for tool in ["query", "explain"] {
            let request = json!({ "table": "audit", "where": condition, "scan": true });
            assert_eq!(agent.code(tool, request), "attribute-hidden", "{condition}");
        }
    }
    let refused = [
        json!({ "table": "audit", "scan": true, "order": ["accessedBy"], "sortInMemory": 100 }),
        json!({ "table": "audit", "where": { "id": "event-00001" }, "select": ["id", "accessedBy"] }),
    ];
    for request in refused {
        assert_eq!(agent.code("query", request), "attribute-hidden");
    }
    let by_user = json!({ "question": "whatDidUserDo", "parameters": { "accessedBy": "x" } });
    assert_eq!(agent.code("ask", by_user), "attribute-hidden");
    let latest = json!({ "question": "latestOfAction", "parameters": { "action": "viewed" } });
    assert_eq!(agent.code("ask", latest), "attribute-hidden", "its select names the attribute");
    let ids: Vec<String> = (0..50).map(|number| format!("event-{number:05}")).collect();
    let many = json!({ "table": "audit", "where": { "id": { "in": ids } }, "explain": true });
    assert_eq!(agent.all("query", many).len(), 50);
    let scan = json!({ "table": "audit-legacy", "scan": true, "count": true });
    assert_eq!(agent.code("query", scan), "call-too-expensive");
    assert_eq!(
        agent.code("explain", json!({ "table": "audit", "where": { "accessedby": "x" } })),
        "unknown-attribute"
    );
    let mut other = Agent::start(&site, &["--hide", "action"]);
    for condition in [json!({ "action": "seen" }), json!({ "action": { "<": 5 } })] {
        let request = json!({ "table": "audit", "where": condition });
        assert_eq!(other.code("query", request), "attribute-hidden", "no word about its values or type");
    }
    assert!(!other.heard.contains("edited"));
    for word in [SECRET, "accessedBy", "byUserAction", "byResourceActionUser"] {
        assert!(!agent.heard.contains(word), "`{word}` was shown");
    }
}

#[test]
fn an_attribute_of_a_sort_key_cannot_be_hidden() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::copy(root().join("examples/projects/keyfold.toml"), folder.path().join("keyfold.toml")).unwrap();
    let output = keyfold_in(folder.path(), &["mcp", "--hide", "projectId"]).output().unwrap();
    assert_words(&refusal_of(&output), &["projectId", "sort key", "projects"]);
    let output = keyfold_in(folder.path(), &["mcp", "--scope", "jwt.sub=joe"]).output().unwrap();
    assert_words(&refusal_of(&output), &["jwt.sub"]);
    assert!(stdout(&output).is_empty(), "{}", stderr(&output));
}

#[tokio::test(flavor = "multi_thread")]
async fn two_tenants_cannot_see_each_other() {
    let site = Site::new(&std::fs::read_to_string(root().join("examples/projects/keyfold.toml")).unwrap());
    site.create(site.table("projects"), false).await;
    site.create(site.table("organisations"), false).await;
    let project = |number: usize| {
        item_of([
            ("organisationId", ["acme", "umbrella"][number % 2].to_owned()),
            ("projectId", format!("p{number:03}")),
            ("name", format!("project of {}", ["acme", "umbrella"][number % 2])),
            ("owner", "joe".to_owned()),
            ("lastUpdated", format!("2026-11-01T00:00:{:02}Z", number % 60)),
        ])
    };
    fold(&site, "projects", (0..60).map(project)).await;
    for (own, other) in [("acme", "umbrella"), ("umbrella", "acme")] {
        let mut agent = Agent::start(&site, &["--scope", &format!("jwt.org={own}"), "--allow-scans"]);
        let model = agent.tool("describe_model", json!({})).unwrap();
        assert_eq!(model["tables"].as_array().unwrap().len(), 1, "only tables with a scope are seen");
        let items = agent.all("query", json!({ "table": "projects", "limit": 7 }));
        assert_eq!(items.len(), 30);
        let codes = [
            json!({ "table": "projects", "where": { "organisationId": other } }),
            json!({ "table": "organisations", "where": { "id": other } }),
            json!({ "table": "organisations", "scan": true }),
        ]
        .map(|request| agent.code("query", request));
        assert_eq!(codes, ["out-of-scope"; 3]);
        for condition in [
            json!({ "or": [{ "organisationId": other }, { "owner": "joe" }] }),
            json!({ "not": { "organisationId": own } }),
            json!({ "owner": "joe" }),
            json!({ "organisationId": { "in": [own, other] } }),
        ] {
            let request = json!({ "table": "projects", "where": condition, "scan": true });
            let found = agent.tool("query", request).map(|answer| answer["items"].clone());
            assert!(!found.unwrap_or_default().to_string().contains(&format!("of {other}")), "{condition}");
        }
        assert!(!agent.heard.contains(&format!("project of {other}")));
    }
}

/// A table of 120 items of 20 kB: a page of it is more than a budget.
async fn large() -> Site {
    let site = Site::new(
        "[tables.t]\nname = \"Large\"\npartition = \"p\"\nsort = \"s\"\nexpect = { items = 120, item-bytes = 100 }\nattributes = { p = \"string\", s = \"string\", text = \"string\" }\n",
    );
    site.create(site.table("t"), false).await;
    let item = |number: usize| {
        item_of([
            ("p", format!("p{}", number % 2)),
            ("s", format!("{number:04}")),
            ("text", "x".repeat(20_000)),
        ])
    };
    fold(&site, "t", (0..120).map(item)).await;
    site
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_bad_questions_exceed_no_budget_by_more_than_a_page() {
    let site = large().await;
    let (session, day) = (200.0, 330.0);
    let meter = Arc::new(Meter::default());
    let proxy = Proxy::start(site.dynamo().endpoint(), Arc::clone(&meter) as Arc<dyn Between>);
    let words = ["--allow-scans", "--call-max", "90", "--session-max", "200", "--day-max", "330"];
    let bad = |number: usize| match number % 5 {
        0 => json!({ "table": "t", "scan": true, "where": { "text": "nothing" } }),
        1 => json!({ "table": "t", "where": { "p": "p0" }, "order": ["text"], "sortInMemory": 1000 }),
        2 => json!({ "table": "t", "scan": true, "count": true, "consistent": true }),
        3 => json!({ "table": "t", "where": { "p": "p1", "text": { "contains": "y" } }, "limit": 100 }),
        _ => json!({ "table": "t", "scan": true, "where": { "not": { "p": "p0" } }, "readUnitsMax": 1e9 }),
    };
    let (mut codes, mut spent) = (BTreeSet::new(), 0.0);
    // The server is started three times, and the day goes on.
    for run in 0..3 {
        let mut agent = Agent::at(&site, proxy.endpoint(), &words);
        for number in 0..50 {
            if let Err(problem) = agent.tool("query", bad(number)) {
                codes.insert(problem["code"].as_str().unwrap().to_owned());
            }
        }
        let consumed = agent.tool("budget", json!({})).unwrap()["consumed"]["readUnits"].as_f64().unwrap();
        let charged = meter.0.lock().unwrap().1;
        assert!(
            (charged - spent - consumed).abs() < 0.001,
            "run {run}: {consumed} reported, {} charged",
            charged - spent
        );
        assert!(consumed <= session + PAGE_UNITS, "run {run}: {consumed}");
        spent = charged;
    }
    assert!(spent > day - 90.0 && spent <= day + PAGE_UNITS, "{spent}");
    assert!(codes.contains("budget-exhausted"), "{codes:?}");
    let mut late = Agent::at(&site, proxy.endpoint(), &words);
    assert_eq!(
        late.code("query", json!({ "table": "t", "where": { "p": "p0", "s": "0000" } })),
        "budget-exhausted"
    );
    assert_eq!(meter.0.lock().unwrap().1, spent, "nothing is read once the budget is gone");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_is_bounded_and_its_pages_are_complete() {
    let site = large().await;
    let mut agent = Agent::start(&site, &["--call-max", "300", "--day-max", "10000"]);
    let items = agent.all("query", json!({ "table": "t", "where": { "p": "p1" }, "limit": 10 }));
    let ids: Vec<&str> = items.iter().map(|item| item["s"].as_str().unwrap()).collect();
    let expected: Vec<String> =
        (0..120).filter(|number| number % 2 == 1).map(|number| format!("{number:04}")).collect();
    assert_eq!(ids, expected);
    let first = agent.tool("query", json!({ "table": "t", "where": { "p": "p1" }, "limit": 10 })).unwrap();
    assert_eq!(first["items"].as_array().unwrap().len(), 2, "two of 20 kB fit into an answer");
    let page = &first["page"];
    assert_eq!(
        agent.code("query", json!({ "table": "t", "where": { "p": "p0" }, "limit": 10, "page": page })),
        "bad-page-token"
    );
    let mut other = Agent::start(&site, &[]);
    assert_eq!(
        other.code("query", json!({ "table": "t", "where": { "p": "p1" }, "limit": 10, "page": page })),
        "bad-page-token"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn five_hundred_hostile_calls_find_nothing_and_stop_nothing() {
    let site = sample().await;
    let meter = Arc::new(Meter::default());
    let proxy = Proxy::start(site.dynamo().endpoint(), Arc::clone(&meter) as Arc<dyn Between>);
    let mut agent = Agent::at(&site, proxy.endpoint(), &["--hide", "accessedBy"]);
    for seed in 0..500 {
        let mut random = fastrand::Rng::with_seed(seed);
        if seed % 10 == 0 {
            agent.line(&garbage(&mut random));
        }
        let name = if random.u8(..) < 20 { "put_item" } else { TOOLS[random.usize(..TOOLS.len())] };
        let arguments = arguments(name, &mut random);
        let params = if random.u8(..) < 8 {
            value(&mut random, 0)
        } else {
            json!({ "name": name, "arguments": arguments })
        };
        let response = if params.is_object() {
            agent.response("tools/call", params.clone())
        } else {
            json!({ "error": 1 })
        };
        let is_answer = response.get("result").is_some() != response.get("error").is_some();
        assert!(is_answer, "seed {seed}: {params}: {response}");
    }
    assert!(agent.tool("budget", json!({})).is_ok(), "the server still answers");
    assert!(!agent.heard.contains(SECRET), "a hidden value was shown");
    let asked = meter.0.lock().unwrap().0.clone();
    assert!(asked.iter().all(|(action, _)| READS.contains(&action.as_str())), "{asked:?}");
    assert!(asked.iter().all(|(_, resource)| !resource.ends_with("byUserAction")), "{asked:?}");
}

/// A line that is no request.
fn garbage(random: &mut fastrand::Rng) -> String {
    match random.u8(..6) {
        0 => "\u{0}\u{1}{".to_owned(),
        1 => "[".repeat(5000),
        2 => "x".repeat(2 * 1024 * 1024),
        3 => json!([{ "jsonrpc": "2.0", "id": "a", "method": "ping" }]).to_string(),
        4 => json!({ "jsonrpc": "2.0", "method": "tools/call", "params": {} }).to_string(),
        _ => json!({ "jsonrpc": "1.0", "id": null, "method": null }).to_string(),
    }
}

/// Arguments that are half right.
fn arguments(tool: &str, random: &mut fastrand::Rng) -> Value {
    let mut all = json!({});
    let names: &[&str] = match tool {
        "ask" => &["question", "table", "parameters", "order", "limit", "page", "readUnitsMax", "count"],
        "describe_model" => &["table", "retrofit"],
        "retrofit_status" => &["retrofit", "table"],
        _ => &[
            "table",
            "where",
            "select",
            "order",
            "limit",
            "page",
            "scan",
            "entity",
            "readUnitsMax",
            "sortInMemory",
            "consistent",
            "count",
        ],
    };
    for name in names.iter().filter(|_| random.bool()).collect::<Vec<_>>() {
        all[*name] = match *name {
            "table" if random.u8(..) < 230 => json!("audit"),
            "question" => json!(["getEvent", "whatDidUserDo", "latestOfAction", "none"][random.usize(..4)]),
            "where" | "parameters" if random.u8(..) < 230 => condition(random, 0),
            "scan" | "count" | "consistent" => json!(random.bool()),
            "select" | "order" | "entity" => json!([attribute(random), attribute(random)]),
            _ => value(random, 0),
        };
    }
    all
}

fn attribute(random: &mut fastrand::Rng) -> &'static str {
    const NAMES: [&str; 12] = [
        "id",
        "resourceId",
        "action",
        "accessedBy",
        "timestamp",
        "-accessedBy",
        "accessedBy.x",
        "byUserAction",
        "byResourceActionUser_pk",
        "keyfold_tombstone",
        "",
        "#a",
    ];
    NAMES[random.usize(..NAMES.len())]
}

fn condition(random: &mut fastrand::Rng, depth: usize) -> Value {
    const OPERATORS: [&str; 9] =
        ["=", "<>", "<", "beginsWith", "contains", "in", "between", "exists", "eval"];
    match random.u8(..8) {
        0 if depth < 40 => json!({ "not": condition(random, depth + 1) }),
        1 if depth < 4 => json!({ "or": [condition(random, depth + 1), condition(random, depth + 1)] }),
        2 if depth < 4 => json!({ "and": [condition(random, depth + 1)] }),
        3 => json!({ attribute(random): { OPERATORS[random.usize(..9)]: value(random, depth) } }),
        4 => {
            json!([{ "attribute": attribute(random), "operator": OPERATORS[random.usize(..9)], "value": value(random, depth) }])
        }
        5 => json!({ "id": "event-00001" }),
        _ => json!({ attribute(random): value(random, depth) }),
    }
}

fn value(random: &mut fastrand::Rng, depth: usize) -> Value {
    match random.u8(..12) {
        0 => json!(null),
        1 => json!(-1),
        2 => json!(1e308),
        3 => json!(u64::MAX),
        4 => json!("x".repeat(random.usize(..100_000))),
        5 => json!("' OR 1=1 -- \u{202e}\u{0}"),
        6 => json!("viewed"),
        7 if depth < 5 => json!([value(random, depth + 1), value(random, depth + 1)]),
        8 if depth < 5 => json!({ "S": value(random, depth + 1) }),
        9 => json!({ "N": "1e9999" }),
        10 => json!(true),
        _ => json!("event-00002"),
    }
}
