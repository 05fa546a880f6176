//! Why an embedded DynamoDB does not start.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Why an embedded DynamoDB does not start.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the fields are the names that the messages show")]
pub enum EmbeddedError {
    /// The port is in use.
    #[error("port `{port}` of 127.0.0.1 is in use")]
    PortInUse { port: u16 },
    /// The address cannot be listened on.
    #[error("cannot listen at `{address}`")]
    Listen { address: SocketAddr, source: io::Error },
    /// Another embedded DynamoDB uses the file.
    #[error("database file `{}` is in use by another embedded DynamoDB", .path.display())]
    FileInUse { path: PathBuf },
    /// The file cannot be opened.
    #[error("cannot use database file `{}`", .path.display())]
    File { path: PathBuf, source: io::Error },
    /// The file is not a database of Keyfold's, or is damaged.
    #[error("`{}` cannot be opened as a database: {reason}", .path.display())]
    NoDatabase { path: PathBuf, reason: String },
    /// The database does not open in memory.
    #[error("cannot create a database in memory: {reason}")]
    NoMemory { reason: String },
    /// The server's thread does not start.
    #[error("the server cannot start")]
    Start { source: io::Error },
}

impl EmbeddedError {
    /// The stable error code.
    pub fn code(&self) -> &'static str {
        match self {
            EmbeddedError::PortInUse { .. } => "port-in-use",
            EmbeddedError::Listen { .. } => "cannot-listen",
            EmbeddedError::FileInUse { .. } => "file-in-use",
            EmbeddedError::File { .. } => "file-not-usable",
            EmbeddedError::NoDatabase { .. } => "not-a-database",
            EmbeddedError::NoMemory { .. } => "no-memory-database",
            EmbeddedError::Start { .. } => "server-not-started",
        }
    }

    /// A suggestion, if there is one.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            EmbeddedError::PortInUse { .. } => Some("choose another port, or 0 for any free one"),
            EmbeddedError::FileInUse { .. } => Some("stop the other one, or choose another file"),
            EmbeddedError::NoDatabase { .. } => {
                Some("choose a file that does not exist yet, or restore this one")
            }
            _ => None,
        }
    }
}
