//! The templates of all keys of all groups: which keys are folded, and names for parts stored only in keys.

use std::collections::{BTreeMap, BTreeSet};

use keyfold_core::key::Unfolded;
use keyfold_core::model::{AttributeKind, ScalarType};
use keyfold_core::value::{AttributeValue, Item, Number};

use super::columns::{self, Found, Group, Piece, Row, Search, Written};
use super::groups;
use super::naming::Names;
use super::remainders;
use crate::draft::{AttributeDraft, TableDraft, counted};
use crate::name::{is_key_name, plain};
use crate::template;

/// Finds the templates that the source lacks, and checks those it has.
pub(super) fn find(table: &mut TableDraft) {
    let groups = rows_of_entities(table);
    let mut read: Vec<BTreeMap<String, String>> = vec![BTreeMap::new(); table.items.len()];
    let table_keys: Vec<String> = table.partition.iter().chain(&table.sort).cloned().collect();
    let texts = |key: &&String| table.scalars.get(*key).is_none_or(|scalar| *scalar == ScalarType::S);
    let all: Vec<String> = table.key_attributes().iter().filter(texts).cloned().collect();
    let (own, others): (Vec<String>, Vec<String>) = all.into_iter().partition(|key| table_keys.contains(key));
    let mut folded: Vec<String> = Vec::new();
    let mut names = Names::default();
    for keys in [own, others] {
        said(table, &groups, &keys, &mut read, &mut folded);
        let known = Known { read: &read, folded: &folded, names: &names };
        let first = search_all(table, &groups, &keys, &known, false, &Candidates::default());
        let candidates = Candidates::of(table, &groups, &first);
        let lower = keeps_no_case(&first, table, &groups);
        let mut found = search_all(table, &groups, &keys, &known, lower, &candidates);
        remainders::find(table, &groups, &mut found);
        for key in &keys {
            let constants = groups::constants(table, key);
            let is_constant = |pieces: &[Piece]| {
                groups.len() > 1
                    && is_key_name(key)
                    && matches!(pieces, [Piece::Text(text, _)] if constants.contains(text) || is_joined_word(text))
            };
            let structured = (0..groups.len()).any(|at| {
                found
                    .get(&(at, key.clone()))
                    .is_some_and(|pieces| is_folded(pieces, groups.len() > 1, key) || is_constant(pieces))
            });
            let stated = table.entities.iter().any(|entity| entity.templates.contains_key(key));
            if (structured || stated) && !folded.contains(key) {
                folded.push(key.clone());
            }
        }
        found.retain(|(_, key), _| folded.contains(key));
        names.give(table, &groups, &mut found);
        write(table, &groups, &found, &mut read);
    }
}

fn rows_of_entities(table: &TableDraft) -> Vec<Group> {
    if table.entities.iter().all(|entity| entity.name.is_empty()) {
        let entity = (!table.entities.is_empty()).then_some(0);
        return vec![Group { entity, rows: (0..table.items.len()).collect() }];
    }
    let of = |name: &str| -> Vec<usize> {
        (0..table.items.len()).filter(|at| table.items[*at].entity.as_deref() == Some(name)).collect()
    };
    table
        .entities
        .iter()
        .enumerate()
        .map(|(at, entity)| Group { entity: Some(at), rows: of(&entity.name) })
        .filter(|group| !group.rows.is_empty())
        .collect()
}

fn text<'a>(table: &'a TableDraft, row: usize, key: &str) -> Option<&'a str> {
    match table.items[row].item.get(key) {
        Some(AttributeValue::S(text)) if !text.is_empty() => Some(text),
        _ => None,
    }
}

fn stated<'a>(table: &'a TableDraft, group: &Group, key: &str) -> Option<&'a String> {
    table.entities.get(group.entity?)?.templates.get(key)
}

/// Checks the source's templates against the items: reads the parts, and counts items that do not fit.
fn said(
    table: &mut TableDraft,
    groups: &[Group],
    keys: &[String],
    read: &mut [BTreeMap<String, String>],
    folded: &mut Vec<String>,
) {
    for group in groups {
        for key in keys {
            let Some(written) = stated(table, group, key).cloned() else { continue };
            if !folded.contains(key) {
                folded.push(key.clone());
            }
            let (with, agree) = read_parts(table, group, key, &written, read);
            let Some(entity) = group.entity.and_then(|at| table.entities.get_mut(at)) else { continue };
            let known = entity.template_evidence.entry(key.clone()).or_default();
            if !known.is_empty() {
                known.push_str("; ");
            }
            known.push_str(&format!("agrees with {agree} of {with} sampled items that have it"));
        }
    }
}

/// Reads the parts of a key in each row. Returns the number of rows with the key, and of those that agree with the
/// item.
fn read_parts(
    table: &mut TableDraft,
    group: &Group,
    key: &str,
    written: &str,
    read: &mut [BTreeMap<String, String>],
) -> (usize, usize) {
    let kinds = table.attributes.iter().map(|(name, attribute)| (name.clone(), attribute.kind)).collect();
    let Some(parsed) = template::parse(written, &kinds) else { return (group.rows.len(), 0) };
    let (mut with, mut agree) = (0, 0);
    let mut key_only: Vec<String> = Vec::new();
    for row in &group.rows {
        let Some(value) = text(table, *row, key) else { continue };
        with += 1;
        let Ok(parts) = parsed.unfold(value) else { continue };
        let item = &table.items[*row].item;
        let mut same = true;
        for (name, part) in parts {
            let part_text = match part {
                Unfolded::Value(AttributeValue::S(text) | AttributeValue::N(text)) => text,
                Unfolded::Value(AttributeValue::Bool(flag)) => flag.to_string(),
                Unfolded::Lossy(text) => text,
                _ => continue,
            };
            match item.get(name) {
                None => {
                    read[*row].insert(name.to_owned(), part_text);
                    if !key_only.iter().any(|known| known == name) {
                        key_only.push(name.to_owned());
                    }
                }
                Some(_) => {
                    let folded = parsed.fold(item).ok().flatten();
                    same &= folded.as_deref().is_none_or(|folded| folded == value);
                }
            }
        }
        agree += usize::from(same);
    }
    for name in key_only {
        let nowhere = !table.items.iter().any(|row| row.item.contains_key(&name));
        let attribute =
            table.attributes.entry(name.clone()).or_insert_with(|| AttributeDraft::of(AttributeKind::String));
        attribute.key_only |= nowhere;
        if let Some(entity) = group.entity.and_then(|at| table.entities.get_mut(at)) {
            entity.key_only.insert(name);
        }
    }
    (with, agree)
}

/// The input of a search.
struct Known<'a> {
    /// Parts that were read from the keys of each item.
    read: &'a [BTreeMap<String, String>],
    folded: &'a [String],
    names: &'a Names,
}

/// The attributes that each group can have in its keys.
#[derive(Default)]
struct Candidates {
    /// The keys of groups, by the word before the attribute, and the attribute.
    places: BTreeMap<(String, String), BTreeSet<(usize, String)>>,
    /// The values of each key of each group.
    values: BTreeMap<(usize, String), BTreeSet<String>>,
}

impl Candidates {
    fn of(table: &TableDraft, groups: &[Group], found: &Found) -> Candidates {
        let mut all = Candidates::default();
        for (place, pieces) in found {
            let rows = groups[place.0].rows.iter();
            let values = rows.filter_map(|row| text(table, *row, &place.1).map(str::to_owned));
            all.values.insert(place.clone(), values.collect());
            for (number, piece) in pieces.iter().enumerate() {
                let Piece::Part { attribute, rivals, .. } = piece else { continue };
                let word = columns::last_word(&pieces[..number]);
                for name in std::iter::once(attribute).chain(rivals.iter().map(|rival| &rival.attribute)) {
                    all.places.entry((word.clone(), name.clone())).or_default().insert(place.clone());
                }
            }
        }
        all
    }

    /// The number of other groups that can have the attribute behind this word and belong to the same item collections:
    /// they share the word, or values of the key.
    fn of_others(&self, place: &(usize, String), word: &str, name: &str) -> usize {
        let Some(places) = self.places.get(&(word.to_owned(), name.to_owned())) else { return 0 };
        let shares_values = |other: &(usize, String)| match (self.values.get(place), self.values.get(other)) {
            (Some(own), Some(others)) => !own.is_disjoint(others),
            _ => false,
        };
        let others = places.iter().filter(|other| other.0 != place.0);
        let related = others.filter(|other| !word.is_empty() || shares_values(other));
        related.map(|(group, _)| group).collect::<BTreeSet<_>>().len()
    }
}

fn search_all(
    table: &TableDraft,
    groups: &[Group],
    keys: &[String],
    known: &Known<'_>,
    lower: bool,
    candidates: &Candidates,
) -> Found {
    let mut found = Found::new();
    let key_names = table.key_attributes();
    let says_nothing = |name: &&String| holds_a_key(table, name, &key_names) || is_constant(table, name);
    let copies: Vec<String> = table.attributes.keys().filter(says_nothing).cloned().collect();
    for (at, group) in groups.iter().enumerate() {
        for key in keys {
            if stated(table, group, key).is_some() {
                continue;
            }
            let rows: Vec<Row<'_>> = group
                .rows
                .iter()
                .filter_map(|row| {
                    Some(Row {
                        item: &table.items[*row].item,
                        read: &known.read[*row],
                        value: text(table, *row, key)?,
                    })
                })
                .collect();
            if rows.is_empty() {
                continue;
            }
            let never = |name: &str| {
                name == key
                    || known.folded.iter().any(|known| known == name)
                    || (table.entity_attribute.as_deref() == Some(name))
                    || (key_names.iter().any(|known| known == name) && is_key_name(name))
                    || copies.iter().any(|known| known == name)
            };
            let lacks = |item: &&Item| !item.contains_key(key.as_str());
            let items = group.rows.iter().map(|row| &table.items[*row].item);
            let lacking: Vec<&Item> = items.filter(lacks).collect();
            let selects = |name: &str, value: &str| {
                let is_word = !value.chars().any(char::is_numeric);
                let differs =
                    |item: &&Item| matches!(item.get(name), Some(AttributeValue::S(other)) if other != value);
                is_word && lacking.iter().any(differs)
            };
            let other = |name: &str, word: &str| known.names.is_of_another(name, word);
            let bare = is_key_name(key) || groups.len() > 1;
            let hint = hint(table, key);
            let place = (at, key.clone());
            let shared = |word: &str, name: &str| candidates.of_others(&place, word, name);
            let search = Search {
                never: &never,
                other: &other,
                selects: &selects,
                shared: &shared,
                hint: &hint,
                lower,
                bare,
            };
            if let Some(pieces) = columns::find(&rows, &search) {
                found.insert((at, key.clone()), pieces);
            }
        }
    }
    found
}

/// The names of a key attribute and of its indexes: `Status#Date` and `byCustomer` name the parts.
fn hint(table: &TableDraft, key: &String) -> String {
    let indexes =
        table.indexes.iter().filter(|index| index.partition.contains(key) || index.sort.contains(key));
    indexes.map(|index| plain(&index.name)).fold(plain(key), |all, name| all + " " + &name)
}

/// Is the attribute a copy of a folded key, such as `city_dept` of `GSI_3_SK`? A template over it would be useless.
fn holds_a_key(table: &TableDraft, name: &str, keys: &[String]) -> bool {
    let joined =
        |value: &AttributeValue| matches!(value, AttributeValue::S(text) if text.contains(['#', '|']));
    keys.iter().filter(|key| key.as_str() != name).any(|key| {
        let mut with = table.items.iter().filter(|row| row.item.contains_key(name)).take(50).peekable();
        with.peek().is_some()
            && with.all(|row| {
                row.item.get(name).is_some_and(|value| joined(value) && row.item.get(key) == Some(value))
            })
    })
}

/// Is the attribute the same in every item, such as a version? In a key it is literal text.
fn is_constant(table: &TableDraft, name: &str) -> bool {
    const ITEMS_MIN: usize = 3;
    let first = table.items.first().and_then(|row| row.item.get(name));
    table.items.len() >= ITEMS_MIN
        && first.is_some()
        && table.items.iter().all(|row| row.item.get(name) == first)
}

/// Are these pieces more than the attribute's own value?
fn is_folded(pieces: &[Piece], several: bool, key: &str) -> bool {
    let is_named = |piece: &Piece| matches!(piece, Piece::KeyOnly { name: Some(_), .. });
    if columns::has_part(pieces) || pieces.iter().any(is_named) {
        return true;
    }
    // `deviceId` with values like `d#12345`: the prefix belongs to the id.
    if let ([Piece::Text(..), Piece::KeyOnly { .. }], false, false) = (pieces, several, is_key_name(key)) {
        return false;
    }
    let hard = |piece: &Piece| matches!(piece, Piece::Text(text, _) if text.contains(['#', '|']));
    let key_only = pieces.iter().any(|piece| matches!(piece, Piece::KeyOnly { .. }));
    let timed = pieces.iter().any(|piece| matches!(piece, Piece::KeyOnly { is_time: true, .. }));
    key_only
        && (pieces.iter().any(hard)
            || (!several && timed && pieces.len() > 1)
            || (several
                && pieces.len() > 1
                && pieces
                    .iter()
                    .any(|piece| matches!(piece, Piece::Text(text, _) if text.contains(['/', ':'])))))
}

/// Words without digits, joined by a separator: a key without parts, such as `OPEN#order`.
fn is_joined_word(text: &str) -> bool {
    text.contains(['#', '|', '/', ':']) && !text.chars().any(char::is_numeric)
}

/// Is all text in lower case: some part needs it, and none contains a capital?
fn keeps_no_case(found: &Found, table: &TableDraft, groups: &[Group]) -> bool {
    let (mut lower, mut capital) = (false, false);
    for ((at, _), pieces) in found {
        for piece in pieces {
            let Piece::Part { attribute, written, .. } = piece else {
                // Then literal text is in lower case as well.
                capital |= matches!(piece, Piece::Text(text, _) if text.chars().any(char::is_uppercase));
                continue;
            };
            let capitals = groups[*at].rows.iter().any(|row| {
                matches!(table.items[*row].item.get(attribute), Some(AttributeValue::S(text)) if text.chars().any(char::is_uppercase))
            });
            lower |= *written == Written::Lower;
            capital |= *written == Written::Plain && capitals;
        }
    }
    lower && !capital
}

/// Adds the templates to the entities; for a table without entities, to one without a name.
fn write(table: &mut TableDraft, groups: &[Group], found: &Found, read: &mut [BTreeMap<String, String>]) {
    for ((at, key), pieces) in found {
        let written = columns::written(pieces);
        let group = &groups[*at];
        let parts = columns::parts(pieces);
        for name in &parts {
            one_type(table, name);
        }
        for piece in pieces {
            if let Piece::KeyOnly { name: Some(name), .. } = piece {
                let nowhere = !table.items.iter().any(|row| row.item.contains_key(name));
                let attribute = table
                    .attributes
                    .entry(name.clone())
                    .or_insert_with(|| AttributeDraft::of(AttributeKind::String));
                attribute.key_only |= nowhere;
                if attribute.values.is_empty() {
                    attribute.values = shards(pieces, name);
                }
            }
        }
        let (with, agree) = read_parts(table, group, key, &written, read);
        let of = group.rows.len();
        let only = if with == 1 { "; one item alone: check it" } else { "" };
        let mut evidence = format!("{}, agrees with {agree}{only}", counted(with, of));
        for rival in columns::rivals(pieces) {
            evidence.push_str("; ");
            evidence.push_str(&rival);
        }
        // Old items can lack an attribute that their key holds.
        let lacks = |name: &&String| {
            let mut with = group.rows.iter().filter(|row| text(table, **row, key).is_some());
            with.any(|row| !table.items[*row].item.contains_key(name.as_str()))
        };
        let lacking: Vec<String> = parts.iter().filter(lacks).cloned().collect();
        let entity = match group.entity {
            Some(at) => &mut table.entities[at],
            None => {
                if table.entities.is_empty() {
                    table.entities.push(crate::draft::EntityDraft::default());
                }
                &mut table.entities[0]
            }
        };
        for piece in pieces {
            if let Piece::KeyOnly { name: Some(name), .. } = piece {
                entity.key_only.insert(name.clone());
            }
        }
        entity.key_only.extend(lacking);
        entity.templates.insert(key.clone(), written);
        entity.template_evidence.insert(key.clone(), evidence);
    }
}

/// An attribute that is a number in most items and its text in others becomes a number, because a key needs one type.
fn one_type(table: &mut TableDraft, name: &str) {
    let Some(attribute) = table.attributes.get_mut(name).filter(|attribute| attribute.mixed) else { return };
    let (mut numbers, mut texts) = (0, 0);
    for row in &table.items {
        match row.item.get(name) {
            Some(AttributeValue::N(_)) => numbers += 1,
            Some(AttributeValue::S(text)) if text.parse::<Number>().is_ok() => texts += 1,
            Some(_) => return,
            None => {}
        }
    }
    let (kind, others) = match numbers >= texts {
        true => (AttributeKind::Number, format!("{texts} items have it as text")),
        false => (AttributeKind::String, format!("{numbers} items have it as a number")),
    };
    attribute.kind = Some(kind);
    attribute.mixed = false;
    attribute.evidence.retain(|line| !line.ends_with(": undeclared"));
    attribute.evidence.push(format!("a key needs one type: {others}, and their keys differ"));
}

/// The shards of an otherwise unknown part: few small numbers at the end of a key, each seen often. A question without
/// the shard reads all of them.
fn shards(pieces: &[Piece], part: &str) -> Vec<String> {
    const SHARDS_MAX: usize = 200;
    const SEEN_MIN: usize = 5;
    let [.., before, Piece::KeyOnly { values, name: Some(name), .. }] = pieces else { return Vec::new() };
    let says_shard = |text: &str| {
        let text = plain(text);
        ["shard", "bucket"].iter().any(|word| text.ends_with(word))
    };
    let is_shard =
        matches!(before, Piece::Text(text, _) if says_shard(text)) || plain(name).contains("shard");
    let numbers: BTreeSet<u64> = values.iter().filter_map(|text| text.parse().ok()).collect();
    let written: BTreeSet<&String> = values.iter().collect();
    let dense = numbers.last().is_some_and(|last| *last <= numbers.len() as u64);
    let often = values.len() >= numbers.len() * SEEN_MIN && (2..=SHARDS_MAX).contains(&numbers.len());
    if name != part || !is_shard || written.len() != numbers.len() || !dense || !often {
        return Vec::new();
    }
    written.into_iter().cloned().collect()
}
