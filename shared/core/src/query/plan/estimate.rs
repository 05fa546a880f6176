//! Estimates how many entries a read finds and how large they are, from the manifest's expectations.
//!
//! The estimate ranks candidates; the answer contains the consumed units. [`cost`](crate::cost) prices the bytes.

use super::access::Hydration;
use super::conjunction::listed_values;
use super::context::PlanContext;
use super::delivery::{Delivery, first_page};
use super::keyspace::Keyspace;
use super::path::AccessPath;
use super::path::EntityChoice;
use super::planned_read::PlannedRead;
use super::selectivity;
use crate::condition::Condition;
use crate::cost::{Consistency, ReadUnits, get_read_units, query_read_units};
use crate::model::{Expect, Projection};

/// Default for a missing `expect` in the manifest.
const ITEMS_PER_PARTITION: f64 = 100.0;
/// An entry that holds keys alone.
const KEYS_BYTES: f64 = 120.0;
/// The assumed share of a table's items in a sparse index. The real share is unknown.
const SPARSE_SHARE: f64 = 0.5;

struct Expected {
    items: f64,
    per_partition: f64,
    /// Of an item, with all attributes.
    item_bytes: f64,
    /// Of an entry of the index, or of an item of the table.
    entry_bytes: f64,
}

impl Expected {
    /// The manifest's expectations of the index, then those of the table, then the defaults. The size is that of the
    /// entity's items if the range holds no others.
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    fn of(read: &PlannedRead<'_>) -> Expected {
        let path = read.path;
        let none = Expect::default();
        let (own, table) = (path.index.map_or(&none, |index| &index.expect), &path.table.expect);
        let first = |own: Option<u64>, table: Option<u64>, assumed: f64| {
            own.or(table).map_or(assumed, |given| given as f64).max(1.0)
        };
        let items = first(own.items, table.items, Expect::ITEMS_ASSUMED as f64);
        // The table's own figure is about its partitions, which have one item each without a sort key. Those of an index have more.
        let is_single = path.index.is_none() && path.table.sort.is_none();
        let assumed = if is_single { 1.0 } else { ITEMS_PER_PARTITION };
        let of_table = table.items_per_partition.filter(|_| path.table.sort.is_some());
        let of_entity = match read.entity {
            EntityChoice::One(id) if !read.asks_entity => path.table.entities[id.0].expect.item_bytes,
            _ => None,
        };
        let item_bytes = first(of_entity, table.item_bytes, Expect::ITEM_BYTES_ASSUMED as f64);
        let entry_bytes = match own.item_bytes {
            Some(bytes) if of_entity.is_none() => bytes as f64,
            _ => entry_bytes(path, item_bytes),
        };
        let per_partition = first(own.items_per_partition, of_table, assumed).min(items);
        Expected { items, per_partition, item_bytes, entry_bytes }
    }
}

/// The estimated cost of reads.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Estimate {
    pub(super) units: ReadUnits,
    pub(super) entries: u64,
}

/// The estimated cost of all reads.
pub(super) fn of_all<'a>(
    context: &PlanContext<'a>,
    reads: &[PlannedRead<'a>],
    delivery: Delivery,
) -> Estimate {
    let mut all = Estimate::default();
    let count = reads.iter().map(PlannedRead::count).sum();
    let mut before: Option<(&PlannedRead<'a>, Estimate)> = None;
    for read in reads {
        let known = before.filter(|(other, _)| read.is_like(other)).map(|(_, estimate)| estimate);
        let one = known.unwrap_or_else(|| of_one(context, read, delivery, count));
        before = Some((read, one));
        let times = read.count() as u64;
        all.units += one.units * times;
        all.entries = all.entries.saturating_add(one.entries.saturating_mul(times));
    }
    all
}

/// The estimated cost of one of `count` reads.
#[expect(clippy::cast_precision_loss, reason = "an estimate")]
fn of_one<'a>(
    context: &PlanContext<'a>,
    read: &PlannedRead<'a>,
    delivery: Delivery,
    count: usize,
) -> Estimate {
    let expected = Expected::of(read);
    let range = entries(context, read, &expected);
    let passes = |clauses: &mut dyn Iterator<Item = &Condition>| -> f64 {
        clauses.map(|clause| selectivity::passing(context, read, clause)).product()
    };
    let limit = f64::from(context.request.limit);
    let entries = match delivery {
        _ if context.request.count => range,
        // A share is needed only if the range has more. The first page of each read has `limit` entries. All reads
        // together find `limit` items: the later pages are fitted to what the filter passes.
        Delivery::Sequential if limit < range => {
            range.min((limit / passes(&mut read.left()) / count as f64).max(limit))
        }
        Delivery::Merged => {
            let first = f64::from(first_page(context.request.limit, count));
            if first < range { range.min(first / passes(&mut read.left())) } else { range }
        }
        // A sort reads everything.
        Delivery::Sequential | Delivery::SortedInMemory { .. } => range,
    };
    let entries = entries.max(1.0);
    let consistency = if context.request.consistent { Consistency::Strong } else { Consistency::Eventual };
    let of_index = query_read_units([rounded_up(entries * expected.entry_bytes)], consistency);
    let fetched = match read.hydration {
        Hydration::None => 0.0,
        Hydration::Fetched => entries,
        Hydration::ByKey => entries * passes(&mut read.left().filter(|clause| read.is_sendable(clause))),
    };
    let of_items = get_read_units(Some(rounded_up(expected.item_bytes)), consistency) * rounded_up(fetched);
    Estimate { units: of_index + of_items, entries: rounded_up(range) }
}

/// Rounds up to whole entries or bytes; tolerates floating-point errors just above a whole number.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "never negative; an estimate")]
fn rounded_up(guess: f64) -> u64 {
    (guess - 1e-6).ceil().max(0.0) as u64
}

fn entries<'a>(context: &PlanContext<'a>, read: &PlannedRead<'a>, expected: &Expected) -> f64 {
    if read.single {
        return 1.0;
    }
    if read.range.is_none() {
        let is_guess = read.path.index.is_some_and(|index| index.expect.items.is_none());
        let share = if is_guess && context.is_sparse(read.path) { SPARSE_SHARE } else { 1.0 };
        return expected.items * share;
    }
    let items = partition_items(read, expected) * skew(context, read);
    items.min(expected.items) * share_of_partition(context, read)
}

/// The estimated share of the whole partition, with the items of other entities, that is in the range of a read.
pub(super) fn share_of_partition<'a>(context: &PlanContext<'a>, read: &PlannedRead<'a>) -> f64 {
    let is_of_one_entity = read.path.is_overloaded() && read.entity != EntityChoice::Any;
    let entities =
        if is_of_one_entity && !read.asks_entity { selectivity::of_entity(context, read) } else { 1.0 };
    read.shared.share * entities
}

fn partition_items(read: &PlannedRead<'_>, expected: &Expected) -> f64 {
    // An explicit expectation of the index's partitions needs no estimate.
    let is_known = read.path.index.is_some_and(|index| index.expect.items_per_partition.is_some());
    if is_known || !read.path.is_global() {
        return expected.per_partition;
    }
    let Some((share, open_parts)) = partition_share(read.path, read.entity) else {
        // Several entities together: all their items in one partition.
        return expected.per_partition;
    };
    // A partition key of listed values alone divides the whole table by them.
    if open_parts == 0 {
        return expected.items * share;
    }
    expected.per_partition * share * 0.1f64.powi(open_parts - 1)
}

/// How much larger than the average partition is that of the tested listed values? 1 without their measured numbers.
fn skew<'a>(context: &PlanContext<'a>, read: &PlannedRead<'a>) -> f64 {
    if read.path.table.expect.values.is_empty() {
        return 1.0;
    }
    let keyspace = Keyspace::of(read.path, read.entity).ok();
    let inputs = keyspace.into_iter().flat_map(Keyspace::partition_inputs);
    inputs.map(|attribute| selectivity::skew(context, attribute)).product()
}

/// The share of a partition left by the listed values of its key's attributes, and the number of attributes without
/// listed values. `None`: the key differs between these entities.
fn partition_share(path: AccessPath<'_>, entity: EntityChoice) -> Option<(f64, i32)> {
    if !path.is_overloaded() {
        return Some((path.facts.listed_share, path.facts.open_parts));
    }
    let mut share = (1.0, 0);
    for attribute in Keyspace::of(path, entity).ok()?.partition_inputs() {
        match listed_values(path.table, attribute) {
            #[expect(clippy::cast_precision_loss, reason = "an estimate")]
            Some(values) => share.0 /= values.len().max(1) as f64,
            None => share.1 += 1,
        }
    }
    Some(share)
}

/// The assumed size of an entry, from the size of its item.
fn entry_bytes(path: AccessPath<'_>, item_bytes: f64) -> f64 {
    match path.index.map(|index| &index.projection) {
        None | Some(Projection::All) => item_bytes,
        Some(Projection::KeysOnly) => KEYS_BYTES.min(item_bytes),
        Some(Projection::Include(_)) => (KEYS_BYTES + item_bytes * 0.3).min(item_bytes),
    }
}
