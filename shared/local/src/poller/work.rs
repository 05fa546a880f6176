//! The work of a poller: a page of the stream, its lanes concurrently, each lane's batches one after the other.
//!
//! The position moves after a whole page: if a poller ends within a page, its successor delivers some records twice,
//! but misses none.

use std::sync::{Arc, Mutex};

use futures_util::future::join_all;
use keyfold_core::retrofit::SequenceNumber;
use tokio::sync::watch;

use super::batch::{batches, event, lanes};
use super::batch_result::{BatchResult, batch_result};
use super::delivery::{After, Delivery};
use super::destination::give_up;
use super::options::{BATCH_RECORDS_MAX, PollerOptions};
use super::progress::{PollerError, Progress, locked};
use super::stream::{Reader, Stream, StreamRecord};
use crate::LocalFunction;
use crate::runtime_api::InvocationResult;

/// Handles a batch's event: a closure in this process, or a [`LocalFunction`].
pub trait Handler: Send + Sync + 'static {
    /// Takes one event.
    fn invoke(&self, event: String) -> impl Future<Output = InvocationResult> + Send;
}

impl<F, R> Handler for F
where
    F: Fn(String) -> R + Send + Sync + 'static,
    R: Future<Output = InvocationResult> + Send,
{
    fn invoke(&self, event: String) -> impl Future<Output = InvocationResult> + Send {
        self(event)
    }
}

impl Handler for LocalFunction {
    fn invoke(&self, event: String) -> impl Future<Output = InvocationResult> + Send {
        LocalFunction::invoke(self, event)
    }
}

pub(super) struct Work<H> {
    pub(super) handler: Arc<H>,
    pub(super) options: PollerOptions,
    pub(super) progress: Arc<Mutex<Progress>>,
    pub(super) stopped: watch::Receiver<bool>,
    pub(super) stream: Arc<Stream>,
}

impl<H: Handler> Work<H> {
    pub(super) async fn run(self, mut reader: Reader) {
        while !*self.stopped.borrow() {
            if let Err(error) = self.page(&mut reader).await {
                locked(&self.progress).error = Some(error);
                return;
            }
        }
    }

    async fn page(&self, reader: &mut Reader) -> Result<(), PollerError> {
        let most = (self.options.batch_records() * self.options.parallel()).min(BATCH_RECORDS_MAX);
        let page = self.stream.read(reader, most).await?;
        let Some(last) = page.last().map(|record| record.sequence.clone()) else {
            self.rest(self.options.poll).await;
            return Ok(());
        };
        let count = page.len() as u64;
        let lanes = lanes(page, self.options.parallel());
        for dealt in join_all(lanes.iter().map(|lane| self.lane(lane))).await {
            if !dealt? {
                return Ok(());
            }
        }
        let mut progress = locked(&self.progress);
        progress.counts.records += count;
        progress.position = SequenceNumber::parse(&last).ok().or_else(|| progress.position.take());
        Ok(())
    }

    /// Delivers a lane; `false` if it was stopped early.
    async fn lane(&self, lane: &[StreamRecord]) -> Result<bool, PollerError> {
        let mut delivery = Delivery::new(batches(lane, &self.options), &self.options);
        while let Some(places) = delivery.next() {
            if *self.stopped.borrow() {
                return Ok(false);
            }
            let records = &lane[places];
            let outcome = self.handler.invoke(event(records)).await;
            let place = |text: &str| records.iter().position(|record| record.sequence == text);
            let result = batch_result(&outcome, self.options.partial, place);
            self.count(result);
            match delivery.ended(result) {
                After::GoOn => {}
                After::Again(retry) => self.rest(self.options.pause(retry)).await,
                After::GiveUp(places) => {
                    if let Some(path) = &self.options.on_failure {
                        let tries = self.options.retries_max + 1;
                        give_up(path, &self.stream, &lane[places.clone()], tries, &outcome).await?;
                    }
                    locked(&self.progress).counts.given_up += places.len() as u64;
                }
            }
        }
        Ok(true)
    }

    fn count(&self, result: BatchResult) {
        let counts = &mut locked(&self.progress).counts;
        counts.invocations += 1;
        match result {
            BatchResult::Done => {}
            BatchResult::From(_) => counts.partly += 1,
            BatchResult::Failed => counts.failed += 1,
        }
    }

    /// Pauses until the time is over or the stop signal arrives.
    async fn rest(&self, pause: std::time::Duration) {
        let mut stopped = self.stopped.clone();
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            _ = stopped.wait_for(|stopped| *stopped) => {}
        }
    }
}
