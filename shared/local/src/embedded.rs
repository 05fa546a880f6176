//! An embedded DynamoDB: a database, a server on a thread of its own, and the address to reach it at.

mod error;
mod file;
mod server;

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};

use dynoxide::Database;
use keyfold_core::model::Table;
use keyfold_dynamo::{Client, EnsureError, Settings, TableOptions, ensure_table, plain_client};

pub use error::EmbeddedError;
use file::FileLock;
pub use server::SHUTDOWN_WAIT_MAX;
use server::Server;

/// Where an embedded DynamoDB keeps its data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Store {
    /// In memory: gone when it stops.
    Memory,
    /// In a SQLite file, which is made if there is none. One embedded DynamoDB at a time can use it.
    File(PathBuf),
}

/// A DynamoDB on this machine. It stops when it is dropped.
///
/// ```
/// use keyfold_local::EmbeddedDynamo;
/// let dynamo = EmbeddedDynamo::memory()?;
/// assert!(dynamo.endpoint().starts_with("http://127.0.0.1:"));
/// let client = dynamo.client();
/// # let _ = client;
/// dynamo.shutdown();
/// # Ok::<(), keyfold_local::EmbeddedError>(())
/// ```
#[derive(Debug)]
pub struct EmbeddedDynamo {
    // The order matters: the server lets go of the database before the file is given free.
    server: Server,
    database: Shared,
    _lock: Option<FileLock>,
    endpoint: String,
}

impl EmbeddedDynamo {
    /// Starts one with its data in memory, on any free port.
    pub fn memory() -> Result<EmbeddedDynamo, EmbeddedError> {
        EmbeddedDynamo::start(&Store::Memory, 0)
    }

    /// Starts one with its data in a file, on any free port.
    pub fn file(path: impl AsRef<Path>) -> Result<EmbeddedDynamo, EmbeddedError> {
        EmbeddedDynamo::start(&Store::File(path.as_ref().to_owned()), 0)
    }

    /// Starts one on this port of 127.0.0.1; 0 for any free port.
    pub fn start(store: &Store, port: u16) -> Result<EmbeddedDynamo, EmbeddedError> {
        let listener = listen(port)?;
        let address = listener.local_addr().map_err(|source| EmbeddedError::Start { source })?;
        let (database, lock) = match store {
            Store::Memory => (file::in_memory()?, None),
            Store::File(path) => {
                let lock = FileLock::take(path)?;
                (file::open(path, &lock)?, Some(lock))
            }
        };
        let server = Server::start(listener, database.clone())?;
        Ok(EmbeddedDynamo {
            server,
            database: Shared(database),
            _lock: lock,
            endpoint: format!("http://{address}"),
        })
    }

    /// The URL at which it answers.
    pub fn endpoint(&self) -> &str {
        &self.endpoint
    }

    /// A client for it.
    pub fn client(&self) -> Client {
        plain_client(&self.endpoint, &Settings::default())
    }

    /// The database behind it, for what has no operation of its own: `sweep_ttl`, streams read in process.
    ///
    /// Calls on it block. A clone that outlives the embedded DynamoDB keeps the database open.
    pub fn database(&self) -> &Database {
        &self.database.0
    }

    /// Creates these tables, all of a model for example, and returns how many were made. Tables that exist as they should
    /// be are left alone; one that exists otherwise is an error.
    pub async fn create_tables<'a>(
        &self,
        tables: impl IntoIterator<Item = &'a Table>,
        options: TableOptions,
    ) -> Result<usize, EnsureError> {
        let client = self.client();
        let mut made = 0;
        for table in tables {
            made += usize::from(ensure_table(&client, table, options).await?);
        }
        Ok(made)
    }

    /// Stops it: requests under way are answered, up to [`SHUTDOWN_WAIT_MAX`], and its thread has ended afterwards.
    pub fn shutdown(mut self) {
        self.server.stop();
    }
}

/// The database, which has nothing to show.
struct Shared(Database);

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Database")
    }
}

fn listen(port: u16) -> Result<TcpListener, EmbeddedError> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    TcpListener::bind(address).map_err(|source| match source.kind() {
        std::io::ErrorKind::AddrInUse => EmbeddedError::PortInUse { port },
        _ => EmbeddedError::Listen { address, source },
    })
}
