//! Why an item that has a row is looked at, and the fences that follow from it.

use super::turn::Turn;
use crate::retrofit::fence::Fence;
use crate::retrofit::job::Job;
use crate::retrofit::quarantine::QuarantineReason;

/// Why the item is looked at.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Goal {
    /// A record with this fence came. The row's fence must rise to it, whatever is there.
    Record(Fence),
    /// A scan found the item.
    Scan,
    /// A repair. With the newest change that failed, if one is known.
    Repair(Option<Fence>),
    /// The other table's stream has to show the item once more.
    Rewrite,
}

impl Goal {
    /// Has the last write this fence or a newer one? Then a task wrote it that read the item after that change.
    pub(super) fn is_superseded(&self, job: &Job, known: Option<&Fence>) -> bool {
        match self {
            Goal::Record(fence) => known >= Some(fence),
            Goal::Scan => known >= Some(&Fence::of_scan(job.epoch())),
            Goal::Repair(_) | Goal::Rewrite => false,
        }
    }

    /// The fence of the next write, where the last one has this fence.
    pub(super) fn next_fence(&self, job: &Job, known: Option<&Fence>) -> Fence {
        match self {
            Goal::Record(fence) => fence.clone(),
            Goal::Scan => Fence::of_scan(job.epoch()),
            Goal::Repair(failed) => above(job, known, failed.as_ref()),
            Goal::Rewrite => above(job, known, None),
        }
    }

    /// The item goes into quarantine.
    pub(super) fn enter(&self, job: &Job, reason: QuarantineReason) -> Turn {
        let fence = match self {
            Goal::Record(fence) | Goal::Repair(Some(fence)) => fence.clone(),
            Goal::Scan | Goal::Repair(None) | Goal::Rewrite => Fence::of_scan(job.epoch()),
        };
        Turn::Enter(reason, fence)
    }
}

/// Above the last write and the change that failed; below the next record of the item.
pub(super) fn above(job: &Job, known: Option<&Fence>, failed: Option<&Fence>) -> Fence {
    known
        .map(Fence::repaired)
        .into_iter()
        .chain(failed.cloned())
        .fold(Fence::of_scan(job.epoch()), Fence::max)
}
