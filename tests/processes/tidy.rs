//! The command that tidies, by the real program; it can be killed, and is begun again until it is through.

use std::sync::Arc;

use tokio::task::JoinHandle;

use crate::deployment::Deployment;
use crate::killable::Killable;

/// Seconds to wait after each change of the phase. A request lives for milliseconds here, and for a second or two where other tests
/// have the processor.
const WAIT: &str = "8";

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
    let words = ["tidy", retrofit, "--wait", WAIT, "--worker", "one", "--segments", "3"];
    while !process.run(deployment.command(&words)).await {}
}
