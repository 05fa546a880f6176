//! Which keys could answer a question: what it asks by equality in the partition key, then order and ranges in the sort key.
//!
//! Nothing here knows whether a key serves: that is the planner's to say. These are keys worth asking it about.

use keyfold_core::model::{AttributeKind, EntityId, Operator, Question, QuestionCondition, Table};

use crate::workload::{Workload, primary_key_inputs};

/// The most attributes of one key.
const PARTS_MAX: usize = 8;
/// The most attributes asked by equality of which every combination is tried as a partition key.
const SUBSETS_OF_MAX: usize = 3;
/// The most writes and reads a second of one partition.
///
/// <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html>
const PARTITION_WRITES_MAX: f64 = 1000.0;
const PARTITION_READS_MAX: f64 = 3000.0;
/// A key with fewer partitions than this gets shards, whatever its load: `check` warns of it (`hot-partition`).
const PARTITIONS_ENOUGH: f64 = 10.0;
/// The fewest and the most shards.
const SHARDS: (f64, f64) = (2.0, 100.0);
/// Items of one partition key value, where the manifest does not say.
const PARTITION_ITEMS_ASSUMED: u64 = 100;

/// The attributes of a key.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) partition: Vec<String>,
    pub(crate) shard: Option<Shard>,
    pub(crate) sort: Vec<String>,
    /// Is the last sort attribute an optional tail, so that items without it are in the index too?
    pub(crate) has_tail: bool,
}

/// A part of a partition key that spreads its items.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Shard {
    pub(crate) attribute: String,
    pub(crate) count: u32,
    /// The items of one partition: the planner cannot tell how many a shard holds.
    pub(crate) items: u64,
}

/// One branch of a question, or the whole of it.
#[derive(Debug)]
pub(crate) struct Part<'q> {
    pub(crate) entities: Vec<EntityId>,
    /// Asked by equality.
    pub(crate) equal: Vec<&'q str>,
    /// Asked by equality, unless the asker leaves it out.
    optional: Vec<&'q str>,
    ranged: Vec<&'q str>,
    order: Vec<&'q str>,
}

impl<'q> Part<'q> {
    /// The parts of a question.
    pub(crate) fn all(table: &'q Table, question: &'q Question) -> Vec<Part<'q>> {
        if question.branches.is_empty() {
            return vec![Part::of(table, question, &question.entities, &[])];
        }
        let of_branch = |branch: &'q keyfold_core::model::QuestionBranch| {
            let entities = if branch.entities.is_empty() { &question.entities } else { &branch.entities };
            Part::of(table, question, entities, &branch.conditions)
        };
        question.branches.iter().map(of_branch).collect()
    }

    fn of(
        table: &'q Table,
        question: &'q Question,
        entities: &[EntityId],
        own: &'q [QuestionCondition],
    ) -> Part<'q> {
        let mut part = Part {
            entities: entities.to_vec(),
            equal: table.scope.keys().map(String::as_str).collect(),
            optional: Vec::new(),
            ranged: Vec::new(),
            order: question.order.iter().map(|by| by.attribute.as_str()).collect(),
        };
        for asked in question.conditions.iter().chain(own) {
            let name = asked.attribute.as_str();
            let is_key = table.attribute_of(entities, name).is_some_and(|attribute| {
                attribute.kind.scalar().is_some() || attribute.kind == AttributeKind::Boolean
            });
            let list = match asked.operator {
                _ if !is_key => continue,
                Operator::Equal | Operator::In if asked.optional => &mut part.optional,
                Operator::Equal | Operator::In => &mut part.equal,
                Operator::Contains | Operator::Exists => continue,
                _ => &mut part.ranged,
            };
            if !list.contains(&name) {
                list.push(name);
            }
        }
        part
    }

    /// Every attribute that is asked by equality, or may be.
    pub(crate) fn by_equality(&self) -> impl Iterator<Item = &'q str> {
        self.equal.iter().chain(&self.optional).copied()
    }

    /// The attributes of ranges and of the order.
    pub(crate) fn ranges_and_order(&self) -> (&[&'q str], &[&'q str]) {
        (&self.ranged, &self.order)
    }

    /// Keys for this part, the most obvious first.
    pub(crate) fn keys(&self, table: &Table, workload: &Workload<'_>, asked_a_second: f64) -> Vec<Key> {
        let mut keys: Vec<Key> = Vec::new();
        for partition in self.partitions() {
            for tail in self.tails() {
                let mut sort: Vec<&str> = Vec::new();
                let rest = self.equal.iter().filter(|name| !partition.contains(name));
                for name in rest.copied().chain(tail) {
                    if !partition.contains(&name) && !sort.contains(&name) {
                        sort.push(name);
                    }
                }
                if partition.len().max(sort.len()) > PARTS_MAX {
                    continue;
                }
                let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
                let mut sorted = owned(&partition);
                sorted.sort();
                let mut key = Key { partition: sorted, shard: None, sort: owned(&sort), has_tail: false };
                if !self.spread(&mut key, table, workload, asked_a_second) || keys.contains(&key) {
                    continue;
                }
                let with_tail = Key { has_tail: true, ..key.clone() };
                let can_be_tail = !key.sort.is_empty() && !self.always_has(table, key.sort.last());
                keys.push(key);
                keys.extend(can_be_tail.then_some(with_tail));
            }
        }
        keys
    }

    /// Does every item asked for have the attribute?
    fn always_has(&self, table: &Table, name: Option<&String>) -> bool {
        name.and_then(|name| table.attribute_of(&self.entities, name)).is_some_and(|known| known.required)
    }

    fn partitions(&self) -> Vec<Vec<&'q str>> {
        let all = &self.equal;
        let mut found = vec![all.clone()];
        if all.len() <= SUBSETS_OF_MAX {
            let subsets = 1..(1usize << all.len());
            let of = |bits: usize| {
                let is_in = |(at, _): &(usize, &&'q str)| bits & (1 << at) != 0;
                all.iter().enumerate().filter(is_in).map(|(_, name)| *name).collect()
            };
            found.extend(subsets.map(of));
        } else {
            found.extend(all.iter().map(|name| vec![*name]));
            found.extend(
                all.iter().map(|left| all.iter().filter(|name| *name != left).copied().collect::<Vec<_>>()),
            );
        }
        if !self.optional.is_empty() {
            found.push(self.by_equality().collect());
        }
        found
    }

    fn tails(&self) -> Vec<Vec<&'q str>> {
        let joined = |lists: &[&[&'q str]]| lists.concat();
        let mut tails = vec![
            joined(&[&self.order, &self.ranged]),
            self.order.clone(),
            Vec::new(),
            joined(&[&self.optional, &self.order, &self.ranged]),
            joined(&[&self.optional, &self.order]),
        ];
        tails.extend(self.ranged.iter().map(|one| vec![*one]));
        let mut different: Vec<Vec<&str>> = Vec::new();
        for tail in tails {
            if !different.contains(&tail) {
                different.push(tail);
            }
        }
        different
    }

    /// Gives the key shards if its partitions would be hot. False: it would need them, and no attribute can spread it.
    fn spread(&self, key: &mut Key, table: &Table, workload: &Workload<'_>, asked_a_second: f64) -> bool {
        let listed = key.partition.iter().try_fold(1.0, |product, name| {
            let values = table.attribute_of(&self.entities, name)?.values.as_ref()?;
            Some(product * values.len() as f64)
        });
        let per_partition = table.expect.items_per_partition.unwrap_or(PARTITION_ITEMS_ASSUMED) as f64;
        let (items, writes) = workload.load_of(&self.entities);
        let partitions = listed.unwrap_or_else(|| (items / per_partition).max(1.0));
        let by_load = (writes / partitions / PARTITION_WRITES_MAX)
            .max(asked_a_second / partitions / PARTITION_READS_MAX);
        let by_number = if listed.is_some() { PARTITIONS_ENOUGH / partitions } else { 0.0 };
        let wanted = by_load.max(by_number);
        if wanted <= 1.0 {
            return !key.partition.is_empty();
        }
        let inputs = primary_key_inputs(table, self.entities.first().copied());
        let Some(attribute) = inputs
            .into_iter()
            .find(|name| !key.partition.contains(name) && !self.by_equality().any(|asked| asked == name))
        else {
            return false;
        };
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 2 and 100")]
        let count = wanted.ceil().clamp(SHARDS.0, SHARDS.1) as u32;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count")]
        let items = (items / partitions / f64::from(count)).ceil().max(1.0) as u64;
        key.shard = Some(Shard { attribute, count, items });
        true
    }
}
