//! The query API's handler behind plain HTTP, on any free port of this machine.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::Request;
use http::{Response, StatusCode};
use keyfold_query_api::{Api, ApiRequest, BODY_BYTES_MAX, Caller, respond};
use tokio::net::TcpListener;

/// One API, and who asks it.
pub(super) struct Served {
    pub(super) api: Api,
    pub(super) caller: Caller,
    /// Where the page's files are read from instead, to work on them without a build.
    pub(super) files: Option<PathBuf>,
    pub(super) requests: AtomicU64,
}

/// Serves until the process ends; the URL to reach it at.
pub(super) async fn serve(served: Served, port: u16) -> std::io::Result<String> {
    let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).await?;
    let address = listener.local_addr()?;
    let served = Arc::new(served);
    let router = Router::new().fallback(move |request: Request| {
        let served = Arc::clone(&served);
        async move { answer(&served, request).await }
    });
    tokio::spawn(async move { axum::serve(listener, router).await });
    Ok(format!("http://{address}"))
}

async fn answer(served: &Served, request: Request) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let Ok(bytes) = to_bytes(body, BODY_BYTES_MAX + 1).await else {
        let mut refused = Response::new(Body::empty());
        *refused.status_mut() = StatusCode::PAYLOAD_TOO_LARGE;
        return refused;
    };
    let number = served.requests.fetch_add(1, Ordering::Relaxed);
    let path = parts.uri.path().to_owned();
    let request = http::Request::from_parts(parts, bytes.to_vec());
    let asked = ApiRequest::of_http(request, served.caller.clone(), format!("request-{number}"));
    let (response, _) = respond(&served.api, &asked).await;
    match fresh(served, &path) {
        Some(text) => response.map(|_| Body::from(text)),
        None => response.map(Body::from),
    }
}

/// A file of the page as it is on disk.
fn fresh(served: &Served, path: &str) -> Option<String> {
    let name = match path {
        "/" => "index.html",
        "/console.js" => "console.js",
        "/console.css" => "console.css",
        _ => return None,
    };
    std::fs::read_to_string(served.files.as_ref()?.join(name)).ok()
}
