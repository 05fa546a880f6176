//! Starting and stopping: files, ports, and every error.

use std::io::Write;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use keyfold_dynamo::{BatchGet, TableOptions, batch_get, put};
use keyfold_local::{EmbeddedDynamo, EmbeddedError, SHUTDOWN_WAIT_MAX, Store};

use crate::fixture::{item, number, text, visit, visits};

async fn has(dynamo: &EmbeddedDynamo, at: u32) -> bool {
    let keys = vec![item([("user", text("joe")), ("at", number(at))])];
    let batch = BatchGet { table: visits().name, keys, ..BatchGet::default() };
    !batch_get(&dynamo.client(), &batch).await.unwrap().items.is_empty()
}

fn address(dynamo: &EmbeddedDynamo) -> String {
    dynamo.endpoint().trim_start_matches("http://").to_owned()
}

#[tokio::test]
async fn what_is_in_a_file_is_there_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.db");
    let dynamo = EmbeddedDynamo::file(&path).unwrap();
    dynamo.create_tables(&[visits()], TableOptions::default()).await.unwrap();
    put(&dynamo.client(), &visits(), visit("joe", 7)).await.unwrap();
    dynamo.shutdown();
    let again = EmbeddedDynamo::file(&path).unwrap();
    assert_eq!(again.create_tables(&[visits()], TableOptions::default()).await.unwrap(), 0);
    assert!(has(&again, 7).await);
}

#[tokio::test]
async fn two_run_at_once_and_know_nothing_of_each_other() {
    let (one, two) = (EmbeddedDynamo::memory().unwrap(), EmbeddedDynamo::memory().unwrap());
    for dynamo in [&one, &two] {
        dynamo.create_tables(&[visits()], TableOptions::default()).await.unwrap();
    }
    put(&one.client(), &visits(), visit("joe", 7)).await.unwrap();
    assert!(has(&one, 7).await);
    assert!(!has(&two, 7).await);
    drop(one);
    assert!(!has(&two, 7).await);
}

#[test]
fn a_port_in_use_is_named() {
    let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = taken.local_addr().unwrap().port();
    let error = EmbeddedDynamo::start(&Store::Memory, port).unwrap_err();
    assert_eq!(
        (error.code(), error.to_string()),
        ("port-in-use", format!("port `{port}` of 127.0.0.1 is in use"))
    );
    drop(taken);
    let dynamo = EmbeddedDynamo::start(&Store::Memory, port).unwrap();
    assert_eq!(dynamo.endpoint(), format!("http://127.0.0.1:{port}"));
}

#[tokio::test]
async fn after_the_end_nobody_listens_and_the_port_is_free() {
    let dynamo = EmbeddedDynamo::memory().unwrap();
    dynamo.create_tables(&[visits()], TableOptions::default()).await.unwrap();
    let address = address(&dynamo);
    let started = Instant::now();
    drop(dynamo);
    assert!(started.elapsed() < SHUTDOWN_WAIT_MAX, "an idle connection held it up");
    assert!(TcpStream::connect(&address).is_err());
    TcpListener::bind(&address).unwrap();
}

#[test]
fn half_a_request_does_not_hold_the_end_up_for_ever() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.db");
    let dynamo = EmbeddedDynamo::file(&path).unwrap();
    let mut client = TcpStream::connect(address(&dynamo)).unwrap();
    client.write_all(b"POST / HTTP/1.1\r\ncontent-length: 10\r\n\r\n{").unwrap();
    // Until the server has started to read: a request that it has not seen does not delay the end.
    std::thread::sleep(Duration::from_millis(300));
    let started = Instant::now();
    dynamo.shutdown();
    assert!(started.elapsed() < SHUTDOWN_WAIT_MAX * 2);
    // Nothing of it is left: SQLite has put its log away with the last connection to the file.
    assert!(!folder.path().join("audit.db-wal").exists());
    EmbeddedDynamo::file(&path).unwrap();
}

#[test]
fn a_file_that_cannot_be_a_database_is_named_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notes.txt");
    let notes = "Dear diary, ".repeat(1000);
    std::fs::write(&path, &notes).unwrap();
    let error = EmbeddedDynamo::file(&path).unwrap_err();
    assert_eq!(error.code(), "not-a-database");
    let text = error.to_string();
    assert!(text.contains("notes.txt") && text.contains("it is not a SQLite file"), "{text}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), notes);
}

#[test]
fn a_damaged_database_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.db");
    EmbeddedDynamo::file(&path).unwrap().shutdown();
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[100..].fill(b'x');
    std::fs::write(&path, bytes).unwrap();
    let error = EmbeddedDynamo::file(&path).unwrap_err();
    assert_eq!(error.code(), "not-a-database");
    let text = error.to_string();
    assert!(text.contains("audit.db") && text.contains("malformed"), "{text}");
}

#[test]
fn a_file_is_used_by_one_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.db");
    let first = EmbeddedDynamo::file(&path).unwrap();
    let error = EmbeddedDynamo::file(&path).unwrap_err();
    assert!(matches!(&error, EmbeddedError::FileInUse { path: named } if *named == path), "{error:?}");
    drop(first);
    EmbeddedDynamo::file(&path).unwrap();
}

#[test]
fn a_file_in_no_folder_cannot_be_used() {
    let error = EmbeddedDynamo::file(PathBuf::from("/nowhere/at/all/audit.db")).unwrap_err();
    assert_eq!(error.code(), "file-not-usable");
}
