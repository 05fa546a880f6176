//! Random requests for a table: most use one of its keys, so that there is something to plan.

use std::collections::BTreeMap;

use keyfold_core::model::{AttributeKind, EntityId, KeyAttribute, KeySource, Table};
use keyfold_core::query::QueryRequest;
use keyfold_core::query::check::Caller;
use keyfold_core::value::{AttributeValue, Item, compare};

use super::asked::{Asked, Operator};
use super::items::CaseItem;
use super::random::Random;
use super::words::Words;

/// A request, with its conditions in the generator's own form.
#[derive(Debug, Clone)]
pub struct Asking {
    /// As sent.
    pub request: QueryRequest,
    /// Its conditions, the caller's scope not among them.
    pub asked: Asked,
    /// Who asks.
    pub caller: Caller,
}

/// Where values and names come from.
struct RequestDraft<'s> {
    table: &'s Table,
    words: &'s Words,
    items: &'s [&'s Item],
    /// In how many of a hundred cases a value is that of the item which the request is made after.
    faith: usize,
}

/// One request.
pub fn request(table: &Table, words: &Words, items: &[CaseItem], random: &mut Random) -> Asking {
    let items: Vec<&Item> = items.iter().filter_map(|item| item.seen.as_ref()).collect();
    let source = RequestDraft { table, words, items: &items, faith: *random.pick(&[98, 98, 75]) };
    let keys = source.keys(random);
    let model = random.any(&items).copied();
    let mut parts = source.aimed(&keys, model, random);
    for _ in 0..random.below(3) {
        parts.push(source.any_condition(2, random));
    }
    let asked = if random.chance(if table.entities.is_empty() { 12 } else { 25 }) {
        let mut branches = vec![source.branch(&keys, model, parts, random)];
        for _ in 0..random.between(1, 2) {
            let (keys, model) = (source.keys(random), random.any(&items).copied());
            let parts = source.aimed(&keys, model, random);
            branches.push(source.branch(&keys, model, parts, random));
        }
        Asked::Any(branches)
    } else {
        joined(parts)
    };
    let request = QueryRequest {
        table: table.id.clone(),
        entity: source.entities(model, random),
        conditions: asked.json(random.chance(30)).into(),
        order: source.order(&keys, random),
        limit: random.chance(60).then(|| u32::try_from(random.between(1, 8)).unwrap_or(1)),
        select: source.select(random),
        count: random.chance(8),
        consistent: random.chance(15),
        scan: random.chance(25),
        sort_in_memory: random.chance(40).then_some(1000),
        ..QueryRequest::default()
    };
    Asking { request, asked, caller: source.caller(random) }
}

fn joined(mut parts: Vec<Asked>) -> Asked {
    if parts.len() == 1 { parts.remove(0) } else { Asked::All(parts) }
}

/// The attributes of one key: partition and sort.
struct Aim {
    /// The number of the index; one above the last is the table.
    index: usize,
    partition: Vec<String>,
    sort: Vec<String>,
}

impl RequestDraft<'_> {
    /// The key of the table or of an index, for the items of one entity.
    fn keys(&self, random: &mut Random) -> Aim {
        self.keys_at(random.below(self.table.indexes.len() + 1), None, random)
    }

    /// The key of one index (a number above the last is the table), by the template of one entity, if it has one.
    fn keys_at(&self, at: usize, entity: Option<EntityId>, random: &mut Random) -> Aim {
        let inputs = |keys: Vec<&KeyAttribute>, random: &mut Random| -> Vec<String> {
            keys.into_iter()
                .flat_map(|key| match &key.source {
                    KeySource::Natural => vec![key.name.clone()],
                    KeySource::Folded(rules) => rules
                        .iter()
                        .find(|rule| entity.is_some() && rule.entity == entity)
                        .or_else(|| random.any(rules))
                        .map(|rule| rule.template.attributes().map(str::to_owned).collect())
                        .unwrap_or_default(),
                })
                .collect()
        };
        let (partition, sort) = match self.table.indexes.get(at) {
            None => (vec![&self.table.partition], self.table.sort.iter().collect()),
            Some(index) => (index.partition.iter().collect(), index.sort.iter().collect()),
        };
        Aim { index: at, partition: inputs(partition, random), sort: inputs(sort, random) }
    }

    fn aimed(&self, keys: &Aim, model: Option<&Item>, random: &mut Random) -> Vec<Asked> {
        let mut parts = Vec::new();
        for name in &keys.partition {
            match random.below(20) {
                0 => {}
                1 => parts.push(self.condition(name, model, random)),
                2 | 3 => parts
                    .extend(self.values(name, model, random).map(|values| is(name, Operator::In(values)))),
                _ => parts
                    .extend(self.value(name, model, random).map(|value| is(name, Operator::Equal(value)))),
            }
        }
        let reach = random.below(keys.sort.len() + 1);
        for (at, name) in keys.sort.iter().take(reach).enumerate() {
            let equal = at + 1 < reach && random.chance(80);
            match self.value(name, model, random).filter(|_| equal) {
                Some(value) => parts.push(is(name, Operator::Equal(value))),
                None => parts.push(self.condition(name, model, random)),
            }
        }
        if random.chance(15) {
            parts = random.shuffled(&parts);
        }
        parts
    }

    /// One branch of an `or`, usually with its own entity, whose key it then uses.
    fn branch(&self, keys: &Aim, model: Option<&Item>, parts: Vec<Asked>, random: &mut Random) -> Asked {
        let own = model.and_then(|item| self.table.entity_of(item).ok().flatten());
        let Some(own) = own.filter(|_| random.chance(70)) else { return joined(parts) };
        let mut parts = if random.chance(50) {
            let keys = self.keys_at(keys.index, Some(own), random);
            self.aimed(&keys, model, random)
        } else {
            parts
        };
        let mut entities = vec![self.table.entities[own.0].clone()];
        if random.chance(20) {
            entities.extend(random.any(&self.table.entities).cloned());
        }
        parts.insert(0, Asked::Of(entities));
        Asked::All(parts)
    }

    /// Any condition on any attribute, nested up to `depth` levels.
    fn any_condition(&self, depth: usize, random: &mut Random) -> Asked {
        let model = random.any(self.items).copied();
        if random.chance(6) && !self.table.entities.is_empty() {
            return Asked::Of(vec![random.pick(&self.table.entities).clone()]);
        }
        match random.below(if depth == 0 { 6 } else { 9 }) {
            6 => Asked::Not(Box::new(self.any_condition(depth - 1, random))),
            7 => {
                Asked::Any((0..random.between(1, 3)).map(|_| self.any_condition(depth - 1, random)).collect())
            }
            8 => {
                Asked::All((0..random.between(1, 3)).map(|_| self.any_condition(depth - 1, random)).collect())
            }
            _ => {
                let names: Vec<&String> = self.table.attributes.keys().collect();
                let name = (*random.pick(&names)).clone();
                self.condition(&name, model, random)
            }
        }
    }

    /// Any operator that the attribute takes.
    fn condition(&self, name: &str, model: Option<&Item>, random: &mut Random) -> Asked {
        let Some(attribute) = self.table.attributes.get(name) else {
            return is(name, Operator::Exists(true));
        };
        let Some(value) = self.value(name, model, random) else {
            return is(name, Operator::Exists(random.chance(50)));
        };
        match attribute.kind {
            AttributeKind::Map => return self.inside(name, random),
            AttributeKind::List
            | AttributeKind::StringSet
            | AttributeKind::NumberSet
            | AttributeKind::BinarySet => {
                return match member(&value) {
                    Some(member) if random.chance(80) => is(name, Operator::Contains(member)),
                    _ => is(name, Operator::Exists(random.chance(50))),
                };
            }
            AttributeKind::Boolean => {
                return match random.below(4) {
                    0 => is(name, Operator::Exists(random.chance(50))),
                    1 => {
                        is(name, Operator::In(vec![AttributeValue::Bool(true), AttributeValue::Bool(false)]))
                    }
                    2 => is(name, Operator::Unequal(value)),
                    _ => is(name, Operator::Equal(value)),
                };
            }
            _ => {}
        }
        let textual = !matches!(attribute.kind, AttributeKind::Number);
        let operator = match random.below(14) {
            0 => Operator::Equal(value),
            1 => Operator::Unequal(value),
            2 => Operator::Less(value),
            3 => Operator::LessOrEqual(value),
            4 => Operator::Greater(value),
            5 => Operator::GreaterOrEqual(value),
            6 | 7 => {
                let other = self.value(name, None, random).unwrap_or_else(|| value.clone());
                match compare(&value, &other) {
                    Some(std::cmp::Ordering::Greater) => Operator::Between(other, value),
                    _ => Operator::Between(value, other),
                }
            }
            8 | 9 if textual => Operator::BeginsWith(self.prefix(&value, random)),
            10 if textual => Operator::Contains(self.prefix(&value, random)),
            11 => Operator::In(self.values(name, model, random).unwrap_or_else(|| vec![value])),
            12 => Operator::Exists(random.chance(50)),
            13 => {
                let low = Asked::Is(name.to_owned(), Operator::Greater(value));
                let high = self.value(name, None, random).map(|value| is(name, Operator::LessOrEqual(value)));
                return Asked::All(std::iter::once(low).chain(high).collect());
            }
            _ => Operator::Equal(value),
        };
        is(name, operator)
    }

    fn inside(&self, name: &str, random: &mut Random) -> Asked {
        let path = format!("{name}.{}", random.pick(&["inner", "other", "absent"]));
        match random.below(3) {
            0 => is(&path, Operator::Exists(random.chance(50))),
            1 => is(&path, Operator::Equal(AttributeValue::N("1".to_owned()))),
            _ => is(name, Operator::Exists(random.chance(50))),
        }
    }

    /// A value of the item that the request is made after, mostly; else any.
    fn value(&self, name: &str, model: Option<&Item>, random: &mut Random) -> Option<AttributeValue> {
        let of_model = model.and_then(|item| item.get(name)).filter(|_| random.chance(self.faith));
        of_model.or_else(|| random.any(self.words.of(name))).cloned()
    }

    fn values(&self, name: &str, model: Option<&Item>, random: &mut Random) -> Option<Vec<AttributeValue>> {
        let values: Option<Vec<_>> =
            (0..random.between(1, 4)).map(|_| self.value(name, model, random)).collect();
        values.filter(|values| !values.is_empty())
    }

    fn prefix(&self, value: &AttributeValue, random: &mut Random) -> AttributeValue {
        match value {
            AttributeValue::S(text) => {
                let ends: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
                let mut prefix = text[..*random.pick(&ends)].to_owned();
                if random.chance(15) {
                    prefix.push_str(random.pick::<&str>(&["-", "#", "%", ":", "a", "\u{10FFFF}"]));
                }
                AttributeValue::S(prefix)
            }
            AttributeValue::B(bytes) => AttributeValue::B(bytes[..random.between(0, bytes.len())].to_vec()),
            other => other.clone(),
        }
    }

    fn entities(&self, model: Option<&Item>, random: &mut Random) -> Vec<String> {
        if self.table.entities.is_empty() || random.chance(50) {
            return Vec::new();
        }
        let own =
            model.and_then(|item| self.table.entity_of(item).ok().flatten()).filter(|_| random.chance(60));
        if let Some(entity) = own {
            return vec![self.table.entities[entity.0].name.clone()];
        }
        let names: Vec<String> = self.table.entities.iter().map(|entity| entity.name.clone()).collect();
        let count = random.between(1, 2);
        random.some(&names, count)
    }

    fn order(&self, keys: &Aim, random: &mut Random) -> Vec<String> {
        let names: Vec<String> = match random.below(10) {
            0..=3 => Vec::new(),
            4..=7 => {
                let from = random.below(keys.sort.len());
                keys.sort[from..].iter().take(random.between(1, 3)).cloned().collect()
            }
            _ => {
                let all: Vec<String> = self.table.attributes.keys().cloned().collect();
                (0..random.between(1, 2)).map(|_| random.pick(&all).clone()).collect()
            }
        };
        let descending = random.chance(50);
        let orderable = |name: &String| {
            self.table.attributes.get(name).is_some_and(|attribute| attribute.kind.scalar().is_some())
        };
        let sign = |name: String, random: &mut Random| {
            let turned = random.chance(10);
            if descending != turned { format!("-{name}") } else { name }
        };
        names.into_iter().filter(orderable).map(|name| sign(name, random)).collect()
    }

    fn select(&self, random: &mut Random) -> Option<Vec<String>> {
        if random.chance(60) {
            return None;
        }
        let mut names: Vec<String> = self.table.attributes.keys().cloned().collect();
        names.push("other".to_owned());
        let count = random.between(1, 3);
        Some(random.some(&names, count))
    }

    fn caller(&self, random: &mut Random) -> Caller {
        if self.table.scope.is_empty() || random.chance(30) {
            return Caller::Trusted;
        }
        let mut claims = BTreeMap::new();
        for (name, claim) in &self.table.scope {
            if let Some(AttributeValue::S(text)) = self.value(name, random.any(self.items).copied(), random) {
                claims.insert(claim.clone(), text);
            }
        }
        Caller::Claims(claims)
    }
}

fn is(name: &str, operator: Operator) -> Asked {
    Asked::Is(name.to_owned(), operator)
}

fn member(value: &AttributeValue) -> Option<AttributeValue> {
    match value {
        AttributeValue::L(members) => members.first().cloned(),
        AttributeValue::Ss(members) => members.first().cloned().map(AttributeValue::S),
        AttributeValue::Ns(members) => members.first().cloned().map(AttributeValue::N),
        AttributeValue::Bs(members) => members.first().cloned().map(AttributeValue::B),
        _ => None,
    }
}
