//! How the answers of several accesses become one answer in the order asked for.

use super::build::Built;
use crate::model::OrderBy;
use crate::query::check::CheckedRequest;

/// How items are brought together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// One access after the other.
    Sequential,
    /// All accesses at once, each in the order asked for, merged.
    Merged,
    /// Everything is read, at most so many items, and sorted.
    SortedInMemory {
        /// More items than this are an error.
        items_max: u32,
    },
}

/// Decides, and sets each access's direction. `None`: the order cannot be had.
pub(super) fn decide(request: &CheckedRequest<'_>, built: &mut [Built<'_>]) -> Option<Delivery> {
    if request.order.is_empty() || request.count {
        return Some(Delivery::Sequential);
    }
    let directions = directions(&request.order, built);
    if let Some(directions) = directions {
        for (one, descending) in built.iter_mut().zip(directions) {
            one.descending = descending;
        }
        return Some(if built.len() > 1 { Delivery::Merged } else { Delivery::Sequential });
    }
    request.sort_in_memory.map(|items_max| Delivery::SortedInMemory { items_max })
}

/// The direction of each access; `None` if one does not give the order.
fn directions(order: &[OrderBy], built: &[Built<'_>]) -> Option<Vec<bool>> {
    let mut directions: Vec<bool> = Vec::with_capacity(built.len());
    for (number, one) in built.iter().enumerate() {
        let known = number.checked_sub(1).filter(|before| one.is_like(&built[*before]));
        directions.push(match known {
            Some(before) => directions[before],
            None => direction(order, one)?,
        });
    }
    Some(directions)
}

/// The direction in which one access gives the order; `None` if it does not.
fn direction(order: &[OrderBy], built: &Built<'_>) -> Option<bool> {
    let open = || order.iter().filter(|by| !built.shared.fixed.contains(&by.attribute.as_str()));
    let Some(first) = open().next() else { return Some(built.descending || order[0].descending) };
    let same_way = open().all(|by| by.descending == first.descending);
    // One item is in every order.
    if built.single {
        return Some(first.descending);
    }
    let given = open().count() <= built.shared.ascending.len()
        && open().zip(built.shared.ascending.iter()).all(|(by, ascending)| by.attribute == *ascending);
    (same_way && given).then_some(first.descending)
}
