//! Conditions that identify entities, if the source has none: the prefix of their keys, an attribute's value, or an
//! attribute that only they have. Keys are tried first, because every item has them.

use std::collections::{BTreeMap, BTreeSet};

use keyfold_core::value::{AttributeValue, Item};

use crate::draft::{EntityDraft, SampledItem, TableDraft, WhenDraft};
use crate::name::plain;
use crate::template::prefix;

/// Gives each entity without a `when` one, or notes the reason.
pub(crate) fn apart(table: &mut TableDraft) {
    let named = table.entities.iter().filter(|entity| !entity.name.is_empty()).count();
    if named < 2 {
        return;
    }
    if table.entities.iter().all(|entity| entity.when.is_empty()) && !by_prefixes(table) {
        by_named_attribute(table);
    }
    by_attribute(table);
    for at in 0..table.entities.len() {
        if table.entities[at].when.is_empty() {
            let when = by_presence(table, at).or_else(|| by_prefix(table, at));
            match when {
                Some((when, evidence)) => {
                    table.entities[at].when = when;
                    table.entities[at].evidence.push(evidence);
                }
                None => {
                    let name = table.entities[at].name.clone();
                    table
                        .notes
                        .push(format!("no known attribute distinguishes items of `{name}` from others"));
                }
            }
        }
    }
    same_templates(table);
}

fn rows<'a>(table: &'a TableDraft, entity: &'a EntityDraft) -> impl Iterator<Item = &'a Item> {
    table.items.iter().filter(|row| row.entity.as_deref() == Some(entity.name.as_str())).map(|row| &row.item)
}

/// The prefixes of keys, if they distinguish all sampled items.
fn by_prefixes(table: &mut TableDraft) -> bool {
    let found: Option<Vec<Recognised>> = (0..table.entities.len()).map(|at| by_prefix(table, at)).collect();
    let Some(found) = found.filter(|_| !table.items.is_empty()) else { return false };
    let begins = |item: &Item, (key, test): &(String, WhenDraft)| match (item.get(key), test) {
        (Some(AttributeValue::S(text)), WhenDraft::BeginsWith(prefix)) => text.starts_with(prefix),
        _ => false,
    };
    let is_told = |row: &SampledItem| {
        let told = found
            .iter()
            .zip(&table.entities)
            .filter(|((when, _), _)| when.iter().all(|one| begins(&row.item, one)));
        let names: Vec<&str> = told.map(|(_, entity)| entity.name.as_str()).collect();
        row.entity.as_deref().is_some_and(|own| names == [own])
    };
    if !table.items.iter().all(is_told) {
        return false;
    }
    for (entity, (when, evidence)) in table.entities.iter_mut().zip(found) {
        entity.when = when;
        entity.evidence.push(evidence);
    }
    true
}

/// The attribute whose values name the entities. An item without it has no entity.
fn by_named_attribute(table: &mut TableDraft) {
    let Some(attribute) = table.entity_attribute.clone() else { return };
    for entity in &mut table.entities {
        entity.when = vec![(attribute.clone(), WhenDraft::In(vec![entity.name.clone()]))];
    }
    let lacking = table.items.iter_mut().filter(|row| !row.item.contains_key(attribute.as_str()));
    lacking.for_each(|row| row.entity = None);
    let none = table.items.iter().filter(|row| row.entity.is_none()).count();
    if none > 0 {
        table.notes.push(format!(
            "`{attribute}` is absent in {none} of {} sampled items: they are of no entity",
            table.items.len()
        ));
    }
}

/// One attribute with another value in each entity.
fn by_attribute(table: &mut TableDraft) {
    if table.entities.iter().any(|entity| !entity.when.is_empty()) {
        return;
    }
    let keys = table.key_attributes();
    let with_rows: Vec<usize> =
        (0..table.entities.len()).filter(|at| rows(table, &table.entities[*at]).next().is_some()).collect();
    if with_rows.len() < 2 {
        return;
    }
    let value = |at: usize, name: &str| -> Option<String> {
        let mut values = rows(table, &table.entities[at]).map(|item| match item.get(name) {
            Some(AttributeValue::S(text)) => Some(text.clone()),
            _ => None,
        });
        let first = values.next()??;
        values.all(|other| other.as_ref() == Some(&first)).then_some(first)
    };
    let found = table.attributes.keys().filter(|name| !keys.contains(name)).find_map(|name| {
        let values: Option<Vec<String>> = with_rows.iter().map(|at| value(*at, name)).collect();
        let values = values?;
        let different: BTreeSet<&String> = values.iter().collect();
        (different.len() == values.len()).then(|| (name.clone(), values))
    });
    let Some((name, values)) = found else { return };
    for (at, value) in with_rows.into_iter().zip(values) {
        table.entities[at].when = vec![(name.clone(), WhenDraft::In(vec![value]))];
    }
    table.entity_attribute = Some(name);
}

type Recognised = (Vec<(String, WhenDraft)>, String);

/// An attribute that all its items have, and no other item.
fn by_presence(table: &TableDraft, at: usize) -> Option<Recognised> {
    let entity = &table.entities[at];
    // A natural key, such as a country, can be the attribute that only they have; a folded one cannot.
    let folded = |name: &String| table.entities.iter().any(|other| other.templates.contains_key(name));
    let others =
        || table.entities.iter().enumerate().filter(move |(other, _)| *other != at).map(|(_, other)| other);
    let elsewhere = |name: &String| {
        others().any(|other| other.attributes.contains(name) && !other.key_only.contains(name))
            || table
                .items
                .iter()
                .any(|row| row.entity.as_deref() != Some(entity.name.as_str()) && row.item.contains_key(name))
    };
    let seen = rows(table, entity).count();
    let always = |name: &&String| match seen {
        0 => entity.requires.contains(*name),
        _ => rows(table, entity).all(|item| item.contains_key(*name)),
    };
    let fits = |name: &&String| {
        !folded(name) && !entity.key_only.contains(*name) && always(name) && !elsewhere(name)
    };
    let own = plain(&entity.name);
    // The attribute whose name matches the entity, otherwise the first.
    let chosen = entity.attributes.iter().filter(fits).min_by_key(|name| {
        let name_plain = plain(name);
        (
            !(own.len() > 2 && name_plain.contains(&own) || own.contains(name_plain.trim_end_matches("id"))),
            (*name).clone(),
        )
    })?;
    let evidence = match seen {
        0 => format!("only `{}` has `{chosen}`, says the source", entity.name),
        _ => {
            format!("all {seen} sampled items of `{}` have `{chosen}`, and no other item has it", entity.name)
        }
    };
    Some((vec![(chosen.clone(), WhenDraft::Exists(true))], evidence))
}

/// The prefix of its keys, if it is unique.
fn by_prefix(table: &TableDraft, at: usize) -> Option<Recognised> {
    let keys: Vec<&String> = table.partition.iter().chain(&table.sort).collect();
    let start = |entity: &EntityDraft, key: &String| {
        entity.templates.get(key).map(|text| (prefix(text), is_whole(text)))
    };
    let entity = &table.entities[at];
    let mut when: Vec<(String, WhenDraft)> = Vec::new();
    // The sort key first: partition keys are shared more often.
    for key in keys.iter().rev() {
        if let Some((text, _)) = start(entity, key).filter(|(text, _)| !text.is_empty()) {
            when.push(((*key).clone(), WhenDraft::BeginsWith(text)));
        }
    }
    let could_be = |other: &EntityDraft, when: &[(String, WhenDraft)]| {
        when.iter().all(|(key, test)| {
            let Some((text, whole)) = start(other, key) else { return true };
            match test {
                WhenDraft::BeginsWith(own) => {
                    text.starts_with(own.as_str()) || (!whole && own.starts_with(&text))
                }
                WhenDraft::In(_) | WhenDraft::Exists(_) => true,
            }
        })
    };
    let unique = |when: &[(String, WhenDraft)]| {
        !when.is_empty()
            && table.entities.iter().enumerate().all(|(other, entity)| other == at || !could_be(entity, when))
    };
    // One condition is enough, if it is unique.
    for one in &when {
        if unique(std::slice::from_ref(one)) {
            return Some((vec![one.clone()], "its key alone distinguishes it from the others".to_owned()));
        }
    }
    unique(&when).then(|| (when, "its keys together tell it from the others".to_owned()))
}

fn is_whole(template: &str) -> bool {
    crate::template::attributes(template).is_empty()
}

/// Reports two entities with the same templates for the table's key.
fn same_templates(table: &mut TableDraft) {
    let keys: Vec<String> = table.partition.iter().chain(&table.sort).cloned().collect();
    let mut seen: BTreeMap<Vec<Option<String>>, String> = BTreeMap::new();
    let mut notes = Vec::new();
    for entity in &table.entities {
        let own: Vec<Option<String>> = keys.iter().map(|key| entity.templates.get(key).cloned()).collect();
        if own.iter().all(Option::is_none) {
            continue;
        }
        match seen.get(&own) {
            Some(first) => notes.push(format!(
                "`{first}` and `{}` have the same table key: an item of one can overwrite an item of the other",
                entity.name
            )),
            None => {
                seen.insert(own, entity.name.clone());
            }
        }
    }
    table.notes.extend(notes);
}
