//! The delivery: combines the items of several reads into one answer in the requested order.

use smallvec::SmallVec;

use super::planned_read::PlannedRead;
use crate::model::OrderBy;
use crate::query::check::CheckedRequest;

/// How the items are combined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// One access after the other.
    Sequential,
    /// All reads concurrently, each in the requested order, merged.
    Merged,
    /// All items are read and sorted, up to this number.
    SortedInMemory {
        /// More items than this are an error.
        items_max: u32,
    },
}

/// How many items one of `reads` merged reads needs at first for an answer of `wanted` items: its share, and two standard
/// deviations. The merge waits for each second page, so few reads should need one.
#[expect(clippy::cast_precision_loss, reason = "at most as many reads as a plan has")]
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most `wanted`")]
pub(crate) fn first_page(wanted: u32, reads: usize) -> u32 {
    let share = f64::from(wanted) / reads.max(1) as f64;
    ((share + 2.0 * share.sqrt()).ceil() as u32).min(wanted)
}

/// Decides the delivery, and sets each read's direction. `None`: the order is not available.
pub(super) fn decide(request: &CheckedRequest<'_>, reads: &mut [PlannedRead<'_>]) -> Option<Delivery> {
    if request.order.is_empty() || request.count {
        return Some(Delivery::Sequential);
    }
    let directions = directions(&request.order, reads);
    if let Some(directions) = directions {
        for (one, descending) in reads.iter_mut().zip(directions) {
            one.descending = descending;
        }
        let several = reads.iter().map(PlannedRead::count).sum::<usize>() > 1;
        return Some(if several { Delivery::Merged } else { Delivery::Sequential });
    }
    request.sort_in_memory.map(|items_max| Delivery::SortedInMemory { items_max })
}

/// The direction of each read; `None` if one of them cannot yield the order.
fn directions(order: &[OrderBy], reads: &[PlannedRead<'_>]) -> Option<SmallVec<[bool; 16]>> {
    let mut directions = SmallVec::with_capacity(reads.len());
    for (number, one) in reads.iter().enumerate() {
        let known = number.checked_sub(1).filter(|before| one.is_like(&reads[*before]));
        directions.push(match known {
            Some(before) => directions[before],
            None => direction(order, one)?,
        });
    }
    Some(directions)
}

/// The direction in which one read yields the order; `None` if neither does. Attributes with the same value in all
/// items are ignored.
fn direction(order: &[OrderBy], read: &PlannedRead<'_>) -> Option<bool> {
    let open = || order.iter().filter(|by| !read.shared.fixed.contains(&by.attribute.as_str()));
    let Some(first) = open().next() else { return Some(read.descending || order[0].descending) };
    let same_way = open().all(|by| by.descending == first.descending);
    // One item is in every order.
    if read.single {
        return Some(first.descending);
    }
    let given = open().count() <= read.shared.ascending.len()
        && open().zip(read.shared.ascending.iter()).all(|(by, ascending)| by.attribute == *ascending);
    (same_way && given).then_some(first.descending)
}
