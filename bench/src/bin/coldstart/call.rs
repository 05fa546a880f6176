//! A function's first two events: what the first HTTPS call costs, and what the same costs when there is a connection.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::process::Child;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, bail};
use keyfold_bench::start::{NEXT, START_MAX, cpu};

use super::Arguments;
use super::server::Server;
use super::start::command;

/// How long a function is given to fall asleep after a request, before its times are read.
const SETTLED: Duration = Duration::from_millis(2);

/// A request of the function, and where its answer goes.
type Call = (String, Sender<String>);

/// The CPU of the first event and of the second, from the event to its answer.
pub(super) fn calls(
    binary: &Path,
    event: &str,
    arguments: &Arguments,
    server: &Server,
) -> anyhow::Result<(Duration, Duration)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let mut child = command(binary, &listener.local_addr()?.to_string(), arguments)?
        .env("KEYFOLD_ENDPOINT", server.url())
        .env("AWS_CA_BUNDLE", server.bundle())
        .spawn()?;
    let (sender, requests) = channel();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let sender = sender.clone();
            // It ends with the connection.
            thread::spawn(move || listen(stream, &sender));
        }
    });
    let measured = (|| {
        let first = invoke(&child, event, &requests, server).context("the first event")?;
        let second = invoke(&child, event, &requests, server).context("the second event")?;
        Ok((first, second))
    })();
    // It may have ended by itself.
    let _ = child.kill();
    child.wait()?;
    measured
}

/// Gives the function an event.
fn invoke(
    child: &Child,
    event: &str,
    requests: &Receiver<Call>,
    server: &Server,
) -> anyhow::Result<Duration> {
    let before = server.asked();
    let (head, answer) = requests.recv_timeout(START_MAX).context("it asked for no event")?;
    if !head.starts_with(NEXT) {
        bail!("it did not ask for an event: {}", head.lines().next().unwrap_or_default());
    }
    thread::sleep(SETTLED);
    let begun = cpu(child.id())?;
    answer.send(next(event)?)?;
    let (head, answer) = requests.recv_timeout(START_MAX).context("it answered nothing")?;
    if !head.starts_with("POST ") {
        bail!("it did not answer: {}", head.lines().next().unwrap_or_default());
    }
    thread::sleep(SETTLED);
    let ended = cpu(child.id())?;
    answer.send("HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n".to_owned())?;
    if server.asked() == before {
        bail!("it did not ask the server");
    }
    Ok(ended.saturating_sub(begun))
}

/// The Runtime API's answer with an event.
fn next(event: &str) -> anyhow::Result<String> {
    let deadline = SystemTime::now().duration_since(UNIX_EPOCH)? + Duration::from_secs(60);
    let headers = [
        ("lambda-runtime-aws-request-id", "8476a536-e9f4-11e8-9739-2dfe598c3fcd".to_owned()),
        ("lambda-runtime-deadline-ms", deadline.as_millis().to_string()),
        ("lambda-runtime-invoked-function-arn", "arn:aws:lambda:us-east-1:1:function:f".to_owned()),
        ("content-length", event.len().to_string()),
    ];
    let headers: String = headers.map(|(name, value)| format!("{name}: {value}\r\n")).concat();
    Ok(format!("HTTP/1.1 200 OK\r\n{headers}\r\n{event}"))
}

fn listen(mut stream: TcpStream, requests: &Sender<Call>) -> anyhow::Result<()> {
    stream.set_nodelay(true)?;
    while let Some(head) = request(&mut stream)? {
        let (sender, answer) = channel();
        requests.send((head, sender))?;
        stream.write_all(answer.recv()?.as_bytes())?;
    }
    Ok(())
}

/// The head of the next request; its body is read and left. `None` at the connection's end.
pub(super) fn request(stream: &mut impl Read) -> anyhow::Result<Option<String>> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        match stream.read(&mut byte) {
            Ok(1) => head.push(byte[0]),
            _ => return Ok(None),
        }
    }
    let head = String::from_utf8(head)?;
    let value = |name: &str| {
        let line =
            head.lines().find_map(|line| line.split_once(':').filter(|(n, _)| n.eq_ignore_ascii_case(name)));
        line.map(|(_, value)| value.trim().to_owned())
    };
    if value("transfer-encoding").is_some() {
        let mut body = Vec::new();
        while !body.ends_with(b"0\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte)?;
            body.push(byte[0]);
        }
    } else if let Some(length) = value("content-length") {
        stream.read_exact(&mut vec![0; length.parse()?])?;
    }
    Ok(Some(head))
}
