//! The expected share of items that pass a condition, and the share of an entity in a partition.
//!
//! The shares come from the manifest: from listed values, and from the expected numbers of each entity's items. Without
//! a figure a share is assumed.

use super::certainty::{Certain, Certainty};
use super::conjunction::listed_values;
use super::context::PlanContext;
use super::keyspace::Keyspace;
use super::path::EntityChoice;
use super::planned_read::PlannedRead;
use crate::condition::{Comparison, Condition};
use crate::model::{Expect, Table, listed_text};
use crate::value::AttributeValue;

/// The assumed share of items with one value of an attribute.
const EQUAL_SHARE: f64 = 0.1;
/// The assumed share of items that have an attribute.
const PRESENT_SHARE: f64 = 0.7;
/// The assumed share of items that pass another test.
const TEST_SHARE: f64 = 0.3;
/// The smallest share. A filter that passes less usually reads the whole range.
const SHARE_MIN: f64 = 1e-4;

/// The share of a read's entries that pass a condition.
pub(super) fn passing<'a>(context: &PlanContext<'a>, read: &PlannedRead<'a>, condition: &Condition) -> f64 {
    let share =
        by_entity(context, read, condition).unwrap_or_else(|| by_value(context.request.table, condition));
    share.clamp(SHARE_MIN, 1.0)
}

/// The share of one entity's items in the partition of a read.
pub(super) fn of_entity<'a>(context: &PlanContext<'a>, read: &PlannedRead<'a>) -> f64 {
    share(context, read, |entity| Some(entity == read.entity)).unwrap_or(1.0)
}

/// The share of the entities that fulfil the condition. `None`: some of an entity's items can fulfil it, others not.
fn by_entity<'a>(context: &PlanContext<'a>, read: &PlannedRead<'a>, condition: &Condition) -> Option<f64> {
    share(context, read, |entity| {
        match Certain::of([], [], context.conditions(entity).iter()).says(condition) {
            Certainty::Holds => Some(true),
            Certainty::Fails => Some(false),
            Certainty::Unknown => None,
        }
    })
}

/// The share of the entities that are meant, among all that the partition can hold. `None`: unknown for one of them.
fn share<'a>(
    context: &PlanContext<'a>,
    read: &PlannedRead<'a>,
    is_meant: impl Fn(EntityChoice) -> Option<bool>,
) -> Option<f64> {
    let table = context.request.table;
    let (mut meant, mut all) = (0.0, 0.0);
    for entity in context.entities().filter(|entity| is_in_partition(read, *entity)) {
        let items = items(table, entity);
        if items == 0.0 {
            continue;
        }
        all += items;
        meant += if is_meant(entity)? { items } else { 0.0 };
    }
    (all > 0.0).then(|| meant / all)
}

fn is_in_partition<'a>(read: &PlannedRead<'a>, entity: EntityChoice) -> bool {
    Keyspace::of(read.path, entity).is_ok_and(|keyspace| {
        read.range.as_ref().is_none_or(|range| keyspace.could_hold(&range.partition, &[]))
    })
}

/// The expected number of an entity's items; none without an entity. Entities without a figure share the rest equally.
#[expect(clippy::cast_precision_loss, reason = "an estimate")]
fn items(table: &Table, entity: EntityChoice) -> f64 {
    let EntityChoice::One(id) = entity else { return 0.0 };
    if let Some(items) = table.entities[id.0].expect.items {
        return items as f64;
    }
    let known = table.entities.iter().filter_map(|entity| entity.expect.items);
    let open = table.entities.iter().filter(|entity| entity.expect.items.is_none()).count();
    let rest = table.expect.items.unwrap_or(Expect::ITEMS_ASSUMED).saturating_sub(known.sum());
    rest.max(1) as f64 / open as f64
}

/// The share of items that pass, by the values that it tests for.
fn by_value(table: &Table, condition: &Condition) -> f64 {
    let each = |parts: &[Condition]| -> Vec<f64> { parts.iter().map(|part| by_value(table, part)).collect() };
    match condition {
        Condition::All(parts) => each(parts).iter().product(),
        Condition::Any(parts) => 1.0 - each(parts).iter().map(|share| 1.0 - share).product::<f64>(),
        Condition::Not(inner) => 1.0 - by_value(table, inner),
        Condition::Is(path, test) => {
            let listed = path.as_attribute().map(|name| listed_shares(table, name));
            by_test(&listed.unwrap_or_default(), test)
        }
    }
}

/// How many items the tested values of an attribute have, on average, compared with all of its listed values.
#[expect(clippy::cast_precision_loss, reason = "an estimate")]
pub(super) fn skew(context: &PlanContext<'_>, attribute: &str) -> f64 {
    let listed = listed_shares(context.request.table, attribute);
    let condition = &context.request.condition;
    let clauses = if let Condition::All(parts) = condition { parts } else { std::slice::from_ref(condition) };
    let passes = |value: &AttributeValue| {
        clauses.iter().all(|clause| match clause {
            Condition::Is(path, test) if path.as_attribute() == Some(attribute) => test.holds(Some(value)),
            _ => true,
        })
    };
    let tested: Vec<f64> =
        listed.iter().filter(|(value, _)| passes(value)).map(|(_, share)| *share).collect();
    if tested.is_empty() {
        return 1.0;
    }
    tested.iter().sum::<f64>() / tested.len() as f64 * listed.len() as f64
}

/// The listed values of an attribute with their shares of its items; none without listed values. Without measured
/// numbers the shares are equal.
#[expect(clippy::cast_precision_loss, reason = "an estimate")]
fn listed_shares<'a>(table: &'a Table, attribute: &str) -> Vec<(&'a AttributeValue, f64)> {
    let values = listed_values(table, attribute).unwrap_or_default();
    let counts = table.expect.values.get(attribute);
    let all = counts.map_or(0, |counts| counts.values().sum());
    let share = |value: &AttributeValue| {
        let count = counts.and_then(|counts| counts.get(listed_text(value)?));
        count.map_or(0.0, |count| *count as f64 / all as f64)
    };
    let equal = 1.0 / values.len().max(1) as f64;
    values.iter().map(|value| (value, if all > 0 { share(value) } else { equal })).collect()
}

/// `listed`: all values of the attribute with their shares, if the manifest lists them.
#[expect(clippy::cast_precision_loss, reason = "an estimate")]
fn by_test(listed: &[(&AttributeValue, f64)], test: &Comparison) -> f64 {
    match test {
        Comparison::Exists(true) => PRESENT_SHARE,
        Comparison::Exists(false) => 1.0 - PRESENT_SHARE,
        _ if !listed.is_empty() => {
            listed.iter().filter(|(value, _)| test.holds(Some(value))).map(|(_, share)| share).sum()
        }
        Comparison::Equal(_) => EQUAL_SHARE,
        Comparison::In(values) => (EQUAL_SHARE * values.len() as f64).min(1.0),
        _ => TEST_SHARE,
    }
}
