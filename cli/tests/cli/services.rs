//! A server that answers as Step Functions and S3 do.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::Value;

/// Answers by the question: an action and the text of its input, or an object's path.
pub(crate) struct Services {
    endpoint: String,
    asked: Arc<Mutex<Vec<(String, Value)>>>,
}

impl Services {
    /// Answers these questions; others are refused.
    pub(crate) fn answering<Q: Into<String>>(answers: impl IntoIterator<Item = (Q, String)>) -> Services {
        let answers: BTreeMap<String, String> =
            answers.into_iter().map(|(question, answer)| (question.into(), answer)).collect();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let all = Arc::clone(&asked);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                answer(stream.unwrap(), &answers, &all);
            }
        });
        Services { endpoint, asked }
    }

    pub(crate) fn endpoint(&self) -> &str {
        &self.endpoint
    }

    /// The input of the first question with this action.
    pub(crate) fn input(&self, action: &str) -> Value {
        let asked = self.asked.lock().unwrap();
        let found = asked.iter().find(|(known, _)| known == action);
        found.unwrap_or_else(|| panic!("`{action}` was not asked for: {asked:?}")).1.clone()
    }
}

fn answer(stream: TcpStream, answers: &BTreeMap<String, String>, asked: &Mutex<Vec<(String, Value)>>) {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    if reader.read_line(&mut line).unwrap_or(0) == 0 {
        return;
    }
    let (method, path) = line.rsplit_once(' ').and_then(|(begin, _)| begin.split_once(' ')).unwrap();
    let (method, path) = (method.to_owned(), path.to_owned());
    let (mut length, mut action, mut is_signed) = (0, None, false);
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).unwrap();
        let Some((name, value)) = header.trim_end().split_once(": ") else { break };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.parse().unwrap(),
            "x-amz-target" => action = value.rsplit('.').next().map(str::to_owned),
            "authorization" => is_signed = value.starts_with("AWS4-HMAC-SHA256 "),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    assert!(is_signed, "{path} is not signed");
    let input: Value = serde_json::from_slice(&body).unwrap_or_default();
    let found = match &action {
        Some(action) => {
            asked.lock().unwrap().push((action.clone(), input.clone()));
            answers.get(&format!("{action} {input}")).or_else(|| answers.get(action))
        }
        None => {
            asked.lock().unwrap().push((format!("{method} {path}"), Value::Null));
            answers.get(&path)
        }
    };
    let (status, text) = match (found, &action) {
        (Some(text), _) => ("200 OK", text.clone()),
        (None, Some(action)) => {
            ("400 Bad Request", format!("{{\"__type\":\"InvalidArn\",\"message\":\"{action} of nothing\"}}"))
        }
        (None, None) => ("404 Not Found", "<Error><Code>NoSuchKey</Code></Error>".to_owned()),
    };
    let mut stream = reader.into_inner();
    let head = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", text.len());
    let _ = stream.write_all((head + &text).as_bytes());
}
