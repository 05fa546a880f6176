//! Items as tables in use have them: keys that are missing or stale, values of another type, ids that only a key holds or that the item
//! stores as well.

use keyfold_core::model::{Index, KeyAttribute, KeySource, Table};
use keyfold_core::retrofit::attributes::TOMBSTONE_ATTRIBUTE;
use keyfold_core::value::{AttributeValue, Item, Name};

use crate::generate::{self, Random, Words};

/// Attributes that can have another type than the manifest says.
const MIXED: [&str; 6] = ["n1", "n2", "s1", "s2", "t1", "c1"];

/// At most `most` items of a table.
pub fn items(table: &Table, words: &Words, most: usize, random: &mut Random) -> Vec<Item> {
    let drawn = generate::items(table, words, most, random);
    let live = drawn.into_iter().filter(|item| !item.stored.contains_key(TOMBSTONE_ATTRIBUTE));
    live.map(|item| messed(table, item.stored, random)).collect()
}

/// The item with something wrong with it, in some cases; DynamoDB still takes it, under the same key.
fn messed(table: &Table, item: Item, random: &mut Random) -> Item {
    let mut messy = item.clone();
    for (name, value) in table.with_key_parts(&item).iter() {
        if !messy.contains_key(name) && random.chance(50) {
            messy.insert(name.clone(), value.clone());
        }
    }
    let indexes = table.indexes.iter().flat_map(Index::key_attributes);
    let folded: Vec<&KeyAttribute> =
        indexes.filter(|key| matches!(key.source, KeySource::Folded(_))).collect();
    for key in folded {
        match random.below(10) {
            0..3 => drop(messy.remove(&key.name)),
            3 => drop(messy.insert(key.name.as_str(), AttributeValue::S("stale".to_owned()))),
            _ => {}
        }
    }
    if random.chance(30) {
        let name = *random.pick(&MIXED);
        let other = match messy.get(name) {
            Some(AttributeValue::S(_)) => {
                Some(AttributeValue::N(random.between(1, 2_000_000_000).to_string()))
            }
            Some(AttributeValue::N(text)) => Some(AttributeValue::S(text.clone())),
            _ => None,
        };
        messy.extend(other.map(|other| (name, other)));
    }
    if random.chance(15) {
        messy.insert("junk", AttributeValue::Bool(true));
    }
    let same_key = table.key_of(&messy) == table.key_of(&item);
    if same_key && table.check_item(&messy).is_ok() { messy } else { item }
}

/// The item with one attribute that an application changed: it does not know of folded keys. `None` if DynamoDB would refuse it.
pub fn updated(table: &Table, words: &Words, item: &Item, random: &mut Random) -> Option<Item> {
    let mut later = item.clone();
    let names: Vec<&String> = table.attributes.keys().collect();
    let name = random.any(&names)?.as_str();
    if random.chance(25) {
        later.remove(name);
    } else if random.chance(30) {
        later.insert("note", AttributeValue::N(random.below(1_000).to_string()));
    } else {
        later.insert(name, random.any(words.of(name))?.clone());
    }
    let key = table.key_of(&later)?;
    let is_same = Some(&key) == table.key_of(item).as_ref();
    (is_same && later != *item && table.check_item(&later).is_ok()).then_some(later)
}

/// The item without what a retrofit keeps on it, as an application's put leaves it.
pub fn without_marks(item: &Item) -> Item {
    let kept = item.iter().filter(|(name, _)| !name.as_str().starts_with("keyfold_"));
    kept.map(|(name, value)| (Name::clone(name), value.clone())).collect()
}
