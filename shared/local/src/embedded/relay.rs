//! A relay in front of the embedded DynamoDB's server, which would answer pages of any site: accepted requests are
//! passed on over a few connections. No other process can open one: the server's listener is closed once they are open.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use axum::body::Bytes;
use axum::http::request::Parts;
use axum::http::{HeaderName, Method, Request, Response, StatusCode, header};
use dynoxide::Database;
use dynoxide::server::serve_with_shutdown;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;

use crate::port::{Answer, Answering, refusal};

/// Connections to the server. The database processes one request at a time; the others are read and written meanwhile.
const CONNECTIONS: usize = 4;
/// Headers about a connection, not about a request: each connection has its own.
const OF_A_CONNECTION: [HeaderName; 5] =
    [header::CONNECTION, header::TRANSFER_ENCODING, header::EXPECT, header::UPGRADE, header::TE];

type Connection = SendRequest<Full<Bytes>>;

/// Passes requests on.
pub(super) struct Relay {
    database: Database,
    /// The runtime of the server, whose handlers block.
    server: Handle,
    places: Semaphore,
    idle: Mutex<Vec<Connection>>,
}

impl Relay {
    /// A relay with open connections.
    pub(super) async fn start(database: Database, server: Handle) -> io::Result<Arc<Relay>> {
        let relay = Relay { database, server, places: Semaphore::new(CONNECTIONS), idle: Mutex::default() };
        for _ in 0..CONNECTIONS {
            let connection = relay.open().await?;
            relay.idle().push(connection);
        }
        Ok(Arc::new(relay))
    }

    /// Opens a connection to a server that takes no other.
    async fn open(&self) -> io::Result<Connection> {
        let listener = listen().await?;
        let address = listener.local_addr()?;
        // It stops when it is dropped with the runtime: until then the connection outlives the listener.
        let serving = serve_with_shutdown(listener, self.database.clone(), std::future::pending());
        let serving = self.server.spawn(serving);
        let connected = connect(address).await;
        serving.abort();
        connected
    }

    async fn pass(&self, parts: Parts, body: Bytes) -> Result<Response<Full<Bytes>>, RelayError> {
        let _place = self.places.acquire().await.map_err(|_| RelayError::Gone)?;
        let idle = self.idle().pop().filter(|connection| !connection.is_closed());
        let mut connection = match idle {
            Some(connection) => connection,
            None => self.open().await?,
        };
        connection.ready().await?;
        let (mut parts, body) = connection.send_request(request(parts, body)).await?.into_parts();
        let body = body.collect().await?.to_bytes();
        self.idle().push(connection);
        OF_A_CONNECTION.iter().for_each(|name| drop(parts.headers.remove(name)));
        // No page may read the database's responses.
        parts.headers.remove(header::ACCESS_CONTROL_ALLOW_ORIGIN);
        Ok(Response::from_parts(parts, Full::new(body)))
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Answer for Relay {
    fn answer(&self, parts: Parts, body: Bytes) -> Answering<'_> {
        Box::pin(async move {
            // Only pages send preflight requests, and pages have the query API.
            if parts.method == Method::OPTIONS {
                return refusal(StatusCode::FORBIDDEN, "this port answers no page");
            }
            let failed = refusal(StatusCode::INTERNAL_SERVER_ERROR, "the embedded DynamoDB failed");
            self.pass(parts, body).await.unwrap_or(failed)
        })
    }
}

/// Why a request got no response. Its client sees only that.
#[derive(Debug, thiserror::Error)]
enum RelayError {
    #[error("the connection to the embedded DynamoDB broke")]
    Broken(#[from] hyper::Error),
    #[error("no connection to the embedded DynamoDB")]
    Closed(#[from] io::Error),
    #[error("the embedded DynamoDB is gone")]
    Gone,
}

fn request(mut parts: Parts, body: Bytes) -> Request<Full<Bytes>> {
    OF_A_CONNECTION.iter().for_each(|name| drop(parts.headers.remove(name)));
    parts.version = axum::http::Version::HTTP_11;
    Request::from_parts(parts, Full::new(body))
}

/// Listens briefly on an unpredictable port and loopback address, where the machine has several.
async fn listen() -> io::Result<TcpListener> {
    let mut random = [0; 3];
    getrandom::fill(&mut random).map_err(io::Error::other)?;
    let anywhere = Ipv4Addr::new(127, random[0], random[1], random[2].max(2));
    match TcpListener::bind((anywhere, 0)).await {
        Ok(listener) => Ok(listener),
        Err(_) => TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await,
    }
}

/// A connection that has been answered once: it was accepted, so its listener is no longer needed.
async fn connect(address: SocketAddr) -> io::Result<Connection> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let (mut connection, driver) = handshake(TokioIo::new(stream)).await.map_err(io::Error::other)?;
    tokio::spawn(driver);
    let health = Request::get("/").header(header::HOST, "localhost").body(Full::default());
    let health = health.map_err(io::Error::other)?;
    let response = connection.send_request(health).await.map_err(io::Error::other)?;
    response.into_body().collect().await.map_err(io::Error::other)?;
    Ok(connection)
}
