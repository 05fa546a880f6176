//! A server that gives the answers of a script, one after another, and keeps the requests.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use keyfold_dynamo::{Client, Settings, plain_client};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// One response: a status and a body. Status 0: no response.
pub(crate) type Answer = (u16, String);

/// The requests so far: operation and body.
pub(crate) type Requests = Arc<Mutex<Vec<(String, Value)>>>;

/// A client whose requests get these responses, each over a separate connection. The last response is repeated.
pub(crate) async fn scripted(answers: Vec<Answer>) -> (Client, Requests) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let requests = Requests::default();
    let kept = Arc::clone(&requests);
    tokio::spawn(async move {
        let mut answers = answers.into_iter().peekable();
        while let Ok((connection, _)) = listener.accept().await {
            let last = answers.peek().cloned().unwrap();
            let answer = answers.next().filter(|_| answers.peek().is_some());
            if answer.is_none() {
                answers = vec![last.clone()].into_iter().peekable();
            }
            respond(connection, &kept, answer.unwrap_or(last)).await;
        }
    });
    let settings =
        Settings { attempts_max: 1, operation_timeout: Duration::from_millis(500), ..Settings::default() };
    (plain_client(&url, &settings), requests)
}

async fn respond(mut connection: TcpStream, requests: &Requests, (status, body): Answer) {
    let (head, request) = read(&mut connection).await;
    let target = head.lines().find_map(|line| line.strip_prefix("x-amz-target: DynamoDB_20120810."));
    requests.lock().unwrap().push((target.unwrap().to_owned(), serde_json::from_str(&request).unwrap()));
    if status == 0 {
        tokio::time::sleep(Duration::from_secs(5)).await;
    }
    let length = body.len();
    let answer = format!(
        "HTTP/1.1 {status} x\r\ncontent-type: application/x-amz-json-1.0\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    connection.write_all(answer.as_bytes()).await.unwrap();
}

async fn read(connection: &mut TcpStream) -> (String, String) {
    let mut bytes = Vec::new();
    loop {
        connection.read_buf(&mut bytes).await.unwrap();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
        if body.len() >= length.parse::<usize>().unwrap() {
            return (head.to_owned(), body.to_owned());
        }
    }
}

/// An error of the service.
pub(crate) fn refusal(status: u16, code: &str, message: &str) -> Answer {
    let error = serde_json::json!({ "__type": format!("com.amazonaws.dynamodb.v20120810#{code}"), "message": message });
    (status, error.to_string())
}

/// A successful answer.
pub(crate) fn success(body: &Value) -> Answer {
    (200, body.to_string())
}
