//! The server: a thread with a runtime of its own, because its handlers block on the database.

use std::io;
use std::net::TcpListener;
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use dynoxide::Database;
use dynoxide::server::serve_with_shutdown;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;

use super::error::EmbeddedError;

/// The longest wait for requests under way when it stops.
pub const SHUTDOWN_WAIT_MAX: Duration = Duration::from_secs(5);
/// How many requests are parsed and answered at once. The database takes one at a time.
const SERVER_THREADS: usize = 2;

/// A running server. It stops when it is dropped.
#[derive(Debug)]
pub(super) struct Server {
    stop: watch::Sender<bool>,
    /// `None` once it has ended.
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Serves the database until it is stopped.
    pub(super) fn start(listener: TcpListener, database: Database) -> Result<Server, EmbeddedError> {
        let (stop, stopped) = watch::channel(false);
        let (ready, is_ready) = mpsc::channel();
        // The runtime is made and dropped on that thread: neither may happen inside the caller's runtime.
        let body = move || match prepare(listener) {
            Ok((runtime, listener)) => {
                let _ = ready.send(Ok(()));
                runtime.block_on(serve(listener, database, stopped));
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
            // A panic over there was reported there; here nothing is left to do about it.
            let _ = thread.join();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

fn prepare(listener: TcpListener) -> io::Result<(Runtime, tokio::net::TcpListener)> {
    let runtime = Builder::new_multi_thread()
        .worker_threads(SERVER_THREADS)
        .thread_name("keyfold-dynamo-worker")
        .enable_all()
        .build()?;
    listener.set_nonblocking(true)?;
    let listener = {
        let _inside = runtime.enter();
        tokio::net::TcpListener::from_std(listener)?
    };
    Ok((runtime, listener))
}

/// Serves until it is stopped. A request that never ends, or a client that sends half of one, holds the end up for
/// [`SHUTDOWN_WAIT_MAX`] only: dropping the runtime afterwards ends their tasks.
async fn serve(listener: tokio::net::TcpListener, database: Database, stopped: watch::Receiver<bool>) {
    let late = stopped.clone();
    tokio::select! {
        _ = serve_with_shutdown(listener, database, wait_for_stop(stopped)) => {}
        () = async { wait_for_stop(late).await; tokio::time::sleep(SHUTDOWN_WAIT_MAX).await } => {}
    }
}

/// Waits for the word to stop; its sender being gone is one.
async fn wait_for_stop(mut stopped: watch::Receiver<bool>) {
    let _ = stopped.wait_for(|stopped| *stopped).await;
}
