//! One slice of a verification: of the source against the target, or the other way.

use futures_util::stream::{self, StreamExt};
use keyfold_core::retrofit::verify::{Check, CheckStep, Class, Finding};
use keyfold_core::retrofit::{Checkpoint, Pass, Request, Response, Slice, TableRole, TaskResult};
use keyfold_core::value::Item;

use super::backfill::{in_time, read_page, unblock};
use super::worker_lease::{WorkerLease, now_seconds};
use super::{RequestSender, RetrofitError, SliceOptions, Watch};
use crate::error::DynamoError;

/// The most differences that a slice names; all are counted.
const DIFFERENCES_MAX: usize = 100;

/// An item that is not as it should be.
#[derive(Debug, Clone, PartialEq)]
pub struct RetrofitDifference {
    /// What is the matter.
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
    /// Why it ended before its limits. Then nothing is said of what was not read.
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
    let place = if pass == Pass::VerifyTarget { TableRole::Target } else { TableRole::Source };
    let mut pages = 0;
    while slice.next().is_some() && options.may_begin(pages) && sender.turn(options).await {
        let page = read_page(sender, place, slice, options).await?;
        let number = slice.page(page.items.len(), page.last_key);
        hold.keep(sender, slice.checkpoint()).await?;
        sender.carried(page.items.len());
        let findings = check_all(sender, pass, &page.items, options).await?;
        let mut ends = stream::iter(findings)
            .map(async |finding| Ok::<_, RetrofitError>((repair && mend(sender, &finding).await?, finding)))
            .buffer_unordered(options.in_flight_max.max(1));
        while let Some(end) = ends.next().await {
            let (repaired, finding) = end?;
            let name = if repaired { "repaired" } else { finding.class.name() };
            slice.counted(number, name);
            if finding.class != Class::Same {
                found(RetrofitDifference { class: finding.class, key: finding.key, repaired });
            }
        }
        drop(ends);
        pages += 1;
        if watch(slice.checkpoint()).is_break() {
            break;
        }
    }
    Ok(())
}

/// Compares the items of a page. All of them look at the same time, and those that differ pause together.
async fn check_all(
    sender: &RequestSender,
    pass: Pass,
    items: &[Item],
    options: &SliceOptions,
) -> Result<Vec<Finding>, DynamoError> {
    let job = sender.job();
    let now = Some(now_seconds());
    let begun = |item: &Item| match pass {
        Pass::VerifyTarget => Check::of_target_at(job, item, now),
        _ => Check::of_source_at(job, item, now),
    };
    let mut open: Vec<(Check, CheckStep)> = items.iter().map(begun).collect();
    let mut findings = Vec::with_capacity(items.len());
    while !open.is_empty() {
        open = look(sender, open, options).await?;
        let mut waiting = Vec::new();
        for (check, step) in open {
            match step {
                CheckStep::Done(finding) => findings.push(finding),
                step => waiting.push((check, step)),
            }
        }
        open = waiting;
        // Only when no check has anything left to read: they pause together.
        if !open.is_empty() && open.iter().all(|(_, step)| *step == CheckStep::Pause) {
            tokio::time::sleep(options.recheck_pause).await;
            for (check, step) in &mut open {
                *step = check.paused();
            }
        }
    }
    Ok(findings)
}

/// Reads what the checks want read, and tells them.
async fn look(
    sender: &RequestSender,
    open: Vec<(Check, CheckStep)>,
    options: &SliceOptions,
) -> Result<Vec<(Check, CheckStep)>, DynamoError> {
    let mut told = Vec::with_capacity(open.len());
    let mut wanted: [Vec<(Check, Item)>; 3] = Default::default();
    for (check, step) in open {
        match step {
            CheckStep::Send(Request::Get { place, key }) => wanted[at(place)].push((check, key)),
            CheckStep::Send(_) => unreachable!("a check only reads"),
            step => told.push((check, step)),
        }
    }
    for (place, asked) in PLACES.into_iter().zip(wanted) {
        if asked.is_empty() {
            continue;
        }
        let (checks, keys): (Vec<_>, Vec<_>) = asked.into_iter().unzip();
        let items = sender.look_up(place, &keys, options.in_flight_max).await?;
        for (mut check, item) in checks.into_iter().zip(items) {
            let step = check.respond(sender.job(), Response::Got(item));
            told.push((check, step));
        }
    }
    Ok(told)
}

const PLACES: [TableRole; 3] = [TableRole::Source, TableRole::Target, TableRole::Control];

fn at(place: TableRole) -> usize {
    match place {
        TableRole::Source => 0,
        TableRole::Target => 1,
        TableRole::Control => 2,
    }
}

/// Repairs what was found, if a repair can; was it?
async fn mend(sender: &RequestSender, finding: &Finding) -> Result<bool, RetrofitError> {
    let Some(key) = finding.key.as_ref().filter(|_| finding.class.is_repairable()) else { return Ok(false) };
    let mut task = sender.job().repair(key);
    let verdict = match sender.carry(&mut task).await? {
        TaskResult::Blocked => unblock(sender, &mut task).await?,
        verdict => verdict,
    };
    Ok(matches!(verdict, TaskResult::Written | TaskResult::Unchanged))
}
