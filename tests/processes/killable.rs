//! A command in a separate process, which can be killed.

use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::process::Command;
use tokio::sync::Notify;

/// The process of the moment, if one runs.
#[derive(Default)]
pub(crate) struct Killable {
    kill: Notify,
    running: AtomicBool,
}

impl Killable {
    /// Kills the process, if one runs; did one?
    pub(crate) fn kill(&self) -> bool {
        let running = self.running.swap(false, Ordering::Relaxed);
        if running {
            self.kill.notify_one();
        }
        running
    }

    /// Runs a command, which must succeed unless it is killed. Returns whether it completed.
    pub(crate) async fn run(&self, command: Command) -> bool {
        self.run_to(command, &[]).await
    }

    /// Runs a command, which must succeed or be refused with one of these words, unless it is killed. Returns whether
    /// it completed.
    pub(crate) async fn run_to(&self, mut command: Command, refusals: &[&str]) -> bool {
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        self.running.store(true, Ordering::Relaxed);
        let killed = tokio::select! {
            _ = child.wait() => false,
            () = self.kill.notified() => true,
        };
        self.running.store(false, Ordering::Relaxed);
        if killed {
            child.kill().await.unwrap();
            return false;
        }
        let ended = child.wait_with_output().await.unwrap();
        let said = String::from_utf8_lossy(&ended.stderr);
        assert!(ended.status.success() || refusals.iter().any(|word| said.contains(word)), "{said}");
        true
    }
}
