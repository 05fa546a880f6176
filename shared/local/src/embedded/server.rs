//! The server: a thread that listens and reads requests, and a runtime for handlers, because they block on the
//! database.

use std::io;
use std::net::TcpListener;
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use dynoxide::Database;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;

use super::error::EmbeddedError;
use super::relay::Relay;
use crate::port::{PortRules, serve, wait_for_stop};

/// Maximum wait for requests in flight at shutdown.
pub const SHUTDOWN_WAIT_MAX: Duration = Duration::from_secs(5);
/// The number of requests parsed and answered concurrently. The database processes one at a time.
const SERVER_THREADS: usize = 2;

/// A running server. It stops when it is dropped.
#[derive(Debug)]
pub(super) struct Server {
    stop: watch::Sender<bool>,
    /// `None` once it has ended.
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Serves the database to allowed callers, until it is stopped.
    pub(super) fn start(
        listener: TcpListener,
        database: Database,
        rules: PortRules,
    ) -> Result<Server, EmbeddedError> {
        let (stop, stopped) = watch::channel(false);
        let (ready, is_ready) = mpsc::channel();
        // The runtimes are created and dropped on that thread, because the caller may be inside another runtime.
        let body = move || match prepare(listener, database) {
            Ok(Prepared { front, back, listener, relay }) => {
                let _ = ready.send(Ok(()));
                front.block_on(serve_until(listener, rules, relay, stopped));
                // Open connections lose their tasks here, and the database its last users.
                drop((front, back));
            }
            Err(error) => {
                let _ = ready.send(Err(error));
            }
        };
        let not_started = |source| EmbeddedError::Start { source };
        let thread =
            thread::Builder::new().name("keyfold-dynamo".to_owned()).spawn(body).map_err(not_started)?;
        let server = Server { stop, thread: Some(thread) };
        match is_ready.recv() {
            Ok(Ok(())) => Ok(server),
            Ok(Err(source)) => Err(not_started(source)),
            Err(mpsc::RecvError) => Err(not_started(io::Error::other("its thread ended"))),
        }
    }

    /// Stops it, and waits for its thread to end.
    pub(super) fn stop(&mut self) {
        self.stop.send_replace(true);
        if let Some(thread) = self.thread.take() {
            // The thread reported its panic itself.
            let _ = thread.join();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

struct Prepared {
    /// Reads and writes.
    front: Runtime,
    /// Blocks on the database.
    back: Runtime,
    listener: tokio::net::TcpListener,
    relay: Arc<Relay>,
}

fn prepare(listener: TcpListener, database: Database) -> io::Result<Prepared> {
    let back = Builder::new_multi_thread()
        .worker_threads(SERVER_THREADS)
        .thread_name("keyfold-dynamo-worker")
        .enable_all()
        .build()?;
    let front = Builder::new_current_thread().enable_all().build()?;
    listener.set_nonblocking(true)?;
    let (listener, relay) = front.block_on(async {
        let listener = tokio::net::TcpListener::from_std(listener)?;
        Ok::<_, io::Error>((listener, Relay::start(database, back.handle().clone()).await?))
    })?;
    Ok(Prepared { front, back, listener, relay })
}

/// Serves until it is stopped. An endless request, or a client that sends half of one, delays the end by at most
/// [`SHUTDOWN_WAIT_MAX`]: dropping the runtimes then ends their tasks.
async fn serve_until(
    listener: tokio::net::TcpListener,
    rules: PortRules,
    relay: Arc<Relay>,
    stopped: watch::Receiver<bool>,
) {
    let mut late = stopped.clone();
    tokio::select! {
        () = serve(listener, rules, relay, stopped) => {}
        () = async { wait_for_stop(&mut late).await; tokio::time::sleep(SHUTDOWN_WAIT_MAX).await } => {}
    }
}
