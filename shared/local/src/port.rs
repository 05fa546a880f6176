//! An HTTP port of this machine: its allowed callers, the maximum size of a request, and the time limit for slow
//! clients.
//!
//! An `Answer` receives only complete requests, and none from a page of another site.

use std::convert::Infallible;
use std::future::Future;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::http::request::Parts;
use axum::http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::{Body, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

use crate::AllowedHosts;

/// Maximum connections. Others wait until one ends.
const CONNECTIONS_MAX: usize = 512;
/// The pause after a failed accept, usually because too many files are open.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// The time limit for the head of a request, from its first byte or the previous response, and for its body.
pub(crate) const READ_TIME_MAX: Duration = Duration::from_secs(60);

/// Answers complete requests.
pub(crate) trait Answer: Send + Sync + 'static {
    /// Answers one request.
    fn answer(&self, parts: Parts, body: Bytes) -> Answering<'_>;
}

/// The future of an answer.
pub(crate) type Answering<'a> = Pin<Box<dyn Future<Output = Response<Full<Bytes>>> + Send + 'a>>;

/// The rules for accepting requests.
#[derive(Debug, Clone)]
pub(crate) struct PortRules {
    pub(crate) hosts: AllowedHosts,
    pub(crate) body_bytes_max: usize,
    pub(crate) read_time_max: Duration,
}

/// Why a port cannot be listened on.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the fields are the names that the messages show")]
pub enum ListenError {
    /// The port is used by another process.
    #[error("port {port} is in use; give another with {option}")]
    InUse { port: u16, option: &'static str },
    /// Another error.
    #[error("cannot listen on port {port}")]
    Failed { port: u16, source: std::io::Error },
}

/// Listens on a port of this machine's loopback address; 0: any free one. `option`: the command's option for it.
pub(crate) async fn listen(port: u16, option: &'static str) -> Result<TcpListener, ListenError> {
    TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).await.map_err(|source| {
        match source.kind() {
            std::io::ErrorKind::AddrInUse => ListenError::InUse { port, option },
            _ => ListenError::Failed { port, source },
        }
    })
}

/// Answers until its task ends.
pub(crate) async fn serve_always<A: Answer>(listener: TcpListener, rules: PortRules, answerer: Arc<A>) {
    let (_never, stopped) = watch::channel(false);
    serve(listener, rules, answerer, stopped).await;
}

/// Serves until it is stopped; then until the requests in flight are answered.
pub(crate) async fn serve<A: Answer>(
    listener: TcpListener,
    rules: PortRules,
    answerer: Arc<A>,
    mut stopped: watch::Receiver<bool>,
) {
    let (rules, places) = (Arc::new(rules), Arc::new(Semaphore::new(CONNECTIONS_MAX)));
    let mut connections = JoinSet::new();
    loop {
        let accepted = async {
            let place = Arc::clone(&places).acquire_owned().await;
            (place, listener.accept().await)
        };
        let (place, stream) = tokio::select! {
            (place, accepted) = accepted => (place, accepted),
            () = wait_for_stop(&mut stopped) => break,
        };
        let Ok((stream, _)) = stream else {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let connection = connection(stream, Arc::clone(&rules), Arc::clone(&answerer), stopped.clone());
        connections.spawn(async move {
            connection.await;
            drop(place);
        });
        while connections.try_join_next().is_some() {}
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
}

/// Waits for the stop signal; a dropped sender counts as one.
pub(crate) async fn wait_for_stop(stopped: &mut watch::Receiver<bool>) {
    let _ = stopped.wait_for(|stopped| *stopped).await;
}

async fn connection<A: Answer>(
    stream: TcpStream,
    rules: Arc<PortRules>,
    answerer: Arc<A>,
    mut stopped: watch::Receiver<bool>,
) {
    // A response is one write, so waiting for more data gains nothing.
    let _ = stream.set_nodelay(true);
    let service = service_fn(|request: Request<Incoming>| async {
        Ok::<_, Infallible>(taken(request, &rules, answerer.as_ref()).await)
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(rules.read_time_max)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    // The client sees errors of its connection.
    tokio::select! {
        _ = connection.as_mut() => {}
        () = wait_for_stop(&mut stopped) => {
            connection.as_mut().graceful_shutdown();
            let _ = connection.await;
        }
    }
}

/// Answers or refuses a request. The body is read only after the caller has been checked.
async fn taken<A: Answer>(
    request: Request<Incoming>,
    rules: &PortRules,
    answerer: &A,
) -> Response<Full<Bytes>> {
    let (parts, body) = request.into_parts();
    if !rules.hosts.allow(&parts.headers) {
        return refusal(
            StatusCode::FORBIDDEN,
            "this port answers programs and pages of this machine only; if a link led here, type the address",
        );
    }
    const TOO_LARGE: &str = "the body is too large";
    if body.size_hint().lower() > rules.body_bytes_max as u64 {
        return refusal(StatusCode::PAYLOAD_TOO_LARGE, TOO_LARGE);
    }
    let body = Limited::new(body, rules.body_bytes_max).collect();
    match tokio::time::timeout(rules.read_time_max, body).await {
        Ok(Ok(body)) => answerer.answer(parts, body.to_bytes()).await,
        Ok(Err(error)) if error.is::<LengthLimitError>() => refusal(StatusCode::PAYLOAD_TOO_LARGE, TOO_LARGE),
        Ok(Err(_)) => refusal(StatusCode::BAD_REQUEST, "the body cannot be read"),
        Err(_) => refusal(StatusCode::REQUEST_TIMEOUT, "the body took too long"),
    }
}

/// The connection is closed, because more of this request may follow.
pub(crate) fn refusal(status: StatusCode, reason: &'static str) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(reason));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert("content-type", axum::http::HeaderValue::from_static("text/plain"));
    headers.insert("connection", axum::http::HeaderValue::from_static("close"));
    response
}
