//! The stages of a switch before the writers stop, by the real program; it can be killed, and is repeated until it
//! completes.

use std::sync::Arc;

use tokio::task::JoinHandle;

use crate::deployment::Deployment;
use crate::killable::Killable;

/// Seconds to wait after each change of the phase. A request lives for milliseconds here, and for a second or two where other tests
/// have the processor.
const WAITS: &str = "in-flight=8,lag=2";

pub(crate) struct Tidying {
    process: Arc<Killable>,
    task: JoinHandle<()>,
}

impl Tidying {
    pub(crate) fn start(deployment: &Arc<Deployment>, retrofit: &'static str) -> Tidying {
        let process = Arc::new(Killable::default());
        let task = tokio::spawn(until_through(Arc::clone(deployment), retrofit, Arc::clone(&process)));
        Tidying { process, task }
    }

    pub(crate) fn is_over(&self) -> bool {
        self.task.is_finished()
    }

    /// Kills its process, if one runs; did one?
    pub(crate) fn kill(&self) -> bool {
        self.process.kill()
    }

    pub(crate) async fn finish(self) {
        self.task.await.unwrap();
    }
}

async fn until_through(deployment: Arc<Deployment>, retrofit: &'static str, process: Arc<Killable>) {
    let words = ["switch", retrofit, "--for-good", "--waits", WAITS];
    loop {
        let mut command = deployment.command(&words);
        command.env("KEYFOLD_WORKER", "one");
        // The comparison runs during writes at full speed, and may find writes in flight.
        if process.run_to(command, &["writers-not-stopped", "cannot switch: "]).await {
            return;
        }
    }
}
