//! A Lambda function on this machine: processes of its binary, one for each concurrent invocation.
//!
//! A process takes one event after another. If it dies or times out, its invocation fails, and the next one starts
//! another process: as in Lambda, there is no retry here.

mod instance;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::sync::Semaphore;

pub use instance::FunctionOptions;

use crate::runtime_api::InvocationResult;
use instance::{Handle, Instance};

/// A function. Its processes end when it is dropped.
#[derive(Debug)]
pub struct LocalFunction {
    options: FunctionOptions,
    slots: Semaphore,
    idle: Mutex<Vec<Instance>>,
    alive: Mutex<Vec<Weak<Handle>>>,
    started: AtomicU64,
}

impl LocalFunction {
    /// A function. Its first process is started by its first invocation.
    pub fn new(options: FunctionOptions) -> LocalFunction {
        let slots = Semaphore::new(options.concurrency.max(1));
        LocalFunction {
            options,
            slots,
            idle: Mutex::default(),
            alive: Mutex::default(),
            started: AtomicU64::new(0),
        }
    }

    /// Sends it an event and waits for the result.
    pub async fn invoke(&self, event: impl Into<String>) -> InvocationResult {
        let Ok(_slot) = self.slots.acquire().await else {
            unreachable!("nobody closes the semaphore");
        };
        let mut instance = match self.instance().await {
            Ok(instance) => instance,
            Err(error) => return InvocationResult::Ended(format!("it cannot start: {error}")),
        };
        let outcome = instance.invoke(event.into()).await;
        // As in Lambda, a process that timed out or failed to start is not used again.
        let usable = matches!(outcome, InvocationResult::Response(_) | InvocationResult::Error(_));
        if usable && instance.ended().is_none() {
            locked(&self.idle).push(instance);
        }
        outcome
    }

    /// Kills one of its processes at once, as `kill -9` does: number `pick`, modulo their count, of those with an
    /// invocation, otherwise of all. Returns whether it had an invocation; `None` if no process runs.
    pub fn kill(&self, pick: usize) -> Option<bool> {
        let mut alive = locked(&self.alive);
        alive.retain(|handle| handle.strong_count() > 0);
        let mut handles: Vec<Arc<Handle>> = alive.iter().filter_map(Weak::upgrade).collect();
        if handles.iter().any(|handle| handle.is_busy()) {
            handles.retain(|handle| handle.is_busy());
        }
        let handle = handles.get(pick.checked_rem(handles.len())?)?;
        handle.kill();
        Some(handle.is_busy())
    }

    /// The number of processes started so far.
    pub fn started(&self) -> u64 {
        self.started.load(Ordering::Relaxed)
    }

    /// A process that waits for an event.
    async fn instance(&self) -> std::io::Result<Instance> {
        loop {
            let Some(instance) = locked(&self.idle).pop() else { break };
            if instance.ended().is_none() {
                return Ok(instance);
            }
        }
        let instance = Instance::start(&self.options).await?;
        self.started.fetch_add(1, Ordering::Relaxed);
        locked(&self.alive).push(Arc::downgrade(instance.handle()));
        Ok(instance)
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
