//! Joins the ranges of one partition into one query, where the joined range contains only items of the joined reads.
//!
//! Otherwise a partition with a customer and its orders needs one query for each entity, each at least half a read
//! unit.

use std::cmp::Ordering;
use std::rc::Rc;

use super::access::SortTest;
use super::context::PlanContext;
use super::estimate;
use super::keyspace::{KeyCondition, Keyspace, Partition, SelectedRange};
use super::path::EntityChoice;
use super::path::SmallList;
use super::planned_read::{PlannedRead, SharedByReads};
use crate::condition::{Comparison, Condition};
use crate::key::{KeyRole, after_all};
use crate::query::limits::IN_VALUES_MAX;
use crate::value::{AttributeValue, compare};

/// Joins reads of neighbouring ranges, and reads of different entities in one range. Without the join, each would read
/// the items of all.
pub(super) fn join_neighbours<'a>(
    context: &PlanContext<'a>,
    reads: Vec<PlannedRead<'a>>,
) -> Vec<PlannedRead<'a>> {
    let mut joined: Vec<PlannedRead<'a>> = Vec::with_capacity(reads.len());
    let mut left = reads;
    while left.len() > 1 {
        let first = left.remove(0);
        let (mut group, rest): (Vec<_>, Vec<_>) =
            left.into_iter().partition(|other| can_join(context, &first, other));
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

/// Ranges of the same partition with the same remaining conditions: joined, the conditions stay correct for every item.
/// The ranges are whole, or one range of two entities. With an order, only the latter: a wider range is in key order.
fn can_join<'a>(context: &PlanContext<'a>, a: &PlannedRead<'a>, b: &PlannedRead<'a>) -> bool {
    let is_ordered = !context.request.order.is_empty();
    let ranges_join = || match a.shared.whole && !is_ordered {
        true => b.shared.whole,
        false => sort(a) == sort(b) && (!is_ordered || keeps_order(context, a, b)),
    };
    a.path == b.path
        && partition(a) == partition(b)
        && a.shared.residual == b.shared.residual
        // A read joined before has further conditions, which the comparison of `residual` does not see.
        && [a, b].iter().all(|read| read.shared.joined_conjunct.is_empty())
        && ranges_join()
}

fn sort<'b, 'a>(read: &'b PlannedRead<'a>) -> Option<&'b [KeyCondition<'a>]> {
    read.range.as_ref().map(|range| &*range.sort)
}

fn partition<'b, 'a>(read: &'b PlannedRead<'a>) -> Option<&'b Partition<'a>> {
    read.range.as_ref().map(|range| &range.partition)
}

fn join<'a>(context: &PlanContext<'a>, group: &[PlannedRead<'a>]) -> Option<PlannedRead<'a>> {
    let [first, _, ..] = group else { return None };
    let partition = partition(first)?;
    let entities: Vec<EntityChoice> = group.iter().map(|read| read.entity).collect();
    let is_one_range = group.iter().all(|read| sort(read) == sort(first));
    let candidates = match sort(first).filter(|_| is_one_range) {
        Some(sort) => [Some(sort.to_vec()), None, None],
        None => [Some(Vec::new()), common_prefix(group), hull(group)],
    };
    let sort = candidates.into_iter().flatten().find(|sort| {
        context.entities().filter(|entity| !entities.contains(entity)).all(|entity| {
            !Keyspace::of(first.path, entity).is_ok_and(|other| other.could_hold(partition, sort))
        })
    })?;
    let mut one = first.clone();
    one.range = Some(SelectedRange { partition: partition.clone(), sort: sort.into(), shards: None });
    one.entity = EntityChoice::Any;
    // The range holds no items of other entities, so their exclusion by a filter is not needed.
    one.asks_entity = false;
    let share = match is_one_range {
        true => first.shared.share,
        false => group.iter().map(|read| estimate::share_of_partition(context, read)).sum::<f64>().min(1.0),
    };
    let shared = Rc::make_mut(&mut one.shared);
    shared.when = SmallList::new();
    if !is_one_range {
        shared.ascending = SmallList::new();
    }
    shared.conjunct = shared.conjunct[..shared.asked].into();
    shared.share = share;
    Some(one)
}

/// The text at which each range begins, the text at which it ends, and whether the end is a prefix.
fn ends<'a>(read: &'a PlannedRead<'_>) -> Option<(&'a str, &'a str, bool)> {
    match &*read.range.as_ref()?.sort {
        [KeyCondition { test: SortTest::BeginsWith(AttributeValue::S(prefix)), .. }] => {
            Some((prefix, prefix, true))
        }
        [KeyCondition { test: SortTest::Equal(AttributeValue::S(key)), .. }] => Some((key, key, false)),
        _ => None,
    }
}

fn attribute<'a>(read: &PlannedRead<'a>) -> Option<&'a str> {
    read.range.as_ref()?.sort.first().map(|condition| condition.attribute)
}

fn common_prefix<'a>(group: &[PlannedRead<'a>]) -> Option<Vec<KeyCondition<'a>>> {
    let mut common = ends(group.first()?)?.0;
    for read in group {
        let (text, _, _) = ends(read)?;
        let same = common.char_indices().zip(text.chars()).take_while(|((_, a), b)| a == b);
        let length = same.last().map_or(0, |((at, letter), _)| at + letter.len_utf8());
        common = &common[..length];
    }
    // DynamoDB refuses an empty prefix; the whole partition was tried first.
    if common.is_empty() {
        return None;
    }
    let test = SortTest::BeginsWith(AttributeValue::S(common.to_owned()));
    Some(vec![KeyCondition { attribute: attribute(group.first()?)?, test }])
}

fn hull<'a>(group: &[PlannedRead<'a>]) -> Option<Vec<KeyCondition<'a>>> {
    let ends = group.iter().map(ends).collect::<Option<Vec<_>>>()?;
    let low = ends.iter().map(|(low, _, _)| *low).min()?;
    let high = ends
        .iter()
        .map(|(_, high, open)| if *open { after_all(high) } else { Some((*high).to_owned()) })
        .collect::<Option<Vec<_>>>()?
        .into_iter()
        .max()?;
    let test = SortTest::Between(AttributeValue::S(low.to_owned()), AttributeValue::S(high));
    Some(vec![KeyCondition { attribute: attribute(group.first()?)?, test }])
}

/// Joins reads of equal or overlapping ranges into one read that filters for either. Two entities in one range, or two
/// alternatives of an `or`, would otherwise read and pay for the same entries twice. `None` if there are no such reads.
pub(super) fn join_overlapping<'a>(
    context: &PlanContext<'a>,
    reads: &[PlannedRead<'a>],
) -> Option<Vec<PlannedRead<'a>>> {
    // The ranges of one selection are different ones.
    if reads.windows(2).all(|pair| Rc::ptr_eq(&pair[0].shared, &pair[1].shared)) {
        return None;
    }
    let mut kept: Vec<JoinedRead<'a>> = Vec::with_capacity(reads.len());
    for read in reads {
        let mut one = JoinedRead { read: read.clone(), is_wider: false };
        let mut place = kept.len();
        // A joined range can overlap further reads, also reads of the same selection. Unless they are joined too, their
        // items are returned twice.
        while let Some((at, joined)) = kept.iter().enumerate().find_map(|(at, known)| {
            // The ranges of one selection are disjoint until one of them is joined.
            let may_overlap = !Rc::ptr_eq(&known.read.shared, &one.read.shared);
            Some((at, may_overlap.then(|| join_two(context, known, &one)).flatten()?))
        }) {
            kept.remove(at);
            (one, place) = (joined, place.min(at));
        }
        kept.insert(place.min(kept.len()), one);
    }
    // A read of a wider range applies all conditions of the same selection, so another read of that selection within the
    // range would return its items twice. It takes two overlapping ranges without a union; no such request is known.
    let is_twice = kept.iter().enumerate().any(|(at, a)| {
        kept[at + 1..].iter().any(|b| (a.is_wider || b.is_wider) && !are_apart(&a.read, &b.read))
    });
    let is_joined = kept.len() < reads.len() && !is_twice;
    is_joined.then(|| kept.into_iter().map(|joined| joined.read).collect())
}

/// A read, possibly joined from several.
struct JoinedRead<'a> {
    read: PlannedRead<'a>,
    /// Is its range wider than one of the joined ones?
    is_wider: bool,
}

/// Is it certain that no key is in both ranges?
fn are_apart<'a>(a: &PlannedRead<'a>, b: &PlannedRead<'a>) -> bool {
    let (Some(range), Some(other)) = (&a.range, &b.range) else { return false };
    if a.path != b.path || range.partition != other.partition {
        return true;
    }
    let first_difference = range.sort.iter().zip(&*other.sort).find(|(a, b)| a != b);
    let Some((a, b)) = first_difference.filter(|(a, b)| a.attribute == b.attribute) else { return false };
    let (Some(a), Some(b)) = (Ends::of(&a.test), Ends::of(&b.test)) else { return false };
    let is_before = |a: &Ends, b: &Ends| match (&a.high, &b.low) {
        (Some(high), Some(low)) => compare(high, low).is_some_and(Ordering::is_lt),
        _ => false,
    };
    is_before(&a, &b) || is_before(&b, &a)
}

fn join_two<'a>(
    context: &PlanContext<'a>,
    joined: &JoinedRead<'a>,
    other: &JoinedRead<'a>,
) -> Option<JoinedRead<'a>> {
    let (a, b) = (&joined.read, &other.read);
    let was_wider = joined.is_wider || other.is_wider;
    let (range, other) = (a.range.as_ref()?, b.range.as_ref()?);
    if a.path != b.path || range.partition != other.partition {
        return None;
    }
    let union = union(&range.sort, &other.sort)?;
    let (same_as_a, same_as_b) = (*union == *range.sort, *union == *other.sort);
    let same_range = same_as_a && same_as_b;
    // A wider range is in key order, which is the requested order only within the original ranges.
    let order_is_kept = context.request.order.is_empty() || (same_range && keeps_order(context, a, b));
    if !order_is_kept {
        return None;
    }
    // In a range wider than its own, a read must apply all its conditions: its key condition no longer excludes other
    // items.
    let left = |read: &PlannedRead<'a>, is_own_range: bool| -> Vec<Condition> {
        if is_own_range { read.left().cloned().collect() } else { read.conjunct().cloned().collect() }
    };
    let [share, other_share] = [a, b].map(|read| estimate::share_of_partition(context, read));
    let union_share = if same_range { share.max(other_share) } else { (share + other_share).min(1.0) };
    let mut one = a.clone();
    one.range = Some(SelectedRange { partition: range.partition.clone(), sort: union, shards: None });
    if a.entity != b.entity {
        one.entity = EntityChoice::Any;
    }
    // The entities' own conditions are in `joined_left`. Testing one entity's here would drop the items of the other.
    one.asks_entity = false;
    one.single = a.single && b.single;
    one.unscoped = a.unscoped.or(b.unscoped);
    one.shared = Rc::new(SharedByReads {
        fixed: a.shared.fixed.iter().copied().filter(|name| is_fixed_in_both(a, b, name)).collect(),
        ascending: a.shared.ascending.clone(),
        whole: a.shared.whole && b.shared.whole && same_as_a && same_as_b,
        share: union_share,
        joined_left: either(left(a, same_as_a), left(b, same_as_b)),
        joined_conjunct: either(a.conjunct().cloned().collect(), b.conjunct().cloned().collect()),
        ..SharedByReads::of(Rc::default(), 0)
    });
    one.finish(context.request);
    Some(JoinedRead { read: one, is_wider: was_wider || !same_range })
}

/// Does one read of the shared range return the items of both reads in order? The sort key must be made in the same way
/// for both. An attribute of it or of the order that is fixed in each must have the same value in both.
fn keeps_order<'a>(context: &PlanContext<'a>, a: &PlannedRead<'a>, b: &PlannedRead<'a>) -> bool {
    let [Ok(keyspace), Ok(other)] = [a, b].map(|read| Keyspace::of(read.path, read.sorted_as)) else {
        return false;
    };
    let fixed = || a.shared.fixed.iter().chain(&b.shared.fixed);
    let order = context.request.order.iter().map(|by| by.attribute.as_str());
    keyspace.sorts_like(&other)
        && a.shared.ascending == b.shared.ascending
        && keyspace
            .sort_inputs()
            .chain(order)
            .all(|part| !fixed().any(|name| *name == part) || is_fixed_in_both(a, b, part))
}

/// Does the same `=` fix this attribute in both?
fn is_fixed_in_both(a: &PlannedRead<'_>, b: &PlannedRead<'_>, name: &str) -> bool {
    a.conjunct().any(|clause| {
        matches!(clause, Condition::Is(path, Comparison::Equal(_)) if path.as_attribute() == Some(name))
            && b.conjunct().any(|other| other == clause)
    })
}

/// All of `a` or all of `b`, as clauses; common clauses stay separate.
fn either(a: Vec<Condition>, b: Vec<Condition>) -> Vec<Condition> {
    let (mut both, a): (Vec<_>, Vec<_>) = a.into_iter().partition(|clause| b.contains(clause));
    let b: Vec<_> = b.into_iter().filter(|clause| !both.contains(clause)).collect();
    if a.is_empty() || b.is_empty() {
        return both;
    }
    both.push(one_of(Condition::all(a), Condition::all(b)));
    both
}

/// `a` or `b`, flat; two `=` of one attribute as an `in`.
fn one_of(a: Condition, b: Condition) -> Condition {
    let values = |condition: &Condition| match condition {
        Condition::Is(path, Comparison::Equal(value)) => Some((path.clone(), vec![value.clone()])),
        Condition::Is(path, Comparison::In(values)) => Some((path.clone(), values.clone())),
        _ => None,
    };
    if let (Some((path, mut all)), Some((other, more))) = (values(&a), values(&b))
        && path == other
        // DynamoDB refuses a longer `in`.
        && all.len() + more.len() <= IN_VALUES_MAX
    {
        all.extend(more);
        return Condition::Is(path, Comparison::In(all));
    }
    match a {
        Condition::Any(mut parts) if !parts.is_empty() => {
            parts.push(b);
            Condition::Any(parts)
        }
        a => Condition::Any(vec![a, b]),
    }
}

/// The union of two ranges, larger only where DynamoDB cannot express it exactly. `None` if they do not overlap.
fn union<'a>(a: &Rc<[KeyCondition<'a>]>, b: &Rc<[KeyCondition<'a>]>) -> Option<Rc<[KeyCondition<'a>]>> {
    if a.starts_with(b) {
        return Some(b.clone());
    }
    if b.starts_with(a) {
        return Some(a.clone());
    }
    let ((last, before), (other, others)) = (a.split_last()?, b.split_last()?);
    if before != others || last.attribute != other.attribute {
        return None;
    }
    let (ends, others) = (Ends::of(&last.test)?, Ends::of(&other.test)?);
    if contains(&last.test, &other.test, &others) {
        return Some(a.clone());
    }
    if contains(&other.test, &last.test, &ends) {
        return Some(b.clone());
    }
    let test = ends.union(&others)?;
    let mut sort = before.to_vec();
    sort.push(KeyCondition { attribute: last.attribute, test });
    Some(sort.into())
}

/// The two ends of a sort test, both included.
struct Ends {
    low: Option<AttributeValue>,
    high: Option<AttributeValue>,
}

impl Ends {
    /// `None`: DynamoDB cannot express the upper end.
    fn of(test: &SortTest) -> Option<Ends> {
        let (low, high) = match test {
            SortTest::Equal(value) => (Some(value.clone()), Some(value.clone())),
            SortTest::BeginsWith(prefix) => (Some(prefix.clone()), Some(after_prefix(prefix)?)),
            SortTest::Between(low, high) => (Some(low.clone()), Some(high.clone())),
            SortTest::AtLeast(low) | SortTest::Above(low) => (Some(low.clone()), None),
            SortTest::AtMost(high) | SortTest::Below(high) => (None, Some(high.clone())),
        };
        Some(Ends { low, high })
    }

    fn union(&self, other: &Ends) -> Option<SortTest> {
        let starts_before_end = |low: &Ends, high: &Ends| match (&low.low, &high.high) {
            (Some(low), Some(high)) => compare(low, high).is_some_and(Ordering::is_le),
            _ => true,
        };
        if !starts_before_end(self, other) || !starts_before_end(other, self) {
            return None;
        }
        let outer = |a: &Option<AttributeValue>, b: &Option<AttributeValue>, wins: Ordering| match (a, b) {
            (Some(a), Some(b)) if compare(a, b) == Some(wins) => Some(a.clone()),
            (Some(_), Some(b)) => Some(b.clone()),
            _ => None,
        };
        match (
            outer(&self.low, &other.low, Ordering::Less),
            outer(&self.high, &other.high, Ordering::Greater),
        ) {
            (Some(low), Some(high)) => Some(SortTest::Between(low, high)),
            (Some(low), None) => Some(SortTest::AtLeast(low)),
            (None, Some(high)) => Some(SortTest::AtMost(high)),
            (None, None) => None,
        }
    }
}

/// Does every key that passes `inner` pass `outer`? False if unknown: then both are tested completely.
fn contains(outer: &SortTest, inner: &SortTest, ends: &Ends) -> bool {
    let Ends { low, high } = ends;
    let starts = |text: &AttributeValue, prefix: &AttributeValue| match (text, prefix) {
        (AttributeValue::S(text), AttributeValue::S(prefix)) => text.starts_with(prefix),
        _ => false,
    };
    let is = |a: &Option<AttributeValue>, wanted: fn(Ordering) -> bool, b: &AttributeValue| {
        a.as_ref().and_then(|a| compare(a, b)).is_some_and(wanted)
    };
    match (outer, inner) {
        (SortTest::BeginsWith(prefix), SortTest::Equal(text) | SortTest::BeginsWith(text)) => {
            starts(text, prefix)
        }
        (SortTest::BeginsWith(prefix), SortTest::Between(low, high)) => {
            starts(low, prefix) && starts(high, prefix)
        }
        (SortTest::Between(from, to), _) => is(low, Ordering::is_ge, from) && is(high, Ordering::is_le, to),
        (SortTest::AtLeast(from), _) => is(low, Ordering::is_ge, from),
        (SortTest::AtMost(to), _) => is(high, Ordering::is_le, to),
        _ => false,
    }
}

/// The first key after all keys with this prefix, if DynamoDB accepts it.
fn after_prefix(prefix: &AttributeValue) -> Option<AttributeValue> {
    match prefix {
        AttributeValue::S(text) => {
            after_all(text).filter(|text| text.len() <= KeyRole::Sort.bytes_max()).map(AttributeValue::S)
        }
        _ => None,
    }
}
