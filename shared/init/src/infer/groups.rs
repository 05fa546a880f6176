//! Groups items by entity: by an attribute that names it, or by the form of their keys.

use std::collections::{BTreeMap, BTreeSet};

use keyfold_core::value::{AttributeValue, Item, Name};

use crate::draft::{EntityDraft, SampledItem, TableDraft, WhenDraft, counted};
use crate::name::plain;
use crate::template;

/// Maximum entities.
const ENTITIES_MAX: usize = 40;
/// Minimum percentage of items with an attribute that names their entity.
const SAYS_PERCENT_MIN: usize = 90;
/// Names of attributes that often name the entity.
const TYPE_NAMES: [&str; 16] = [
    "type",
    "entitytype",
    "etype",
    "entity",
    "edbe",
    "kind",
    "et",
    "itemtype",
    "recordtype",
    "objecttype",
    "model",
    "datatype",
    "typename",
    "entityname",
    "itemkind",
    "class",
];

/// Assigns an entity to each item, if the table has several.
pub(super) fn find(table: &mut TableDraft) {
    if table.entities.is_empty() {
        by_items(table);
    } else {
        assign(table);
        by_the_same_attribute(table);
    }
    if table.entities.iter().any(|entity| entity.is_hinted) {
        beside_hints(table);
    }
    describe(table);
}

fn by_items(table: &mut TableDraft) {
    match type_attribute(table) {
        Some(attribute) => by_attribute(table, &attribute),
        None => by_form(table),
    }
}

/// Finds the entities of the items that no hint and no source names.
fn beside_hints(table: &mut TableDraft) {
    let known = std::mem::take(&mut table.entities);
    let all = std::mem::take(&mut table.items);
    let is_open = |row: &SampledItem| row.entity.is_none();
    table.items = all.iter().filter(|row| is_open(row)).cloned().collect();
    if !table.items.is_empty() {
        by_items(table);
    }
    if table.entities.is_empty() && !table.items.is_empty() {
        let name = name_of(&forms(table)[0], table);
        table.items.iter_mut().for_each(|row| row.entity = Some(name.clone()));
        table.entities.push(EntityDraft { name, ..EntityDraft::default() });
    }
    for at in 0..table.entities.len() {
        let own = table.entities[at].name.clone();
        let name = crate::name::unique(own.clone(), |name| known.iter().any(|entity| entity.name == name));
        table
            .items
            .iter_mut()
            .filter(|row| row.entity.as_ref() == Some(&own))
            .for_each(|row| row.entity = Some(name.clone()));
        table.entities[at].name = name;
    }
    let mut found = std::mem::take(&mut table.items).into_iter();
    table.items =
        all.into_iter().filter_map(|row| if is_open(&row) { found.next() } else { Some(row) }).collect();
    table.entities.splice(0..0, known);
}

fn text<'a>(item: &'a Item, name: &str) -> Option<&'a str> {
    match item.get(name) {
        Some(AttributeValue::S(text)) => Some(text),
        _ => None,
    }
}

/// The form of a value: the text before the first separator, or the value if it could be a constant.
fn form(value: &str, constants: &BTreeSet<String>, item: &Item, marks: &BTreeSet<String>) -> String {
    let lead: usize = value.chars().take_while(|letter| !letter.is_alphanumeric()).map(char::len_utf8).sum();
    let rest = &value[lead..];
    let end = rest.find(['#', '|', '/', ':']).or_else(|| rest.find(['_', '-', '.', '$']));
    match end {
        // A value of the item is not a mark of its entity.
        Some(end) if is_value(item, &rest[..end], marks) => value[..lead].to_owned() + "*",
        Some(end) if is_mark(&rest[..end]) => format!("{}{}", &value[..lead + end], &rest[end..=end]),
        None if constants.contains(value) => value.to_owned(),
        _ => value[..lead].to_owned() + "*",
    }
}

/// Is the word a value of the item? An attribute that names the entity does not count, because the key may repeat it.
fn is_value(item: &Item, word: &str, marks: &BTreeSet<String>) -> bool {
    item.iter().any(|(name, value)| {
        matches!(value, AttributeValue::S(text) if text.eq_ignore_ascii_case(word))
            && !TYPE_NAMES.contains(&plain(name).as_str())
            && !marks.contains(name.as_str())
    })
}

/// Attributes whose values could name entities, by the other attributes: of some value all items have an attribute that
/// no other item has. A status in a key has no such attributes.
fn marks(table: &TableDraft) -> BTreeSet<String> {
    let keys = table.key_attributes();
    let total = table.items.len();
    let is_mark = |name: &&String| {
        let mut by_value: BTreeMap<&str, Vec<&Item>> = BTreeMap::new();
        for row in &table.items {
            let Some(value) = text(&row.item, name) else { continue };
            by_value.entry(value).or_default().push(&row.item);
            if by_value.len() > ENTITIES_MAX {
                return false;
            }
        }
        let with: usize = by_value.values().map(Vec::len).sum();
        let own = |(value, items): (&&str, &Vec<&Item>)| {
            let others = || by_value.iter().filter(|(other, _)| *other != value).flat_map(|(_, items)| items);
            let only = |name: &Name| {
                !keys.iter().any(|key| key == name.as_str())
                    && items.iter().all(|item| item.contains_key(name.as_str()))
                    && !others().any(|item| item.contains_key(name.as_str()))
            };
            items.len() > 1 && items[0].keys().any(only)
        };
        by_value.len() > 1
            && by_value.len() * 2 <= total
            && with * 100 >= total * SAYS_PERCENT_MIN
            && by_value.iter().any(own)
    };
    table.attributes.keys().filter(|name| !keys.contains(name)).filter(is_mark).cloned().collect()
}

/// Can the word mark an entity? Letters, optionally with a version, as in `task_1`.
fn is_mark(word: &str) -> bool {
    let unversioned = word.trim_end_matches(|last: char| last.is_ascii_digit());
    let base = if unversioned.ends_with(['_', '-']) { unversioned } else { word };
    base.starts_with(char::is_alphabetic)
        && base.chars().all(|letter| letter.is_alphabetic() || letter == '_' || letter == '-')
}

/// Words without digits in several items: in a sort key, under several partition keys.
pub(super) fn constants(table: &TableDraft, key: &str) -> BTreeSet<String> {
    if table.sort.as_deref() != Some(key) {
        return BTreeSet::new();
    }
    let mut seen: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for row in &table.items {
        let partition = table.partition.as_ref().and_then(|name| text(&row.item, name));
        if let (Some(value), Some(partition)) = (text(&row.item, key), partition) {
            seen.entry(value).or_default().insert(partition);
        }
    }
    let word = |value: &str| {
        !value.chars().any(|letter| letter.is_numeric() || matches!(letter, '#' | '|' | '/' | ':'))
    };
    let several = seen.iter().filter(|(value, under)| under.len() > 1 && word(value));
    let found: BTreeSet<String> = several.map(|(value, _)| (*value).to_owned()).collect();
    if found.len() > ENTITIES_MAX { BTreeSet::new() } else { found }
}

/// The form of each item's table key.
fn forms(table: &TableDraft) -> Vec<String> {
    let keys: Vec<&String> = table.partition.iter().chain(&table.sort).collect();
    let known: Vec<BTreeSet<String>> = keys.iter().map(|key| constants(table, key)).collect();
    let marks = marks(table);
    let of = |item: &Item| {
        let parts = keys.iter().zip(&known).map(|(key, constants)| match text(item, key) {
            Some(value) => form(value, constants, item, &marks),
            None => "*".to_owned(),
        });
        parts.collect::<Vec<_>>().join(" ")
    };
    table.items.iter().map(|row| of(&row.item)).collect()
}

/// The attribute that names an item's entity: in nearly every item, with few values, each with one form of keys. Weaker
/// evidence is enough for names that suggest a type.
fn type_attribute(table: &TableDraft) -> Option<String> {
    let keys = table.key_attributes();
    let forms = forms(table);
    let total = table.items.len();
    let mut best: Option<(bool, usize, String)> = None;
    for name in table.attributes.keys().filter(|name| !keys.contains(name)) {
        let named = TYPE_NAMES.contains(&plain(name).as_str());
        let mut by_value: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        let mut with = 0;
        for (row, form) in table.items.iter().zip(&forms) {
            let Some(value) = text(&row.item, name) else { continue };
            with += 1;
            by_value.entry(value).or_default().insert(form);
            if by_value.len() > ENTITIES_MAX {
                break;
            }
        }
        let many = by_value.len() > ENTITIES_MAX || by_value.len() < 2;
        if many || with * 100 < total * SAYS_PERCENT_MIN {
            continue;
        }
        let different: BTreeSet<&BTreeSet<&str>> = by_value.values().collect();
        let one_form_each = by_value.values().all(|forms| forms.len() == 1);
        let fits = if named {
            different.len() > 1
        } else {
            one_form_each && different.len() == by_value.len() && by_value.len() * 2 <= total
        };
        let rank = (named, usize::MAX - by_value.len(), name.clone());
        if fits && best.as_ref().is_none_or(|known| rank > *known) {
            best = Some(rank);
        }
    }
    best.map(|(_, _, name)| name)
}

/// The attribute's values name the entities. Their conditions are found later: items without the attribute have a form
/// of keys too.
fn by_attribute(table: &mut TableDraft, attribute: &str) {
    table.entity_attribute = Some(attribute.to_owned());
    let forms = forms(table);
    let mut values: Vec<String> = Vec::new();
    let mut by_form: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for (row, form) in table.items.iter_mut().zip(&forms) {
        let Some(value) = text(&row.item, attribute).map(str::to_owned) else { continue };
        row.entity = Some(value.clone());
        by_form.entry(form).or_default().insert(value.clone());
        if !values.contains(&value) {
            values.push(value);
        }
    }
    for (row, form) in table.items.iter_mut().zip(&forms).filter(|(row, _)| row.entity.is_none()) {
        let known = by_form.get(form.as_str()).filter(|values| values.len() == 1);
        row.entity = known.and_then(|values| values.first().cloned());
    }
    for name in values {
        table.entities.push(EntityDraft { name, ..EntityDraft::default() });
    }
}

/// Groups items by the form of their keys.
fn by_form(table: &mut TableDraft) {
    let forms = forms(table);
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for form in &forms {
        *counts.entry(form).or_default() += 1;
    }
    let total = forms.len();
    if counts.len() < 2
        || counts.len() > ENTITIES_MAX
        || counts.len() * 2 > total
        || counts.keys().all(|form| form.contains('*'))
            && counts.keys().any(|form| form.chars().all(|letter| letter == '*' || letter == ' '))
    {
        return;
    }
    let mut names: BTreeMap<String, String> = BTreeMap::new();
    for form in counts.keys() {
        let candidate = name_of(form, table);
        let name = crate::name::unique(candidate, |name| names.values().any(|known| known == name));
        names.insert((*form).to_owned(), name);
    }
    for (row, form) in table.items.iter_mut().zip(&forms) {
        row.entity = names.get(form).cloned();
    }
    for name in names.into_values() {
        table.entities.push(EntityDraft { name, ..EntityDraft::default() });
    }
}

/// A name for the items of one form: the prefix of their sort key, or else of their partition key.
fn name_of(form: &str, table: &TableDraft) -> String {
    let mut words = form.split(' ').map(|part| part.trim_matches(|letter: char| !letter.is_alphanumeric()));
    let (partition, sort) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let general = ["root", "profile", "metadata", "meta", "info", "details", "a", "v0", "main"];
    let (sort_plain, partition_plain) = (plain(sort), plain(partition));
    let word = match (sort_plain.as_str(), partition_plain.as_str()) {
        ("", "") => table.title(),
        ("", _) => partition,
        (sort, "" | "*") if !sort.is_empty() => sort,
        (sort, _) if general.contains(&sort) && partition.len() > 1 => partition,
        _ => sort,
    };
    crate::name::id(word, "item")
}

/// Assigns items to the entities of the source.
fn assign(table: &mut TableDraft) {
    let kinds = table.attributes.iter().map(|(name, attribute)| (name.clone(), attribute.kind)).collect();
    let keys: Vec<String> = table.partition.iter().chain(&table.sort).cloned().collect();
    let is = |entity: &EntityDraft, item: &Item| {
        if !entity.when.is_empty() {
            return entity.when.iter().all(|(name, test)| match test {
                WhenDraft::In(values) => {
                    text(item, name).is_some_and(|value| values.iter().any(|one| one == value))
                }
                WhenDraft::Exists(wanted) => item.contains_key(name) == *wanted,
                WhenDraft::BeginsWith(prefix) => {
                    text(item, name).is_some_and(|value| value.starts_with(prefix))
                }
            });
        }
        let matches = |key: &String| match (entity.templates.get(key), text(item, key)) {
            (Some(template), Some(value)) => {
                template::parse(template, &kinds).is_some_and(|template| template.unfold(value).is_ok())
            }
            (template, _) => template.is_none(),
        };
        entity.templates.keys().any(|key| keys.contains(key)) && keys.iter().all(matches)
    };
    for row in table.items.iter_mut().filter(|row| row.entity.is_none()) {
        let mut fitting = table.entities.iter().filter(|entity| is(entity, &row.item));
        if let (Some(only), None) = (fitting.next(), fitting.next()) {
            row.entity = Some(only.name.clone());
        }
    }
}

/// If the source identifies some entities by an attribute, the items may show more of them.
fn by_the_same_attribute(table: &mut TableDraft) {
    let attribute = match table.entities.first().and_then(|entity| entity.when.first()) {
        Some((attribute, WhenDraft::In(_))) => attribute.clone(),
        _ => return,
    };
    let all = table
        .entities
        .iter()
        .all(|entity| matches!(entity.when.first(), Some((name, WhenDraft::In(_))) if *name == attribute));
    if !all {
        return;
    }
    let mut more = Vec::new();
    for row in table.items.iter_mut().filter(|row| row.entity.is_none()) {
        let Some(value) = text(&row.item, &attribute) else { continue };
        row.entity = Some(value.to_owned());
        if !more.iter().any(|known| known == value) && more.len() < ENTITIES_MAX {
            more.push(value.to_owned());
        }
    }
    for value in more {
        table.entities.push(EntityDraft {
            name: value.clone(),
            when: vec![(attribute.clone(), WhenDraft::In(vec![value]))],
            evidence: vec!["only the items show it".to_owned()],
            ..EntityDraft::default()
        });
    }
}

/// Records the counts, and the attributes of each entity's items.
fn describe(table: &mut TableDraft) {
    let total = table.items.len();
    for entity in &mut table.entities {
        let mine = table.items.iter().filter(|row| row.entity.as_deref() == Some(entity.name.as_str()));
        let mut with = 0;
        for row in mine {
            with += 1;
            entity.attributes.extend(row.item.keys().map(Name::to_string));
        }
        entity.evidence.push(counted(with, total));
    }
    if !table.entities.is_empty() {
        let none = table.items.iter().filter(|row| row.entity.is_none()).count();
        if none > 0 {
            table.notes.push(format!("{none} of {total} sampled items are of no entity that is known"));
        }
    }
}
