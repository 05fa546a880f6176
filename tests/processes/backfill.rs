//! The backfill by the real command in a separate process, again and again; it can be killed like the functions.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tokio::task::JoinHandle;

use crate::deployment::Deployment;
use crate::killable::Killable;

/// Items in a second, so that it lasts while other programs write.
const RATE: &str = "1500";

/// Passes that follow one another until they are ended. A killed one is resumed at its checkpoint.
pub(crate) struct Backfill {
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

#[derive(Default)]
struct Shared {
    process: Killable,
    stop: AtomicBool,
    passes: AtomicU64,
}

impl Backfill {
    pub(crate) fn start(deployment: &Arc<Deployment>, retrofit: &'static str) -> Backfill {
        let shared = Arc::new(Shared::default());
        let task = tokio::spawn(passes(Arc::clone(deployment), retrofit, Arc::clone(&shared)));
        Backfill { shared, task }
    }

    /// Kills its process, if one runs. Returns whether one ran.
    pub(crate) fn kill(&self) -> bool {
        self.shared.process.kill()
    }

    /// Ends it after a pass that was not killed. Returns the number of passes.
    pub(crate) async fn finish(self) -> u64 {
        self.shared.stop.store(true, Ordering::Relaxed);
        self.task.await.unwrap();
        self.shared.passes.load(Ordering::Relaxed)
    }
}

async fn passes(deployment: Arc<Deployment>, retrofit: &'static str, shared: Arc<Shared>) {
    let mut again = false;
    while !(shared.stop.load(Ordering::Relaxed) && again) {
        let mut words = vec![
            "run",
            retrofit,
            "--until",
            "backfill",
            "--segments",
            "4",
            "--concurrency",
            "2",
            "--worker",
            "one",
        ];
        words.extend(if shared.stop.load(Ordering::Relaxed) { [].as_slice() } else { &["--rate", RATE] });
        words.extend(again.then_some("--again"));
        // After a kill, the next pass continues at the checkpoint.
        again = shared.process.run(deployment.command(&words)).await;
        shared.passes.fetch_add(u64::from(again), Ordering::Relaxed);
    }
}
