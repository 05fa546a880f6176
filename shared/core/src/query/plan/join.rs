//! Ranges that lie side by side in one partition, joined into one query where no other item can lie between them.
//!
//! Without it a partition that holds a customer and its orders is read by a query for each entity, each at half a read unit at least.

use std::rc::Rc;

use super::access::{SortCondition, SortTest};
use super::context::PlanContext;
use super::entity::EntityChoice;
use super::keyspace::{Keyspace, SelectedRange};
use super::partition::Partition;
use super::planned_read::PlannedRead;
use crate::key::after_all;
use crate::value::AttributeValue;

/// Joins what can be joined. Only for answers without an order: the joined range comes in the order of the key.
pub(super) fn join_neighbours<'a>(
    context: &PlanContext<'a>,
    reads: Vec<PlannedRead<'a>>,
) -> Vec<PlannedRead<'a>> {
    let mut joined: Vec<PlannedRead<'a>> = Vec::with_capacity(reads.len());
    let mut left = reads;
    while left.len() > 1 {
        let first = left.remove(0);
        let (mut group, rest): (Vec<_>, Vec<_>) =
            left.into_iter().partition(|other| is_beside(&first, other));
        left = rest;
        group.insert(0, first);
        match join(context, &group) {
            Some(mut one) => {
                one.finish(context.request);
                joined.push(one);
            }
            None => joined.extend(group),
        }
    }
    joined.append(&mut left);
    joined
}

/// Whole ranges of the same partition with the same conditions left: joined, they still say the same of every item.
fn is_beside(a: &PlannedRead<'_>, b: &PlannedRead<'_>) -> bool {
    a.shared.whole
        && b.shared.whole
        && a.path == b.path
        && partition(a) == partition(b)
        && a.shared.residual == b.shared.residual
}

fn partition<'b, 'a>(read: &'b PlannedRead<'a>) -> Option<&'b Partition<'a>> {
    read.range.as_ref().map(|range| &range.partition)
}

fn join<'a>(context: &PlanContext<'a>, group: &[PlannedRead<'a>]) -> Option<PlannedRead<'a>> {
    let [first, _, ..] = group else { return None };
    let partition = partition(first)?;
    let entities: Vec<EntityChoice> = group.iter().map(|read| read.entity).collect();
    let candidates = [Some(Vec::new()), common_prefix(group), hull(group)];
    let sort = candidates.into_iter().flatten().find(|sort| {
        context.entities().filter(|entity| !entities.contains(entity)).all(|entity| {
            !Keyspace::of(first.path, entity).is_ok_and(|other| other.could_hold(partition, sort))
        })
    })?;
    let mut one = first.clone();
    one.range = Some(SelectedRange { partition: partition.clone(), sort: sort.into() });
    one.entity = EntityChoice::Any;
    one.asks_entity = false;
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    let share = group.len() as f64 / first.path.table.entities.len().max(1) as f64;
    let shared = Rc::make_mut(&mut one.shared);
    shared.when = Vec::new();
    shared.ascending = Vec::new();
    shared.conjunct = shared.conjunct[..shared.asked].into();
    shared.share = share.min(1.0);
    Some(one)
}

/// The lowest and the highest text that each range begins or ends with.
fn ends<'a>(read: &'a PlannedRead<'_>) -> Option<(&'a str, &'a str, bool)> {
    match &*read.range.as_ref()?.sort {
        [SortCondition { test: SortTest::BeginsWith(AttributeValue::S(prefix)), .. }] => {
            Some((prefix, prefix, true))
        }
        [SortCondition { test: SortTest::Equal(AttributeValue::S(key)), .. }] => Some((key, key, false)),
        _ => None,
    }
}

fn attribute(read: &PlannedRead<'_>) -> Option<String> {
    read.range.as_ref()?.sort.first().map(|condition| condition.attribute.clone())
}

fn common_prefix(group: &[PlannedRead<'_>]) -> Option<Vec<SortCondition>> {
    let mut common = ends(group.first()?)?.0;
    for read in group {
        let (text, _, _) = ends(read)?;
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

fn hull(group: &[PlannedRead<'_>]) -> Option<Vec<SortCondition>> {
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
