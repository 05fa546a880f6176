//! Shards written by other programs: a part of a key that is the remainder of a number, `2026-08-01.3` for the id 1023
//! in ten shards.

use keyfold_core::model::AttributeKind;
use std::collections::{BTreeMap, BTreeSet};

use keyfold_core::value::AttributeValue;

use super::columns::{Found, Group, Piece, Written};
use crate::draft::{AttributeDraft, TableDraft};

/// Maximum shards, as in templates.
const SHARDS_MAX: u64 = 1_000;
/// Minimum number of agreeing items. Fewer can agree by chance.
const ITEMS_MIN: usize = 5;
/// The name of the number that is a whole sort key of digits.
const NUMBER: &str = "id";

/// Checks for each part in no attribute whether it is the remainder of a number of the item.
pub(super) fn find(table: &mut TableDraft, groups: &[Group], found: &mut Found) {
    let keys: Vec<(usize, String)> = found.keys().cloned().collect();
    let mut beside: BTreeMap<usize, BTreeSet<String>> = BTreeMap::new();
    for ((group, _), pieces) in &*found {
        for piece in pieces {
            if let Piece::Part { attribute, .. } = piece {
                beside.entry(*group).or_default().insert(attribute.clone());
            }
        }
    }
    for place in keys {
        let group = &groups[place.0];
        let rows: Vec<usize> = group
            .rows
            .iter()
            .copied()
            .filter(|row| matches!(table.items[*row].item.get(&place.1), Some(AttributeValue::S(_))))
            .collect();
        let Some(pieces) = found.get_mut(&place) else { continue };
        for piece in pieces.iter_mut() {
            let Piece::KeyOnly { values, is_time: false, .. } = piece else { continue };
            if values.len() != rows.len() || rows.len() < ITEMS_MIN {
                continue;
            }
            let Some(shards) = values.iter().map(|text| number(text)).collect::<Option<Vec<u64>>>() else {
                continue;
            };
            // The number must be in another key too, or be one: an amount can fit by chance.
            let sort = table.sort.clone().filter(|sort| *sort != place.1);
            let candidates = beside.get(&place.0).into_iter().flatten().chain(&sort).cloned();
            let fitting = candidates.collect::<Vec<_>>().into_iter().find_map(|name| {
                let numbers =
                    rows.iter().map(|row| number_of(table, *row, &name)).collect::<Option<Vec<u64>>>()?;
                Some((name, modulus(&numbers, &shards)?))
            });
            let Some((name, modulus)) = fitting else { continue };
            let is_text =
                |row: &usize| matches!(table.items[*row].item.get(&name), Some(AttributeValue::S(_)));
            let is_whole_key = sort.as_ref() == Some(&name) && rows.first().is_some_and(is_text);
            let attribute = if is_whole_key {
                // The number is the whole sort key: it gets a name, and is read from there.
                if table.attributes.contains_key(NUMBER) {
                    continue;
                }
                table.attributes.insert(NUMBER.to_owned(), AttributeDraft::of(AttributeKind::Number));
                NUMBER.to_owned()
            } else {
                name.clone()
            };
            *piece = Piece::Part { attribute, written: Written::Remainder(modulus), rivals: Vec::new() };
            if is_whole_key {
                let mut values = Vec::new();
                for row in &rows {
                    if let Some(AttributeValue::S(text)) = table.items[*row].item.get(&name) {
                        values.push(text.clone());
                    }
                }
                let whole = Piece::KeyOnly { values, is_time: false, name: Some(NUMBER.to_owned()) };
                found.insert((place.0, name), vec![whole]);
                break;
            }
        }
    }
}

/// Plain digits, without leading zeros.
fn number(text: &str) -> Option<u64> {
    let plain = !text.is_empty()
        && text.bytes().all(|byte| byte.is_ascii_digit())
        && (text == "0" || !text.starts_with('0'));
    if plain { text.parse().ok() } else { None }
}

fn number_of(table: &TableDraft, row: usize, name: &str) -> Option<u64> {
    let is_sort = table.sort.as_deref() == Some(name);
    match table.items[row].item.get(name)? {
        AttributeValue::N(text) => number(text),
        // Only a folded key can be both digits and a number.
        AttributeValue::S(text) if is_sort => number(text),
        _ => None,
    }
}

/// The number of shards for which all numbers are in their shards.
fn modulus(numbers: &[u64], shards: &[u64]) -> Option<u32> {
    let highest = *shards.iter().max()?;
    let agrees = |modulus: &u64| numbers.iter().zip(shards).all(|(number, shard)| number % modulus == *shard);
    let moves = numbers.iter().zip(shards).any(|(number, shard)| number != shard) && highest > 0;
    let different: BTreeSet<&u64> = numbers.iter().collect();
    let found = (highest.max(1) + 1..=SHARDS_MAX).find(agrees);
    let found = found.filter(|_| moves && different.len() >= ITEMS_MIN)?;
    u32::try_from(found).ok()
}
