//! A pass over all segments of a table, several at a time. A segment of another worker is tried again, until that worker is done with it,
//! or its lease has expired.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use futures_util::stream::{self, StreamExt};
use keyfold_core::retrofit::operate::OperationStatus;
use keyfold_core::retrofit::segment::SEGMENTS_MAX;
use keyfold_core::retrofit::{Checkpoint, Pass, Rate, SegmentId, ThrottledBy, progress};

use super::{
    ConsumedTotals, RequestSender, RetrofitDifference, RetrofitError, SliceOptions, VerifySlice,
    backfill_slice, finalise_slice, verify_slice,
};

/// The default number of segments of a pass.
const SEGMENTS_DEFAULT: u32 = 4;
/// The default number of segments that are processed at the same time.
const SEGMENTS_AT_ONCE_DEFAULT: u32 = 4;
/// The pause between two attempts to take a lease.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// How a pass is split, how fast it goes, and what ends it early.
#[derive(Debug, Clone)]
pub struct PassOptions {
    /// The number of segments of the scan; `None` for that of the pass before it was interrupted, or four.
    pub segments: Option<u32>,
    /// How many segments are processed at the same time.
    pub at_once: u32,
    /// The most capacity units in a second.
    pub rate: Option<f64>,
    /// How far behind the replicator may be, for a comparison.
    pub lag_seconds: u64,
    /// The worker's name, for leases.
    pub owner: String,
    /// Once this is set, no page is started.
    pub stop: Arc<AtomicBool>,
    /// No page is started after this.
    pub deadline: Option<Instant>,
}

impl PassOptions {
    /// The defaults, for a worker of this name; without one, for a new one.
    pub fn of(owner: Option<&str>) -> PassOptions {
        let new = || {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            format!("worker-{}-{:x}", std::process::id(), now.as_nanos())
        };
        PassOptions {
            segments: None,
            at_once: SEGMENTS_AT_ONCE_DEFAULT,
            rate: None,
            lag_seconds: super::LAG_SECONDS_DEFAULT,
            owner: owner.map_or_else(new, str::to_owned),
            stop: Arc::default(),
            deadline: None,
        }
    }

    pub(super) fn segments(&self) -> u32 {
        self.segments.unwrap_or(SEGMENTS_DEFAULT).clamp(1, SEGMENTS_MAX)
    }

    pub(super) fn is_over(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    pub(super) fn slice(&self, store: bool) -> SliceOptions {
        SliceOptions {
            deadline: self.deadline,
            stop: Arc::clone(&self.stop),
            lag_seconds: self.lag_seconds,
            owner: Some(self.owner.clone()),
            store,
            ..SliceOptions::default()
        }
    }
}

/// Learns how far an operation and its passes are.
pub trait PassWatch: Sync {
    /// The operation asks for its next effect.
    fn step(&self, _status: OperationStatus) {}
    /// A pass begins, over about this many items; 0 if that is unknown.
    fn begins_pass(&self, _pass: Pass, _repair: bool, _items_about: u64) {}
    /// The units that the pass has consumed so far, and the limit of its rate.
    fn spends(&self, _spent: &ConsumedTotals, _limited_by: Option<ThrottledBy>) {}
    /// A pass is over or was interrupted.
    fn ends_pass(&self, _pass: Pass, _repair: bool, _end: &PassEnd) {}
    /// A segment begins or continues here.
    fn begins(&self, _checkpoint: &Checkpoint) {}
    /// A page of a segment is done.
    fn page(&self, _checkpoint: &Checkpoint) {}
    /// Another worker has this many segments.
    fn waits(&self, _segments: usize) {}
}

/// The result of a pass, over all segments.
#[derive(Debug, Default)]
pub struct PassEnd {
    /// Are all segments done?
    pub done: bool,
    /// Items by what became of them.
    pub counts: BTreeMap<String, u64>,
    /// The first differences that a comparison found.
    pub differences: Vec<RetrofitDifference>,
    /// How many there are.
    pub differing: u64,
}

impl PassEnd {
    /// Of these segments, of `total`.
    pub(super) fn of(ends: &[Checkpoint], total: u32) -> PassEnd {
        let done = ends.len() == total as usize && ends.iter().all(Checkpoint::is_done);
        let mut end = PassEnd { done, ..PassEnd::default() };
        ends.iter().for_each(|checkpoint| end.add(checkpoint));
        end
    }

    fn add(&mut self, checkpoint: &Checkpoint) {
        for (name, count) in checkpoint.counts() {
            *self.counts.entry(name.clone()).or_default() += count;
        }
    }
}

impl RequestSender {
    /// Goes through all segments of a pass; with `repair`, a comparison corrects what differs. An interrupted backfill or cleaning
    /// continues where it was, a comparison starts again.
    pub async fn pass(
        &self,
        pass: Pass,
        repair: bool,
        options: &PassOptions,
        watch: &dyn PassWatch,
    ) -> Result<PassEnd, RetrofitError> {
        match pass {
            Pass::VerifySource | Pass::VerifyTarget => self.compare_all(pass, repair, options, watch).await,
            Pass::Backfill | Pass::Tidy | Pass::Finalise | Pass::EmptyLedger => {
                self.carry_on_all(pass, options, watch).await
            }
        }
    }

    async fn carry_on_all(
        &self,
        pass: Pass,
        options: &PassOptions,
        watch: &dyn PassWatch,
    ) -> Result<PassEnd, RetrofitError> {
        let stored = self.segments(pass).await?;
        // An interrupted pass keeps its number of segments.
        let former = stored.first().map(|checkpoint| checkpoint.segment().total());
        let total = former.unwrap_or_else(|| options.segments());
        if pass == Pass::Backfill && former.is_none() {
            // Stored before anything is carried over: after a crash the next command finds the number.
            self.store_checkpoint(&Checkpoint::start(self.job(), pass, segment(0, total))).await?;
        }
        let slice = options.slice(true);
        let ends =
            rounds(total, options, watch, |segment| self.one_segment(pass, segment, &slice, watch)).await?;
        Ok(PassEnd::of(&ends, total))
    }

    /// Backfills or cleans one segment to its end, or to the page at which it is interrupted.
    async fn one_segment(
        &self,
        pass: Pass,
        segment: SegmentId,
        options: &SliceOptions,
        watch: &dyn PassWatch,
    ) -> Result<Checkpoint, RetrofitError> {
        let checkpoint = self.checkpoint(pass, segment).await?;
        watch.begins(&checkpoint);
        if checkpoint.is_done() || options.is_stopped() {
            return Ok(checkpoint);
        }
        let mut page = |checkpoint: &Checkpoint| self.page_done(checkpoint, watch);
        let end = match pass {
            Pass::Backfill => backfill_slice(self, checkpoint, options, &mut page).await,
            _ => finalise_slice(self, checkpoint, options, &mut page).await,
        };
        end.error.map_or(Ok(end.checkpoint), Err)
    }

    pub(super) fn page_done(&self, checkpoint: &Checkpoint, watch: &dyn PassWatch) -> ControlFlow<()> {
        watch.page(checkpoint);
        watch.spends(&self.spent(), self.with_rate(|rate| rate.and_then(Rate::limited_by)));
        ControlFlow::Continue(())
    }

    async fn compare_all(
        &self,
        pass: Pass,
        repair: bool,
        options: &PassOptions,
        watch: &dyn PassWatch,
    ) -> Result<PassEnd, RetrofitError> {
        if !repair {
            self.forget_segments(pass).await?;
        }
        // The result of a comparison is kept in the control table, unless it repairs: then it changes what it compares.
        let slice = options.slice(!repair);
        let total = options.segments();
        let ends =
            rounds(total, options, watch, |segment| self.compare(pass, segment, repair, &slice, watch));
        let ends = ends.await?;
        let mut all = PassEnd { done: ends.len() == total as usize, ..PassEnd::default() };
        for end in ends {
            all.add(&end.checkpoint);
            all.differing += progress::differences_of(&end.checkpoint);
            all.done &= end.checkpoint.is_done();
            all.differences.extend(end.differences);
        }
        Ok(all)
    }

    /// Compares one segment of one side.
    async fn compare(
        &self,
        pass: Pass,
        segment: SegmentId,
        repair: bool,
        options: &SliceOptions,
        watch: &dyn PassWatch,
    ) -> Result<VerifySlice, RetrofitError> {
        let checkpoint = if repair || options.is_stopped() {
            Checkpoint::start(self.job(), pass, segment)
        } else {
            self.begin_comparison(pass, segment).await?
        };
        let mut page = |checkpoint: &Checkpoint| self.page_done(checkpoint, watch);
        let end = verify_slice(self, checkpoint, repair, options, &mut page).await;
        // An item that was not read must not count as clean.
        match end.error {
            Some(error) => Err(error),
            None => Ok(end),
        }
    }
}

fn segment(number: u32, total: u32) -> SegmentId {
    SegmentId::new(number, total).unwrap_or_else(|_| unreachable!("the number of segments is clamped"))
}

/// Runs each segment to its end. If one fails, the others that have started still run to their end, and the first error is returned.
pub(super) async fn rounds<T, F>(
    total: u32,
    options: &PassOptions,
    watch: &dyn PassWatch,
    run: impl Fn(SegmentId) -> F,
) -> Result<Vec<T>, RetrofitError>
where
    F: Future<Output = Result<T, RetrofitError>>,
{
    let mut left: Vec<SegmentId> = (0..total).map(|number| segment(number, total)).collect();
    let mut ends = Vec::with_capacity(left.len());
    let mut announced = false;
    loop {
        left = round(left, options.at_once.max(1) as usize, &run, &mut ends).await?;
        if left.is_empty() || options.is_over() {
            return Ok(ends);
        }
        if !std::mem::replace(&mut announced, true) {
            watch.waits(left.len());
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

/// Tries each of these segments once; returns those that another worker has.
async fn round<T, F>(
    segments: Vec<SegmentId>,
    at_once: usize,
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
    let mut running = stream::iter(runs).buffer_unordered(at_once);
    let (mut leased, mut failed) = (Vec::new(), None);
    while let Some((segment, end)) = running.next().await {
        match end {
            Ok(end) => ends.push(end),
            Err(RetrofitError::LeaseTaken { .. } | RetrofitError::LeaseLost { .. }) => leased.push(segment),
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    failed.map_or(Ok(leased), Err)
}
