//! An embedded DynamoDB: a database, a server on its own thread, and its address.

mod error;
mod file;
mod relay;
mod server;

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::time::Duration;

use dynoxide::Database;
use keyfold_core::model::Table;
use keyfold_dynamo::{Client, EnsureError, Settings, TableOptions, ensure_table, plain_client};

pub use error::EmbeddedError;
use file::FileLock;
pub use server::SHUTDOWN_WAIT_MAX;
use server::Server;

use crate::AllowedHosts;
use crate::port::{PortRules, READ_TIME_MAX};

/// DynamoDB's maximum request body.
const BODY_BYTES_MAX: usize = 16 * 1024 * 1024;

/// The storage of an embedded DynamoDB.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Store {
    /// In memory, until it stops.
    Memory,
    /// In a SQLite file, created if missing. Only one embedded DynamoDB at a time can use it.
    File(PathBuf),
}

/// The port of an embedded DynamoDB, and its allowed callers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmbeddedOptions {
    /// The port of 127.0.0.1; 0 for any free port.
    pub port: u16,
    /// The names that a request may use for this machine.
    pub hosts: AllowedHosts,
    /// How long a client may take to send a request.
    pub read_time_max: Duration,
}

impl Default for EmbeddedOptions {
    fn default() -> EmbeddedOptions {
        EmbeddedOptions { port: 0, hosts: AllowedHosts::default(), read_time_max: READ_TIME_MAX }
    }
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
    // Dropped in this order: the server must release the database before the file is unlocked.
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
        EmbeddedDynamo::start_with(store, EmbeddedOptions { port, ..EmbeddedOptions::default() })
    }

    /// Starts one with these options.
    pub fn start_with(store: &Store, options: EmbeddedOptions) -> Result<EmbeddedDynamo, EmbeddedError> {
        let EmbeddedOptions { port, hosts, read_time_max } = options;
        let listener = listen(port)?;
        let address = listener.local_addr().map_err(|source| EmbeddedError::Start { source })?;
        let (database, lock) = match store {
            Store::Memory => (file::in_memory()?, None),
            Store::File(path) => {
                let lock = FileLock::take(path)?;
                (file::open(path, &lock)?, Some(lock))
            }
        };
        let rules = PortRules { hosts, body_bytes_max: BODY_BYTES_MAX, read_time_max };
        let server = Server::start(listener, database.clone(), rules)?;
        Ok(EmbeddedDynamo {
            server,
            database: Shared(database),
            _lock: lock,
            endpoint: format!("http://{address}"),
        })
    }

    /// Its URL.
    pub fn endpoint(&self) -> &str {
        &self.endpoint
    }

    /// A client for it.
    pub fn client(&self) -> Client {
        plain_client(&self.endpoint, &Settings::default())
    }

    /// The database, for features without a DynamoDB operation: `sweep_ttl`, streams read in process.
    ///
    /// Its calls block. A clone that outlives the embedded DynamoDB keeps the database open.
    pub fn database(&self) -> &Database {
        &self.database.0
    }

    /// Creates these tables, for example all of a model, and returns how many were created. Existing tables are kept if
    /// they match; otherwise it is an error.
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

    /// Stops it: requests in flight are answered, up to [`SHUTDOWN_WAIT_MAX`], and its thread has ended afterwards.
    pub fn shutdown(mut self) {
        self.server.stop();
    }
}

/// The database, which has no `Debug` form.
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
