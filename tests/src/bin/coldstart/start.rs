//! From the start of a process to its first request for an event.

use std::io::{ErrorKind, Read};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

use super::{Arguments, NEXT, WAIT_MAX};

/// From the start of the process to its first request; and what its main thread did meanwhile.
pub(super) fn start(binary: &Path, arguments: &Arguments) -> anyhow::Result<(Duration, Duration)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let mut command = command(binary, &listener.local_addr()?.to_string(), arguments)?;
    let begun = Instant::now();
    let mut child = command.spawn()?;
    // Held open until the times are read: a function whose connection breaks goes on to say so.
    let connection = first_request(&listener, &mut child);
    let wall = begun.elapsed();
    let cpu = cpu(&child);
    // It may have ended by itself.
    let _ = child.kill();
    child.wait()?;
    drop(connection?);
    Ok((wall, cpu?))
}

pub(super) fn command(binary: &Path, runtime: &str, arguments: &Arguments) -> anyhow::Result<Command> {
    let mut command = Command::new(binary);
    command
        .env_clear()
        .env("AWS_LAMBDA_RUNTIME_API", runtime)
        .env("AWS_LAMBDA_FUNCTION_NAME", "function")
        .env("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "512")
        .env("AWS_LAMBDA_FUNCTION_VERSION", "$LATEST")
        .env("AWS_REGION", "us-east-1")
        .env("AWS_ACCESS_KEY_ID", "none")
        .env("AWS_SECRET_ACCESS_KEY", "none")
        .env("AWS_EC2_METADATA_DISABLED", "true")
        .env("KEYFOLD_MANIFEST", arguments.manifest.canonicalize().context("the manifest")?)
        .env("KEYFOLD_RETROFIT", "auditV2")
        .env("KEYFOLD_CONTROL_TABLE", "keyfold-control")
        .env("KEYFOLD_AUTH", "open")
        .env("KEYFOLD_TOKEN_KEYS", format!("one:{}", "A".repeat(43)))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    if let Some(file) = &arguments.certificates {
        command.env("SSL_CERT_FILE", file);
    }
    Ok(command)
}

/// Waits for the first request. A function that cannot start sends another one, or ends.
fn first_request(listener: &TcpListener, child: &mut Child) -> anyhow::Result<TcpStream> {
    listener.set_nonblocking(true)?;
    let until = Instant::now() + WAIT_MAX;
    let mut stream = loop {
        match listener.accept() {
            Ok((stream, _)) => break stream,
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(error.into()),
        }
        if let Some(status) = child.try_wait()? {
            bail!("it ended before it asked for an event: {status}");
        }
        if Instant::now() > until {
            bail!("it asked for nothing in {WAIT_MAX:?}");
        }
        std::hint::spin_loop();
    };
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(WAIT_MAX))?;
    let mut head = vec![0; NEXT.len()];
    stream.read_exact(&mut head)?;
    if head != NEXT.as_bytes() {
        bail!("its first request is no request for an event: {}", String::from_utf8_lossy(&head));
    }
    Ok(stream)
}

/// How long the process has run, with all its threads.
pub(super) fn cpu(child: &Child) -> anyhow::Result<Duration> {
    let folder = format!("/proc/{}/task", child.id());
    let mut nanoseconds = 0;
    for task in std::fs::read_dir(&folder).context("the process's threads cannot be read")? {
        let text = std::fs::read_to_string(task?.path().join("schedstat"))?;
        nanoseconds += text.split_whitespace().next().context("the times are unreadable")?.parse::<u64>()?;
    }
    Ok(Duration::from_nanos(nanoseconds))
}
