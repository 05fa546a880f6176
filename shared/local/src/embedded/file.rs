//! The database of an embedded DynamoDB, and the lock that gives its file a single user.

use std::ffi::OsString;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use dynoxide::Database;
use rusqlite::Connection;

use super::error::EmbeddedError;

/// The suffix of the lock file.
const LOCK_SUFFIX: &str = ".lock";
/// The first bytes of every SQLite file. <https://sqlite.org/fileformat.html#magic_header_string>
const SQLITE_MAGIC: &[u8] = b"SQLite format 3\0";
/// The number is stored as text and compared as a number. With the shard in the index, first and last need no table
/// access.
const STREAM_INDEX: &str = "CREATE INDEX IF NOT EXISTS keyfold_stream_records
    ON _stream_records (table_name, CAST(sequence_number AS INTEGER), shard_id)";

/// The number of in-memory databases opened by this process: each has a different name.
static IN_MEMORY: AtomicU64 = AtomicU64::new(0);

/// Opens an in-memory database.
///
/// It is a named "file" in this process's memory; with a `/` at the start of its name, a second connection can be
/// opened.
/// <https://sqlite.org/src/doc/trunk/src/memdb.c>
///
/// SQLite's own in-memory databases keep every page in the page cache, and a commit that balanced a tree scans all of
/// it: with 100,000 items that is a quarter of the server's time. `.cargo/config.toml` sets the maximum size.
pub(super) fn in_memory() -> Result<Database, EmbeddedError> {
    let name = format!("file:/keyfold-{}?vfs=memdb", IN_MEMORY.fetch_add(1, Ordering::Relaxed));
    open_indexed(&name).map_err(|reason| EmbeddedError::NoMemory { reason })
}

/// Opens or creates a database in a file, under its lock.
pub(super) fn open(path: &Path, _lock: &FileLock) -> Result<Database, EmbeddedError> {
    let no_database = |reason| EmbeddedError::NoDatabase { path: path.to_owned(), reason };
    let name = path.to_str().ok_or_else(|| no_database("its name is not UTF-8".to_owned()))?;
    let can_be =
        can_be_database(path).map_err(|source| EmbeddedError::File { path: path.to_owned(), source })?;
    if !can_be {
        return Err(no_database("it is not a SQLite file".to_owned()));
    }
    open_indexed(name).map_err(no_database)
}

/// Opens a database, with an index over its stream records: each write to a table with a stream searches the newest
/// record, and each reader the next ones. Without it both scan all records.
fn open_indexed(name: &str) -> Result<Database, String> {
    let database = Database::new(name).map_err(|error| error.to_string())?;
    let second = Connection::open(name).map_err(|error| error.to_string())?;
    second.execute_batch(STREAM_INDEX).map_err(|error| error.to_string())?;
    Ok(database)
}

/// Is the file missing, empty, or an SQLite database?
fn can_be_database(path: &Path) -> io::Result<bool> {
    let mut head = Vec::new();
    match File::open(path) {
        Ok(file) => file.take(SQLITE_MAGIC.len() as u64).read_to_end(&mut head)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
        Err(error) => return Err(error),
    };
    Ok(head.is_empty() || head == SQLITE_MAGIC)
}

/// Held while a file is in use. The lock is on a separate file: opening and closing the database file itself would
/// release SQLite's own locks in this process.
#[derive(Debug)]
pub(super) struct FileLock {
    /// Closing the file releases the lock.
    _file: File,
}

impl FileLock {
    /// Takes the lock, or fails if another process has it.
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

#[cfg(test)]
mod tests {
    use rusqlite::StatementStatus;

    use super::*;

    /// The database's queries of stream records, verbatim.
    const NEWEST: &str = "SELECT COALESCE(MAX(CAST(sequence_number AS INTEGER)), 0) + 1 FROM _stream_records WHERE table_name = 'a'";
    const NEXT: &str = "SELECT event_name, new_image FROM _stream_records
        WHERE table_name = 'a' AND shard_id = 's' AND CAST(sequence_number AS INTEGER) > 5
        ORDER BY CAST(sequence_number AS INTEGER) ASC LIMIT 1";

    /// The number of steps that SQLite takes to answer.
    fn steps(connection: &Connection, question: &str) -> i32 {
        let mut statement = connection.prepare(question).unwrap();
        let _: Vec<()> = statement.query_map([], |_| Ok(())).unwrap().map(Result::unwrap).collect();
        statement.get_status(StatementStatus::VmStep)
    }

    fn add_records(connection: &Connection, numbers: std::ops::Range<u32>) {
        let add = "INSERT INTO _stream_records (table_name, event_name, keys_json, sequence_number, shard_id, created_at)
            VALUES ('a', 'INSERT', '{}', ?1, 's', 0)";
        connection.execute_batch("BEGIN").unwrap();
        for number in numbers {
            connection.execute(add, [number.to_string()]).unwrap();
        }
        connection.execute_batch("COMMIT").unwrap();
    }

    #[test]
    fn a_write_and_a_reader_find_their_record_among_thousands_as_among_ten() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("streams.db");
        let lock = FileLock::take(&path).unwrap();
        let _database = open(&path, &lock).unwrap();
        let connection = Connection::open(&path).unwrap();
        add_records(&connection, 0..10);
        let few = [NEWEST, NEXT].map(|question| steps(&connection, question));
        add_records(&connection, 10..5000);
        let many = [NEWEST, NEXT].map(|question| steps(&connection, question));
        assert!(few.iter().all(|steps| *steps > 0));
        assert!(few == many, "{few:?} steps with 10 records, {many:?} with 5,000");
    }

    #[test]
    fn databases_in_memory_share_nothing() {
        let (first, second) = (in_memory().unwrap(), in_memory().unwrap());
        let request = r#"{"TableName":"Audit","BillingMode":"PAY_PER_REQUEST","KeySchema":[{"AttributeName":"id","KeyType":"HASH"}],
            "AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"}]}"#;
        first.create_table(serde_json::from_str(request).unwrap()).unwrap();
        assert_eq!([first.table_count().unwrap(), second.table_count().unwrap()], [1, 0]);
    }
}
