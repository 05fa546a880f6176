//! Random items for a table, as they are stored: with their folded keys.

use keyfold_core::attribute::TOMBSTONE_ATTRIBUTE;
use keyfold_core::model::{Entity, Table, WhenTest};
use keyfold_core::retrofit::attributes::FENCE_ATTRIBUTE;
use keyfold_core::value::{AttributeValue, Item, Name, equal};

use super::asked::is_of;
use super::random::Random;
use super::words::Words;

/// The average number of attempts per item: many are refused, or have a key that exists.
const ATTEMPTS: usize = 4;

/// One item of a case.
#[derive(Debug, Clone, PartialEq)]
pub struct CaseItem {
    /// The stored item.
    pub stored: Item,
    /// The item as a reader must see it: with the attributes stored only in its keys, and without Keyfold's own. `None`
    /// for a tombstone.
    pub seen: Option<Item>,
}

/// Up to `most` items with different keys. Items that the write path refuses are left out.
pub fn items(table: &Table, words: &Words, most: usize, random: &mut Random) -> Vec<CaseItem> {
    let mut all: Vec<CaseItem> = Vec::new();
    let mut keys: Vec<Item> = Vec::new();
    // The traces of a retrofit on the items of this table.
    let (fenced, deleted) = *random.pick(&[(0, 0), (0, 0), (60, 0), (80, 30)]);
    for _ in 0..most * ATTEMPTS {
        if all.len() == most {
            break;
        }
        let Some(mut item) = drawn(table, words, random) else { continue };
        let Some(key) = table.key_of(&item.stored) else { continue };
        // `1000` and `1E+3` are one key.
        let is_same = |known: &Item| key.iter().all(|(name, value)| equal(&known[name], value));
        if !keys.iter().any(is_same) {
            if random.chance(deleted) {
                item = tombstone(&key);
            } else if random.chance(fenced) {
                item.stored.insert(FENCE_ATTRIBUTE.to_owned(), AttributeValue::S("1.1".to_owned()));
            }
            keys.push(key);
            all.push(item);
        }
    }
    all
}

/// The tombstone that a retrofit leaves for a deleted item.
fn tombstone(key: &Item) -> CaseItem {
    let mut stored = key.clone();
    stored.insert(FENCE_ATTRIBUTE.to_owned(), AttributeValue::S("1.2".to_owned()));
    stored.insert(TOMBSTONE_ATTRIBUTE.to_owned(), AttributeValue::Bool(true));
    CaseItem { stored, seen: None }
}

/// The indexes that a retrofit still fills: in most cases none.
pub fn pending(table: &Table, random: &mut Random) -> Vec<String> {
    if random.chance(80) {
        return Vec::new();
    }
    let names: Vec<String> = table.indexes.iter().map(|index| index.name.clone()).collect();
    let count = random.between(1, 2);
    random.some(&names, count)
}

/// Later versions of some items: the same primary key, other values, or only a tombstone. An item can change in this
/// way while a global index still has its old entry.
pub fn changed(table: &Table, words: &Words, items: &[CaseItem], random: &mut Random) -> Vec<CaseItem> {
    let mut change = |item: &CaseItem| {
        let (seen, key) = (item.seen.as_ref()?, table.key_of(&item.stored)?);
        if random.chance(10) {
            return Some(tombstone(&key));
        }
        let kept = |(name, _): &(&Name, _)| {
            table.attributes.contains_key(name.as_str())
                || *name == "other"
                || key.contains_key(name.as_str())
        };
        let natural = seen.iter().filter(kept).map(|(name, value)| (name.clone(), value.clone()));
        let mut raw: Item = natural.collect();
        for _ in 0..2 {
            let name = random.any(&table.attributes.keys().collect::<Vec<_>>()).copied()?;
            raw.insert(name.clone(), random.any(words.of(name))?.clone());
        }
        let later = written(table, &raw)?;
        (table.key_of(&later.stored)? == key).then_some(later)
    };
    items.iter().filter_map(&mut change).collect()
}

/// One stored item; `None` if it is invalid.
pub(super) fn item(table: &Table, words: &Words, random: &mut Random) -> Option<Item> {
    drawn(table, words, random).map(|item| item.stored)
}

fn drawn(table: &Table, words: &Words, random: &mut Random) -> Option<CaseItem> {
    let mut raw = Item::default();
    let missing = *random.pick(&[5, 15, 40]);
    for name in table.attributes.keys() {
        if let (true, Some(value)) = (random.chance(100 - missing), random.any(words.of(name))) {
            raw.insert(name.clone(), value.clone());
        }
    }
    if random.chance(30) {
        raw.insert("other".to_owned(), AttributeValue::N(random.below(5).to_string()));
    }
    // Some stay as they are.
    let entity = random.any(&table.entities).filter(|_| random.chance(90));
    if let Some(entity) = entity {
        make_entity(entity, table, words, &mut raw, random);
    }
    let required = table.attributes.values().filter(|known| known.required);
    let mut needed: Vec<&str> = required.map(|known| known.name.as_str()).collect();
    let item = raw.clone();
    for of in table.entities.iter().filter(|known| entity == Some(known) || is_of(known, &item)) {
        needed.extend(table.requires(of));
        table.never(of).for_each(|name| drop(raw.remove(name)));
    }
    for name in needed {
        if !raw.contains_key(name) {
            raw.insert(name.to_owned(), random.any(words.of(name))?.clone());
        }
    }
    written(table, &entity.and_then(|entity| table.as_entity(raw.clone(), &entity.name).ok()).unwrap_or(raw))
}

/// The item as stored, and as a reader sees it. Some items store the attributes in their keys, others do not.
fn written(table: &Table, raw: &Item) -> Option<CaseItem> {
    let seen = table.with_keys(raw.clone()).ok()?;
    let mut stored = seen.clone();
    if !raw.contains_key("other") {
        let entity = table.entity_of(&seen).ok()?;
        stored.retain(|name, _| !table.is_from_key(entity, name));
    }
    let is_told = *table.with_key_parts(&stored) == seen;
    Some(CaseItem { stored: if is_told { stored } else { seen.clone() }, seen: Some(seen) })
}

fn make_entity(entity: &Entity, table: &Table, words: &Words, raw: &mut Item, random: &mut Random) {
    for when in &entity.when {
        match &when.test {
            WhenTest::In(values) => {
                raw.insert(when.attribute.clone(), random.pick(values).clone());
            }
            // A declared attribute gets the text; a folded key gets the prefix from its template.
            WhenTest::BeginsWith(prefix) if table.attributes.contains_key(&when.attribute) => {
                let text = format!("{prefix}{}", random.pick::<&str>(&["", "a", "-b", "olf"]));
                raw.insert(when.attribute.clone(), AttributeValue::S(text));
            }
            WhenTest::BeginsWith(_) => {}
            WhenTest::Exists(false) => {
                raw.remove(&when.attribute);
            }
            WhenTest::Exists(true) => {
                let value = random.any(words.of(&when.attribute));
                if let Some(value) = value.filter(|_| !raw.contains_key(&when.attribute)) {
                    raw.insert(when.attribute.clone(), value.clone());
                }
            }
        }
    }
}
