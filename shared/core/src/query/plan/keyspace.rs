//! The key of one access path for the items of one entity: its required attributes, its selected ranges, and other
//! items in them.

use std::ops::Bound;
use std::rc::Rc;

use smallvec::{SmallVec, smallvec};

use super::access::{KeyEqual, Operation, SortCondition, SortTest};
use super::path::AccessPath;
use super::path::EntityChoice;
use super::path::SmallList;
use crate::key::{KeyRange, KeyRole, Part, Shards, Template, Test, Tests, Unfolded};
use crate::model::{FoldRule, KeyAttribute, KeySource};
use crate::query::limits::FAN_OUT_MAX;
use crate::value::{AttributeValue, equal};

/// The attributes of one partition key with their values. Usually one, stored inline: a fan-out has many partitions.
pub(super) type Partition<'m> = SmallVec<[(&'m str, AttributeValue); 1]>;

/// The source of one key attribute's value, for the items of one entity.
#[derive(Debug, Clone, Copy)]
pub(super) enum KeyValueSource<'m> {
    Natural,
    Folded(&'m Template),
}

/// The key of an access path for the items of one entity.
#[derive(Debug, Clone, Copy)]
pub(super) struct Keyspace<'m> {
    partition: &'m [KeyAttribute],
    sort: &'m [KeyAttribute],
    entity: EntityChoice,
}

/// One partition and sort range. Many partitions share one range.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SelectedRange<'m> {
    pub(super) partition: Partition<'m>,
    pub(super) sort: Rc<[KeyCondition<'m>]>,
    /// The shards of the partition key: each is a separate query. The keys are built only for a chosen plan, because
    /// most plans reject an index that is spread over shards.
    pub(super) shards: Option<Shards>,
}

/// A condition on an attribute of a sort key. Only the chosen ones become [`SortCondition`]s.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct KeyCondition<'m> {
    pub(super) attribute: &'m str,
    pub(super) test: SortTest,
}

impl<'m> SelectedRange<'m> {
    /// How many ranges there are.
    pub(super) fn count(&self) -> usize {
        self.shards.map_or(1, Shards::count)
    }

    /// Each of the ranges.
    pub(super) fn apart(self) -> SmallVec<[SelectedRange<'m>; 1]> {
        // Only a single folded attribute has a stem. With several attributes, the shards were expanded at once.
        let (Some(shards), [(name, AttributeValue::S(stem))]) = (self.shards, self.partition.as_slice())
        else {
            return smallvec![self];
        };
        let one = |key| SelectedRange {
            partition: smallvec![(*name, AttributeValue::S(key))],
            sort: self.sort.clone(),
            shards: None,
        };
        shards.keys(stem).into_iter().map(one).collect()
    }

    /// The query that reads it.
    pub(super) fn operation(self) -> Operation {
        let equal = |(name, value): (&str, _)| KeyEqual { attribute: name.into(), value };
        let condition = |KeyCondition { attribute, test }: &KeyCondition<'_>| SortCondition {
            attribute: (*attribute).into(),
            test: test.clone(),
        };
        Operation::Query {
            partition: self.partition.into_iter().map(equal).collect(),
            sort: self.sort.iter().map(condition).collect(),
        }
    }
}

/// All that a set of tests selects from a keyspace.
#[derive(Debug, Clone, Default)]
pub(super) struct SelectedRanges<'m> {
    pub(super) ranges: SmallVec<[SelectedRange<'m>; 1]>,
    /// Attributes tested by the partition key, and whether exactly.
    pub(super) by_partition: SmallList<(&'m str, bool)>,
    /// Attributes tested by the sort key, and whether exactly.
    pub(super) by_sort: SmallList<(&'m str, bool)>,
}

impl SelectedRanges<'_> {
    /// Expands each range into one range for each shard.
    pub(super) fn take_apart(&mut self) {
        if self.ranges.iter().any(|range| range.shards.is_some()) {
            let ranges = std::mem::take(&mut self.ranges);
            self.ranges = ranges.into_iter().flat_map(SelectedRange::apart).collect();
        }
    }

    /// Attributes tested by the key, and whether exactly.
    pub(super) fn served(&self) -> impl Iterator<Item = (&str, bool)> {
        self.by_partition.iter().chain(&self.by_sort).copied()
    }
}

/// Usually one.
type Partitions<'m> = SmallVec<[Partition<'m>; 1]>;
/// The conditions of each range of sort keys.
type SortRanges<'m> = SmallVec<[Rc<[KeyCondition<'m>]>; 1]>;

impl<'m> Keyspace<'m> {
    /// The keyspace of a path for the items of one entity. `Err` names the key attribute that such items do not have.
    pub(super) fn of(path: AccessPath<'m>, entity: EntityChoice) -> Result<Keyspace<'m>, &'m KeyAttribute> {
        // Every item has a key that does not depend on the entity.
        if path.is_overloaded()
            && let Some(key) = path.keys().find(|key| value_source(key, entity).is_none())
        {
            return Err(key);
        }
        Ok(Keyspace { partition: path.partition(), sort: path.sort(), entity })
    }

    fn value_source(&self, key: &'m KeyAttribute) -> KeyValueSource<'m> {
        let Some(source) = value_source(key, self.entity) else { unreachable!("`Keyspace::of` checks it") };
        source
    }

    /// The template of the sort key, if it is folded.
    fn sort_template(&self) -> Option<(&'m KeyAttribute, &'m Template)> {
        match self.sort {
            [key] => match self.value_source(key) {
                KeyValueSource::Folded(template) => Some((key, template)),
                KeyValueSource::Natural => None,
            },
            _ => None,
        }
    }

    fn inputs(self, keys: &'m [KeyAttribute]) -> impl Iterator<Item = &'m str> {
        keys.iter().flat_map(move |key| inputs_of(key, self.value_source(key)))
    }

    /// The first required attribute of the key that passes. A loop, because it runs for each index of a table and a
    /// chain of iterators takes twice as long.
    pub(super) fn find_required(self, passes: &dyn Fn(&'m str) -> bool) -> Option<&'m str> {
        for key in self.partition.iter().chain(self.sort) {
            match self.value_source(key) {
                KeyValueSource::Natural if passes(&key.name) => return Some(&key.name),
                KeyValueSource::Natural => {}
                KeyValueSource::Folded(template) => {
                    for part in template.parts() {
                        match part {
                            Part::Attribute { name, optional: false, .. } if passes(name) => {
                                return Some(name);
                            }
                            _ => {}
                        }
                    }
                }
            }
        }
        None
    }

    /// Does such a key always need this attribute?
    pub(super) fn requires(self, attribute: &str) -> bool {
        self.find_required(&|name| name == attribute).is_some()
    }

    /// The attributes of the sort key, from the left.
    pub(super) fn sort_inputs(self) -> impl Iterator<Item = &'m str> {
        self.inputs(self.sort)
    }

    /// The attributes of the partition key.
    pub(super) fn partition_inputs(self) -> impl Iterator<Item = &'m str> {
        self.inputs(self.partition)
    }

    /// An attribute that the partition key still needs, found without folding. [`select`](Keyspace::select) would fail
    /// on the same attribute, later. `expand`: attributes that get values besides the tests.
    pub(super) fn open_partition(self, tests: &Tests<'_>, expand: &[&str]) -> Option<&'m str> {
        for key in self.partition {
            let name = key.name.as_str();
            match self.value_source(key) {
                KeyValueSource::Natural
                    if matches!(tests.get(name), Some(Test::Equal(_))) || expand.contains(&name) => {}
                KeyValueSource::Natural => return Some(name),
                KeyValueSource::Folded(template) => {
                    let is_open = |name: &&str| tests.get(name).is_none() && !expand.contains(name);
                    return template.first_open().filter(is_open);
                }
            }
        }
        None
    }

    /// The partitions and ranges that tests select. `Err` names an attribute that the partition key needs.
    pub(super) fn select(&self, tests: &Tests<'_>, selected: &mut SelectedRanges<'m>) -> Result<(), &'m str> {
        let (partitions, shards) = self.partitions(tests, &mut selected.by_partition)?;
        let ranges = self.ranges(tests, &mut selected.by_sort);
        add_products(partitions, shards, &ranges, &mut selected.ranges);
        Ok(())
    }

    fn partitions(
        &self,
        tests: &Tests<'_>,
        served: &mut SmallList<(&'m str, bool)>,
    ) -> Result<(Partitions<'m>, Option<Shards>), &'m str> {
        let mut partitions: Partitions<'m> = SmallVec::new();
        let mut shards = None;
        for (number, key) in self.partition.iter().enumerate() {
            let before = (number > 0).then_some(partitions.as_slice());
            partitions = match self.value_source(key) {
                KeyValueSource::Natural => match tests.get(&key.name) {
                    Some(Test::Equal(value)) => {
                        served.push((&key.name, true));
                        with_each(before, &key.name, std::iter::once(value.clone()))
                    }
                    // DynamoDB queries one partition. Several values were expanded into one equality each before.
                    _ => return Err(&key.name),
                },
                KeyValueSource::Folded(template) => {
                    // With other key attributes, which is rare, shards are expanded into partitions at once.
                    let selection;
                    (selection, shards) = match self.partition {
                        [_] => template.select_stem(tests, FAN_OUT_MAX),
                        _ => (template.select(tests, FAN_OUT_MAX), None),
                    };
                    served
                        .extend(selection.served.into_iter().map(|served| (served.attribute, served.exact)));
                    // A DynamoDB query needs an exact partition key; a range would be a scan.
                    if !selection.ranges.iter().all(|range| matches!(range, KeyRange::Exact(_))) {
                        return Err(missing_input(template, tests));
                    }
                    let values = selection.ranges.into_iter().filter_map(|range| match range {
                        KeyRange::Exact(key) => Some(AttributeValue::S(key)),
                        _ => None,
                    });
                    with_each(before, &key.name, values)
                }
            };
        }
        Ok((partitions, shards))
    }

    fn ranges(&self, tests: &Tests<'_>, served: &mut SmallList<(&'m str, bool)>) -> SortRanges<'m> {
        if let Some((key, template)) = self.sort_template() {
            let selection = template.select(tests, FAN_OUT_MAX);
            // A test that the key answers only in part (a prefix, another letter case) is not exact, and stays a filter.
            served.extend(selection.served.into_iter().map(|served| (served.attribute, served.exact)));
            // DynamoDB refuses an empty key value, and no item has one.
            let is_key = |range: &KeyRange| !matches!(range, KeyRange::Exact(key) if key.is_empty());
            let condition = |range| -> Rc<[KeyCondition<'m>]> {
                match folded_test(range) {
                    Some(test) => Rc::new([KeyCondition { attribute: &key.name, test }]),
                    None => Rc::new([]),
                }
            };
            return selection.ranges.into_iter().filter(is_key).map(condition).collect();
        }
        let mut conditions: SmallVec<[KeyCondition<'m>; 1]> = SmallVec::new();
        for key in self.sort {
            let (test, exact) = match tests.get(&key.name).map_or(NaturalTest::Nothing, natural_test) {
                NaturalTest::To(test, exact) => (test, exact),
                NaturalTest::Nothing => break,
                // No key passes, so no range is selected and nothing is read.
                NaturalTest::Never => return SmallVec::new(),
            };
            // DynamoDB accepts a range only on the last tested attribute of a native sort key.
            let last = !matches!(test, SortTest::Equal(_));
            served.push((&key.name, exact));
            conditions.push(KeyCondition { attribute: &key.name, test });
            if last {
                break;
            }
        }
        smallvec![match conditions.into_inner() {
            Ok(one) => Rc::new(one) as Rc<[KeyCondition<'m>]>,
            Err(several) => several.into_vec().into(),
        }]
    }

    /// The attributes that order the items within one selected range, most significant first, without fixed ones.
    pub(super) fn ascending(&self, fixed: &dyn Fn(&str) -> bool) -> SmallList<&'m str> {
        match self.sort_template() {
            Some((_, template)) => template.ascending(fixed).into(),
            None => self.sort.iter().map(|key| key.name.as_str()).filter(|name| !fixed(name)).collect(),
        }
    }

    /// Are the sort keys of both made in the same way, so that the items of both ascend together?
    pub(super) fn sorts_like(&self, other: &Keyspace<'m>) -> bool {
        self.sort.iter().all(|key| match (self.value_source(key), other.value_source(key)) {
            (KeyValueSource::Natural, KeyValueSource::Natural) => true,
            (KeyValueSource::Folded(template), KeyValueSource::Folded(other)) => template == other,
            _ => false,
        })
    }

    /// Do all items of this entity in this partition have this value of the attribute? A part that is stored in lower
    /// case, or as a shard, proves no value.
    pub(super) fn fixes(&self, partition: &Partition<'_>, attribute: &str, value: &AttributeValue) -> bool {
        self.partition.iter().zip(partition.iter()).any(|(key, (_, given))| {
            match (self.value_source(key), given) {
                (KeyValueSource::Natural, given) => key.name == attribute && equal(given, value),
                (KeyValueSource::Folded(template), AttributeValue::S(text)) => {
                    let is_value = |(name, part): &(&str, Unfolded)| {
                        *name == attribute && matches!(part, Unfolded::Value(known) if equal(known, value))
                    };
                    template.unfold(text).is_ok_and(|parts| parts.iter().any(is_value))
                }
                (KeyValueSource::Folded(_), _) => false,
            }
        })
    }

    /// Could the range contain an item of this entity? True if unknown: a superfluous condition costs nothing, a
    /// missing one returns items of another entity.
    pub(super) fn could_hold(&self, partition: &Partition<'_>, sort: &[KeyCondition<'_>]) -> bool {
        let partition_fits = self.partition.iter().zip(partition.iter()).all(|(key, (_, given))| {
            match (self.value_source(key), given) {
                // Nearly all other entities have another prefix, which is found without an error's text.
                (KeyValueSource::Folded(template), AttributeValue::S(key)) => {
                    key.starts_with(template.literal_prefix()) && template.unfold(key).is_ok()
                }
                _ => true,
            }
        });
        let sort_fits = match (self.sort_template(), sort) {
            (Some((_, template)), [condition]) => could_contain(template, &condition.test),
            _ => true,
        };
        partition_fits && sort_fits
    }
}

fn value_source(key: &KeyAttribute, entity: EntityChoice) -> Option<KeyValueSource<'_>> {
    let KeySource::Folded(rules) = &key.source else { return Some(KeyValueSource::Natural) };
    let entity = match entity {
        EntityChoice::One(entity) => Some(entity),
        EntityChoice::Any | EntityChoice::NoEntity => None,
    };
    FoldRule::of(rules, entity).map(|rule| KeyValueSource::Folded(&rule.template))
}

fn inputs_of<'m>(key: &'m KeyAttribute, source: KeyValueSource<'m>) -> impl Iterator<Item = &'m str> {
    let (natural, template) = match source {
        KeyValueSource::Natural => (Some(key.name.as_str()), None),
        KeyValueSource::Folded(template) => (None, Some(template)),
    };
    natural.into_iter().chain(template.into_iter().flat_map(Template::attributes))
}

/// Each partition so far combined with each valid value of one more attribute. A template of a single empty value
/// yields none.
fn with_each<'m>(
    partitions: Option<&[Partition<'m>]>,
    name: &'m str,
    values: impl Iterator<Item = AttributeValue>,
) -> Partitions<'m> {
    // DynamoDB refuses a query with an empty or overlong key. No item has such a key, so nothing is lost without it.
    let values = values.filter(|value| can_be_key(value, KeyRole::Partition));
    let Some(partitions) = partitions else {
        let mut all = SmallVec::with_capacity(values.size_hint().1.unwrap_or_default());
        all.extend(values.map(|value| -> Partition<'m> { smallvec![(name, value)] }));
        return all;
    };
    let values: Vec<AttributeValue> = values.collect();
    let with = |partition: &Partition<'m>, value: &AttributeValue| {
        let mut longer = partition.clone();
        longer.push((name, value.clone()));
        longer
    };
    partitions.iter().flat_map(|partition| values.iter().map(move |value| with(partition, value))).collect()
}

/// Each partition with each range.
fn add_products<'m>(
    partitions: Partitions<'m>,
    shards: Option<Shards>,
    ranges: &SortRanges<'m>,
    all: &mut SmallVec<[SelectedRange<'m>; 1]>,
) {
    // One range serves all shards, which stay one entry until the plan is chosen. Several ranges multiply with them.
    if let [sort] = ranges.as_slice() {
        all.extend(partitions.into_iter().map(|partition| SelectedRange {
            partition,
            sort: sort.clone(),
            shards,
        }));
        return;
    }
    let no_sort: Rc<[KeyCondition<'m>]> = Rc::default();
    let apart = partitions
        .into_iter()
        .flat_map(|partition| SelectedRange { partition, sort: no_sort.clone(), shards }.apart());
    all.extend(
        apart.flat_map(|one| {
            ranges.iter().map(move |sort| SelectedRange { sort: sort.clone(), ..one.clone() })
        }),
    );
}

/// The first attribute of a partition template that no equality fixes.
fn missing_input<'m>(template: &'m Template, tests: &Tests<'_>) -> &'m str {
    template
        .attributes()
        .find(|attribute| !matches!(tests.get(attribute), Some(Test::Equal(_))))
        .unwrap_or_else(|| template.text())
}

fn folded_test(range: KeyRange) -> Option<SortTest> {
    let text = AttributeValue::S;
    Some(match range {
        // DynamoDB has no sort key condition that every key passes.
        KeyRange::All => return None,
        KeyRange::Exact(key) => SortTest::Equal(text(key)),
        KeyRange::BeginsWith(prefix) => SortTest::BeginsWith(text(prefix)),
        KeyRange::Between(low, high) => SortTest::Between(text(low), text(high)),
        KeyRange::AtLeast(low) => SortTest::AtLeast(text(low)),
        KeyRange::Above(low) => SortTest::Above(text(low)),
        KeyRange::AtMost(high) => SortTest::AtMost(text(high)),
        KeyRange::Below(high) => SortTest::Below(text(high)),
    })
}

/// Can a value be a key? DynamoDB refuses a condition on an empty or overlong one; no item has such a key.
fn can_be_key(value: &AttributeValue, role: KeyRole) -> bool {
    match value {
        AttributeValue::S(text) => (1..=role.bytes_max()).contains(&text.len()),
        AttributeValue::B(bytes) => (1..=role.bytes_max()).contains(&bytes.len()),
        AttributeValue::N(_) => true,
        _ => false,
    }
}

fn is_blank(value: &AttributeValue) -> bool {
    matches!(value, AttributeValue::S(text) if text.is_empty())
        || matches!(value, AttributeValue::B(bytes) if bytes.is_empty())
}

/// The effect of a test on a natural sort key.
enum NaturalTest {
    /// The key cannot express it.
    Nothing,
    /// No key passes.
    Never,
    /// The key condition, and whether it is equivalent to the test.
    To(SortTest, bool),
}

/// A test as a key condition of DynamoDB, whose only range with two ends is `BETWEEN`.
fn natural_test(test: Test<&AttributeValue>) -> NaturalTest {
    let fits = |value: &AttributeValue| can_be_key(value, KeyRole::Sort);
    match test {
        Test::Equal(value) if fits(value) => NaturalTest::To(SortTest::Equal(value.clone()), true),
        // Every key begins with the empty prefix.
        Test::BeginsWith(prefix) if is_blank(prefix) => NaturalTest::Nothing,
        Test::BeginsWith(prefix) if fits(prefix) => {
            NaturalTest::To(SortTest::BeginsWith(prefix.clone()), true)
        }
        Test::Equal(_) | Test::BeginsWith(_) | Test::Absent => NaturalTest::Never,
        Test::Range { low, high } => natural_range(low, high),
    }
}

fn natural_range(low: Bound<&AttributeValue>, high: Bound<&AttributeValue>) -> NaturalTest {
    let mut exact = true;
    // Every key is above the empty text. A bound too long for DynamoDB is dropped and checked on the items.
    let mut usable = |bound: Bound<&AttributeValue>| match bound {
        Bound::Included(value) | Bound::Excluded(value) if !can_be_key(value, KeyRole::Sort) => {
            exact &= is_blank(value);
            Bound::Unbounded
        }
        other => other.cloned(),
    };
    if matches!(high, Bound::Included(value) | Bound::Excluded(value) if is_blank(value)) {
        return NaturalTest::Never;
    }
    let (low, high) = (usable(low), usable(high));
    match (low, high) {
        (Bound::Unbounded, Bound::Unbounded) => NaturalTest::Nothing,
        (Bound::Unbounded, Bound::Included(high)) => NaturalTest::To(SortTest::AtMost(high), exact),
        (Bound::Unbounded, Bound::Excluded(high)) => NaturalTest::To(SortTest::Below(high), exact),
        (Bound::Included(low), Bound::Unbounded) => NaturalTest::To(SortTest::AtLeast(low), exact),
        (Bound::Excluded(low), Bound::Unbounded) => NaturalTest::To(SortTest::Above(low), exact),
        (Bound::Included(low), Bound::Included(high)) => NaturalTest::To(SortTest::Between(low, high), exact),
        // `BETWEEN` includes both ends: an excluded end stays a filter, or its item would be in the answer.
        (Bound::Included(low) | Bound::Excluded(low), Bound::Included(high) | Bound::Excluded(high)) => {
            NaturalTest::To(SortTest::Between(low, high), false)
        }
    }
}

/// Could a key of this template pass the test? True if unknown.
fn could_contain(template: &Template, test: &SortTest) -> bool {
    let prefix = template.literal_prefix();
    let at_least = |low: &AttributeValue| match low {
        // The largest keys with the prefix begin with it, so only a bound above all of them excludes them.
        AttributeValue::S(low) => prefix.is_empty() || low.as_str() <= prefix || low.starts_with(prefix),
        _ => true,
    };
    let at_most = |high: &AttributeValue| match high {
        AttributeValue::S(high) => high.as_str() >= prefix,
        _ => true,
    };
    match test {
        SortTest::Equal(AttributeValue::S(key)) => template.unfold(key).is_ok(),
        SortTest::BeginsWith(AttributeValue::S(wanted)) => {
            wanted.starts_with(prefix) || prefix.starts_with(wanted.as_str())
        }
        SortTest::Between(low, high) => at_least(low) && at_most(high),
        SortTest::AtLeast(low) | SortTest::Above(low) => at_least(low),
        SortTest::AtMost(high) | SortTest::Below(high) => at_most(high),
        SortTest::Equal(_) | SortTest::BeginsWith(_) => true,
    }
}
