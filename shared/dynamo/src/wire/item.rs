//! Items and values: from DynamoDB's JSON to core's words, in one pass.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use keyfold_core::value::{AttributeValue, Item, Name};

use super::json::{DEPTH_MAX, Reader};

/// Attributes that an item may get here: a retrofit gives it a key and a fence. An item that grows is copied.
const ADDED: usize = 2;

/// So many attributes a single item, and the first one of a page, is thought to have.
const ATTRIBUTES_GUESSED: usize = 8;
/// And the key of one: those of an index and those of its table.
pub(super) const KEY_ATTRIBUTES: usize = 4;

/// Items one after another. Those of one page are alike: each has room for as many attributes as the one before, and a few.
#[derive(Debug)]
pub(super) struct Items {
    pub(super) all: Vec<Item>,
    attributes: usize,
}

impl Default for Items {
    fn default() -> Items {
        Items { all: Vec::new(), attributes: ATTRIBUTES_GUESSED }
    }
}

impl Items {
    pub(super) fn read(&mut self, reader: &mut Reader<'_>) -> Option<()> {
        reader.array(|reader| {
            let item = item(reader, self.attributes + ADDED)?;
            self.attributes = item.len();
            self.all.push(item);
            Some(())
        })
    }
}

/// The item of a text: as a stream's record has it, for one. `None` also of a text that only a slower reader may judge, which is
/// asked then.
pub fn read_item(text: &str) -> Option<Item> {
    let mut reader = Reader::at_start(text);
    let item = item(&mut reader, ATTRIBUTES_GUESSED)?;
    reader.end()?;
    Some(item)
}

/// One item. `attributes`: so many it is thought to have.
pub(super) fn item(reader: &mut Reader<'_>, attributes: usize) -> Option<Item> {
    let mut all = Vec::with_capacity(attributes);
    reader.object(|reader, name| {
        let value = value(reader, 0)?;
        all.push((Name::from(name), value));
        Some(())
    })?;
    Some(all.into())
}

fn value(reader: &mut Reader<'_>, depth: usize) -> Option<AttributeValue> {
    if depth > DEPTH_MAX {
        return None;
    }
    reader.eat(b'{')?;
    let letters = reader.string()?;
    reader.eat(b':')?;
    let found = match &*letters {
        "S" => AttributeValue::S(reader.string()?.into_owned()),
        "N" => AttributeValue::N(reader.string()?.into_owned()),
        "B" => AttributeValue::B(bytes(reader)?),
        "BOOL" => AttributeValue::Bool(reader.boolean()?),
        "NULL" => AttributeValue::Null(reader.boolean()?),
        "SS" => AttributeValue::Ss(list(reader, |reader| Some(reader.string()?.into_owned()))?),
        "NS" => AttributeValue::Ns(list(reader, |reader| Some(reader.string()?.into_owned()))?),
        "BS" => AttributeValue::Bs(list(reader, bytes)?),
        "L" => AttributeValue::L(list(reader, |reader| value(reader, depth + 1))?),
        "M" => {
            let mut members = std::collections::HashMap::new();
            reader.object(|reader, name| {
                let member = value(reader, depth + 1)?;
                members.insert(name.into_owned(), member);
                Some(())
            })?;
            AttributeValue::M(members)
        }
        _ => return None,
    };
    // A value has one type.
    reader.eat(b'}')?;
    Some(found)
}

fn list<'b, T>(reader: &mut Reader<'b>, element: impl Fn(&mut Reader<'b>) -> Option<T>) -> Option<Vec<T>> {
    let mut all = Vec::new();
    reader.array(|reader| {
        all.push(element(reader)?);
        Some(())
    })?;
    Some(all)
}

fn bytes(reader: &mut Reader<'_>) -> Option<Vec<u8>> {
    // The SDK does not resolve escapes in base64, and refuses them.
    let Cow::Borrowed(text) = reader.string()? else { return None };
    STANDARD.decode(text).ok()
}
