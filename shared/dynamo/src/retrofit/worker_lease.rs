//! The lease of a slice, and its checkpoint in the control table.

use std::time::{Duration, Instant};

use keyfold_core::retrofit::{Checkpoint, Lease, Request, Response, TableRole, Write};

use super::clock::now_ms;
use super::{RequestSender, RetrofitError, SliceOptions};

/// How long a lease is good for. It is renewed with every page.
pub const LEASE_TIME: Duration = Duration::from_secs(30);
/// How often a checkpoint is stored while a slice goes on.
const STORE_PERIOD: Duration = Duration::from_secs(1);

/// A slice's hold on its segment.
pub(super) struct WorkerLease {
    lease: Option<Lease>,
    store: bool,
    stored: Instant,
}

impl WorkerLease {
    /// Takes the lease of the checkpoint's segment, if the options name an owner.
    pub(super) async fn take(
        sender: &RequestSender,
        checkpoint: &Checkpoint,
        options: &SliceOptions,
    ) -> Result<WorkerLease, RetrofitError> {
        let now = now_ms();
        let (pass, segment) = (checkpoint.pass(), checkpoint.segment());
        let lease =
            options.owner.clone().map(|owner| Lease { pass, segment, owner, until_ms: until_ms(now) });
        if let Some(lease) = &lease
            && !written(sender, lease.take(sender.job(), now)).await?
        {
            let retrofit = sender.job().mapping().name().to_owned();
            return Err(RetrofitError::LeaseTaken { retrofit, segment: lease.segment.to_string() });
        }
        let held = WorkerLease { lease, store: options.store, stored: Instant::now() };
        // After the lease, not before: an operator that changes the phase looks for leases after the change. So one of the two sees the
        // other, and no worker continues to write as in the previous phase.
        if held.lease.is_some()
            && let Err(error) = sender.check_tracking().await
        {
            held.release(sender).await?;
            return Err(error);
        }
        Ok(held)
    }

    /// Renews the lease, and stores the checkpoint from time to time. An error if another worker has the segment by now.
    pub(super) async fn keep(
        &mut self,
        sender: &RequestSender,
        checkpoint: &Checkpoint,
    ) -> Result<(), RetrofitError> {
        if let Some(lease) = &mut self.lease {
            let ran_out = lease.until_ms < now_ms();
            lease.until_ms = until_ms(now_ms());
            let renewal = sender.with_rate(|rate| lease.renew(sender.job(), rate));
            if !written(sender, renewal).await? {
                let segment = lease.segment.to_string();
                self.lease = None;
                let retrofit = sender.job().mapping().name().to_owned();
                return Err(RetrofitError::LeaseLost { retrofit, segment });
            }
            // It slept for longer than its lease: others did not wait for it.
            if ran_out {
                sender.check_tracking().await?;
            }
        }
        if self.store && self.stored.elapsed() >= STORE_PERIOD {
            sender.store_checkpoint(checkpoint).await?;
            self.stored = Instant::now();
        }
        Ok(())
    }

    /// Stores the checkpoint and gives the lease back.
    pub(super) async fn end(
        self,
        sender: &RequestSender,
        checkpoint: &Checkpoint,
    ) -> Result<(), RetrofitError> {
        if self.store {
            sender.store_checkpoint(checkpoint).await?;
        }
        self.release(sender).await
    }

    async fn release(self, sender: &RequestSender) -> Result<(), RetrofitError> {
        if let Some(lease) = self.lease {
            // If another worker has taken it, that one keeps it.
            written(sender, lease.release(sender.job())).await?;
        }
        Ok(())
    }
}

/// Sends a write of the control table; did its guard hold?
async fn written(sender: &RequestSender, write: Write) -> Result<bool, RetrofitError> {
    match sender.send(&Request::Write(write)).await? {
        Response::Written => Ok(true),
        Response::Rejected(code) => {
            Err(RetrofitError::Refused { table: sender.table(TableRole::Control).id.clone(), code })
        }
        _ => Ok(false),
    }
}

fn until_ms(now_ms: u64) -> u64 {
    now_ms.saturating_add(u64::try_from(LEASE_TIME.as_millis()).unwrap_or(u64::MAX))
}
