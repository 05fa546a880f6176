//! What an access will read, as a guess from what the manifest expects of the table.
//!
//! The guess ranks plans; the price of what was really read comes with the answer. It follows the documented formulas:
//! a page's entries are summed and rounded up to 4 KB, items fetched behind an index are rounded up one by one, an
//! eventually consistent read costs half.

use super::access::Hydration;
use super::build::{Built, Place};
use super::ground::Ground;
use super::keyspace::{Keyspace, Kind};
use crate::model::{IndexKind, Projection, Table};

/// What is assumed where the manifest's `expect` says nothing.
const ITEMS: f64 = 1_000_000.0;
const ITEMS_PER_PARTITION: f64 = 100.0;
const ITEM_BYTES: f64 = 400.0;
/// An entry that holds keys alone.
const KEYS_BYTES: f64 = 120.0;
/// The share of items that one filtered clause leaves.
const CLAUSE_SHARE: f64 = 0.3;
const UNIT_BYTES: f64 = 4096.0;

struct Expected {
    items: f64,
    per_partition: f64,
    item_bytes: f64,
}

impl Expected {
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    fn of(table: &Table) -> Expected {
        let or = |given: Option<u64>, assumed: f64| given.map_or(assumed, |given| given as f64).max(1.0);
        let items = or(table.expect.items, ITEMS);
        let per_partition = if table.sort.is_none() {
            1.0
        } else {
            or(table.expect.items_per_partition, ITEMS_PER_PARTITION)
        };
        Expected {
            items,
            per_partition: per_partition.min(items),
            item_bytes: or(table.expect.item_bytes, ITEM_BYTES),
        }
    }
}

/// The read units that all accesses will take. `enough`: each stops reading after so many items.
pub(super) fn units_of_all<'a>(ground: &Ground<'a>, built: &[Built<'a>], enough: Option<u32>) -> f64 {
    let mut before: Option<(&Built<'a>, f64)> = None;
    built
        .iter()
        .map(|one| {
            let known = before.filter(|(other, _)| one.is_like(other)).map(|(_, units)| units);
            let units = known.unwrap_or_else(|| units(ground, one, enough));
            before = Some((one, units));
            units
        })
        .sum()
}

/// The read units that an access will take. `enough`: it stops reading after so many items.
fn units<'a>(ground: &Ground<'a>, built: &Built<'a>, enough: Option<u32>) -> f64 {
    let expected = Expected::of(built.place.table);
    let filtered = built.filters || built.rechecks;
    let mut entries = entries(ground, built, &expected);
    if let (Some(enough), false) = (enough, filtered) {
        entries = entries.min(f64::from(enough));
    }
    let entries = entries.max(1.0);
    let index_units = (entries * entry_bytes(built.place, &expected) / UNIT_BYTES).ceil();
    let per_item = (expected.item_bytes / UNIT_BYTES).ceil();
    let fetched_units = match built.hydration {
        Hydration::None => 0.0,
        Hydration::Fetched => entries * per_item,
        Hydration::ByKey => entries * filter_share(built) * per_item,
    };
    let units = (index_units + fetched_units) * if ground.request.consistent { 1.0 } else { 0.5 };
    (units * 2.0).ceil() / 2.0
}

fn filter_share(built: &Built<'_>) -> f64 {
    if built.filters { CLAUSE_SHARE } else { 1.0 }
}

fn entries<'a>(ground: &Ground<'a>, built: &Built<'a>, expected: &Expected) -> f64 {
    if built.single {
        return 1.0;
    }
    if built.range.is_none() {
        // A sparse index is smaller than the table, by how much nobody said: half.
        return if ground.is_sparse(built.place) { expected.items * 0.5 } else { expected.items };
    }
    let of_one_kind = built.place.is_overloaded && built.kind != Kind::Any;
    let namespaces = if of_one_kind { namespaces(built.place) } else { 1.0 };
    partition_items(built, expected) * built.shared.share / namespaces
}

fn namespaces(place: Place<'_>) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    let kinds = place.table.entities.len() as f64;
    kinds.max(1.0)
}

fn partition_items(built: &Built<'_>, expected: &Expected) -> f64 {
    if built.place.index.is_none_or(|index| index.kind == IndexKind::Local) {
        return expected.per_partition;
    }
    let Ok(keyspace) = Keyspace::of(built.place, built.kind) else {
        // Several kinds at once: those of one partition.
        return expected.per_partition;
    };
    let mut share = 1.0;
    let mut open_ended = 0;
    for attribute in keyspace.partition_inputs() {
        match built.place.table.attributes.get(attribute).and_then(|known| known.values.as_ref()) {
            #[expect(clippy::cast_precision_loss, reason = "an estimate")]
            Some(values) => share /= values.len().max(1) as f64,
            None => open_ended += 1,
        }
    }
    if open_ended == 0 {
        return expected.items * share;
    }
    expected.per_partition * share * 0.1f64.powi(open_ended - 1)
}

fn entry_bytes(place: Place<'_>, expected: &Expected) -> f64 {
    match place.index.map(|index| &index.projection) {
        None | Some(Projection::All) => expected.item_bytes,
        Some(Projection::KeysOnly) => KEYS_BYTES.min(expected.item_bytes),
        Some(Projection::Include(_)) => (KEYS_BYTES + expected.item_bytes * 0.3).min(expected.item_bytes),
    }
}
