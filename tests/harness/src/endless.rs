//! An endpoint that answers every request with an endless text.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Maximum bytes sent: more than any function's memory.
const BYTES_MAX: usize = 2 << 30;
/// The number of repetitions in one write.
const REPEATS: usize = 10_000;

/// Starts one. Each answer is `begin`, then `again` until the client stops reading.
///
/// # Panics
/// If this machine has no port left.
pub async fn endless(begin: &'static str, again: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            // A client that stops reading closes the connection.
            tokio::spawn(async move { drop(answer(stream, begin, again).await) });
        }
    });
    format!("http://{address}")
}

async fn answer(mut stream: TcpStream, begin: &str, again: &str) -> std::io::Result<()> {
    let mut request = [0; 64 * 1024];
    if stream.read(&mut request).await? == 0 {
        return Ok(());
    }
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/x-amz-json-1.0\r\nconnection: close\r\n\r\n";
    stream.write_all(format!("{head}{begin}").as_bytes()).await?;
    let text = again.repeat(REPEATS);
    for _ in 0..BYTES_MAX / text.len() {
        stream.write_all(text.as_bytes()).await?;
    }
    Ok(())
}

/// The peak memory of a process, in kB.
///
/// # Panics
/// Without such a process.
pub fn peak_kb(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}
