//! One slice of a verification: of the source against the target, or the other way.

use std::time::{Duration, Instant};
use std::{iter, mem};

use futures_util::stream::{self, StreamExt};
use keyfold_core::retrofit::segment::PageNumber;
use keyfold_core::retrofit::verify::{Check, CheckOptions, CheckResult, CheckStep, Class, looks_again};
use keyfold_core::retrofit::{Checkpoint, Pass, Request, Response, Slice, TableRole, TaskResult};
use keyfold_core::value::Item;

use super::backfill::{in_time, read_page, unblock};
use super::clock::now_seconds;
use super::worker_lease::WorkerLease;
use super::{RequestSender, RetrofitError, SliceOptions, Watch};
use crate::error::DynamoError;
use crate::read::BATCH_GET_KEYS_MAX;

/// The most items whose difference waits for another look, over all pages.
const PARKED_MAX: usize = 10_000;
/// The longest sleep while they wait: the lease must be renewed.
const PARKED_SLEEP_MAX: Duration = Duration::from_secs(10);
/// The most differences that a slice names; all are counted.
const DIFFERENCES_MAX: usize = 100;

/// An item that is not as it should be.
#[derive(Debug, Clone, PartialEq)]
pub struct RetrofitDifference {
    /// The class of the difference.
    pub class: Class,
    /// The source item's key, if it is known.
    pub key: Option<Item>,
    /// Was it repaired?
    pub repaired: bool,
}

/// How a slice of a verification ended.
#[derive(Debug)]
pub struct VerifySlice {
    /// How far it is, and what was found so far, by class.
    pub checkpoint: Checkpoint,
    /// The first differences of this slice.
    pub differences: Vec<RetrofitDifference>,
    /// Why it ended before its limits. Then the unread rest is unknown.
    pub error: Option<RetrofitError>,
}

/// Compares pages from the checkpoint on; with `repair`, differences are repaired.
pub async fn verify_slice(
    sender: &RequestSender,
    checkpoint: Checkpoint,
    repair: bool,
    options: &SliceOptions,
    watch: &mut Watch<'_>,
) -> VerifySlice {
    let mut differences = Vec::new();
    let mut hold = match WorkerLease::take(sender, &checkpoint, options).await {
        Ok(hold) => hold,
        Err(error) => return VerifySlice { checkpoint, differences, error: Some(error) },
    };
    let before = checkpoint.clone();
    let mut slice = Slice::from(checkpoint);
    let found = |difference: RetrofitDifference| {
        if differences.len() < DIFFERENCES_MAX {
            differences.push(difference);
        }
    };
    let ran = in_time(options, run(sender, &mut slice, &mut hold, repair, options, found, watch)).await;
    let checkpoint = slice.checkpoint().clone();
    let ended = hold.end(sender, &checkpoint).await;
    let error = match ran {
        Some(ran) => ran.and(ended).err(),
        None if checkpoint == before => Some(RetrofitError::OutOfTime),
        None => ended.err(),
    };
    VerifySlice { checkpoint, differences, error }
}

async fn run(
    sender: &RequestSender,
    slice: &mut Slice,
    hold: &mut WorkerLease,
    repair: bool,
    options: &SliceOptions,
    mut found: impl FnMut(RetrofitDifference),
    watch: &mut Watch<'_>,
) -> Result<(), RetrofitError> {
    let pass = slice.checkpoint().pass();
    let checks = check_options(sender, options).await?;
    let (mut pages, mut parked) = (0, Vec::new());
    loop {
        let begins = slice.next().is_some()
            && parked.len() < PARKED_MAX
            && options.may_begin(pages)
            && (pages == 0 || has_time(options))
            && sender.turn(options).await;
        let page = if begins {
            let page = read_page(sender, pass.table(), slice, options).await?;
            let number = slice.page(page.items.len(), page.last_key);
            sender.carried(page.items.len());
            pages += 1;
            Some((number, page.items))
        } else if parked.is_empty() || options.is_stopped() {
            break;
        } else {
            let due =
                parked.iter().map(|looking: &PendingCheck| looking.due).min().unwrap_or_else(Instant::now);
            tokio::time::sleep_until(due.min(Instant::now() + PARKED_SLEEP_MAX).into()).await;
            None
        };
        hold.keep(sender, slice.checkpoint()).await?;
        let now = Instant::now();
        let (due, later): (Vec<_>, Vec<_>) = parked.into_iter().partition(|looking| looking.due <= now);
        parked = later;
        let items =
            page.into_iter().flat_map(|(number, items)| items.into_iter().map(move |item| (number, item)));
        let started = items.map(|(number, item)| PendingCheck::started(sender, pass, item, number, checks));
        let resumed = due.into_iter().map(|looking| looking.resumed(sender));
        let (ended, paused) = check_all(sender, started.chain(resumed), options).await?;
        parked.extend(paused);
        let (same, others): (Vec<_>, Vec<_>) =
            ended.into_iter().partition(|(_, finding)| finding.class == Class::Same);
        same.into_iter().for_each(|(page, finding)| slice.counted(page, finding.class.name()));
        let mut ends = stream::iter(others)
            .map(async |(page, finding)| {
                Ok::<_, RetrofitError>((page, repair && mend(sender, &finding).await?, finding))
            })
            .buffer_unordered(options.in_flight_max.max(1));
        while let Some(end) = ends.next().await {
            let (page, repaired, finding) = end?;
            slice.counted(page, if repaired { "repaired" } else { finding.class.name() });
            found(RetrofitDifference { class: finding.class, key: finding.key, repaired });
        }
        drop(ends);
        if watch(slice.checkpoint()).is_break() {
            break;
        }
    }
    Ok(())
}

/// Is there time to look at a difference of another page to the end, before the slice must end?
fn has_time(options: &SliceOptions) -> bool {
    let pauses: Duration =
        (0..looks_again(options.lag_seconds)).map(|paused| options.recheck_pause(paused)).sum();
    options.stop_at.is_none_or(|end| end.saturating_duration_since(Instant::now()) > pauses)
}

/// What all checks have in common: whether the tables' time to live is switched on is asked once.
async fn check_options(
    sender: &RequestSender,
    options: &SliceOptions,
) -> Result<CheckOptions, RetrofitError> {
    Ok(CheckOptions {
        now_seconds: Some(now_seconds()),
        source_expires: sender.expires(TableRole::Source).await?,
        target_expires: sender.expires(TableRole::Target).await?,
        looks_again: looks_again(options.lag_seconds),
    })
}

/// The check of one item, and the page that waits for it.
struct PendingCheck {
    page: PageNumber,
    check: Check,
    step: CheckStep,
    /// How often it has paused.
    paused: u32,
    /// When it looks again, if it pauses.
    due: Instant,
}

impl PendingCheck {
    fn started(
        sender: &RequestSender,
        pass: Pass,
        item: Item,
        page: PageNumber,
        options: CheckOptions,
    ) -> PendingCheck {
        let (check, step) = match pass {
            Pass::VerifyTarget => Check::of_target(sender.job(), item, options),
            _ => Check::of_source(sender.job(), item, options),
        };
        PendingCheck { page, check, step, paused: 0, due: Instant::now() }
    }

    /// Its pause is over.
    fn resumed(mut self, sender: &RequestSender) -> PendingCheck {
        self.step = self.check.paused(sender.job());
        PendingCheck { paused: self.paused + 1, ..self }
    }

    /// It goes on with what it asked for.
    fn told(mut self, sender: &RequestSender, item: Option<Item>) -> PendingCheck {
        self.step = self.check.respond(sender.job(), Response::Item(item));
        self
    }
}

/// Findings, each with its page; and the checks that pause.
type CheckRound = (Vec<(PageNumber, CheckResult)>, Vec<PendingCheck>);

/// Lets all of them look, until each has ended or pauses. Those that differ pause together, while other pages are read. Each batch
/// of reads has its own checks, which let go of its items at once.
async fn check_all(
    sender: &RequestSender,
    mut open: impl Iterator<Item = PendingCheck>,
    options: &SliceOptions,
) -> Result<CheckRound, DynamoError> {
    let batches = iter::from_fn(|| {
        let batch: Vec<PendingCheck> = open.by_ref().take(BATCH_GET_KEYS_MAX).collect();
        (!batch.is_empty()).then_some(batch)
    });
    let mut looked = stream::iter(batches)
        .map(|batch| look_batch(sender, batch, options))
        .buffer_unordered(options.in_flight_max.max(1));
    let (mut ended, mut paused) = CheckRound::default();
    while let Some(batch) = looked.next().await {
        let (more_ended, more_paused) = batch?;
        ended.extend(more_ended);
        paused.extend(more_paused);
    }
    Ok((ended, paused))
}

async fn look_batch(
    sender: &RequestSender,
    mut open: Vec<PendingCheck>,
    options: &SliceOptions,
) -> Result<CheckRound, DynamoError> {
    let (mut ended, mut paused) = (Vec::with_capacity(open.len()), Vec::new());
    let mut asked: [Vec<(PendingCheck, Item)>; 3] = Default::default();
    loop {
        for mut looking in open {
            match mem::replace(&mut looking.step, CheckStep::Pause) {
                CheckStep::Done(finding) => ended.push((looking.page, finding)),
                CheckStep::Pause => {
                    let due = Instant::now() + options.recheck_pause(looking.paused);
                    paused.push(PendingCheck { due, ..looking });
                }
                CheckStep::Send(Request::Get { role, key }) => asked[at(role)].push((looking, key)),
                CheckStep::Send(_) => unreachable!("a check only reads"),
            }
        }
        let Some(role) = PLACES.into_iter().find(|role| !asked[at(*role)].is_empty()) else {
            return Ok((ended, paused));
        };
        let (checks, keys): (Vec<_>, Vec<_>) = mem::take(&mut asked[at(role)]).into_iter().unzip();
        let items = sender.look_up(role, keys).await?;
        open = checks.into_iter().zip(items).map(|(looking, item)| looking.told(sender, item)).collect();
    }
}

const PLACES: [TableRole; 3] = [TableRole::Source, TableRole::Target, TableRole::Control];

fn at(role: TableRole) -> usize {
    match role {
        TableRole::Source => 0,
        TableRole::Target => 1,
        TableRole::Control => 2,
    }
}

/// Repairs what was found, if a repair can; was it?
async fn mend(sender: &RequestSender, finding: &CheckResult) -> Result<bool, RetrofitError> {
    let Some(key) = finding.key.as_ref().filter(|_| finding.class.is_repairable()) else { return Ok(false) };
    let mut task = sender.job().repair(key);
    let verdict = match sender.carry(&mut task).await? {
        TaskResult::Blocked => unblock(sender, &mut task).await?,
        verdict => verdict,
    };
    // An item without a source item that no repair found anything to do for is still there.
    let unchanged = verdict == TaskResult::Unchanged && finding.class != Class::Extra;
    Ok(verdict == TaskResult::Written || unchanged)
}
