//! The segments of a pass, several at a time. A segment of another worker is tried again, until that worker is done with it, or its
//! lease has expired.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::stream::{self, StreamExt};
use keyfold_core::retrofit::SegmentId;
use keyfold_dynamo::retrofit::{LEASE_TIME, RetrofitError};

use super::env::{explained, segments};
use super::progress::Progress;

/// The pause between two attempts to take a lease.
const LOOK: Duration = Duration::from_secs(1);

/// How a pass is split, and the flag that ends it early.
pub(super) struct Rounds<'r> {
    pub(super) segments: u32,
    pub(super) concurrency: usize,
    pub(super) stop: &'r AtomicBool,
    pub(super) shown: &'r Progress<'r>,
}

impl Rounds<'_> {
    /// Runs each segment to its end and draws the progress meanwhile. If one fails, the others that have
    /// started still run to their end, and the first error is returned.
    pub(super) async fn run<T, F>(&self, run: impl Fn(SegmentId) -> F) -> anyhow::Result<Vec<T>>
    where
        F: Future<Output = Result<T, RetrofitError>>,
    {
        let mut left = segments(self.segments)?;
        let mut ends = Vec::with_capacity(left.len());
        let mut announced = false;
        loop {
            left = self.shown.during(self.round(left, &run, &mut ends)).await.map_err(explained)?;
            if left.is_empty() || self.stop.load(Ordering::Relaxed) {
                return Ok(ends);
            }
            if !std::mem::replace(&mut announced, true) {
                self.shown.note(&format!(
                    "another worker has {} segments: waiting until it is done; if it was killed, its leases expire within {} s",
                    left.len(),
                    LEASE_TIME.as_secs()
                ));
            }
            self.shown.during(tokio::time::sleep(LOOK)).await;
        }
    }

    /// Tries each of these segments once; returns those that another worker has.
    async fn round<T, F>(
        &self,
        segments: Vec<SegmentId>,
        run: &impl Fn(SegmentId) -> F,
        ends: &mut Vec<T>,
    ) -> Result<Vec<SegmentId>, RetrofitError>
    where
        F: Future<Output = Result<T, RetrofitError>>,
    {
        let runs = segments.into_iter().map(|segment| {
            let run = run(segment);
            async move { (segment, run.await) }
        });
        let mut running = stream::iter(runs).buffer_unordered(self.concurrency.max(1));
        let (mut leased, mut failed) = (Vec::new(), None);
        while let Some((segment, end)) = running.next().await {
            match end {
                Ok(end) => ends.push(end),
                Err(RetrofitError::LeaseTaken { .. } | RetrofitError::LeaseLost { .. }) => {
                    leased.push(segment);
                }
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        failed.map_or(Ok(leased), Err)
    }
}
