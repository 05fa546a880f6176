//! Items in the order of their positions.

use std::collections::BTreeMap;
use std::ops::Bound;

use keyfold_core::value::Item;

use super::position::{KeyValue, Position};

/// A table's items, or an index's entries.
pub(super) type Store = BTreeMap<Position, Item>;

/// The items of one partition, or of all; only those after `after` in the direction.
pub(super) fn walk<'s>(
    store: &'s Store,
    partition: Option<&'s [KeyValue]>,
    after: Option<&Position>,
    descending: bool,
) -> Box<dyn Iterator<Item = (&'s Position, &'s Item)> + 's> {
    let inside =
        move |(position, _): &(&Position, &Item)| partition.is_none_or(|wanted| position.partition == wanted);
    let lowest = partition.map(|partition| Position {
        partition: partition.to_vec(),
        sort: Vec::new(),
        primary: Vec::new(),
    });
    if descending {
        let high = after.map_or(Bound::Unbounded, |after| Bound::Excluded(after.clone()));
        let low = lowest.map_or(Bound::Unbounded, Bound::Included);
        if is_empty(&low, &high) {
            return Box::new(std::iter::empty());
        }
        return Box::new(store.range((low, high)).rev().skip_while(move |at| !inside(at)).take_while(inside));
    }
    let low = match (lowest, after) {
        (Some(lowest), Some(after)) if lowest > *after => Bound::Included(lowest),
        (_, Some(after)) => Bound::Excluded(after.clone()),
        (Some(lowest), None) => Bound::Included(lowest),
        (None, None) => Bound::Unbounded,
    };
    Box::new(store.range((low, Bound::Unbounded)).take_while(inside))
}

/// `BTreeMap::range` panics at these.
fn is_empty(low: &Bound<Position>, high: &Bound<Position>) -> bool {
    match (low, high) {
        (Bound::Included(low), Bound::Excluded(high)) => low >= high,
        _ => false,
    }
}
