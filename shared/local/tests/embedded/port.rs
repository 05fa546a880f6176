//! Whom the port of the embedded DynamoDB answers, and for whom it waits.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use keyfold_dynamo::{BatchGet, TableOptions, batch_get, plain_client};
use keyfold_local::{AllowedHosts, EmbeddedDynamo, EmbeddedOptions, Store};

use crate::fixture::{item, number, text, visits};

/// Maximum wait for a response, so that a failing test ends.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(20);
const PUT: &str = r#"{"TableName":"VisitsOfPlaces","Item":{"user":{"S":"joe"},"at":{"N":"7"}}}"#;

fn connected(dynamo: &EmbeddedDynamo) -> TcpStream {
    let stream = TcpStream::connect(dynamo.endpoint().trim_start_matches("http://")).unwrap();
    stream.set_read_timeout(Some(ANSWER_TIME_MAX)).unwrap();
    stream
}

/// Sends this and reads until the server ends the connection.
fn told(dynamo: &EmbeddedDynamo, request: &[u8]) -> String {
    let mut stream = connected(dynamo);
    stream.write_all(request).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    String::from_utf8_lossy(&answer).to_lowercase()
}

/// PutItem as a page's script would send it: with these headers in addition to DynamoDB's.
fn put(dynamo: &EmbeddedDynamo, headers: &str) -> String {
    let length = PUT.len();
    let request = format!(
        "POST / HTTP/1.1\r\n{headers}connection: close\r\ncontent-type: application/x-amz-json-1.0\r\n\
         x-amz-target: DynamoDB_20120810.PutItem\r\nx-amz-date: 20240101T000000Z\r\n\
         authorization: AWS4-HMAC-SHA256 Credential=a/20240101/us-east-1/dynamodb/aws4_request, \
         SignedHeaders=host;x-amz-date, Signature=0\r\ncontent-length: {length}\r\n\r\n{PUT}"
    );
    told(dynamo, request.as_bytes())
}

async fn with_visits(options: EmbeddedOptions) -> EmbeddedDynamo {
    let dynamo = EmbeddedDynamo::start_with(&Store::Memory, options).unwrap();
    dynamo.create_tables(&[visits()], TableOptions::default()).await.unwrap();
    dynamo
}

async fn is_there(dynamo: &EmbeddedDynamo) -> bool {
    let keys = vec![item([("user", text("joe")), ("at", number(7))])];
    let batch = BatchGet { table: visits().name, keys, ..BatchGet::default() };
    !batch_get(&dynamo.client(), &batch).await.unwrap().items.is_empty()
}

#[tokio::test]
async fn a_page_of_another_site_changes_nothing() {
    let dynamo = with_visits(EmbeddedOptions::default()).await;
    for headers in [
        "host: evil.example\r\n",
        "host: evil.example:8000\r\norigin: http://evil.example:8000\r\n",
        "host: localhost\r\norigin: https://evil.example\r\n",
        "host: localhost\r\norigin: null\r\n",
        "host: localhost\r\nhost: evil.example\r\n",
    ] {
        let answer = put(&dynamo, headers);
        assert!(answer.starts_with("http/1.1 403"), "{headers}: {answer}");
        assert!(!answer.contains("access-control"), "{headers}: {answer}");
        assert!(!is_there(&dynamo).await, "{headers}");
    }
    let answer = put(&dynamo, "host: localhost:8000\r\n");
    assert!(answer.starts_with("http/1.1 200") && answer.contains("x-amz-crc32"), "{answer}");
    assert!(is_there(&dynamo).await);
}

#[tokio::test]
async fn a_page_that_asks_whether_it_may_is_told_no() {
    let dynamo = with_visits(EmbeddedOptions::default()).await;
    for origin in ["http://evil.example", "http://localhost:3000"] {
        let request = format!(
            "OPTIONS / HTTP/1.1\r\nhost: localhost\r\norigin: {origin}\r\naccess-control-request-method: POST\r\n\
             access-control-request-headers: x-amz-target\r\nconnection: close\r\n\r\n"
        );
        let answer = told(&dynamo, request.as_bytes());
        assert!(answer.starts_with("http/1.1 403") && !answer.contains("access-control"), "{answer}");
    }
    let request =
        "GET / HTTP/1.1\r\nhost: localhost\r\norigin: http://localhost:3000\r\nconnection: close\r\n\r\n";
    let answer = told(&dynamo, request.as_bytes());
    assert!(answer.starts_with("http/1.1 200") && !answer.contains("access-control"), "{answer}");
}

#[tokio::test]
async fn a_name_that_was_added_is_answered() {
    let hosts = AllowedHosts::with(["keyfold.test"]);
    let dynamo = with_visits(EmbeddedOptions { hosts, ..EmbeddedOptions::default() }).await;
    assert!(put(&dynamo, "host: other.test\r\n").starts_with("http/1.1 403"));
    assert!(put(&dynamo, "host: keyfold.test:8000\r\n").starts_with("http/1.1 200"));
    assert!(is_there(&dynamo).await);
}

#[tokio::test]
async fn a_client_that_is_slow_is_cut_off() {
    let read_time_max = Duration::from_millis(300);
    let dynamo = with_visits(EmbeddedOptions { read_time_max, ..EmbeddedOptions::default() }).await;
    for slow in [
        "",
        "POST / HTT",
        "POST / HTTP/1.1\r\nhost: localhost\r\nx-amz-",
        "POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\n{",
        "POST / HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n1\r\n{\r\n",
    ] {
        let answer = told(&dynamo, slow.as_bytes());
        assert!(answer.is_empty() || answer.starts_with("http/1.1 408"), "{slow}: {answer}");
    }
    assert!(!is_there(&dynamo).await);
}

#[tokio::test]
async fn a_body_over_dynamodbs_limit_is_not_read() {
    let dynamo = with_visits(EmbeddedOptions::default()).await;
    let request = "POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 17000000\r\n\r\n{";
    assert!(told(&dynamo, request.as_bytes()).starts_with("http/1.1 413"));
}

#[tokio::test]
async fn many_clients_at_once_are_all_answered() {
    let dynamo = with_visits(EmbeddedOptions::default()).await;
    put(&dynamo, "host: localhost\r\n");
    let asked = (0..40).map(|_| async {
        // Each with its own connections.
        let client = plain_client(dynamo.endpoint(), &keyfold_dynamo::Settings::default());
        let keys = vec![item([("user", text("joe")), ("at", number(7))])];
        let batch = BatchGet { table: visits().name, keys, ..BatchGet::default() };
        batch_get(&client, &batch).await.unwrap().items.len()
    });
    assert_eq!(futures_util::future::join_all(asked).await, [1; 40]);
}
