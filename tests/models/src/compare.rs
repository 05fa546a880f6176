//! An answer against the one expected.

use std::collections::BTreeMap;

use keyfold_core::model::{Index, KeySource, Table};
use keyfold_core::value::Item;

use crate::case::{Case, Expected, Meaning, canonical};

/// Items identified by their natural content: their entity, and their attributes without folded ones.
#[derive(Debug)]
pub struct Identities<'a> {
    case: &'a Case,
    table: &'a Table,
    /// Of each natural item.
    of_items: Vec<String>,
}

impl<'a> Identities<'a> {
    /// Of the items of a case, in this table.
    pub fn new(case: &'a Case, table: &'a Table) -> Identities<'a> {
        let of_items = case
            .natural
            .iter()
            .map(|natural| {
                let entity = table.entity(&natural.entity).map_or("", |(_, entity)| entity.name.as_str());
                identity(table, entity, &natural.attributes)
            })
            .collect();
        Identities { case, table, of_items }
    }

    fn of_stored(&self, item: &Item) -> String {
        let entity = self.table.entity_of(item).ok().flatten();
        let name = entity.map_or("", |entity| self.table.entities[entity.0].name.as_str());
        identity(self.table, name, item)
    }

    /// The error in an answer; `None` if it is correct.
    pub fn fault(&self, meaning: &Meaning, expected: Option<&Expected>, got: &[Item]) -> Option<String> {
        let all = meaning.all_matches(&self.case.natural);
        let limit = meaning.limit.unwrap_or(usize::MAX);
        let wanted: Vec<usize> = match expected {
            Some(expected) => expected.items.clone(),
            None => all.iter().copied().take(limit).collect(),
        };
        let got_ids: Vec<String> = got.iter().map(|item| self.of_stored(item)).collect();
        let wanted_ids = self.counted(&wanted);
        let mut allowed = wanted_ids.clone();
        let is_cut = all.len() > limit;
        if is_cut && meaning.order.is_empty() {
            // Any that match will do.
            allowed = self.counted(&all);
        } else if is_cut {
            for (id, number) in self.counted(&self.stand_ins(meaning, expected, &all, &wanted)) {
                let known = allowed.entry(id).or_default();
                *known = (*known).max(number);
            }
        }
        let extra = excess(&counted(got_ids.iter().map(String::as_str)), &allowed);
        if extra > 0 || got.len() != wanted.len() {
            let missing = (wanted.len() + extra).saturating_sub(got.len());
            return Some(format!(
                "{} items, {} expected: {extra} do not belong, {missing} are missing",
                got.len(),
                wanted.len()
            ));
        }
        self.disorder(meaning, &wanted, got)
    }

    /// The number of matching items, ignoring the limit.
    pub fn matches(&self, meaning: &Meaning) -> usize {
        meaning.all_matches(&self.case.natural).len()
    }

    fn counted(&self, items: &[usize]) -> BTreeMap<&str, usize> {
        counted(items.iter().filter_map(|at| self.of_items.get(*at)).map(String::as_str))
    }

    /// Where a limit cuts through items that are equal in order, any of those.
    fn stand_ins(
        &self,
        meaning: &Meaning,
        expected: Option<&Expected>,
        all: &[usize],
        wanted: &[usize],
    ) -> Vec<usize> {
        if let Some(expected) = expected {
            return [wanted, &expected.stand_ins].concat();
        }
        let values = |at: &usize| meaning.order_values(&self.case.natural[*at].attributes);
        let edge = wanted.last().map(values);
        all.iter().copied().filter(|at| wanted.contains(at) || Some(values(at)) == edge).collect()
    }

    /// Equal items may come in any order, so their sort values are compared.
    fn disorder(&self, meaning: &Meaning, wanted: &[usize], got: &[Item]) -> Option<String> {
        let natural = |at: &usize| self.case.natural.get(*at);
        let at = wanted.iter().zip(got).position(|(wanted, got)| {
            natural(wanted)
                .is_none_or(|wanted| meaning.order_values(&wanted.attributes) != meaning.order_values(got))
        })?;
        Some(format!("the order differs at item {}", at + 1))
    }
}

fn identity(table: &Table, entity: &str, item: &Item) -> String {
    let indexes = table.indexes.iter().flat_map(Index::key_attributes);
    let folded: Vec<&str> = table
        .key_attributes()
        .chain(indexes)
        .filter(|key| matches!(key.source, KeySource::Folded(_)))
        .map(|key| key.name.as_str())
        .collect();
    let is_natural = |name: &str| !folded.contains(&name) && table.entity_attribute.as_deref() != Some(name);
    let attributes: BTreeMap<&str, String> = item
        .iter()
        .filter(|(name, _)| is_natural(name))
        .map(|(name, value)| (name.as_str(), canonical(value)))
        .collect();
    format!("{entity} {attributes:?}")
}

fn counted<'i>(ids: impl Iterator<Item = &'i str>) -> BTreeMap<&'i str, usize> {
    let mut counted = BTreeMap::new();
    for id in ids {
        *counted.entry(id).or_default() += 1;
    }
    counted
}

/// How many of these are not among those.
fn excess(these: &BTreeMap<&str, usize>, those: &BTreeMap<&str, usize>) -> usize {
    these.iter().map(|(id, number)| number.saturating_sub(those.get(id).copied().unwrap_or(0))).sum()
}
