//! The command that tidies, by the real program; it can be killed, and is begun again until it is through.

use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::deployment::Deployment;

/// Seconds to wait after each change of the phase. A request lives for milliseconds here, and for a second or two where other tests
/// have the processor.
const WAIT: &str = "8";

pub(crate) struct Tidying {
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

#[derive(Default)]
struct Shared {
    kill: Notify,
    running: AtomicBool,
}

impl Tidying {
    pub(crate) fn start(deployment: &Arc<Deployment>, retrofit: &'static str) -> Tidying {
        let shared = Arc::new(Shared::default());
        let task = tokio::spawn(until_through(Arc::clone(deployment), retrofit, Arc::clone(&shared)));
        Tidying { shared, task }
    }

    pub(crate) fn is_over(&self) -> bool {
        self.task.is_finished()
    }

    /// Kills its process, if one runs; did one?
    pub(crate) fn kill(&self) -> bool {
        let running = self.shared.running.swap(false, Ordering::Relaxed);
        if running {
            self.shared.kill.notify_one();
        }
        running
    }

    pub(crate) async fn finish(self) {
        self.task.await.unwrap();
    }
}

async fn until_through(deployment: Arc<Deployment>, retrofit: &'static str, shared: Arc<Shared>) {
    loop {
        let words = ["tidy", retrofit, "--wait", WAIT, "--worker", "one", "--segments", "3"];
        let mut child =
            deployment.command(&words).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        shared.running.store(true, Ordering::Relaxed);
        let killed = tokio::select! {
            _ = child.wait() => false,
            () = shared.kill.notified() => true,
        };
        shared.running.store(false, Ordering::Relaxed);
        if killed {
            child.kill().await.unwrap();
            continue;
        }
        let ended = child.wait_with_output().await.unwrap();
        assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
        return;
    }
}
