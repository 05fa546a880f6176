//! Lambda's Runtime API on this machine, so that the deployed binary of a function can run here unchanged.
//!
//! It delivers one event after another and waits for each answer, as the service does. Answers over 6 MB are refused.
//! Not supported: extensions, streamed answers, freezing between invocations. [`LocalFunction`](crate::LocalFunction)
//! starts processes for it, one Runtime API for each.
//! <https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html>

use std::collections::HashMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path as FilePath, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Path, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use tokio::sync::{mpsc, oneshot};

use crate::AllowedHosts;

/// Lambda's maximum response.
pub const RESPONSE_BYTES_MAX: usize = 6 * 1024 * 1024;
/// The default timeout of an invocation.
pub const INVOCATION_TIME_MAX: Duration = Duration::from_secs(30);

/// The variable with a folder of binaries to start instead of those built for a test: `cargo lambda build` puts
/// `NAME/bootstrap` there for each function.
pub const BINARIES: &str = "KEYFOLD_BINARIES";

/// The result of an invocation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InvocationResult {
    /// The function answered with this text.
    Response(String),
    /// The function reported a failure; the text is its error document.
    Error(String),
    /// The function reported that it cannot start; the text is its error document.
    InitError(String),
    /// The invocation timed out.
    TimedOut,
    /// The function's process ended before it answered, or did not start; the text says how.
    Ended(String),
}

/// An event that waits for an answer.
#[derive(Debug)]
struct Invocation {
    id: String,
    event: String,
}

#[derive(Debug)]
struct Shared {
    time_max: Duration,
    waiting: tokio::sync::Mutex<mpsc::UnboundedReceiver<Invocation>>,
    under_way: Mutex<HashMap<String, oneshot::Sender<InvocationResult>>>,
}

impl Shared {
    fn under_way(&self) -> std::sync::MutexGuard<'_, HashMap<String, oneshot::Sender<InvocationResult>>> {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends an invocation; `false` if the id is unknown.
    fn end(&self, id: &str, outcome: InvocationResult) -> bool {
        let Some(sender) = self.under_way().remove(id) else { return false };
        // The caller may have stopped waiting.
        let _ = sender.send(outcome);
        true
    }
}

/// A running Runtime API. It stops when it is dropped.
#[derive(Debug)]
pub struct RuntimeApi {
    address: SocketAddr,
    events: mpsc::UnboundedSender<Invocation>,
    shared: Arc<Shared>,
    invocations: AtomicU64,
    server: tokio::task::AbortHandle,
}

impl Drop for RuntimeApi {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl RuntimeApi {
    /// Starts one on any free port, whose invocations may take [`INVOCATION_TIME_MAX`].
    pub async fn start() -> io::Result<RuntimeApi> {
        RuntimeApi::with_time(INVOCATION_TIME_MAX).await
    }

    /// [`start`](Self::start) with this timeout for invocations.
    pub async fn with_time(time_max: Duration) -> io::Result<RuntimeApi> {
        let (events, waiting) = mpsc::unbounded_channel();
        let shared = Arc::new(Shared {
            time_max,
            waiting: tokio::sync::Mutex::new(waiting),
            under_way: Mutex::new(HashMap::new()),
        });
        let listener = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let routes = routes(Arc::clone(&shared));
        let server = tokio::spawn(async move { axum::serve(listener, routes).await }).abort_handle();
        Ok(RuntimeApi { address, events, shared, invocations: AtomicU64::new(0), server })
    }

    /// The command that starts a function's binary here, with Lambda's environment variables and no others.
    /// [`BINARIES`] selects another build of the same function.
    pub fn command(&self, binary: impl AsRef<FilePath>) -> Command {
        let mut command = Command::new(built(binary.as_ref()));
        command
            .env_clear()
            .env("AWS_LAMBDA_RUNTIME_API", self.address.to_string())
            .env("AWS_LAMBDA_FUNCTION_NAME", "function")
            .env("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "256")
            .env("AWS_LAMBDA_FUNCTION_VERSION", "$LATEST")
            .env("AWS_REGION", "us-east-1")
            .env("AWS_ACCESS_KEY_ID", "local")
            .env("AWS_SECRET_ACCESS_KEY", "local")
            .env("AWS_EC2_METADATA_DISABLED", "true")
            .stdin(Stdio::null());
        command
    }

    /// Sends an event to the function and waits for the result. The ids of invocations count up from `invocation-1`.
    pub async fn invoke(&self, event: impl Into<String>) -> InvocationResult {
        let id = format!("invocation-{}", self.invocations.fetch_add(1, Ordering::Relaxed) + 1);
        let (sender, outcome) = oneshot::channel();
        self.shared.under_way().insert(id.clone(), sender);
        // The receiver lives as long as `self.shared`.
        let _ = self.events.send(Invocation { id: id.clone(), event: event.into() });
        match tokio::time::timeout(self.shared.time_max, outcome).await {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(_)) | Err(_) => {
                self.shared.under_way().remove(&id);
                InvocationResult::TimedOut
            }
        }
    }
}

/// The binary to start, if a test's own is this one.
fn built(binary: &FilePath) -> PathBuf {
    let folder = std::env::var_os(BINARIES).filter(|folder| !folder.is_empty());
    match (folder, binary.file_name()) {
        (Some(folder), Some(name)) => FilePath::new(&folder).join(name).join("bootstrap"),
        _ => binary.to_owned(),
    }
}

fn routes(shared: Arc<Shared>) -> Router {
    Router::new()
        .route("/2018-06-01/runtime/invocation/next", get(next))
        .route("/2018-06-01/runtime/invocation/{id}/response", post(response))
        .route("/2018-06-01/runtime/invocation/{id}/error", post(error))
        .route("/2018-06-01/runtime/init/error", post(init_error))
        .layer(DefaultBodyLimit::max(2 * RESPONSE_BYTES_MAX))
        .layer(axum::middleware::from_fn(of_this_machine))
        .with_state(shared)
}

/// Otherwise a page of a website could take or answer an event; `Host` and `Origin` reveal it, as on the other ports.
async fn of_this_machine(request: Request, next: Next) -> Response {
    match AllowedHosts::default().allow(request.headers()) {
        true => next.run(request).await,
        false => (StatusCode::FORBIDDEN, "this port answers functions of this machine alone").into_response(),
    }
}

async fn next(State(shared): State<Arc<Shared>>) -> Response {
    let Some(Invocation { id, event }) = shared.waiting.lock().await.recv().await else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    let deadline = SystemTime::now() + shared.time_max;
    let deadline = deadline.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis().to_string();
    let mut headers = HeaderMap::new();
    for (name, value) in [
        ("lambda-runtime-aws-request-id", id.as_str()),
        ("lambda-runtime-deadline-ms", deadline.as_str()),
        ("lambda-runtime-invoked-function-arn", "arn:aws:lambda:us-east-1:123456789012:function:function"),
        ("lambda-runtime-trace-id", "Root=1-00000000-000000000000000000000000;Sampled=0"),
        ("content-type", "application/json"),
    ] {
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.insert(HeaderName::from_static(name), value);
        }
    }
    (headers, event).into_response()
}

async fn response(State(shared): State<Arc<Shared>>, Path(id): Path<String>, body: Bytes) -> StatusCode {
    if body.len() > RESPONSE_BYTES_MAX {
        let message = format!("the answer has {} bytes, over Lambda's limit", body.len());
        shared.end(&id, InvocationResult::Error(message));
        return StatusCode::PAYLOAD_TOO_LARGE;
    }
    ended(shared.end(&id, InvocationResult::Response(text(&body))))
}

async fn error(State(shared): State<Arc<Shared>>, Path(id): Path<String>, body: Bytes) -> StatusCode {
    ended(shared.end(&id, InvocationResult::Error(text(&body))))
}

/// No function will answer, so every invocation ends.
async fn init_error(State(shared): State<Arc<Shared>>, body: Bytes) -> StatusCode {
    let outcome = InvocationResult::InitError(text(&body));
    for (_, sender) in shared.under_way().drain() {
        let _ = sender.send(outcome.clone());
    }
    StatusCode::ACCEPTED
}

fn ended(found: bool) -> StatusCode {
    if found { StatusCode::ACCEPTED } else { StatusCode::NOT_FOUND }
}

fn text(body: &[u8]) -> String {
    String::from_utf8_lossy(body).into_owned()
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpStream;

    use super::RuntimeApi;

    /// The status of a start-up error reported with these headers.
    async fn told(api: &RuntimeApi, headers: &str) -> String {
        let mut stream = TcpStream::connect(api.address).await.unwrap();
        let request = format!(
            "POST /2018-06-01/runtime/init/error HTTP/1.1\r\n{headers}connection: close\r\ncontent-length: 0\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer.split(' ').nth(1).unwrap().to_owned()
    }

    #[tokio::test]
    async fn a_page_of_a_website_cannot_play_the_function() {
        let api = RuntimeApi::start().await.unwrap();
        assert_eq!(told(&api, "host: 127.0.0.1\r\n").await, "202");
        assert_eq!(told(&api, "host: evil.example\r\n").await, "403");
        assert_eq!(told(&api, "host: 127.0.0.1\r\norigin: http://evil.example\r\n").await, "403");
    }
}
