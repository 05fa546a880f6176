//! Attributes: their types, whether every item has them, their values.

use std::collections::{BTreeMap, BTreeSet};

use keyfold_core::manifest::toml_strings;
use keyfold_core::model::{AttributeKind, ScalarType};
use keyfold_core::value::{AttributeValue, Item, type_letter};

use crate::draft::{TableDraft, Ttl, counted, kind_of_letter};
use crate::template::{attributes, moment};

/// Maximum values of a list in a comment.
const VALUES_MAX: usize = 12;
/// Minimum items seen before values are listed in a comment.
const VALUES_ITEMS_MIN: usize = 100;
/// Minimum occurrences of each value.
const VALUE_SEEN_MIN: usize = 5;
/// Seconds since 1970 that look like a time to live: 2001 to 2286.
const EPOCH_SECONDS: std::ops::Range<i64> = 1_000_000_000..9_999_999_999;

/// Declares the attributes of the items, with the types that they have.
pub(super) fn types(table: &mut TableDraft) {
    let keys = table.key_attributes();
    let mut seen: BTreeMap<String, Seen> = BTreeMap::new();
    for row in &table.items {
        for (name, value) in row.item.iter() {
            if !matches!(value, AttributeValue::Null(_)) {
                seen.entry(name.to_string()).or_default().add(value);
            }
        }
    }
    for (name, seen) in seen {
        if keys.contains(&name) && table.scalars.get(&name).is_some_and(|scalar| *scalar != ScalarType::S) {
            continue;
        }
        let stated = table.attributes.get(&name).is_some_and(|attribute| attribute.kind.is_some());
        let attribute = table.declare(&name, seen.kind());
        if seen.letters.len() > 1 {
            attribute.mixed = true;
            attribute.kind = None;
            let letters: Vec<&str> = seen.letters.iter().copied().collect();
            attribute
                .evidence
                .push(format!("its values are of several types ({}): undeclared", letters.join(", ")));
        } else if stated && attribute.kind.is_none() {
            attribute
                .evidence
                .push("the source says another type than the items have: undeclared".to_owned());
        } else if let Some(AttributeKind::Timestamp(_)) = attribute.kind {
            if seen.kind() == Some(AttributeKind::String) {
                // A normalised value would make the key differ from the stored text.
                attribute.kind = Some(AttributeKind::String);
                attribute.evidence.push("a string: its texts are not in one form of timestamp".to_owned());
            } else {
                // The items decide the precision, not the source.
                attribute.kind = seen.kind();
                attribute.evidence.push(format!("each of {} values is a timestamp in this form", seen.count));
            }
        }
    }
    suggest_ttl(table);
}

/// The observations of one attribute.
#[derive(Default)]
struct Seen {
    letters: BTreeSet<&'static str>,
    moments: Vec<Option<AttributeKind>>,
    count: usize,
}

impl Seen {
    fn add(&mut self, value: &AttributeValue) {
        self.letters.insert(type_letter(value));
        self.count += 1;
        let found = match value {
            AttributeValue::S(text) => moment(text),
            _ => None,
        };
        if !self.moments.contains(&found) {
            self.moments.push(found);
        }
    }

    fn kind(&self) -> Option<AttributeKind> {
        let mut letters = self.letters.iter();
        match (letters.next(), letters.next()) {
            (Some(&"S"), None) => match self.moments.as_slice() {
                [Some(only)] => Some(*only),
                _ => Some(AttributeKind::String),
            },
            (Some(letter), None) => kind_of_letter(letter),
            _ => None,
        }
    }
}

fn suggest_ttl(table: &mut TableDraft) {
    if table.ttl != Ttl::Unknown {
        return;
    }
    let looks = |name: &str| {
        let name = name.to_lowercase();
        name == "ttl" || name.contains("expire") || name.contains("timetolive")
    };
    let numbers: Vec<String> = table
        .attributes
        .iter()
        .filter(|(name, attribute)| attribute.kind == Some(AttributeKind::Number) && looks(name))
        .map(|(name, _)| name.clone())
        .collect();
    for name in numbers {
        let second = |row: &&crate::draft::SampledItem| match row.item.get(&name) {
            Some(AttributeValue::N(text)) => {
                text.parse().is_ok_and(|number: i64| EPOCH_SECONDS.contains(&number))
            }
            _ => false,
        };
        let with = table.items.iter().filter(second).count();
        if with > 0 {
            let count = counted(with, table.items.len());
            table
                .notes
                .push(format!("`{name}` looks like a time to live ({count}); no source says that it is one"));
        }
    }
}

/// Attributes of every item become `required`; attributes with few values get a comment.
pub(super) fn promises(table: &mut TableDraft, examples: bool) {
    let total = table.items.len();
    let single = table.entities.iter().all(|entity| entity.name.is_empty());
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut values: BTreeMap<String, BTreeMap<String, usize>> = BTreeMap::new();
    for row in &table.items {
        for (name, value) in row.item.iter() {
            *counts.entry(name.to_string()).or_default() += 1;
            if let AttributeValue::S(text) = value {
                let known = values.entry(name.to_string()).or_default();
                if known.len() <= VALUES_MAX {
                    *known.entry(text.clone()).or_default() += 1;
                }
            }
        }
    }
    for (name, attribute) in &mut table.attributes {
        let with = counts.get(name).copied().unwrap_or(0);
        if attribute.key_only || with == 0 {
            continue;
        }
        attribute.evidence.insert(0, counted(with, total));
        if single && with == total && attribute.kind.is_some() {
            attribute.required = true;
        }
        let few = values.get(name).filter(|few| {
            with >= VALUES_ITEMS_MIN
                && few.len() <= VALUES_MAX
                && few.values().all(|seen| *seen >= VALUE_SEEN_MIN)
        });
        if let Some(few) =
            few.filter(|_| attribute.kind == Some(AttributeKind::String) && attribute.values.is_empty())
        {
            attribute.evidence.push(match examples {
                true => format!(
                    "values seen: {}; listed as `values`, others are refused",
                    toml_strings(few.keys())
                ),
                false => format!("{} different values: a list of `values`, if no others may come", few.len()),
            });
        }
    }
    let entities = std::mem::take(&mut table.entities);
    table.entities = entities
        .into_iter()
        .map(|mut entity| {
            let rows: Vec<&Item> = table
                .items
                .iter()
                .filter(|row| single || row.entity.as_deref() == Some(entity.name.as_str()))
                .map(|row| &row.item)
                .collect();
            if !rows.is_empty() {
                let parts: Vec<String> =
                    entity.templates.values().flat_map(|text| attributes(text)).collect();
                // A requirement of the source that an item breaks is dropped.
                entity.requires.retain(|name| rows.iter().all(|item| item.contains_key(name)));
                for name in parts {
                    if rows.iter().all(|item| item.contains_key(&name)) {
                        entity.requires.insert(name);
                    }
                }
            }
            entity
        })
        .collect();
}
