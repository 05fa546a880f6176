//! Ranges that lie side by side in one partition, joined into one query where nobody else lives between them.

use std::rc::Rc;

use super::access::{SortCondition, SortTest};
use super::build::Built;
use super::ground::Ground;
use super::keyspace::{Keyspace, Kind, Selected};
use super::partition::Partition;
use crate::value::AttributeValue;

/// Joins what can be joined. Only for answers without an order: the joined range comes in the order of the key.
pub(super) fn join_neighbours<'a>(ground: &Ground<'a>, built: Vec<Built<'a>>) -> Vec<Built<'a>> {
    let mut joined: Vec<Built<'a>> = Vec::with_capacity(built.len());
    let mut left = built;
    while left.len() > 1 {
        let first = left.remove(0);
        let (mut group, rest): (Vec<_>, Vec<_>) =
            left.into_iter().partition(|other| is_beside(&first, other));
        left = rest;
        group.insert(0, first);
        match join(ground, &group) {
            Some(mut one) => {
                one.finish(ground.request);
                joined.push(one);
            }
            None => joined.extend(group),
        }
    }
    joined.append(&mut left);
    joined
}

/// The same partition, whole namespaces, the same conditions left.
fn is_beside(a: &Built<'_>, b: &Built<'_>) -> bool {
    a.shared.whole
        && b.shared.whole
        && a.place.index.map(|index| &index.name) == b.place.index.map(|index| &index.name)
        && partition(a) == partition(b)
        && a.shared.residual == b.shared.residual
}

fn partition<'b, 'a>(built: &'b Built<'a>) -> Option<&'b Partition<'a>> {
    built.range.as_ref().map(|range| &range.partition)
}

fn join<'a>(ground: &Ground<'a>, group: &[Built<'a>]) -> Option<Built<'a>> {
    let [first, _, ..] = group else { return None };
    let partition = partition(first)?;
    let kinds: Vec<Kind> = group.iter().map(|built| built.kind).collect();
    let candidates = [Some(Vec::new()), common_prefix(group), hull(group)];
    let sort = candidates.into_iter().flatten().find(|sort| {
        ground
            .kinds()
            .filter(|kind| !kinds.contains(kind))
            .all(|kind| !Keyspace::of(first.place, kind).is_ok_and(|other| other.could_hold(partition, sort)))
    })?;
    let mut one = first.clone();
    one.range = Some(Selected { partition: partition.clone(), sort: sort.into() });
    one.kind = Kind::Any;
    one.asks_kind = false;
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    let share = group.len() as f64 / first.place.table.entities.len().max(1) as f64;
    let shared = Rc::make_mut(&mut one.shared);
    shared.when = Vec::new();
    shared.ascending = Vec::new();
    shared.conjunct = shared.conjunct[..shared.asked].into();
    shared.share = share.min(1.0);
    Some(one)
}

/// The lowest and the highest text that each range begins or ends with.
fn ends<'a>(built: &'a Built<'_>) -> Option<(&'a str, &'a str, bool)> {
    match &*built.range.as_ref()?.sort {
        [SortCondition { test: SortTest::BeginsWith(AttributeValue::S(prefix)), .. }] => {
            Some((prefix, prefix, true))
        }
        [SortCondition { test: SortTest::Equal(AttributeValue::S(key)), .. }] => Some((key, key, false)),
        _ => None,
    }
}

fn attribute(built: &Built<'_>) -> Option<String> {
    built.range.as_ref()?.sort.first().map(|condition| condition.attribute.clone())
}

fn common_prefix(group: &[Built<'_>]) -> Option<Vec<SortCondition>> {
    let mut common = ends(group.first()?)?.0;
    for built in group {
        let (text, _, _) = ends(built)?;
        let same = common.char_indices().zip(text.chars()).take_while(|((_, a), b)| a == b);
        let length = same.last().map_or(0, |((at, letter), _)| at + letter.len_utf8());
        common = &common[..length];
    }
    if common.is_empty() {
        return None;
    }
    let test = SortTest::BeginsWith(AttributeValue::S(common.to_owned()));
    Some(vec![SortCondition { attribute: attribute(group.first()?)?, test }])
}

fn hull(group: &[Built<'_>]) -> Option<Vec<SortCondition>> {
    let ends = group.iter().map(ends).collect::<Option<Vec<_>>>()?;
    let low = ends.iter().map(|(low, _, _)| *low).min()?;
    let high = ends
        .iter()
        .map(|(_, high, open)| if *open { after_all(high) } else { Some((*high).to_owned()) })
        .collect::<Option<Vec<_>>>()?
        .into_iter()
        .max()?;
    let test = SortTest::Between(AttributeValue::S(low.to_owned()), AttributeValue::S(high));
    Some(vec![SortCondition { attribute: attribute(group.first()?)?, test }])
}

/// The first text after all that begin with this one.
fn after_all(prefix: &str) -> Option<String> {
    let (at, last) = prefix.char_indices().next_back()?;
    let next = (u32::from(last) + 1..=u32::from(char::MAX)).find_map(char::from_u32)?;
    let mut text = prefix[..at].to_owned();
    text.push(next);
    Some(text)
}
