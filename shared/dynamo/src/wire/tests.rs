//! The laws of our decoder: the SDK's accepts the same bodies with the same meaning; all other bodies go to the SDK's.

use std::time::Duration;

use aws_credential_types::provider::{ProvideCredentials, future};
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::config::{BehaviorVersion, Builder, Credentials, Region};
use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::query::{QueryError, QueryOutput};
use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use aws_smithy_runtime_api::client::ser_de::DeserializeResponse;
use aws_smithy_types::body::SdkBody;
use aws_smithy_types::config_bag::ConfigBag;
use keyfold_core::execute::{BatchGet, Consumed, Page, PageRequest, QueryPage, ScanPage};
use keyfold_core::value::{AttributeValue, Item};
use keyfold_testkit::case::Case;
use keyfold_testkit::generate::Random;
use serde_json::{Value, json};

use super::answer::{self, StatementAnswer};
use super::body::{BodyText, QUERY_ITEMS};
use super::exchange::{Exchange, Interceptor, QUERY, is_ours, send};
use super::oracle::{agrees_with_the_sdk, sdk_page};
use server::Server;

mod server;

/// A value of any type, up to this depth.
fn value(random: &mut Random, depth: usize) -> Value {
    let many = |random: &mut Random| random.between(0, 3);
    let text = |random: &mut Random| Value::String(text(random));
    let number = |random: &mut Random| Value::String(number(random));
    match random.below(if depth == 0 { 8 } else { 10 }) {
        0 | 1 => json!({ "S": text(random) }),
        2 => json!({ "N": number(random) }),
        3 => json!({ "BOOL": random.chance(50) }),
        4 => json!({ "NULL": random.chance(90) }),
        5 => json!({ "B": base64(random) }),
        6 => json!({ "SS": (0..many(random)).map(|_| text(random)).collect::<Vec<_>>() }),
        7 if random.chance(50) => {
            json!({ "NS": (0..many(random)).map(|_| number(random)).collect::<Vec<_>>() })
        }
        7 => json!({ "BS": (0..many(random)).map(|_| base64(random)).collect::<Vec<_>>() }),
        8 => json!({ "L": (0..many(random)).map(|_| value(random, depth - 1)).collect::<Vec<_>>() }),
        _ => json!({ "M": item(random, depth - 1) }),
    }
}

fn item(random: &mut Random, depth: usize) -> Value {
    let members = (0..random.between(0, 4)).map(|_| (text(random), value(random, depth)));
    Value::Object(members.collect())
}

fn text(random: &mut Random) -> String {
    let letters = [
        "a", "B", "7", " ", "\"", "\\", "/", "\n", "\u{8}", "\u{1f}", "\u{7f}", "é", "ß", "語", "🦀", "{",
        "]", ":",
    ];
    (0..random.between(0, 8)).map(|_| *random.pick(&letters)).collect()
}

/// Every number that DynamoDB can hold has at most 38 digits.
fn number(random: &mut Random) -> String {
    let digits: String =
        (0..random.between(1, 38)).map(|_| char::from(b'0' + random.below(10) as u8)).collect();
    match random.below(4) {
        0 => digits,
        1 => format!("-{digits}"),
        2 => format!("0.{digits}"),
        _ => format!("{digits}E{}", random.between(0, 80)),
    }
}

fn base64(random: &mut Random) -> String {
    use base64::Engine;
    let bytes: Vec<u8> = (0..random.between(0, 9)).map(|_| random.below(256) as u8).collect();
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

fn capacity(random: &mut Random) -> Value {
    let units = |random: &mut Random| json!({ "CapacityUnits": random.below(9) as f64 / 2.0 });
    let mut all = json!({ "TableName": text(random), "CapacityUnits": random.below(99) });
    if random.chance(50) {
        all["Table"] = units(random);
        all["GlobalSecondaryIndexes"] = json!({ "byA": units(random), text(random): units(random) });
    }
    if random.chance(20) {
        all["LocalSecondaryIndexes"] = json!({ "byL": units(random) });
    }
    all
}

/// DynamoDB's result of one statement.
fn response(random: &mut Random) -> Value {
    let mut response = json!({ "TableName": text(random) });
    if random.chance(30) {
        let code = *random.pick(&["DuplicateItem", "ConditionalCheckFailed", "ThrottlingError", "New"]);
        response["Error"] = json!({ "Code": code, "Message": text(random) });
    }
    if random.chance(10) {
        response["Item"] = item(random, 2);
    }
    response
}

/// An answer to a Query or a Scan, one to a BatchGetItem, one to a BatchExecuteStatement, and one to a single write.
fn bodies(random: &mut Random) -> [Value; 4] {
    let items = |random: &mut Random| (0..random.between(0, 4)).map(|_| item(random, 3)).collect::<Vec<_>>();
    let mut page =
        json!({ "Items": items(random), "Count": random.below(1000), "ScannedCount": random.below(1000) });
    if random.chance(50) {
        page["LastEvaluatedKey"] = item(random, 0);
        page["ConsumedCapacity"] = capacity(random);
    }
    if random.chance(10) {
        page["SomethingNew"] = json!([{ "a": [true, "b", 7] }, {}]);
    }
    let mut batch = json!({ "Responses": { text(random): items(random) }, "UnprocessedKeys": {} });
    if random.chance(50) {
        batch["UnprocessedKeys"] = json!({ "t": { "Keys": [item(random, 0)], "ConsistentRead": true } });
        batch["ConsumedCapacity"] = json!([capacity(random)]);
    }
    let responses: Vec<Value> = (0..random.between(0, 4)).map(|_| response(random)).collect();
    let mut statements = json!({ "Responses": responses });
    if random.chance(50) {
        statements["ConsumedCapacity"] = json!([capacity(random)]);
    }
    let mut single = json!({});
    if random.chance(80) {
        single["ConsumedCapacity"] = capacity(random);
    }
    if random.chance(20) {
        single["Attributes"] = item(random, 2);
    }
    [page, batch, statements, single]
}

/// The same JSON, written in one of the ways that JSON allows.
fn written(json: &Value, random: &mut Random) -> String {
    let compact = serde_json::to_string(json).unwrap();
    match random.below(3) {
        0 => compact,
        1 => serde_json::to_string_pretty(json).unwrap(),
        // Letters beyond ASCII as escapes, in pairs where one is not enough.
        _ => compact
            .chars()
            .map(|letter| match letter {
                ' '..='~' => letter.to_string(),
                _ => letter.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04X}")).collect(),
            })
            .collect(),
    }
}

#[test]
fn what_dynamodb_sends_is_decoded_here_and_as_the_sdk_does() {
    for seed in 0..2000 {
        let random = &mut Random::new(seed);
        let [page, batch, statements, single] = bodies(random);
        let errors = statements["Responses"].as_array().unwrap().iter().map(|one| &one["Error"]["Code"]);
        let known =
            |code: &Value| ["DuplicateItem", "ConditionalCheckFailed"].contains(&code.as_str().unwrap());
        let all_known = errors.filter(|code| !code.is_null()).all(known);
        let tells_more = single.get("Attributes").is_some();
        let [page, batch, statements, single] =
            [page, batch, statements, single].map(|body| written(&body, random));
        assert!(agrees_with_the_sdk(page.as_bytes())[0], "{page}");
        assert!(agrees_with_the_sdk(batch.as_bytes())[1], "{batch}");
        assert_eq!(agrees_with_the_sdk(statements.as_bytes())[2], all_known, "{statements}");
        assert_eq!(agrees_with_the_sdk(single.as_bytes())[3], !tells_more, "{single}");
    }
}

#[test]
fn every_item_of_the_generators_arrives_as_it_was_sent() {
    for seed in 0..300 {
        let items: Vec<Item> = Case::new(seed).items.into_iter().map(|item| item.stored).collect();
        let sent: Vec<Value> = items.iter().map(|item| serde_json::to_value(item).unwrap()).collect();
        let body = json!({ "Items": sent, "Count": items.len(), "ScannedCount": items.len() }).to_string();
        let page = answer::page(body.as_bytes()).unwrap_or_else(|| panic!("{body}"));
        assert_eq!(page.items, items);
        assert_eq!(sdk_page(body.as_bytes()), Some(page));
    }
}

/// `KEYFOLD_BODIES=FROM..TO` mutates other bodies than the usual ones, or more of them.
#[test]
fn a_changed_body_is_never_read_as_something_else() {
    let (mut taken, mut left) = (0, 0);
    for seed in seeds() {
        let random = &mut Random::new(seed);
        let body = bodies(random)[seed as usize % 4].clone();
        let mut body = written(&body, random).into_bytes();
        for _ in 0..random.between(1, 3) {
            change(&mut body, random);
        }
        if agrees_with_the_sdk(&body).contains(&true) { taken += 1 } else { left += 1 }
    }
    // Otherwise the mutations prove nothing.
    assert!(taken > 1000 && left > 1000, "{taken} taken, {left} left");
}

fn seeds() -> std::ops::Range<u64> {
    let Ok(given) = std::env::var("KEYFOLD_BODIES") else { return 0..30_000 };
    let (from, to) = given.split_once("..").unwrap();
    from.parse().unwrap()..to.parse().unwrap()
}

fn change(body: &mut Vec<u8>, random: &mut Random) {
    if body.is_empty() {
        return;
    }
    let at = random.below(body.len());
    let to = random.between(at, body.len().min(at + 20));
    match random.below(6) {
        0 => body.truncate(at),
        1 => drop(body.drain(at..to)),
        2 => body[at] = random.below(256) as u8,
        3 => body.insert(at, *random.pick(b"{}[],:\"\\0e.-nut \xff\x00")),
        4 => {
            let copy = body[at..to].to_vec();
            body.splice(at..at, copy);
        }
        _ => {
            let tokens = [
                "null",
                "true",
                "-1",
                "1e2",
                "01",
                "{}",
                "[]",
                "\"S\"",
                "\\ud800",
                "\\u0041",
                "\"Items\":[],",
                "\"Keys\"",
                "\"Error\":{},",
                "\"Code\":\"DuplicateItem\",",
                "\"\":{\"N\":\"1\"},",
            ];
            let token = *random.pick(&tokens);
            drop(body.splice(at..at, token.bytes()));
        }
    }
}

#[test]
fn an_answer_that_says_nothing_of_a_statement_is_left_to_the_sdk() {
    let refused =
        r#"{"Responses":[{"TableName":"t"},{"Error":{"Code":"DuplicateItem","Message":"m","Item":{}}}]}"#;
    let answers = answer::statements(refused.as_bytes()).map(|answer| answer.answers);
    assert_eq!(answers, Some(vec![StatementAnswer::Written, StatementAnswer::Refused]));
    for body in [
        "{}",
        r#"{"Responses":null}"#,
        r#"{"Responses":[null]}"#,
        r#"{"Responses":[{"Error":{}}]}"#,
        r#"{"Responses":[{"Error":null}]}"#,
        r#"{"Responses":[{"Error":{"Code":"ThrottlingError"}}]}"#,
        r#"{"Responses":[{"Error":{"Code":"DuplicateItem","Code":"ThrottlingError"}}]}"#,
        r#"{"Responses":[{"TableName":7}]}"#,
        r#"{"Responses":[{}],"ConsumedCapacity":[{},{}]}"#,
    ] {
        assert_eq!(answer::statements(body.as_bytes()), None, "{body}");
        agrees_with_the_sdk(body.as_bytes());
    }
}

#[test]
fn what_is_not_certain_is_left_to_the_sdk() {
    let deep =
        format!("{{\"Items\":[{{\"a\":{}{{\"N\":\"1\"}}{}}}]}}", "{\"L\":[".repeat(80), "]}".repeat(80));
    for body in [
        "",
        "null",
        "[]",
        "{} {}",
        "{\"Items\":null}",
        "{\"Items\":[null]}",
        "{\"Items\":[{\"a\":null}]}",
        "{\"Items\":[{\"a\":{}}]}",
        "{\"Items\":[{\"a\":{\"S\":null}}]}",
        "{\"Items\":[{\"a\":{\"S\":\"x\",\"N\":\"1\"}}]}",
        "{\"Items\":[{\"a\":{\"X\":\"x\"}}]}",
        "{\"Items\":[{\"a\":{\"N\":1}}]}",
        "{\"Items\":[{\"a\":{\"B\":\"a\"}}]}",
        "{\"Items\":[{\"a\":{\"S\":\"\\ud800\"}}]}",
        "{\"Items\":[{\"a\":{\"S\":\"\\ud800\\u0041\"}}]}",
        "{\"Items\":[{\"a\":{\"S\":\"\u{1}\"}}]}",
        "{\"Items\":[{\"a\":{\"SS\":[null]}}]}",
        "{\"Items\":[],}",
        "{\"Items\":[,]}",
        "{\"Items\":[{}],\"Items\":[]}",
        "{\"Count\":-1}",
        "{\"Count\":1.5}",
        "{\"Count\":01}",
        "{\"Count\":2147483648}",
        "{\"ConsumedCapacity\":{\"CapacityUnits\":1e3}}",
        deep.as_str(),
    ] {
        assert_eq!(answer::page(body.as_bytes()), None, "{body}");
        agrees_with_the_sdk(body.as_bytes());
    }
    assert_eq!(answer::page(b"{\"Items\":[{\"\xff\":{\"S\":\"\"}}]}"), None, "not UTF-8");
}

const GOOD: &str = r#"{"Count":1,"Items":[{"id":{"S":"a"},"n":{"N":"1.10"}}],"ScannedCount":2,
    "LastEvaluatedKey":{"id":{"S":"a"}},"ConsumedCapacity":{"TableName":"t","CapacityUnits":0.5,"Table":{"CapacityUnits":0.5}}}"#;

fn good() -> Page {
    let text = |text: &str| AttributeValue::S(text.to_owned());
    let key = Item::from(std::collections::HashMap::from([("id".to_owned(), text("a"))]));
    let mut item = key.clone();
    item.insert("n", AttributeValue::N("1.10".to_owned()));
    let consumed = Consumed { units: 0.5, table_units: 0.5, ..Consumed::default() };
    Page { items: vec![item], count: 1, scanned: 2, last_key: Some(key), consumed }
}

#[test]
fn a_body_that_ends_too_early_is_never_a_page() {
    assert_eq!(answer::page(GOOD.as_bytes()), Some(good()));
    for end in 0..GOOD.len() {
        assert_eq!(answer::page(&GOOD.as_bytes()[..end]), None, "{}", &GOOD[..end]);
    }
}

#[test]
fn an_empty_last_key_means_that_there_is_no_more() {
    let page = answer::page(br#"{"Items":[],"Count":0,"ScannedCount":0,"LastEvaluatedKey":{}}"#);
    assert_eq!(page, Some(Page::default()));
}

/// One exchange over all attempts of a call: which results it keeps, and which the SDK decodes.
#[test]
fn each_attempt_is_decoded_by_the_right_decoder() {
    let exchange = exchange();
    let attempt = |status: u16, body: &str| {
        let response = HttpResponse::new(status.try_into().unwrap(), SdkBody::from(body));
        let output = exchange.deserialize_nonstreaming_with_config(&response, &ConfigBag::base());
        output.map(|output| output.downcast::<QueryOutput>().unwrap().count)
    };
    let broken = &GOOD[..GOOD.len() - 1];
    let refused = r#"{"__type":"com.amazonaws.dynamodb.v20120810#ResourceNotFoundException","message":"no"}"#;

    assert_eq!(attempt(200, GOOD).unwrap(), 0, "the SDK gets nothing");
    assert_eq!(exchange.take(), Some(good()));

    attempt(200, GOOD).unwrap();
    assert!(attempt(400, refused).is_err(), "an error is the SDK's");
    assert_eq!(exchange.take(), None, "and leaves nothing of the attempt before");

    // The body of an error can look like a page.
    assert!(attempt(500, GOOD).is_err());
    assert!(attempt(200, broken).is_err());
    assert_eq!(exchange.take(), None);

    // A body that only the SDK understands becomes its output.
    assert_eq!(attempt(200, r#"{"Items":null,"Count":3}"#).unwrap(), 3);
    assert_eq!(exchange.take(), None);

    attempt(200, GOOD).unwrap();
    assert_eq!(exchange.take(), Some(good()), "the last attempt counts");
}

/// A client whose attempts get these answers, and the server with the answers that are left.
fn scripted(answers: &[(u16, &str)]) -> (Client, Server) {
    let server = Server::with(answers);
    let retries = RetryConfig::standard().with_max_attempts(3).with_initial_backoff(Duration::from_millis(1));
    let config = Builder::default()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("us-east-1"))
        .credentials_provider(Credentials::new("key", "secret", None, None, "test"))
        .http_client(server.clone())
        .retry_config(retries);
    (Client::from_conf(config.build()), server)
}

/// An exchange whose request is never read.
fn exchange() -> Exchange<Page> {
    Exchange::of(&QUERY, BodyText::of(&QUERY_ITEMS, 2).done())
}

fn request() -> PageRequest {
    PageRequest { table: "t".to_owned(), ..PageRequest::default() }
}

#[tokio::test]
async fn a_page_comes_from_our_decoder_also_after_a_failed_attempt() {
    let (client, _) = scripted(&[(500, "{}"), (200, GOOD)]);
    let exchange = exchange();
    let output = send!(exchange, &client, client.query().table_name("t")).unwrap();
    assert_eq!((exchange.take(), output.count), (Some(good()), 0));

    let (client, _) = scripted(&[(200, GOOD)]);
    let query = QueryPage { page: request(), key_condition: "#k = :k".to_owned(), forward: true };
    assert_eq!(crate::query_page(&client, &query).await.unwrap(), good());
    let (client, _) = scripted(&[(200, GOOD)]);
    let scan = ScanPage { page: request(), ..ScanPage::default() };
    assert_eq!(crate::scan_page(&client, &scan).await.unwrap(), good());
}

/// The same client with our interceptor, as built by [`crate::client`].
fn with_interceptor(client: &Client) -> Client {
    Client::from_conf(client.config().to_builder().interceptor(Interceptor).build())
}

#[tokio::test]
async fn a_client_that_others_made_gets_the_same_pages() {
    let answers = [(200, GOOD), (200, GOOD), (200, GOOD)];
    let (theirs, _) = scripted(&answers);
    let (mine, _) = scripted(&answers);
    let mine = with_interceptor(&mine);
    assert_eq!([&theirs, &mine].map(is_ours), [false, true]);
    assert!(is_ours(&crate::plain_client("http://127.0.0.1:9", &crate::Settings::default())));
    for client in [theirs, mine] {
        let exchange = exchange();
        let output = send!(exchange, &client, client.query().table_name("t")).unwrap();
        assert_eq!((exchange.take(), output.count), (Some(good()), 0));
        // A call without an exchange is the SDK's, also between calls that have one.
        assert_eq!(client.query().table_name("t").send().await.unwrap().count, 1);
        let exchange = self::exchange();
        send!(exchange, &client, client.query().table_name("t")).unwrap();
        assert_eq!(exchange.take(), Some(good()));
    }
}

/// Credentials from a table, loaded in the middle of a call.
#[derive(Debug)]
struct Kept(Client);

impl ProvideCredentials for Kept {
    fn provide_credentials<'a>(&'a self) -> future::ProvideCredentials<'a>
    where
        Self: 'a,
    {
        future::ProvideCredentials::new(async {
            let count = self.0.query().table_name("credentials").send().await.unwrap().count;
            Ok(Credentials::new(count.to_string(), "secret", None, None, "test"))
        })
    }
}

#[tokio::test]
async fn what_a_call_asks_for_credentials_has_no_part_in_its_exchange() {
    let (kept, _) = scripted(&[(200, r#"{"Count":7}"#)]);
    let (client, left) = scripted(&[(200, GOOD)]);
    let credentials = Kept(with_interceptor(&kept));
    let config = client.config().to_builder().credentials_provider(credentials).interceptor(Interceptor);
    let client = Client::from_conf(config.build());
    let exchange = exchange();
    send!(exchange, &client, client.query().table_name("t")).unwrap();
    assert_eq!(exchange.take(), Some(good()));
    assert_eq!(left.answers_left(), 0);
}

#[tokio::test]
async fn keys_that_were_left_are_asked_for_again() {
    let left = r#"{"Responses":{"t":[{"id":{"S":"a"}}]},"UnprocessedKeys":{"t":{"Keys":[{"id":{"S":"b"}}]}},
        "ConsumedCapacity":[{"TableName":"t","CapacityUnits":0.5}]}"#;
    let rest = r#"{"Responses":{"t":[{"id":{"S":"b"}}]},"UnprocessedKeys":{},"ConsumedCapacity":[{"CapacityUnits":1}]}"#;
    let (client, server) = scripted(&[(200, left), (200, rest)]);
    let key = |id: &str| {
        Item::from(std::collections::HashMap::from([("id".to_owned(), AttributeValue::S(id.to_owned()))]))
    };
    let batch = BatchGet { table: "t".to_owned(), keys: vec![key("a"), key("b")], ..BatchGet::default() };
    let got = crate::batch_get(&client, &batch).await.unwrap();
    assert_eq!((got.items, got.consumed.units), (vec![key("a"), key("b")], 1.5));
    assert_eq!(server.answers_left(), 0);
}

/// Each value takes many times its text in memory, so the bound on bytes is not enough.
#[tokio::test]
async fn an_answer_with_more_values_than_fit_is_not_decoded() {
    for (values, is_read) in [(1000, true), (1_100_000, false)] {
        let list = vec![r#"{"NULL":true}"#; values].join(",");
        let page = format!(r#"{{"Items":[{{"a":{{"L":[{list}]}}}}],"Count":1,"ScannedCount":1}}"#);
        let (client, _) = scripted(&[(200, &page), (200, &page), (200, &page)]);
        let scan = ScanPage { page: request(), ..ScanPage::default() };
        assert_eq!(crate::scan_page(&client, &scan).await.is_ok(), is_read, "{values}");
    }
}

/// A 2xx with half a body fails in the same way as without our decoder.
#[tokio::test]
async fn half_a_page_is_the_error_that_the_sdk_makes_of_it() {
    let broken = &GOOD[..GOOD.len() - 1];
    let refused = r#"{"__type":"com.amazonaws.dynamodb.v20120810#ResourceNotFoundException","message":"no"}"#;
    for answers in
        [[(200, broken), (400, refused), (400, refused)], [(200, broken), (200, GOOD), (200, GOOD)]]
    {
        let ((ours, left_ours), (sdks, left_sdks)) = (scripted(&answers), scripted(&answers));
        let exchange = exchange();
        let ours = send!(exchange, &ours, ours.query().table_name("t"));
        let sdks = sdks.query().table_name("t").send().await;
        let told = |answer: &Result<QueryOutput, SdkError<QueryError>>| match answer {
            Ok(output) => output.count.to_string(),
            Err(error) => format!("{:?}", error.as_service_error()),
        };
        match exchange.take() {
            Some(page) => assert_eq!(page.count.to_string(), told(&sdks)),
            None => assert_eq!(told(&ours), told(&sdks)),
        }
        assert_eq!(left_ours.answers_left(), left_sdks.answers_left());
    }
}

/// Found by the fuzz target `answer`: the SDK refuses a member of a wrong type even if it is not used; of a repeated
/// member the last one counts.
#[test]
fn what_is_skipped_has_its_type_and_comes_once() {
    assert!(!agrees_with_the_sdk(br#"{"Items":[{"b":{"B":"\/w=="}}]}"#)[0], "an escape in base64");
    for body in [
        r#"{"ConsumedCapacity":{"TableName":{"byL":{"CapacityUnits":2}}}}"#,
        r#"{"ConsumedCapacity":{"ReadCapacityUnits":"1"}}"#,
        r#"{"ConsumedCapacity":{"Table":{"WriteCapacityUnits":true}}}"#,
        r#"{"ConsumedCapacity":{"GlobalSecondaryIndexes":{"a":{}},"GlobalSecondaryIndexes":{"b":{}}}}"#,
        r#"{"ConsumedCapacity":{"VectorIndexes":1.5}}"#,
        r#"{"ConsumedCapacity":{"VectorIndexes":{}}}"#,
    ] {
        assert!(!agrees_with_the_sdk(body.as_bytes())[0], "{body}");
    }
    for body in [
        r#"{"UnprocessedKeys":{"t":{"Keys":[],"ConsistentRead":"yes"}}}"#,
        r#"{"UnprocessedKeys":{"t":{"Keys":[],"ProjectionExpression":7}}}"#,
        r#"{"UnprocessedKeys":{"t":{"Keys":[],"AttributesToGet":[7]}}}"#,
        r#"{"UnprocessedKeys":{"t":{"Keys":[],"ExpressionAttributeNames":{"a":[]}}}}"#,
        r#"{"Responses":{"t":[{}]},"Responses":{}}"#,
        r#"{"ConsumedCapacity":[{"CapacityUnits":1}],"ConsumedCapacity":[]}"#,
    ] {
        assert!(!agrees_with_the_sdk(body.as_bytes())[1], "{body}");
    }
}
