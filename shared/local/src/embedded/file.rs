//! The database of an embedded DynamoDB, and the lock that keeps its file to one of them.

use std::ffi::OsString;
use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};

use dynoxide::Database;

use super::error::EmbeddedError;

/// Added to the file's name for the lock beside it.
const LOCK_SUFFIX: &str = ".lock";

/// Opens a database that lives in memory.
pub(super) fn in_memory() -> Result<Database, EmbeddedError> {
    Database::memory().map_err(|error| EmbeddedError::NoMemory { reason: error.to_string() })
}

/// Opens or makes a database in a file.
pub(super) fn open(path: &Path) -> Result<Database, EmbeddedError> {
    let no_database = |reason| EmbeddedError::NoDatabase { path: path.to_owned(), reason };
    let name = path.to_str().ok_or_else(|| no_database("its name is not UTF-8".to_owned()))?;
    Database::new(name).map_err(|error| no_database(error.to_string()))
}

/// Held as long as a file is in use. The lock is on a file of its own beside the database: opening and closing the
/// database file itself would undo SQLite's own locks in this process.
#[derive(Debug)]
pub(super) struct FileLock {
    /// Closing the file gives the lock free.
    _file: File,
}

impl FileLock {
    /// Takes the lock, or says that another has it.
    pub(super) fn take(path: &Path) -> Result<FileLock, EmbeddedError> {
        let unusable = |source| EmbeddedError::File { path: path.to_owned(), source };
        let lock = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .open(lock_path(path))
            .map_err(unusable)?;
        match lock.try_lock() {
            Ok(()) => Ok(FileLock { _file: lock }),
            Err(TryLockError::WouldBlock) => Err(EmbeddedError::FileInUse { path: path.to_owned() }),
            Err(TryLockError::Error(source)) => Err(unusable(source)),
        }
    }
}

fn lock_path(path: &Path) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(LOCK_SUFFIX);
    name.into()
}
