//! One process of a function, with a separate Runtime API, so that the process of each invocation is known.

use std::fs::OpenOptions;
use std::io;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::process::{Child, Command};
use tokio::sync::{Notify, oneshot, watch};

use crate::runtime_api::{INVOCATION_TIME_MAX, InvocationResult, RuntimeApi};

/// The options of a function.
#[derive(Debug, Clone)]
pub struct FunctionOptions {
    /// Its binary.
    pub binary: PathBuf,
    /// Its environment, in addition to Lambda's.
    pub environment: Vec<(String, String)>,
    /// Maximum processes; further invocations wait.
    pub concurrency: usize,
    /// The timeout of an invocation.
    pub time_max: Duration,
    /// Its log file; `None`: no log.
    pub log: Option<PathBuf>,
}

impl FunctionOptions {
    /// One process at a time of this binary, without a log.
    pub fn of(binary: impl Into<PathBuf>) -> FunctionOptions {
        FunctionOptions {
            binary: binary.into(),
            environment: Vec::new(),
            concurrency: 1,
            time_max: INVOCATION_TIME_MAX,
            log: None,
        }
    }

    /// The same options with one more environment variable.
    #[must_use]
    pub fn env(mut self, name: &str, value: impl Into<String>) -> FunctionOptions {
        self.environment.push((name.to_owned(), value.into()));
        self
    }
}

/// A running process. It is killed when this is dropped.
#[derive(Debug)]
pub(super) struct Instance {
    api: RuntimeApi,
    handle: Arc<Handle>,
    ended: watch::Receiver<Option<String>>,
    /// Dropping it ends the process.
    _held: oneshot::Sender<()>,
}

/// A handle to observe and kill a process.
#[derive(Debug, Default)]
pub(super) struct Handle {
    kill: Notify,
    busy: AtomicBool,
}

impl Handle {
    pub(super) fn kill(&self) {
        self.kill.notify_one();
    }

    pub(super) fn is_busy(&self) -> bool {
        self.busy.load(Ordering::Relaxed)
    }
}

impl Instance {
    pub(super) async fn start(options: &FunctionOptions) -> io::Result<Instance> {
        let api = RuntimeApi::with_time(options.time_max).await?;
        let mut command = Command::from(api.command(&options.binary));
        command.envs(options.environment.iter().map(|(name, value)| (name, value)));
        let (out, err) = match &options.log {
            None => (Stdio::null(), Stdio::null()),
            Some(path) => {
                let log = OpenOptions::new().create(true).append(true).open(path)?;
                (Stdio::from(log.try_clone()?), Stdio::from(log))
            }
        };
        let child = command.stdout(out).stderr(err).kill_on_drop(true).spawn()?;
        let handle = Arc::new(Handle::default());
        let (held, dropped) = oneshot::channel();
        let (tell, ended) = watch::channel(None);
        tokio::spawn(watch_over(child, Arc::clone(&handle), dropped, tell));
        Ok(Instance { api, handle, ended, _held: held })
    }

    pub(super) fn handle(&self) -> &Arc<Handle> {
        &self.handle
    }

    /// How the process ended, if it has.
    pub(super) fn ended(&self) -> Option<String> {
        self.ended.borrow().clone()
    }

    pub(super) async fn invoke(&mut self, event: String) -> InvocationResult {
        self.handle.busy.store(true, Ordering::Relaxed);
        let outcome = tokio::select! {
            // An answer counts, even if the process ended afterwards.
            biased;
            outcome = self.api.invoke(event) => outcome,
            ended = self.ended.wait_for(Option::is_some) => {
                InvocationResult::Ended(ended.ok().and_then(|how| how.clone()).unwrap_or_default())
            }
        };
        self.handle.busy.store(false, Ordering::Relaxed);
        outcome
    }
}

/// Waits for the end of a process, or kills it.
async fn watch_over(
    mut child: Child,
    handle: Arc<Handle>,
    dropped: oneshot::Receiver<()>,
    tell: watch::Sender<Option<String>>,
) {
    let status = tokio::select! {
        status = child.wait() => status,
        () = handle.kill.notified() => killed(&mut child).await,
        _ = dropped => killed(&mut child).await,
    };
    tell.send_replace(Some(match status {
        Ok(status) => format!("its process ended: {status}"),
        Err(error) => format!("its process cannot be waited for: {error}"),
    }));
}

async fn killed(child: &mut Child) -> io::Result<std::process::ExitStatus> {
    child.start_kill()?;
    child.wait().await
}
