//! The start of a function's process, up to its first request for an event: what a cold start waits for.

use std::io::{ErrorKind, Read};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

/// The longest wait for a request.
pub const START_MAX: Duration = Duration::from_secs(10);
/// How a function asks for an event.
pub const NEXT: &str = "GET /2018-06-01/runtime/invocation/next ";

/// What a start took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Start {
    /// From the start of the process to its first request.
    pub wall: Duration,
    /// What all its threads did meanwhile.
    pub cpu: Duration,
}

/// What starts a function as in AWS: with the variables of the template and of Lambda, nothing of this process, and no
/// endpoint, so that the client for AWS is made. `runtime` is where its Runtime API is.
pub fn as_in_aws(program: &Path, manifest: &Path, runtime: &str) -> Command {
    let mut command = Command::new(program);
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
        .env("KEYFOLD_MANIFEST", manifest)
        .env("KEYFOLD_RETROFIT", "auditV2")
        .env("KEYFOLD_CONTROL_TABLE", "keyfold-control")
        .env("KEYFOLD_AUTH", "open")
        .env("KEYFOLD_TOKEN_KEYS", format!("one:{}", "A".repeat(43)))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
}

/// Starts a process, given where its Runtime API is, waits for its first request, and ends it.
pub fn start(command: impl FnOnce(&str) -> anyhow::Result<Command>) -> anyhow::Result<Start> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let mut command = command(&listener.local_addr()?.to_string())?;
    let begun = Instant::now();
    let mut child = command.spawn()?;
    // Held open until the times are read: a function whose connection breaks goes on to say so.
    let connection = first_request(&listener, &mut child);
    let wall = begun.elapsed();
    let cpu = cpu(child.id());
    // It may have ended by itself.
    let _ = child.kill();
    child.wait()?;
    drop(connection?);
    Ok(Start { wall, cpu: cpu? })
}

/// Waits for the first request. A function that cannot start sends another one, or ends.
fn first_request(listener: &TcpListener, child: &mut Child) -> anyhow::Result<TcpStream> {
    listener.set_nonblocking(true)?;
    let until = Instant::now() + START_MAX;
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
            bail!("it asked for nothing in {START_MAX:?}");
        }
        std::hint::spin_loop();
    };
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(START_MAX))?;
    let mut head = vec![0; NEXT.len()];
    stream.read_exact(&mut head)?;
    if head != NEXT.as_bytes() {
        bail!("its first request is no request for an event: {}", String::from_utf8_lossy(&head));
    }
    Ok(stream)
}

/// How long the threads of a process have run, those that have ended left out.
pub fn cpu(process: u32) -> anyhow::Result<Duration> {
    let folder = format!("/proc/{process}/task");
    let mut nanoseconds = 0;
    for thread in std::fs::read_dir(folder).context("the process's threads cannot be read")? {
        // A thread may have ended since.
        let Ok(text) = std::fs::read_to_string(thread?.path().join("schedstat")) else { continue };
        let ran = text.split_whitespace().next().context("the process's times are unreadable")?;
        nanoseconds += ran.parse::<u64>()?;
    }
    Ok(Duration::from_nanos(nanoseconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &'static str) -> anyhow::Result<Start> {
        start(|runtime| {
            let mut command = Command::new("sh");
            command.args(["-c", script]).env("RUNTIME", runtime);
            Ok(command)
        })
    }

    #[test]
    fn a_process_that_ends_without_a_request_is_an_error() {
        let error = shell("exit 3").unwrap_err().to_string();
        assert!(error.contains("it ended before it asked for an event"), "{error}");
    }

    #[test]
    fn the_time_of_a_process_is_known_and_rises() {
        let mut busy = Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        let before = cpu(busy.id()).unwrap();
        // The system counts in ticks, which can be longer than any one piece of work.
        let rises = (0..1000).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            cpu(busy.id()).unwrap() > before
        });
        busy.kill().unwrap();
        busy.wait().unwrap();
        assert!(rises);
    }
}
