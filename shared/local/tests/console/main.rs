//! The console over its port: the page, its data, and its allowed callers.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod retrofits;

use keyfold_core::model::Table;
use keyfold_core::value::Item;
use keyfold_dynamo::{TableOptions, TokenKeys};
use keyfold_local::{ConsoleServer, EmbeddedDynamo};
use keyfold_query_api::{Api, Auth, Limits};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const MANIFEST: &str = r#"
[deploy]
query-api = true
query-api-writes = ["orders"]

[tables.audit]
partition = "id"

[tables.audit.attributes]
id = "string"
resourceId = { type = "string", required = true }
action = { type = "string", required = true, values = ["viewed", "edited", "deleted"] }
accessedBy = { type = "string", required = true }
timestamp = { type = "timestamp", required = true }

[tables.audit.indexes.byResourceActionUser]
partition = "{resourceId}-{action}-{accessedBy}"
sort = "{timestamp}"

[tables.orders]
partition = "organisationId"
sort = "orderId"
scope = { organisationId = "jwt.org" }
attributes = { organisationId = "string", orderId = "string" }

[questions.audit.whenDidUserActOnResource]
where = ["resourceId", "action", "accessedBy", "timestamp between?"]
order = "timestamp"
"#;

/// A console, and the DynamoDB that it reads.
struct World {
    dynamo: EmbeddedDynamo,
    api: Api,
    console: ConsoleServer,
}

impl World {
    async fn of(manifest: &str) -> World {
        let dynamo = EmbeddedDynamo::memory().unwrap();
        let (api, served) = (api(manifest, &dynamo), api(manifest, &dynamo));
        dynamo.create_tables(&api.model().tables, TableOptions::default()).await.unwrap();
        let console = ConsoleServer::of(served, dynamo.endpoint()).await.unwrap();
        World { dynamo, api, console }
    }

    /// Thirty events and two orders.
    async fn filled() -> World {
        let world = World::of(MANIFEST).await;
        for day in 1..=30 {
            let action = if day % 10 == 0 { "edited" } else { "viewed" };
            world.put("audit", event(&format!("event-{day:02}"), action, &format!("2017-03-{day:02}"))).await;
        }
        for organisation in ["acme", "umbrella"] {
            let order = json!({ "organisationId": { "S": organisation }, "orderId": { "S": "1" } });
            world.put("orders", order).await;
        }
        world
    }

    /// Writes an item with its folded keys.
    async fn put(&self, table: &str, item: Value) {
        let table = self.api.model().table(table).unwrap();
        keyfold_dynamo::put(&self.dynamo.client(), table, item_of(item)).await.unwrap();
    }

    /// Writes an item as a program that does not fold keys.
    async fn put_bare(&self, table: &str, item: Value) {
        let table = self.api.model().table(table).unwrap();
        let bare = Table { indexes: Vec::new(), attributes: Default::default(), ..table.clone() };
        keyfold_dynamo::put(&self.dynamo.client(), &bare, item_of(item)).await.unwrap();
    }

    /// A request without a body: the status, the text before the body, the body.
    async fn send(&self, method: &str, path: &str, headers: &str) -> (u16, String, String) {
        let address = self.console.url().replace("http://", "").replace('/', "");
        let mut stream = TcpStream::connect(&address).await.unwrap();
        let host = if headers.contains("host:") { String::new() } else { format!("host: {address}\r\n") };
        let request = format!("{method} {path} HTTP/1.1\r\n{host}{headers}connection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).await.unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        (head.split(' ').nth(1).unwrap().parse().unwrap(), head.to_owned(), body.to_owned())
    }

    /// The status and the JSON of a GET request.
    async fn get(&self, path: &str) -> (u16, Value) {
        let (status, _, body) = self.send("GET", path, "").await;
        (status, serde_json::from_str(&body).unwrap())
    }

    /// The content of a view.
    async fn view(&self, path: &str) -> Value {
        let (status, body) = self.get(path).await;
        assert_eq!(status, 200, "{path}: {body}");
        body
    }
}

fn api(manifest: &str, dynamo: &EmbeddedDynamo) -> Api {
    let limits = Limits { auth: Auth::Open, ..Limits::default() };
    let keys = TokenKeys::random().unwrap();
    Api::new("keyfold.toml", manifest, dynamo.client(), keys, limits).unwrap()
}

fn item_of(item: Value) -> Item {
    serde_json::from_value(item).unwrap()
}

fn event(id: &str, action: &str, day: &str) -> Value {
    json!({
        "id": { "S": id }, "resourceId": { "S": "123bbb" }, "action": { "S": action }, "accessedBy": { "S": "joe1" },
        "timestamp": { "S": format!("{day}T08:00:00.000Z") },
    })
}

fn code(body: &Value) -> &str {
    body["code"].as_str().unwrap_or_default()
}

#[tokio::test]
async fn the_page_lets_nothing_else_in() {
    let world = World::of(MANIFEST).await;
    for (path, kind) in [("/", "text/html"), ("/console.js", "text/javascript"), ("/console.css", "text/css")]
    {
        let (status, head, body) = world.send("GET", path, "").await;
        assert!(status == 200 && body.len() > 500, "{path}");
        assert!(head.contains(&format!("content-type: {kind}")), "{head}");
        let policy = head.lines().find(|line| line.starts_with("content-security-policy")).unwrap();
        assert!(policy.contains("default-src 'none'") && policy.contains("script-src 'self'"), "{policy}");
        assert!(!policy.contains("unsafe"), "{policy}");
        assert!(head.contains("x-content-type-options: nosniff"), "{head}");
    }
}

#[tokio::test]
async fn a_page_of_another_site_gets_nothing() {
    let world = World::filled().await;
    for path in
        ["/", "/console/model", "/console/tables/audit/entries", "/console/tables/audit/item?key=%7B%7D"]
    {
        for header in [
            "sec-fetch-site: cross-site",
            "sec-fetch-site: same-site",
            "host: evil.example",
            "origin: http://evil.example",
        ] {
            let (status, _, body) = world.send("GET", path, &format!("{header}\r\n")).await;
            assert_eq!(status, 403, "{path} {header}");
            assert!(!body.contains("event-"), "{body}");
        }
        for header in ["sec-fetch-site: same-origin", "sec-fetch-site: none"] {
            assert_ne!(world.send("GET", path, &format!("{header}\r\n")).await.0, 403, "{path} {header}");
        }
    }
}

#[tokio::test]
async fn the_page_asks_questions_and_nothing_is_written() {
    let world = World::filled().await;
    let query = "resourceId=123bbb&action=edited&accessedBy=joe1";
    let answer = world.view(&format!("/tables/audit/questions/whenDidUserActOnResource?{query}")).await;
    assert_eq!(answer["count"], 3, "{answer}");
    for path in ["/put", "/update", "/delete", "/health", "/openapi.json", "/audit"] {
        for method in ["GET", "POST"] {
            let (status, _, body) = world.send(method, path, "").await;
            assert!(status == 404 && body.contains("unknown-route"), "{method} {path}: {body}");
        }
    }
    for path in ["/", "/console/model", "/console/tables/audit/item"] {
        let (status, _, body) = world.send("POST", path, "").await;
        assert!(status == 405 && body.contains("method-not-allowed"), "{path}: {body}");
    }
}

#[tokio::test]
async fn every_item_of_a_table_with_a_scope_is_shown() {
    let world = World::filled().await;
    let shown = world.view("/console/tables/orders/entries").await;
    assert_eq!(shown["entries"], 2);
    assert_eq!(shown["collections"][1]["key"], json!([{ "S": "umbrella" }]));
    let first = &shown["collections"][0]["entries"][0];
    assert_eq!(&world.view(&at("orders", first)).await["item"], first);
}

#[tokio::test]
async fn names_that_the_manifest_does_not_have_are_problems() {
    let world = World::of(MANIFEST).await;
    for (path, status, wanted) in [
        ("/console/tables/audits/entries", 404, "unknown-table"),
        ("/console/tables/audit/entries?index=byNobody", 404, "index-not-declared"),
        ("/console/tables/audit/entries?limit=1", 400, "unknown-parameter"),
        ("/console/model?x=1", 400, "unknown-parameter"),
        ("/console/retrofits/nothing", 404, "unknown-retrofit"),
        ("/console/nothing", 404, "unknown-route"),
    ] {
        let (got, body) = world.get(path).await;
        assert_eq!((got, code(&body)), (status, wanted), "{path}: {body}");
        assert!(include_str!("../../../../docs/errors.md").contains(&format!("`{wanted}`")), "{wanted}");
    }
}

#[tokio::test]
async fn an_index_is_shown_as_it_is_stored_and_says_who_is_absent() {
    let world = World::filled().await;
    // An item that was written without its folded key.
    let old = json!({ "id": { "S": "old" }, "action": { "S": "viewed" }, "<b>&": { "S": "<script>alert(1)</script>" } });
    world.put_bare("audit", old).await;
    let shown = world.view("/console/tables/audit/entries?index=byResourceActionUser").await;
    assert_eq!(shown["entries"], 30, "{shown}");
    let keys: Vec<&str> = shown["collections"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["key"][0]["S"].as_str().unwrap())
        .collect();
    assert_eq!(keys, ["123bbb-edited-joe1", "123bbb-viewed-joe1"]);
    let entries = shown["collections"][1]["entries"].as_array().unwrap();
    let times: Vec<&str> = entries.iter().map(|one| one["timestamp"]["S"].as_str().unwrap()).collect();
    assert!(times.is_sorted() && times.len() == 27, "{times:?}");
    assert_eq!(shown["absent"]["absent"], 1);
    assert_eq!(shown["absent"]["items"], 31);
    assert!(shown["absent"]["reasons"][0]["reason"].as_str().unwrap().contains("is missing"));
    let whole = world.view("/console/tables/audit/entries").await;
    assert_eq!((&whole["entries"], &whole["absent"]), (&json!(31), &Value::Null));
    // Markup is data: JSON contains it unchanged, and the page inserts it as text.
    assert!(whole.to_string().contains("<script>alert(1)</script>"));
}

/// A key as the page gives it.
fn at(table: &str, key: &Value) -> String {
    format!("/console/tables/{table}/item?key={}", escaped(key))
}

fn escaped(value: &Value) -> String {
    value.to_string().bytes().map(|byte| format!("%{byte:02X}")).collect()
}

#[tokio::test]
async fn an_item_is_found_by_its_key_and_tells_what_each_of_its_keys_should_be() {
    let world = World::filled().await;
    let found = world.view(&at("audit", &json!({ "id": { "S": "event-01" } }))).await;
    assert_eq!(found["item"]["accessedBy"], json!({ "S": "joe1" }), "{found}");
    assert_eq!((&found["places"][0]["name"], &found["misfit"]), (&json!("table"), &Value::Null));
    let folded = &found["places"][1]["keys"][0];
    assert_eq!(
        (&folded["wanted"], &folded["right"]),
        (&json!("123bbb-viewed-joe1"), &json!(true)),
        "{found}"
    );
    assert!(found["consumedReadUnits"].as_f64().unwrap() > 0.0 && found["bytes"].as_u64().unwrap() > 50);
    // One that a program wrote which does not fold, and one that does not fit.
    let stale = json!({
        "id": { "S": "stale" }, "resourceId": { "S": "123bbb" }, "action": { "S": "edited" }, "accessedBy": { "S": "joe1" },
        "timestamp": { "S": "2017-03-01T08:00:00.000Z" }, "byResourceActionUser_pk": { "S": "123bbb-viewed-joe1" },
    });
    let misfit = json!({ "id": { "S": "misfit" }, "resourceId": { "N": "1" }, "action": { "S": "viewed" }, "accessedBy": { "S": "joe1" } });
    for item in [stale, misfit] {
        world.put_bare("audit", item).await;
    }
    let stale = world.view(&at("audit", &json!({ "id": { "S": "stale" } }))).await;
    let folded = &stale["places"][1]["keys"][0];
    assert_eq!(
        (&folded["wanted"], &folded["right"]),
        (&json!("123bbb-edited-joe1"), &json!(false)),
        "{stale}"
    );
    let misfit = world.view(&at("audit", &json!({ "id": { "S": "misfit" } }))).await;
    assert!(misfit["misfit"].as_str().unwrap().contains("resourceId"), "{misfit}");
    assert!(misfit["places"][1]["absent"].as_str().unwrap().contains("is missing"), "{misfit}");
    let nobody = world.view(&at("audit", &json!({ "id": { "S": "nobody" } }))).await;
    assert_eq!((&nobody["item"], &nobody["places"]), (&Value::Null, &Value::Null));
}

#[tokio::test]
async fn a_folded_primary_key_is_found_by_what_it_is_folded_from() {
    const MANIFEST: &str = r#"
        [tables.keyed]
        partition = "u:{user}-{id}"
        attributes = { id = "string", user = "string" }
    "#;
    let world = World::of(MANIFEST).await;
    let item = json!({ "id": { "S": "1" }, "user": { "S": "ann" } });
    world.put("keyed", item.clone()).await;
    let found = world.view(&at("keyed", &item)).await;
    let name = &world.api.model().tables[0].partition.name;
    assert_eq!(found["key"], json!({ name: { "S": "u:ann-1" } }), "{found}");
    assert_eq!(found["item"]["user"], json!({ "S": "ann" }));
    assert_eq!(world.view(&at("keyed", &found["key"])).await["item"], found["item"]);
    for key in [json!({ "user": { "S": "ann" } }), json!({ "id": { "N": "1" } }), json!(3)] {
        let (status, body) = world.get(&at("keyed", &key)).await;
        assert_eq!((status, code(&body)), (400, "malformed-request"), "{body}");
    }
    assert_eq!(
        world.view("/console/model").await["tables"][0]["partition"][0]["from"],
        json!(["id", "user"])
    );
}

#[tokio::test]
async fn what_a_view_leaves_out_is_on_the_next_ones_and_nothing_is_shown_twice() {
    let world = World::filled().await;
    for number in 0..420 {
        let action = ["viewed", "edited", "deleted"][number % 3];
        world.put("audit", event(&format!("more-{number:03}"), action, "2018-01-01")).await;
    }
    for path in
        ["/console/tables/audit/entries?", "/console/tables/audit/entries?index=byResourceActionUser&"]
    {
        let (mut seen, mut from, mut views) = (Vec::new(), String::new(), 0);
        loop {
            let view = world.view(&format!("{path}{from}")).await;
            let entries = view["collections"]
                .as_array()
                .unwrap()
                .iter()
                .flat_map(|one| one["entries"].as_array().unwrap().clone());
            seen.extend(entries.map(|entry| entry["id"]["S"].as_str().unwrap().to_owned()));
            views += 1;
            assert_eq!(view["more"] == true, !view["next"].is_null(), "{views}");
            if view["next"].is_null() {
                break;
            }
            from = format!("from={}", escaped(&view["next"]));
        }
        let shown = seen.len();
        seen.sort();
        seen.dedup();
        assert_eq!((shown, seen.len(), views), (450, 450, 3), "{path}");
    }
    let wrong = "/console/tables/audit/entries?from=%7B%22resourceId%22%3A%7B%22S%22%3A%22x%22%7D%7D";
    let (status, body) = world.get(wrong).await;
    assert_eq!((status, code(&body)), (400, "malformed-request"), "{body}");
}

#[tokio::test]
async fn a_view_is_bounded_and_says_that_there_is_more() {
    let world = World::filled().await;
    for number in 0..170 {
        world.put("audit", event(&format!("more-{number:03}"), "viewed", "2018-01-01")).await;
    }
    let full = world.view("/console/tables/audit/entries").await;
    assert_eq!((&full["entries"], &full["more"]), (&json!(200), &json!(false)));
    world.put("audit", event("last", "viewed", "2018-01-01")).await;
    let cut = world.view("/console/tables/audit/entries?index=byResourceActionUser").await;
    assert_eq!((&cut["entries"], &cut["more"]), (&json!(200), &json!(true)));
    assert_eq!(cut["absent"]["more"], true);
}

#[tokio::test]
async fn the_model_tells_keys_as_templates_and_parameters_with_their_types() {
    let world = World::of(MANIFEST).await;
    let model = world.view("/console/model").await;
    assert_eq!(model["endpoint"], world.dynamo.endpoint());
    let audit = &model["tables"][0];
    assert_eq!(audit["partition"][0], json!({ "attribute": "id", "type": "S", "templates": [], "from": [] }));
    let index = &audit["indexes"][0];
    assert_eq!((&index["kind"], &index["projection"]), (&json!("global"), &json!("all")));
    assert_eq!(index["partition"][0]["templates"][0]["template"], "{resourceId}-{action}-{accessedBy}");
    let question = &audit["questions"][0];
    assert_eq!(question["parameters"][1]["values"], json!(["viewed", "edited", "deleted"]));
    assert_eq!(question["parameters"][3]["name"], "timestamp.between");
    assert_eq!(question["parameters"][3]["required"], false);
    assert_eq!(question["parameters"][3]["type"], "timestamp");
}
