//! Random operations on a table: mostly ones that DynamoDB takes, and some that it refuses.

use keyfold_core::model::{Index, KeyAttribute, Table};
use keyfold_core::query::plan::{KeyEqual, Operation as Access, SortCondition, SortTest};
use keyfold_core::query::{Comparison, Condition, Path};
use keyfold_core::value::{AttributeValue, Item, compare};

use super::items::item;
use super::random::Random;
use super::words::Words;
use crate::operation::{Operation, Reading};
use crate::table::{Change, ModelTable, Shown};

/// One operation on a table that holds these items.
pub fn operation(table: &ModelTable, words: &Words, random: &mut Random) -> Operation {
    let drawing = Drawing { table: table.model(), words, items: table.items().collect() };
    match random.below(100) {
        0..=29 => drawing.put(random),
        30..=44 => drawing.update(random),
        45..=54 => drawing.delete(random),
        55..=59 => drawing.get(random),
        60..=91 => drawing.query(random),
        _ => drawing.scan(random),
    }
}

struct Drawing<'d> {
    table: &'d Table,
    words: &'d Words,
    items: Vec<&'d Item>,
}

impl Drawing<'_> {
    fn put(&self, random: &mut Random) -> Operation {
        let drawn = (0..8).find_map(|_| item(self.table, self.words, random));
        match drawn.or_else(|| self.items.first().map(|item| (*item).clone())) {
            Some(mut item) => {
                if random.chance(3) {
                    // Something that is refused: a key attribute that is absent or empty.
                    let keys: Vec<&KeyAttribute> = self.table.key_attributes().collect();
                    let name = random.pick(&keys).name.clone();
                    match random.below(3) {
                        0 => item.remove(&name),
                        1 => item.insert(name, AttributeValue::S(String::new())),
                        _ => item.insert(name, AttributeValue::Bool(true)),
                    };
                }
                Operation::Put { item, condition: self.maybe_condition(random) }
            }
            None => self.scan(random),
        }
    }

    fn update(&self, random: &mut Random) -> Operation {
        let Some(key) = self.key(random) else { return self.put(random) };
        // Key attributes of indexes move entries; a natural one may be set to any of its values.
        let mut names: Vec<&String> = self.table.attributes.keys().collect();
        if random.chance(95) {
            names.retain(|name| self.table.key_attributes().all(|key| key.name != **name));
        }
        let count = random.between(1, 3);
        let changes = random
            .some(&names, count)
            .into_iter()
            .map(|name| match random.any(self.words.of(name)) {
                Some(value) if random.chance(70) => Change::Set(name.clone(), value.clone()),
                _ => Change::Remove(name.clone()),
            })
            .collect();
        Operation::Update { key, changes, condition: self.maybe_condition(random) }
    }

    fn delete(&self, random: &mut Random) -> Operation {
        match self.key(random) {
            Some(key) => Operation::Delete { key, condition: self.maybe_condition(random) },
            None => self.put(random),
        }
    }

    fn get(&self, random: &mut Random) -> Operation {
        self.key(random).map_or_else(|| self.scan(random), |key| Operation::Get { key })
    }

    /// The key of an item that is there, or of one that could be.
    fn key(&self, random: &mut Random) -> Option<Item> {
        let known =
            random.any(&self.items).filter(|_| random.chance(80)).and_then(|item| self.table.key_of(item));
        known.or_else(|| self.table.key_of(&item(self.table, self.words, random)?))
    }

    fn scan(&self, random: &mut Random) -> Operation {
        let index = random.any(&self.table.indexes).filter(|_| random.chance(60));
        let held = self.held(index);
        self.reading(index, Access::Scan, &held, random)
    }

    fn query(&self, random: &mut Random) -> Operation {
        let index = random.any(&self.table.indexes).filter(|_| random.chance(70));
        let (partition, sort): (Vec<&KeyAttribute>, Vec<&KeyAttribute>) = match index {
            None => (vec![&self.table.partition], self.table.sort.iter().collect()),
            Some(index) => (index.partition.iter().collect(), index.sort.iter().collect()),
        };
        let model = random.any(&self.items).copied();
        let equal = |key: &&KeyAttribute, random: &mut Random| {
            let value = self.value(key, model, random)?;
            Some(KeyEqual { attribute: key.name.as_str().into(), value })
        };
        let Some(equals) = partition.iter().map(|key| equal(key, random)).collect::<Option<Vec<_>>>() else {
            return self.scan(random);
        };
        let reach = random.below(sort.len() + 1);
        let mut conditions = Vec::new();
        for (at, key) in sort.iter().take(reach).enumerate() {
            let Some(value) = self.value(key, model, random) else { break };
            let other = self.value(key, None, random).unwrap_or_else(|| value.clone());
            let test = if at + 1 < reach { SortTest::Equal(value) } else { test(value, other, random) };
            conditions.push(SortCondition { attribute: key.name.as_str().into(), test });
        }
        let mut held = self.held(index);
        if random.chance(95) {
            held.retain(|name| partition.iter().chain(&sort).all(|key| key.name != *name));
        }
        self.reading(index, Access::Query { partition: equals, sort: conditions }, &held, random)
    }

    fn reading(
        &self,
        index: Option<&Index>,
        operation: Access,
        held: &[String],
        random: &mut Random,
    ) -> Operation {
        let shown = match random.below(10) {
            0 => Shown::Count,
            1..=3 => Shown::All,
            _ => Shown::Held,
        };
        Operation::Read(Reading {
            index: index.map(|index| index.name.clone()),
            operation,
            filter: if random.chance(40) { self.condition(held, 2, random) } else { Condition::always() },
            shown,
            consistent: random.chance(15),
            descending: random.chance(40),
            limit: if random.chance(5) { 1 } else { *random.pick(&[2, 5, 20, 1000]) },
        })
    }

    /// The attributes that a filter may use.
    fn held(&self, index: Option<&Index>) -> Vec<String> {
        let all = self.table.attributes.keys().cloned();
        all.filter(|name| index.is_none_or(|index| index.projects(self.table, name))).collect()
    }

    fn maybe_condition(&self, random: &mut Random) -> Condition {
        if random.chance(70) {
            return Condition::always();
        }
        let names: Vec<String> = self.table.attributes.keys().cloned().collect();
        self.condition(&names, 2, random)
    }

    fn condition(&self, names: &[String], depth: usize, random: &mut Random) -> Condition {
        if names.is_empty() {
            return Condition::always();
        }
        match random.below(if depth == 0 { 5 } else { 8 }) {
            5 => Condition::Not(Box::new(self.condition(names, depth - 1, random))),
            6 => Condition::All((0..2).map(|_| self.condition(names, depth - 1, random)).collect()),
            7 => Condition::Any((0..2).map(|_| self.condition(names, depth - 1, random)).collect()),
            _ => {
                let name = random.pick(names);
                Condition::Is(Path::attribute(name), self.comparison(name, random))
            }
        }
    }

    fn comparison(&self, name: &str, random: &mut Random) -> Comparison {
        let (Some(value), Some(other)) = (random.any(self.words.of(name)), random.any(self.words.of(name)))
        else {
            return Comparison::Exists(random.chance(50));
        };
        let (value, other) = (value.clone(), other.clone());
        let ordered = matches!(value, AttributeValue::S(_) | AttributeValue::N(_) | AttributeValue::B(_));
        match random.below(10) {
            0 => Comparison::Exists(random.chance(50)),
            1 => Comparison::In(vec![value, other]),
            2 if ordered => Comparison::Less(value),
            3 if ordered => Comparison::LessOrEqual(value),
            4 if ordered => Comparison::Greater(value),
            5 if ordered => Comparison::GreaterOrEqual(value),
            6 if ordered => match compare(&value, &other) {
                Some(std::cmp::Ordering::Greater) => Comparison::Between(other, value),
                _ => Comparison::Between(value, other),
            },
            7 => match value {
                AttributeValue::S(_) | AttributeValue::B(_) => Comparison::BeginsWith(value),
                _ => Comparison::Equal(value),
            },
            8 => match value {
                AttributeValue::S(_) => Comparison::Contains(value),
                AttributeValue::Ss(members) => match members.first() {
                    Some(member) => Comparison::Contains(AttributeValue::S(member.clone())),
                    None => Comparison::Exists(true),
                },
                _ => Comparison::Equal(value),
            },
            _ => Comparison::Equal(value),
        }
    }

    /// A value for a key attribute: of an item that has it, or one of the case's.
    fn value(&self, key: &KeyAttribute, model: Option<&Item>, random: &mut Random) -> Option<AttributeValue> {
        let of_model = model.and_then(|item| item.get(&key.name)).filter(|_| random.chance(85));
        let any_item = || self.items.iter().find_map(|item| item.get(&key.name));
        of_model.or_else(|| random.any(self.words.of(&key.name))).or_else(any_item).cloned()
    }
}

fn test(value: AttributeValue, other: AttributeValue, random: &mut Random) -> SortTest {
    match random.below(9) {
        0 => SortTest::Equal(value),
        1 => SortTest::AtLeast(value),
        2 => SortTest::Above(value),
        3 => SortTest::AtMost(value),
        4 => SortTest::Below(value),
        5 | 6 => match compare(&value, &other) {
            Some(std::cmp::Ordering::Greater) if random.chance(95) => SortTest::Between(other, value),
            _ => SortTest::Between(value, other),
        },
        _ => match value {
            AttributeValue::S(text) => {
                let ends: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
                SortTest::BeginsWith(AttributeValue::S(text[..*random.pick(&ends)].to_owned()))
            }
            AttributeValue::B(bytes) => {
                let end = random.between(0, bytes.len());
                SortTest::BeginsWith(AttributeValue::B(bytes[..end].to_vec()))
            }
            number => SortTest::AtLeast(number),
        },
    }
}
