//! Writing over HTTP: keys stay correct, conditions hold, and a caller neither changes nor learns of others' items.

use keyfold_dynamo::{PageRequest, ScanPage, TableOptions, scan_page};
use keyfold_local::EmbeddedDynamo;
use keyfold_query_api::{Api, Auth, Grants, Limits};
use serde_json::{Value, json};

use crate::request::{Got, Sent, WRITE_SCOPE, api_of, member, send, send_event};

const MANIFEST: &str = r#"
[deploy]
query-api = true
query-api-writes = ["notes", "tasks", "documents"]

[tables.notes]
partition = "id"
attributes = { id = "string", owner = "string", state = { type = "string", values = ["open", "done"] }, at = "timestamp", size = "number", tags = "string-set" }
indexes.byOwnerState = { partition = "{owner}#{state}", allow = ["native-would-serve"] }

[tables.tasks]
partition = "{org}#{project}"
sort = "id"
scope = { org = "jwt.org" }
attributes = { org = "string", project = "string", id = "string", note = "string" }

[tables.documents]
partition = "id"
scope = { org = "jwt.org" }
attributes = { id = "string", org = "string", text = "string" }

[tables.fixed]
partition = "id"
attributes = { id = "string" }
"#;

fn closed() -> Api {
    api_of(MANIFEST, "http://127.0.0.1:9", Limits::default()).with_complete_indexes()
}

async fn world() -> (EmbeddedDynamo, Api) {
    let dynamo = EmbeddedDynamo::memory().unwrap();
    let api = api_of(MANIFEST, dynamo.endpoint(), Limits::default()).with_complete_indexes();
    dynamo.create_tables(&api.model().tables, TableOptions::default()).await.unwrap();
    (dynamo, api)
}

async fn wrote(api: &Api, path: &str, body: &Value) -> Got {
    send(api, &Sent::post(path, body.to_string())).await
}

async fn stored(dynamo: &EmbeddedDynamo, api: &Api, table: &str) -> Vec<Value> {
    let table = api.model().table(table).unwrap().name.clone();
    let page = PageRequest { table, consistent: true, ..PageRequest::default() };
    let page = scan_page(&dynamo.client(), &ScanPage { page, segment: None }).await.unwrap();
    let mut items: Vec<Value> = page.items.iter().map(|item| serde_json::to_value(item).unwrap()).collect();
    items.sort_by_key(Value::to_string);
    items
}

fn note(id: &str) -> Value {
    json!({ "id": id, "owner": "joe1", "state": "open", "at": "2017-03-01T08:00:00Z", "tags": ["a"] })
}

async fn found(api: &Api, state: &str) -> Value {
    let asked = json!({ "table": "notes", "where": { "owner": "joe1", "state": state }, "count": true });
    send(api, &Sent::query(&asked)).await.body["count"].clone()
}

#[tokio::test]
async fn what_is_put_is_found_by_its_folded_key_and_follows_an_update() {
    let (dynamo, api) = world().await;
    let put = |item: Value| json!({ "table": "notes", "item": item });
    let got = wrote(&api, "/put", &put(note("1"))).await;
    assert_eq!((got.status, &got.body), (201, &json!({ "consumedUnits": 2.0 })));
    assert_eq!((got.record.route, got.record.consumed_write_units), ("put", 2.0));
    assert_eq!((found(&api, "open").await, found(&api, "done").await), (json!(1), json!(0)));

    let again = wrote(&api, "/put", &put(note("1"))).await;
    assert_eq!((again.status, &again.body["code"]), (409, &json!("item-exists")));
    // A number keeps its digits, and DynamoDB's notation is understood.
    let body = r#"{"table":"notes","replace":true,"item":{"id":{"S":"1"},"owner":{"S":"joe1"},"state":{"S":"open"},"at":{"S":"2017-03-01T08:00:00Z"},"size":{"N":"12345678901234567890.5"}}}"#;
    assert_eq!(send(&api, &Sent::post("/put", body)).await.status, 201);
    assert_eq!(stored(&dynamo, &api, "notes").await[0]["size"]["N"], "12345678901234567890.5");

    // The key contains the owner too, which is not in the request, so the item is read.
    let done = json!({ "table": "notes", "key": { "id": "1" }, "set": { "state": "done" }, "remove": ["size"], "if": { "state": "open", "note": null } });
    let got = wrote(&api, "/update", &done).await;
    assert_eq!(got.status, 200, "{}", got.body);
    assert_eq!((found(&api, "open").await, found(&api, "done").await), (json!(0), json!(1)));
    assert_eq!(stored(&dynamo, &api, "notes").await[0].get("size"), None);

    let before = stored(&dynamo, &api, "notes").await;
    for (path, body, status, code) in [
        ("/update", done.clone(), 409, "expectation-failed"),
        (
            "/update",
            json!({ "table": "notes", "key": { "id": "1" }, "set": { "size": 1 }, "if": { "at": null } }),
            409,
            "expectation-failed",
        ),
        (
            "/update",
            json!({ "table": "notes", "key": { "id": "2" }, "set": { "size": 1 } }),
            404,
            "item-not-found",
        ),
        (
            "/delete",
            json!({ "table": "notes", "key": { "id": "1" }, "if": { "state": "open" } }),
            409,
            "expectation-failed",
        ),
        (
            "/delete",
            json!({ "table": "notes", "key": { "id": "2" }, "if": { "state": "open" } }),
            404,
            "item-not-found",
        ),
    ] {
        let got = wrote(&api, path, &body).await;
        assert_eq!(
            (got.status, got.body["code"].as_str()),
            (status, Some(code)),
            "{path} {body}: {}",
            got.body
        );
    }
    assert_eq!(stored(&dynamo, &api, "notes").await, before);

    let delete = json!({ "table": "notes", "key": { "id": "1" }, "if": { "state": "done" } });
    assert_eq!(wrote(&api, "/delete", &delete).await.body, json!({ "deleted": true, "consumedUnits": 2.0 }));
    let delete = json!({ "table": "notes", "key": { "id": "1" } });
    assert_eq!(wrote(&api, "/delete", &delete).await.body, json!({ "deleted": false }));
    assert_eq!(stored(&dynamo, &api, "notes").await, Vec::<Value>::new());
}

#[tokio::test]
async fn what_cannot_be_written_is_refused_and_nothing_is_sent() {
    let api = closed();
    let long = "x".repeat(400 * 1024);
    let too_long = format!(r#"{{"table":"notes","item":{{"id":"1","text":"{}"}}}}"#, "x".repeat(1024 * 1024));
    let put = |item: Value| json!({ "table": "notes", "item": item }).to_string();
    let update = |set: Value| json!({ "table": "notes", "key": { "id": "1" }, "set": set }).to_string();
    let folded = api.model().table("notes").unwrap().indexes[0].partition[0].name.clone();
    let changed = |more: Value| {
        let mut body = json!({ "table": "notes", "key": { "id": "1" } });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body.to_string()
    };
    let names: Vec<String> = (0..10_000).map(|at| format!("a{at}")).collect();
    let many: Value =
        names.iter().map(|name| (name.clone(), json!(1))).collect::<serde_json::Map<_, _>>().into();
    let name_too_long = "n".repeat(65_536);
    for (path, body, status, code) in [
        ("/put", String::new(), 400, "malformed-request"),
        ("/put", r#"{"table":"notes","item":{"id":"1"},"more":1}"#.to_owned(), 400, "malformed-request"),
        ("/put", r#"{"table":"notes","item":[]}"#.to_owned(), 400, "malformed-request"),
        ("/put", r#"{"table":"notes","item":{"id":"1","id":"2"}}"#.to_owned(), 400, "malformed-request"),
        ("/put", r#"{"table":"notes","item":{"id":"1","size":1e999}}"#.to_owned(), 400, "invalid-value"),
        ("/put", too_long, 413, "body-too-large"),
        ("/put", json!({ "table": "nothing", "item": {} }).to_string(), 404, "unknown-table"),
        ("/put", json!({ "table": "fixed", "item": { "id": "1" } }).to_string(), 403, "table-not-writable"),
        ("/put", put(json!({ "id": "1", "state": "nothing" })), 400, "item-value-not-listed"),
        ("/put", put(json!({ "owner": "joe1" })), 400, "item-key-missing"),
        ("/put", put(json!({ "id": "1", "size": "7" })), 400, "item-attribute-type"),
        ("/put", put(json!({ "id": "1", "text": long })), 400, "item-too-large"),
        ("/put", put(json!({ "id": "1", "keyfold_fence": 1 })), 400, "item-attribute-reserved"),
        (
            "/put",
            json!({ "table": "notes", "item": { "id": "1" }, "entity": "cat" }).to_string(),
            400,
            "item-unknown-entity",
        ),
        ("/update", update(json!({})), 400, "update-empty"),
        ("/update", update(json!({ "id": "2" })), 400, "update-primary-key"),
        ("/update", update(json!({ (folded): "a#b" })), 400, "update-folded-attribute"),
        (
            "/update",
            json!({ "table": "notes", "key": {}, "set": { "size": 1 } }).to_string(),
            400,
            "item-key-missing",
        ),
        (
            "/update",
            json!({ "table": "notes", "key": { "id": "1" }, "set": { "size": 1 }, "remove": ["size"] })
                .to_string(),
            400,
            "malformed-request",
        ),
        (
            "/delete",
            json!({ "table": "notes", "key": { "owner": "joe1" } }).to_string(),
            400,
            "item-key-missing",
        ),
        ("/put", put(json!({ "id": "1", "": 1 })), 400, "item-attribute-name"),
        ("/put", put(json!({ "id": "1", (name_too_long): 1 })), 400, "item-attribute-name"),
        ("/put", put(json!({ "id": "1", "a": [{ "": 1 }] })), 400, "malformed-request"),
        ("/update", update(json!({ "": 1 })), 400, "item-attribute-name"),
        ("/update", update(json!({ "a": { "NULL": false } })), 400, "malformed-request"),
        (
            "/delete",
            changed(json!({ "if": { "a": { "L": [{ "NULL": false }] } } })),
            400,
            "malformed-request",
        ),
        ("/update", update(many.clone()), 400, "over-limit"),
        ("/update", changed(json!({ "remove": ["keyfold_fence"] })), 400, "item-attribute-reserved"),
        ("/update", changed(json!({ "remove": [""] })), 400, "item-attribute-name"),
        ("/update", changed(json!({ "remove": names })), 400, "over-limit"),
        (
            "/update",
            changed(json!({ "remove": ["size"], "if": { "keyfold_fence": null } })),
            400,
            "item-attribute-reserved",
        ),
        ("/update", changed(json!({ "remove": ["size"], "if": { "": 1 } })), 400, "item-attribute-name"),
        ("/update", changed(json!({ "remove": ["size"], "if": many })), 400, "over-limit"),
        ("/delete", changed(json!({ "if": { "keyfold_tombstone": null } })), 400, "item-attribute-reserved"),
        (
            "/delete",
            changed(json!({ "if": { "tags": { "SS": [] }, "id": { "S": "1" } } })),
            400,
            "item-set-empty",
        ),
        ("/delete", changed(json!({ "if": many })), 400, "over-limit"),
    ] {
        let shown: String = body.chars().take(120).collect();
        let got = send(&api, &Sent::post(path, body)).await;
        assert_eq!(
            (got.status, got.body["code"].as_str()),
            (status, Some(code)),
            "{path} {shown}: {}",
            got.body
        );
        assert_eq!(got.record.consumed_write_units, 0.0);
    }
}

#[tokio::test]
async fn an_update_that_makes_an_item_too_large_is_the_callers_mistake() {
    let (_dynamo, api) = world().await;
    let half = "x".repeat(250_000);
    let put = json!({ "table": "notes", "item": { "id": "1", "text": half } });
    assert_eq!(wrote(&api, "/put", &put).await.status, 201);
    let grown = json!({ "table": "notes", "key": { "id": "1" }, "set": { "more": half } });
    let got = wrote(&api, "/update", &grown).await;
    assert_eq!((got.status, &got.body["code"]), (400, &json!("item-too-large")), "{}", got.body);
}

#[tokio::test]
async fn only_who_may_write_writes() {
    let body = json!({ "table": "notes", "item": note("1") });
    let sent = |claims: Value| Sent::post("/put", body.to_string()).by(claims);
    let code = async |api: &Api, claims: Value| send(api, &sent(claims)).await.body["code"].clone();
    assert_eq!(code(&closed(), Value::Null).await, "not-authenticated");
    let grants = Grants { read: None, write: Some("notes/write".to_owned()) };
    let guarded = closed().with_grants(grants.clone());
    assert_eq!(code(&guarded, json!({ "sub": "joe1" })).await, "not-granted");
    assert_eq!(code(&guarded, json!({ "sub": "joe1", "scope": "notes/read" })).await, "not-granted");
    // A caller with the grant is admitted, to a DynamoDB that does not exist.
    assert_eq!(
        code(&guarded, json!({ "sub": "joe1", "scope": "notes/read notes/write" })).await,
        "not-reached"
    );
    // To read, the other grant counts.
    let asked = Sent::query(&json!({ "table": "notes", "where": { "id": "1" } }));
    assert_eq!(send(&guarded, &asked).await.body["code"], "not-reached");
    let open = Limits { auth: Auth::Open, ..Limits::default() };
    let open = api_of(MANIFEST, "http://127.0.0.1:9", open).with_grants(grants);
    assert_eq!(code(&open, Value::Null).await, "not-granted", "open, and still only with the grant");
}

/// API Gateway sets `requestContext.authorizer`; the caller sends everything else in an event. Each authorizer fills a different member.
#[tokio::test]
async fn without_a_write_scope_no_other_authorizer_is_a_policy_of_iam() {
    let api = closed().with_grants(Grants::default());
    let body = json!({ "table": "notes", "item": note("1") });
    let sent = Sent { query: "iam.userArn=x".to_owned(), ..Sent::post("/put", body.to_string()) };
    let mut event: Value = serde_json::from_str(&sent.by(Value::Null).event()).unwrap();
    let arn = json!("arn:aws:iam::123456789012:user/joe1");
    let iam = json!({ "userArn": arn });
    event["iam"] = iam.clone();
    event["headers"] =
        json!({ "iam": arn, "iam.userArn": arn, "x-authorizer": json!({ "iam": iam }).to_string() });
    event["requestContext"]["identity"] = iam.clone();
    event["requestContext"]["iam"] = iam.clone();
    let claims =
        json!({ "sub": "joe1", "scope": WRITE_SCOPE, "iam": iam, "iam.userArn": arn, "userArn": arn });
    for (authorizer, code) in [
        (Value::Null, "not-authenticated"),
        (json!({}), "not-authenticated"),
        (json!({ "jwt": { "claims": claims, "scopes": ["iam"] } }), "not-granted"),
        (json!({ "lambda": claims }), "not-granted"),
        (json!({ "lambda": { "principalId": arn, "authorizer": { "iam": iam } } }), "not-granted"),
        (json!({ "claims": claims, "principalId": arn }), "not-authenticated"),
        (json!({ "userArn": arn, "iam.userArn": arn, "IAM": iam }), "not-authenticated"),
        (json!({ "iam": arn }), "not-granted"),
        (json!({ "iam": { "userArn": "" } }), "not-authenticated"),
        (json!({ "iam": { "userArn": [arn] } }), "not-authenticated"),
        (json!({ "iam": { "accessKey": "AKIA", "cognitoIdentity": iam } }), "not-granted"),
        (json!({ "iam": iam }), "not-reached"),
    ] {
        event["requestContext"]["authorizer"] = authorizer.clone();
        assert_eq!(send_event(&api, &event.to_string()).await.body["code"], code, "{authorizer}");
    }
    // It has no tenant.
    let task = json!({ "table": "tasks", "item": { "org": "acme", "project": "p", "id": "1" } });
    event["body"] = task.to_string().into();
    assert_eq!(send_event(&api, &event.to_string()).await.body["code"], "claim-missing");
}

#[tokio::test]
async fn a_caller_writes_into_its_own_scope_alone() {
    let (dynamo, api) = world().await;
    let by = async |who: &str, path: &str, body: Value| {
        send(&api, &Sent::post(path, body.to_string()).by(member("someone", who))).await
    };
    let task = |id: &str| json!({ "table": "tasks", "item": { "project": "p", "id": id, "note": "a" } });
    assert_eq!(by("acme", "/put", task("1")).await.status, 201);
    let theirs = stored(&dynamo, &api, "tasks").await;
    assert_eq!(theirs[0]["org"]["S"], "acme", "the scope is filled in");
    // The same key in another scope is another item.
    assert_eq!(by("evil", "/put", task("1")).await.status, 201);
    assert_eq!(stored(&dynamo, &api, "tasks").await.len(), 2);

    let folded = api.model().table("tasks").unwrap().partition.name.clone();
    let raw = json!({ (folded): "acme#p", "id": "1" });
    for (path, body, status, code) in [
        (
            "/put",
            json!({ "table": "tasks", "item": { "org": "acme", "project": "p", "id": "2" } }),
            403,
            "out-of-scope",
        ),
        (
            "/update",
            json!({ "table": "tasks", "key": { "org": "acme", "project": "p", "id": "1" }, "set": { "note": "b" } }),
            403,
            "out-of-scope",
        ),
        ("/update", json!({ "table": "tasks", "key": raw, "set": { "note": "b" } }), 404, "item-not-found"),
        (
            "/update",
            json!({ "table": "tasks", "key": { "project": "p", "id": "1" }, "set": { "org": "acme" } }),
            403,
            "out-of-scope",
        ),
        (
            "/update",
            json!({ "table": "tasks", "key": { "project": "p", "id": "1" }, "set": { "note": "b" }, "if": { "org": "acme" } }),
            403,
            "out-of-scope",
        ),
        ("/delete", json!({ "table": "tasks", "key": raw, "if": { "note": "a" } }), 404, "item-not-found"),
        (
            "/put",
            json!({ "table": "documents", "item": { "id": "1", "text": "a" } }),
            403,
            "needs-scoped-key",
        ),
    ] {
        let got = by("evil", path, body.clone()).await;
        assert_eq!(
            (got.status, got.body["code"].as_str()),
            (status, Some(code)),
            "{path} {body}: {}",
            got.body
        );
    }
    assert_eq!(
        by("evil", "/delete", json!({ "table": "tasks", "key": raw })).await.body,
        json!({ "deleted": false })
    );
    let left = stored(&dynamo, &api, "tasks").await;
    assert_eq!(left.iter().find(|item| item["org"]["S"] == "acme"), theirs.first());
    let own = json!({ "table": "tasks", "key": { "project": "p", "id": "1" }, "set": { "note": "b" }, "if": { "note": "a" } });
    assert_eq!(by("evil", "/update", own).await.status, 200);
    let own = json!({ "table": "tasks", "key": { "project": "p", "id": "1" } });
    assert_eq!(by("evil", "/delete", own).await.body["deleted"], true);
    let none = send(&api, &Sent::post("/put", task("3").to_string())).await;
    assert_eq!((none.status, &none.body["code"]), (403, &json!("claim-missing")));
}

#[tokio::test]
async fn anothers_item_looks_like_one_that_is_not_there() {
    let (dynamo, api) = world().await;
    for (id, org) in [("theirs", "acme"), ("mine", "evil")] {
        let item = json!({ "id": { "S": id }, "org": { "S": org }, "text": { "S": "x".repeat(9000) } });
        let item = serde_json::from_value(item).unwrap();
        keyfold_dynamo::put(&dynamo.client(), api.model().table("documents").unwrap(), item).await.unwrap();
    }
    let before = stored(&dynamo, &api, "documents").await;
    for (path, more) in [
        ("/update", json!({ "set": { "text": "a" } })),
        ("/update", json!({ "set": { "text": "a" }, "if": { "text": "b" } })),
        ("/update", json!({ "remove": ["text"] })),
        ("/delete", json!({})),
        ("/delete", json!({ "if": { "text": "b" } })),
        ("/delete", json!({ "if": { "text": null } })),
    ] {
        let mut told = Vec::new();
        for id in ["theirs", "nobodys"] {
            let mut body = json!({ "table": "documents", "key": { "id": id } });
            body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            let got = send(&api, &Sent::post(path, body.to_string()).by(member("eve", "evil"))).await;
            told.push((got.status, got.headers, got.text));
        }
        assert_eq!(told[0], told[1], "{path} {more}");
    }
    assert_eq!(stored(&dynamo, &api, "documents").await, before);
    let mine = json!({ "table": "documents", "key": { "id": "mine" }, "set": { "text": "a" } });
    let got = send(&api, &Sent::post("/update", mine.to_string()).by(member("eve", "evil"))).await;
    assert_eq!(got.status, 200, "{}", got.body);
}

#[tokio::test]
async fn an_item_of_another_tenant_with_the_callers_own_key_is_not_replaced() {
    let (dynamo, api) = world().await;
    let put = json!({ "table": "tasks", "item": { "project": "p", "id": "1" }, "replace": true });
    let put_by =
        async |who: &str| send(&api, &Sent::post("/put", put.to_string()).by(member("someone", who))).await;
    for who in ["acme", "evil"] {
        assert_eq!(put_by(who).await.status, 201);
    }
    // A program that writes keys itself exchanges the tenants of the two items, but not their keys.
    let (client, name) = (dynamo.client(), &api.model().table("tasks").unwrap().name);
    let rows = client.scan().table_name(name).send().await.unwrap().items.unwrap();
    for (row, other) in [(&rows[0], &rows[1]), (&rows[1], &rows[0])] {
        let mut row = row.clone();
        row.insert("org".to_owned(), other["org"].clone());
        client.put_item().table_name(name).set_item(Some(row)).send().await.unwrap();
    }
    let before = stored(&dynamo, &api, "tasks").await;
    let got = put_by("evil").await;
    assert_eq!((got.status, &got.body["code"]), (409, &json!("item-exists")));
    assert_eq!(stored(&dynamo, &api, "tasks").await, before);
}

#[tokio::test]
async fn a_caller_moves_no_item_out_of_its_scope() {
    let (dynamo, api) = world().await;
    let item = serde_json::from_value(json!({ "id": { "S": "1" }, "org": { "S": "evil" } })).unwrap();
    keyfold_dynamo::put(&dynamo.client(), api.model().table("documents").unwrap(), item).await.unwrap();
    let before = stored(&dynamo, &api, "documents").await;
    for change in [json!({ "set": { "org": "acme" } }), json!({ "remove": ["org"] })] {
        let mut body = json!({ "table": "documents", "key": { "id": "1" } });
        body.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        let got = send(&api, &Sent::post("/update", body.to_string()).by(member("eve", "evil"))).await;
        assert_eq!((got.status, &got.body["code"]), (403, &json!("out-of-scope")), "{change}");
    }
    assert_eq!(stored(&dynamo, &api, "documents").await, before);
}

#[tokio::test]
async fn the_description_has_the_paths_only_where_something_can_be_written() {
    let described = async |manifest: &str| {
        let api = api_of(manifest, "http://127.0.0.1:9", Limits::default());
        send(&api, &Sent::get("/openapi.json", "").by(Value::Null)).await.body
    };
    let document = described(MANIFEST).await;
    let tables = &document["components"]["schemas"]["PutRequest"]["properties"]["table"]["enum"];
    assert_eq!(tables, &json!(["notes", "tasks", "documents"]));
    for path in ["/put", "/update", "/delete"] {
        let body =
            &document["paths"][path]["post"]["requestBody"]["content"]["application/json"]["schema"]["$ref"];
        assert!(document.pointer(body.as_str().unwrap().trim_start_matches('#')).is_some(), "{path}");
    }
    let reading = described(&MANIFEST.replace("query-api-writes", "# ")).await;
    assert_eq!(
        (reading["paths"].get("/put"), reading["components"]["schemas"].get("PutRequest")),
        (None, None)
    );
}
