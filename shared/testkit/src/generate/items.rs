//! Random items for a table, as they are stored: with their folded keys.

use std::collections::{BTreeSet, HashMap};

use keyfold_core::model::{Table, WhenTest};
use keyfold_core::value::{AttributeValue, Item};

use super::random::Random;
use super::words::Words;

/// How often an item is drawn anew, on average: many are refused, or have the key of another.
const ATTEMPTS: usize = 4;

/// Up to so many items, no two with one key. What the write path refuses is left out.
pub fn items(table: &Table, words: &Words, most: usize, random: &mut Random) -> Vec<Item> {
    let mut all: Vec<Item> = Vec::new();
    let mut keys: Vec<Item> = Vec::new();
    for _ in 0..most * ATTEMPTS {
        if all.len() == most {
            break;
        }
        let Some(item) = item(table, words, random) else { continue };
        let Some(key) = table.key_of(&item) else { continue };
        if !keys.contains(&key) {
            keys.push(key);
            all.push(item);
        }
    }
    all
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

/// Later versions of some items: the same primary key, other values. An item can change like this while a global index still
/// has its old entry.
pub fn changed(table: &Table, words: &Words, items: &[Item], random: &mut Random) -> Vec<Item> {
    let change = |item: &Item| {
        let declared =
            |(name, _): &(&String, _)| table.attributes.contains_key(name.as_str()) || *name == "other";
        let natural = item.iter().filter(declared).map(|(name, value)| (name.clone(), value.clone()));
        let mut raw: HashMap<String, AttributeValue> = natural.collect();
        for _ in 0..2 {
            let name = random.any(&table.attributes.keys().collect::<Vec<_>>()).copied()?;
            raw.insert(name.clone(), random.any(words.of(name))?.clone());
        }
        let later = table.with_keys(Item::from(raw)).ok()?;
        (table.key_of(&later) == table.key_of(item)).then_some(later)
    };
    items.iter().filter_map(change).collect()
}

/// One item; `None` if it is not one that could be written.
pub(super) fn item(table: &Table, words: &Words, random: &mut Random) -> Option<Item> {
    let mut raw: HashMap<String, AttributeValue> = HashMap::new();
    let missing = *random.pick(&[5, 15, 40]);
    for name in table.attributes.keys() {
        if let (true, Some(value)) = (random.chance(100 - missing), random.any(words.of(name))) {
            raw.insert(name.clone(), value.clone());
        }
    }
    if random.chance(30) {
        raw.insert("other".to_owned(), AttributeValue::N(random.below(5).to_string()));
    }
    make_entity(table, words, &mut raw, random);
    for name in needed(table, &raw) {
        if !raw.contains_key(&name) {
            raw.insert(name.clone(), random.any(words.of(&name))?.clone());
        }
    }
    table.with_keys(Item::from(raw)).ok()
}

fn make_entity(table: &Table, words: &Words, raw: &mut HashMap<String, AttributeValue>, random: &mut Random) {
    // Some stay what they happened to become.
    let Some(entity) = random.any(&table.entities).filter(|_| random.chance(90)) else { return };
    for when in &entity.when {
        match &when.test {
            WhenTest::In(values) => {
                raw.insert(when.attribute.clone(), random.pick(values).clone());
            }
            // A declared attribute gets the text; a folded key begins so by its template.
            WhenTest::BeginsWith(prefix) if table.attributes.contains_key(&when.attribute) => {
                raw.insert(when.attribute.clone(), AttributeValue::S(prefix.clone()));
            }
            WhenTest::BeginsWith(_) => {}
            WhenTest::Exists(false) => {
                raw.remove(&when.attribute);
            }
            WhenTest::Exists(true) => {
                if let Some(value) = random.any(words.of(&when.attribute)) {
                    raw.entry(when.attribute.clone()).or_insert_with(|| value.clone());
                }
            }
        }
    }
}

/// What the manifest promises of every item, and of those of its entity.
fn needed(table: &Table, raw: &HashMap<String, AttributeValue>) -> BTreeSet<String> {
    let mut names: BTreeSet<String> =
        table.attributes.values().filter(|known| known.required).map(|known| known.name.clone()).collect();
    let item = Item::from(raw.clone());
    for entity in table.entities.iter().filter(|entity| entity.when.iter().all(|when| when.holds(&item))) {
        names.extend(entity.requires.iter().cloned());
    }
    names
}
