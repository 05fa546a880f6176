//! One slice of a verification: of the source against the target, or the other way.

use futures_util::stream::{self, StreamExt};
use keyfold_core::retrofit::{Checkpoint, Pass, Place, Slice, Verdict};
use keyfold_core::value::Item;
use keyfold_core::verify::{Check, CheckStep, Class, Finding};

use super::backfill::{read_page, unblock};
use super::{Carrier, RetrofitError, SliceOptions};
use crate::error::DynamoError;

/// The most differences that a slice names; all are counted.
const DIFFERENCES_MAX: usize = 100;

/// An item that is not as it should be.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
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
    pub differences: Vec<Difference>,
    /// Why it ended before its limits. Then nothing is said of what was not read.
    pub error: Option<RetrofitError>,
}

/// Compares pages from the checkpoint on; with `repair`, differences are repaired.
pub async fn verify_slice(
    carrier: &Carrier,
    checkpoint: Checkpoint,
    repair: bool,
    options: &SliceOptions,
    watch: &mut dyn FnMut(&Checkpoint),
) -> VerifySlice {
    let mut slice = Slice::from(checkpoint);
    let mut differences = Vec::new();
    let error = run(carrier, &mut slice, repair, options, &mut differences, watch).await.err();
    VerifySlice { checkpoint: slice.checkpoint().clone(), differences, error }
}

async fn run(
    carrier: &Carrier,
    slice: &mut Slice,
    repair: bool,
    options: &SliceOptions,
    differences: &mut Vec<Difference>,
    watch: &mut dyn FnMut(&Checkpoint),
) -> Result<(), RetrofitError> {
    let pass = slice.checkpoint().pass();
    let place = if pass == Pass::VerifyTarget { Place::Target } else { Place::Source };
    let mut pages = 0;
    while slice.next().is_some() && !options.ends_before(pages) {
        let page = read_page(carrier, place, slice, options).await?;
        let number = slice.page(page.items.len(), page.last_key);
        let mut found = stream::iter(&page.items)
            .map(|item| check(carrier, pass, item, options))
            .buffer_unordered(options.in_flight_max.max(1));
        while let Some(finding) = found.next().await {
            let finding = finding?;
            let repaired = repair && mend(carrier, &finding).await?;
            if finding.class != Class::Same && differences.len() < DIFFERENCES_MAX {
                differences.push(Difference { class: finding.class, key: finding.key, repaired });
            }
            let name = if repaired { "repaired" } else { finding.class.name() };
            slice.counted(number, name);
        }
        drop(found);
        watch(slice.checkpoint());
        pages += 1;
    }
    Ok(())
}

async fn check(
    carrier: &Carrier,
    pass: Pass,
    item: &Item,
    options: &SliceOptions,
) -> Result<Finding, DynamoError> {
    let (mut check, mut step) = match pass {
        Pass::VerifyTarget => Check::of_target(carrier.job(), item),
        _ => Check::of_source(carrier.job(), item),
    };
    loop {
        step = match step {
            CheckStep::Done(finding) => return Ok(finding),
            CheckStep::Pause => {
                tokio::time::sleep(options.recheck_pause).await;
                check.paused()
            }
            CheckStep::Send(request) => check.told(carrier.job(), carrier.send(&request).await?),
        };
    }
}

/// Repairs what was found, if a repair can; was it?
async fn mend(carrier: &Carrier, finding: &Finding) -> Result<bool, RetrofitError> {
    let Some(key) = finding.key.as_ref().filter(|_| finding.class.is_repairable()) else { return Ok(false) };
    let mut task = carrier.job().repair(key);
    let verdict = match carrier.carry(&mut task).await? {
        Verdict::Blocked => unblock(carrier, &mut task).await?,
        verdict => verdict,
    };
    Ok(matches!(verdict, Verdict::Written | Verdict::Unchanged))
}
