//! The database of an embedded DynamoDB, and the lock that keeps its file to one of them.

use std::ffi::OsString;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use dynoxide::Database;

use super::error::EmbeddedError;

/// Added to the file's name for the lock beside it.
const LOCK_SUFFIX: &str = ".lock";
/// What every SQLite file begins with. <https://sqlite.org/fileformat.html#magic_header_string>
const SQLITE_MAGIC: &[u8] = b"SQLite format 3\0";

/// A SQLite "file" that is a piece of this process's memory, each time a new one: no `/` begins its name.
/// <https://sqlite.org/src/doc/trunk/src/memdb.c>
///
/// SQLite's own in-memory databases keep every page in the page cache, and a commit that balanced a tree walks all of
/// that cache: with 100,000 items a quarter of the server's time. How large it may become is set in `.cargo/config.toml`.
const MEMORY_FILE: &str = "file:keyfold?vfs=memdb";

/// Opens a database that lives in memory.
pub(super) fn in_memory() -> Result<Database, EmbeddedError> {
    Database::new(MEMORY_FILE).map_err(|error| EmbeddedError::NoMemory { reason: error.to_string() })
}

/// Opens or makes a database in a file, under its lock.
pub(super) fn open(path: &Path, _lock: &FileLock) -> Result<Database, EmbeddedError> {
    let no_database = |reason| EmbeddedError::NoDatabase { path: path.to_owned(), reason };
    let name = path.to_str().ok_or_else(|| no_database("its name is not UTF-8".to_owned()))?;
    let can_be =
        can_be_database(path).map_err(|source| EmbeddedError::File { path: path.to_owned(), source })?;
    if !can_be {
        return Err(no_database("it is not a SQLite file".to_owned()));
    }
    Database::new(name).map_err(|error| no_database(error.to_string()))
}

/// Is the file not there yet, empty, or one of SQLite's?
fn can_be_database(path: &Path) -> io::Result<bool> {
    let mut head = Vec::new();
    match File::open(path) {
        Ok(file) => file.take(SQLITE_MAGIC.len() as u64).read_to_end(&mut head)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
        Err(error) => return Err(error),
    };
    Ok(head.is_empty() || head == SQLITE_MAGIC)
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
