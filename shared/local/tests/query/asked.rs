//! From a request in JSON to its answer: the sample manifest, the planner, the executor and sealed page tokens
//! together, compared with a check of every item.

use fastrand::Rng;
use futures_util::stream;
use keyfold_core::manifest;
use keyfold_core::model::Model;
use keyfold_core::query::check::Caller;
use keyfold_core::query::order::compare_items;
use keyfold_core::query::{CheckedRequest, QueryRequest, Readiness, check, plan};
use keyfold_core::value::{AttributeValue, Item};
use keyfold_dynamo::{
    Answer, Binding, Client, RunOptions, TableOptions, TokenKeys, load, model_version, run,
};
use keyfold_local::EmbeddedDynamo;
use serde_json::{Value, json};

const MANIFEST: &str = include_str!("../../../../keyfold.toml");
const NOW: u64 = 1_790_000_000;
const ACTIONS: [&str; 3] = ["viewed", "edited", "deleted"];

fn event(number: usize) -> Item {
    let mut random = Rng::with_seed(number as u64);
    let day = 1 + random.u32(..28);
    let mut item = Item::default();
    for (name, value) in [
        ("id", format!("event{number}")),
        ("resourceId", ["123", "123bbb", "123-bbb"][random.usize(..3)].to_owned()),
        ("action", ACTIONS[random.usize(..3)].to_owned()),
        ("accessedBy", format!("joe{}", random.u32(..4))),
        ("timestamp", format!("2017-{:02}-{day:02}T08:00:00.{number:03}Z", 1 + random.u32(..4))),
        ("note", format!("note {number}")),
    ] {
        if name != "resourceId" || !number.is_multiple_of(9) {
            item.insert(name.to_owned(), AttributeValue::S(value));
        }
    }
    item
}

async fn audit() -> (EmbeddedDynamo, Client, Model, Vec<Item>) {
    let model = manifest::parse("keyfold.toml", MANIFEST).model.unwrap();
    let dynamo = EmbeddedDynamo::memory().unwrap();
    let (client, table) = (dynamo.client(), model.table("audit").unwrap().clone());
    keyfold_dynamo::create_table(&client, &table, TableOptions::default()).await.unwrap();
    let items: Vec<Item> = (0..300).map(event).collect();
    load(&client, &table, stream::iter(items.clone())).await.unwrap();
    (dynamo, client, model, items)
}

/// The ids of the matching items, in the requested order.
fn expected(checked: &CheckedRequest<'_>, items: &[Item]) -> Vec<String> {
    let mut matching: Vec<&Item> = items.iter().filter(|item| checked.condition.holds(item)).collect();
    matching.sort_by(|a, b| compare_items(checked.table, &checked.order, a, b));
    ids(matching)
}

fn ids<'a>(items: impl IntoIterator<Item = &'a Item>) -> Vec<String> {
    let id = |item: &'a Item| match &item["id"] {
        AttributeValue::S(id) => id.clone(),
        other => panic!("the id is {other:?}"),
    };
    items.into_iter().map(id).collect()
}

/// The whole answer, page by page, each requested with the sealed token of the previous one.
async fn ask(client: &Client, model: &Model, mut request: QueryRequest) -> Option<Vec<Answer>> {
    let keys = TokenKeys::random().unwrap();
    let mut pages: Vec<Answer> = Vec::new();
    loop {
        let checked = check(model, &request, &Caller::Trusted).unwrap();
        let plan = plan(&checked, &Readiness::complete()).ok()?;
        let binding = Binding::new(&request, "joe1", &model_version(MANIFEST));
        let from = request.page.as_ref().map(|token| keys.open(token, &binding, NOW).unwrap());
        let page = run(client, checked.table, &plan, from.as_ref(), &RunOptions::default()).await.unwrap();
        let token = page.next.as_ref().map(|next| keys.seal(next, &binding, NOW, 60).unwrap());
        pages.push(page);
        match token {
            None => return Some(pages),
            token => request.page = token,
        }
        assert!(pages.len() < 400, "the pages do not end");
    }
}

fn random_request(random: &mut Rng) -> Value {
    let mut conditions = serde_json::Map::new();
    let mut maybe = |name: &str, chosen: bool, value: Value| {
        if chosen {
            conditions.insert(name.to_owned(), value);
        }
    };
    let resource = ["123", "123bbb", "123-bbb", "none"][random.usize(..4)];
    maybe("resourceId", random.bool(), json!(resource));
    let action = match random.u32(..3) {
        0 => json!(ACTIONS[random.usize(..3)]),
        1 => json!({"in": ["viewed", "deleted"]}),
        _ => json!({"exists": true}),
    };
    maybe("action", random.bool(), action);
    maybe("accessedBy", random.bool(), json!(format!("joe{}", random.u32(..4))));
    let timestamp = match random.u32(..4) {
        0 => json!({"beginsWith": "2017-03"}),
        1 => json!({"between": ["2017-02-10T00:00:00Z", "2017-03-20T00:00:00Z"]}),
        2 => json!({"<": "2017-02-01T00:00:00Z"}),
        _ => json!({">=": "2017-03-31T08:00:00.000Z"}),
    };
    maybe("timestamp", random.bool(), timestamp);
    let mut request = json!({"table": "audit", "where": conditions, "limit": 1 + random.u32(..40)});
    match random.u32(..4) {
        0 => {}
        1 => request["order"] = json!("timestamp"),
        2 => request["order"] = json!("-timestamp"),
        _ => request["order"] = json!(["action", "-timestamp"]),
    }
    if random.bool() {
        request["sortInMemory"] = json!(300);
    }
    if random.bool() {
        request["scan"] = json!(true);
    }
    if random.u32(..3) == 0 {
        request["select"] = json!(["id", "note"]);
    }
    request
}

#[tokio::test]
async fn what_is_asked_is_answered_page_by_page_with_sealed_tokens() {
    let (_dynamo, client, model, items) = audit().await;
    let mut answered = 0;
    for seed in 0..200 {
        let asked = random_request(&mut Rng::with_seed(seed));
        let mut request: QueryRequest = serde_json::from_value(asked.clone()).unwrap();
        let Some(pages) = ask(&client, &model, request.clone()).await else { continue };
        answered += 1;
        let checked = check(&model, &request, &Caller::Trusted).unwrap();
        let mut expected = expected(&checked, &items);
        let mut given = ids(pages.iter().flat_map(|page| &page.items));
        if checked.order.is_empty() {
            expected.sort_unstable();
            given.sort_unstable();
        }
        assert_eq!(given, expected, "seed {seed}: {asked}");
        request.count = true;
        let counted = ask(&client, &model, request).await.unwrap();
        assert_eq!(counted.iter().map(|page| page.count).sum::<u64>(), expected.len() as u64, "{asked}");
    }
    assert!(answered > 120, "only {answered} of 200 were answered");
}

#[tokio::test]
async fn the_sample_question_is_answered_from_the_folded_index_at_the_price_of_one_page() {
    let (_dynamo, client, model, items) = audit().await;
    let request = json!({"table": "audit", "where": {"resourceId": "123bbb", "action": "viewed",
        "accessedBy": "joe1", "timestamp": {"beginsWith": "2017-03"}}, "order": "-timestamp"});
    let request: QueryRequest = serde_json::from_value(request).unwrap();
    let pages = ask(&client, &model, request.clone()).await.unwrap();
    let checked = check(&model, &request, &Caller::Trusted).unwrap();
    assert_eq!(ids(&pages[0].items), expected(&checked, &items));
    assert_eq!((pages.len(), pages[0].requests, pages[0].consumed_read_units), (1, 1, 0.5));
    assert_eq!(pages[0].items_read, pages[0].count);
}

#[tokio::test]
async fn ten_shards_are_merged_in_order() {
    let (_dynamo, client, model, items) = audit().await;
    let request = json!({"table": "audit", "where": {"action": "edited"}, "order": "-timestamp", "limit": 7});
    let request: QueryRequest = serde_json::from_value(request).unwrap();
    let checked = check(&model, &request, &Caller::Trusted).unwrap();
    assert_eq!(plan(&checked, &Readiness::complete()).unwrap().accesses.len(), 10);
    let pages = ask(&client, &model, request.clone()).await.unwrap();
    assert_eq!(ids(pages.iter().flat_map(|page| &page.items)), expected(&checked, &items));
}
