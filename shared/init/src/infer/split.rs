//! Keys that are absent although all their parts are present: `GSI1PK` only on open tickets. A template would add the
//! missing ones, so the entity is split if an attribute distinguishes the two; otherwise it is reported.

use std::collections::{BTreeMap, BTreeSet};

use keyfold_core::value::{AttributeValue, Item};

use crate::draft::{EntityDraft, TableDraft, WhenDraft, counted};
use crate::{questions, template};

/// Maximum values of an attribute that can distinguish two halves.
const VALUES_MAX: usize = 12;
/// Maximum entities to split.
const SPLITS_MAX: usize = 20;

/// Splits such entities.
pub(super) fn by_condition(table: &mut TableDraft) {
    let table_keys: Vec<String> = table.partition.iter().chain(&table.sort).cloned().collect();
    let mut at = 0;
    let mut splits = 0;
    while at < table.entities.len() && splits < SPLITS_MAX {
        let entity = table.entities[at].clone();
        at += 1;
        let rows: Vec<usize> = (0..table.items.len())
            .filter(|row| {
                entity.name.is_empty() || table.items[*row].entity.as_deref() == Some(entity.name.as_str())
            })
            .collect();
        let kinds = table.attributes.iter().map(|(name, attribute)| (name.clone(), attribute.kind)).collect();
        for (key, written) in entity.templates.iter().filter(|(key, _)| !table_keys.contains(key)) {
            let Some(parsed) = template::parse(written, &kinds) else { continue };
            let item = |row: &&usize| &table.items[**row].item;
            let has = |row: &&usize| item(row).contains_key(key);
            let would =
                |row: &&usize| !has(row) && parsed.fold(item(row)).is_ok_and(|folded| folded.is_some());
            let with: Vec<&Item> = rows.iter().filter(has).map(|row| item(&row)).collect();
            let without: Vec<&Item> = rows.iter().filter(would).map(|row| item(&row)).collect();
            if without.is_empty() || with.is_empty() {
                continue;
            }
            let own: Vec<String> = table_keys
                .iter()
                .filter_map(|key| entity.templates.get(key))
                .flat_map(|text| template::attributes(text))
                .collect();
            let Some((attribute, here, there)) = condition(&with, &without, table, &own) else {
                table.notes.push(format!(
                    "{} of {} items of `{}` lack `{key}` though its parts are there, and no attribute says which: folded, they would have it",
                    without.len(), rows.len(), if entity.name.is_empty() { table.title() } else { &entity.name }
                ));
                continue;
            };
            split(table, &entity, &rows, &attribute, here, there, key);
            splits += 1;
            break;
        }
    }
}

/// An attribute whose values, or presence, distinguish the two halves.
fn condition(
    with: &[&Item],
    without: &[&Item],
    table: &TableDraft,
    own: &[String],
) -> Option<(String, WhenDraft, WhenDraft)> {
    let keys = table.key_attributes();
    let values = |items: &[&Item], name: &str| -> Option<BTreeSet<String>> {
        let mut values = BTreeSet::new();
        for item in items {
            match item.get(name) {
                Some(AttributeValue::S(text)) => values.insert(text.clone()),
                _ => return None,
            };
            if values.len() > VALUES_MAX {
                return None;
            }
        }
        Some(values)
    };
    let mut best: Option<(usize, String, WhenDraft, WhenDraft)> = None;
    // A part of the table's own key is an id, not a state.
    for name in table.attributes.keys().filter(|name| !keys.contains(name) && !own.contains(name)) {
        let (Some(here), Some(there)) = (values(with, name), values(without, name)) else { continue };
        let count = here.len() + there.len();
        // An attribute with as many values as items proves nothing.
        let few = count * 2 <= with.len() + without.len();
        if here.is_disjoint(&there) && few && best.as_ref().is_none_or(|(known, ..)| count < *known) {
            let list = |values: BTreeSet<String>| WhenDraft::In(values.into_iter().collect());
            best = Some((count, name.clone(), list(here), list(there)));
        }
    }
    if let Some((_, name, here, there)) = best {
        return Some((name, here, there));
    }
    table.attributes.keys().filter(|name| !keys.contains(name)).find_map(|name| {
        let all = with.iter().all(|item| item.contains_key(name));
        let none = !without.iter().any(|item| item.contains_key(name));
        (all && none).then(|| (name.clone(), WhenDraft::Exists(true), WhenDraft::Exists(false)))
    })
}

fn split(
    table: &mut TableDraft,
    entity: &EntityDraft,
    rows: &[usize],
    attribute: &str,
    here: WhenDraft,
    there: WhenDraft,
    key: &str,
) {
    let index_keys: Vec<String> = table
        .indexes
        .iter()
        .filter(|index| index.partition.iter().chain(&index.sort).any(|known| known == key))
        .flat_map(|index| index.partition.iter().chain(&index.sort).cloned())
        .collect();
    let own: Vec<String> = table.partition.iter().chain(&table.sort).cloned().collect();
    let base =
        if entity.name.is_empty() { crate::name::id(table.title(), "item") } else { entity.name.clone() };
    let index = table
        .indexes
        .iter()
        .find(|index| index.partition.iter().chain(&index.sort).any(|known| known == key));
    let index = index.map_or_else(|| key.to_owned(), |index| index.name.clone());
    let other_name = crate::name::unique(
        format!("{}NotIn{}", crate::name::id(&base, "item"), crate::name::capitalised(&index)),
        |name| table.entities.iter().any(|known| known.name == name),
    );
    let holds = |item: &Item| match &there {
        WhenDraft::In(values) => {
            matches!(item.get(attribute), Some(AttributeValue::S(text)) if values.contains(text))
        }
        WhenDraft::Exists(wanted) => item.contains_key(attribute) == *wanted,
        WhenDraft::BeginsWith(_) => false,
    };
    let mut counts: BTreeMap<bool, usize> = BTreeMap::new();
    for row in rows {
        let is_other = holds(&table.items[*row].item);
        *counts.entry(is_other).or_default() += 1;
        table.items[*row].entity = Some(if is_other { other_name.clone() } else { base.clone() });
    }
    let count = |other: bool| counted(counts.get(&other).copied().unwrap_or(0), rows.len());
    let mut other = entity.clone();
    other.name = other_name;
    other.templates.retain(|known, _| own.contains(known) || !index_keys.contains(known));
    other.template_evidence.retain(|known, _| own.contains(known) || !index_keys.contains(known));
    other.evidence = vec![format!("`{base}` without the keys of index `{index}`, {}", count(true))];
    let mut kept = entity.clone();
    kept.name = base;
    kept.evidence
        .push(format!("`{attribute}` says which have the keys of index `{index}`: {}", count(false)));
    kept.when.push((attribute.to_owned(), here));
    other.when.push((attribute.to_owned(), there));
    other.part_of = Some(kept.name.clone());
    // A question by the table's key asks for both.
    let parts: Vec<String> = own
        .iter()
        .filter_map(|key| entity.templates.get(key))
        .flat_map(|text| template::attributes(text))
        .collect();
    for question in &mut table.questions {
        let by_key =
            question.conditions.iter().all(|one| parts.iter().any(|part| part == questions::attribute(one)));
        if by_key && question.entities.contains(&entity.name) {
            question.entities.push(other.name.clone());
        }
    }
    let Some(at) = table.entities.iter().position(|known| known.name == entity.name) else { return };
    table.entities[at] = kept;
    table.entities.insert(at + 1, other);
}
