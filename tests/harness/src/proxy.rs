//! A proxy in front of a DynamoDB: sees each call, may refuse it, and may change its response.
//!
//! It adds features that the embedded DynamoDB lacks: permissions, and slow changes of a table. It supports as much of
//! HTTP as the SDK and the embedded DynamoDB use: bodies have a length.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use serde_json::Value;

/// One call.
#[derive(Debug, Clone)]
pub struct Request {
    /// The operation: `PutItem`.
    pub operation: String,
    /// The request body.
    pub body: Value,
}

/// A hook between a client and DynamoDB.
pub trait Between: Send + Sync + 'static {
    /// The status and the error that refuse a call; `None` passes it on.
    fn before(&self, request: &Request) -> Option<(u16, Value)> {
        let _ = request;
        None
    }

    /// Is the response to an executed call lost?
    fn loses(&self, request: &Request) -> bool {
        let _ = request;
        false
    }

    /// Changes the answer to a call that succeeded.
    fn after(&self, request: &Request, answer: &mut Value) {
        let _ = (request, answer);
    }
}

/// A running proxy. It ends with the process.
pub struct Proxy {
    endpoint: String,
}

impl Proxy {
    /// Starts one in front of this endpoint, on any free port.
    pub fn start(upstream: &str, between: Arc<dyn Between>) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let upstream = upstream.trim_start_matches("http://").to_owned();
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let (between, upstream) = (Arc::clone(&between), upstream.clone());
                // A client that disconnects early, for example because it was killed, is no error.
                thread::spawn(move || connection(client, &upstream, &*between));
            }
        });
        Proxy { endpoint }
    }

    /// The URL at which it answers.
    pub fn endpoint(&self) -> &str {
        &self.endpoint
    }
}

/// The head and the body of a message.
struct Message {
    head: Vec<String>,
    body: Vec<u8>,
}

impl Message {
    /// The next message; `None` at the end of the connection.
    fn read(from: &mut impl BufRead) -> std::io::Result<Option<Message>> {
        let mut head = Vec::new();
        loop {
            let mut line = String::new();
            if from.read_line(&mut line)? == 0 {
                return Ok(None);
            }
            match line.trim_end() {
                "" => break,
                line => head.push(line.to_owned()),
            }
        }
        let mut message = Message { head, body: Vec::new() };
        let length = message.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
        message.body = vec![0; length];
        from.read_exact(&mut message.body)?;
        Ok(Some(message))
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.head[1..].iter().find_map(|line| {
            let (known, value) = line.split_once(':')?;
            known.eq_ignore_ascii_case(name).then_some(value.trim())
        })
    }

    fn request(&self) -> Request {
        let target = self.header("x-amz-target").unwrap_or_default();
        Request {
            operation: target.rsplit('.').next().unwrap_or_default().to_owned(),
            body: serde_json::from_slice(&self.body).unwrap_or_default(),
        }
    }

    fn is_success(&self) -> bool {
        self.head[0].contains(" 200 ")
    }

    /// The same message with another body, without the checksum of the old one.
    fn with(mut self, body: &Value) -> Message {
        self.body = body.to_string().into_bytes();
        let own = |line: &String| {
            let name = line.split(':').next().unwrap_or_default().to_ascii_lowercase();
            name != "content-length" && name != "x-amz-crc32"
        };
        self.head.retain(own);
        self.head.push(format!("content-length: {}", self.body.len()));
        self
    }

    fn refusal(status: u16, error: &Value) -> Message {
        let head =
            vec![format!("HTTP/1.1 {status} x"), "content-type: application/x-amz-json-1.0".to_owned()];
        Message { head, body: Vec::new() }.with(error)
    }

    fn write(&self, to: &mut impl Write) -> std::io::Result<()> {
        let mut bytes = (self.head.join("\r\n") + "\r\n\r\n").into_bytes();
        bytes.extend(&self.body);
        to.write_all(&bytes)
    }
}

fn connection(mut client: TcpStream, upstream: &str, between: &dyn Between) -> std::io::Result<()> {
    let mut server = TcpStream::connect(upstream)?;
    for stream in [&client, &server] {
        stream.set_nodelay(true)?;
    }
    let (mut from_client, mut from_server) =
        (BufReader::new(client.try_clone()?), BufReader::new(server.try_clone()?));
    while let Some(message) = Message::read(&mut from_client)? {
        let request = message.request();
        if let Some((status, error)) = between.before(&request) {
            Message::refusal(status, &error).write(&mut client)?;
            continue;
        }
        message.write(&mut server)?;
        let Some(answer) = Message::read(&mut from_server)? else { return Ok(()) };
        if between.loses(&request) {
            return Ok(());
        }
        let answer = match serde_json::from_slice::<Value>(&answer.body) {
            Ok(mut body) if answer.is_success() => {
                let before = body.clone();
                between.after(&request, &mut body);
                // An unchanged response is passed byte for byte.
                if body == before { answer } else { answer.with(&body) }
            }
            _ => answer,
        };
        answer.write(&mut client)?;
    }
    Ok(())
}
