//! A gate between a function and its DynamoDB that lets requests through up to a certain one. That one is lost, or its answer is.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

/// The lost message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum When {
    /// The request.
    Before,
    /// The answer.
    After,
    /// Nothing: this one request is refused, as for a missing right.
    Refused,
}

const REFUSAL: &str = "HTTP/1.1 400 Bad Request\r\ncontent-type: application/x-amz-json-1.0\r\ncontent-length: 67\r\n\r\n\
                       {\"__type\":\"com.amazon.coral.service#AccessDeniedException\",\"a\":123}";

pub(super) struct Gate {
    pub(super) endpoint: String,
    pub(super) shut: Arc<Notify>,
    server: tokio::task::JoinHandle<()>,
}

impl Gate {
    /// One that shuts at the request with this number, from 1.
    pub(super) async fn start(to: &str, at: usize, when: When) -> Gate {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let (shut, count) = (Arc::new(Notify::new()), Arc::new(AtomicUsize::new(0)));
        let (to, notify) =
            (to.trim_start_matches("http://").trim_end_matches('/').to_owned(), Arc::clone(&shut));
        let server = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(serve(client, to.clone(), at, when, Arc::clone(&count), Arc::clone(&notify)));
            }
        });
        Gate { endpoint, shut, server }
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn serve(
    mut client: TcpStream,
    to: String,
    at: usize,
    when: When,
    count: Arc<AtomicUsize>,
    shut: Arc<Notify>,
) {
    let mut server = TcpStream::connect(to).await.unwrap();
    while let Some(request) = message(&mut client).await {
        let number = count.fetch_add(1, Ordering::SeqCst) + 1;
        if number == at && when == When::Refused {
            client.write_all(REFUSAL.as_bytes()).await.unwrap();
            continue;
        }
        let is_shut = number >= at && when != When::Refused;
        if number == at && when == When::Before {
            shut.notify_one();
        }
        if is_shut && !(number == at && when == When::After) {
            return std::future::pending().await;
        }
        server.write_all(&request).await.unwrap();
        let answer = message(&mut server).await.unwrap();
        if is_shut {
            shut.notify_one();
            return std::future::pending().await;
        }
        client.write_all(&answer).await.unwrap();
    }
}

/// A request or an answer with its body; `None` at the end of the connection.
async fn message(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    loop {
        if let Some(head) = bytes.windows(4).position(|end| end == b"\r\n\r\n") {
            let text = String::from_utf8_lossy(&bytes[..head]).to_ascii_lowercase();
            let length = text.lines().find_map(|line| line.strip_prefix("content-length:"));
            let length: usize = length.map_or(0, |length| length.trim().parse().unwrap());
            if bytes.len() >= head + 4 + length {
                return Some(bytes);
            }
        }
        let mut more = [0; 4096];
        match stream.read(&mut more).await {
            Ok(0) | Err(_) => return None,
            Ok(read) => bytes.extend(&more[..read]),
        }
    }
}
