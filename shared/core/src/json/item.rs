//! Items and values in DynamoDB's notation: from the text to core's types, in one pass.

use std::collections::HashMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::error::{JsonError, JsonReason};
use super::reader::Reader;
use crate::value::{AttributeValue, Item, Name};

/// Room for the attributes that a retrofit adds to an item: a key and a fence. An item that grows is copied.
const ADDED: usize = 2;
/// Room for the attributes of the first item.
const ATTRIBUTES_GUESSED: usize = 8;

/// The item that a text is.
pub fn read_item(text: &str) -> Result<Item, JsonError> {
    let mut reader = Reader::new(text);
    let item = reader.item(ATTRIBUTES_GUESSED)?;
    reader.end()?;
    Ok(item)
}

impl Reader<'_> {
    /// A list of items. Items of one page are alike, so each reserves a little more than the attributes of its
    /// predecessor.
    pub fn items(&mut self) -> Result<Vec<Item>, JsonError> {
        let (mut all, mut attributes) = (Vec::new(), ATTRIBUTES_GUESSED);
        self.list(|reader| {
            let item = reader.item(attributes + ADDED)?;
            attributes = item.len();
            all.push(item);
            Ok(())
        })?;
        Ok(all)
    }

    /// An item, with room for this many attributes.
    pub fn item(&mut self, attributes: usize) -> Result<Item, JsonError> {
        self.item_with(attributes, |reader, _| reader.value())
    }

    /// An item whose values `value` reads. It gets their names.
    pub fn item_with(
        &mut self,
        attributes: usize,
        mut value: impl FnMut(&mut Self, &str) -> Result<AttributeValue, JsonError>,
    ) -> Result<Item, JsonError> {
        let mut all = Vec::with_capacity(attributes);
        self.object(|reader, name| {
            let value = value(reader, &name)?;
            all.push((Name::from(name), value));
            Ok(())
        })?;
        Item::of_distinct(all).ok_or_else(|| self.error(JsonReason::Duplicate))
    }

    /// A value, which has one type.
    pub fn value(&mut self) -> Result<AttributeValue, JsonError> {
        self.enter(b'{', JsonReason::NotTyped)?;
        let letters = self.string()?;
        self.eat(b':', JsonReason::Syntax)?;
        let value = match &*letters {
            "S" => AttributeValue::S(self.text()?),
            "N" => AttributeValue::N(self.text()?),
            "B" => AttributeValue::B(self.binary()?),
            "BOOL" => AttributeValue::Bool(self.boolean()?),
            "NULL" => AttributeValue::Null(self.boolean()?),
            "SS" => AttributeValue::Ss(self.list_of(Reader::text)?),
            "NS" => AttributeValue::Ns(self.list_of(Reader::text)?),
            "BS" => AttributeValue::Bs(self.list_of(Reader::binary)?),
            "L" => AttributeValue::L(self.list_of(Reader::value)?),
            "M" => AttributeValue::M(self.map_of(Reader::value)?),
            _ => return Err(self.error(JsonReason::NotTyped)),
        };
        self.leave(b'}', JsonReason::NotTyped)?;
        Ok(value)
    }

    /// An object whose members `value` reads.
    pub(super) fn map_of<T>(
        &mut self,
        value: impl Fn(&mut Self) -> Result<T, JsonError>,
    ) -> Result<HashMap<String, T>, JsonError> {
        let mut members = HashMap::new();
        self.object(|reader, name| {
            let member = value(reader)?;
            match members.insert(name.into_owned(), member) {
                None => Ok(()),
                Some(_) => Err(reader.error(JsonReason::Duplicate)),
            }
        })?;
        Ok(members)
    }

    fn text(&mut self) -> Result<String, JsonError> {
        Ok(self.string()?.into_owned())
    }

    fn binary(&mut self) -> Result<Vec<u8>, JsonError> {
        let text = self.base64()?;
        STANDARD.decode(&*text).map_err(|_| self.error(JsonReason::NotTyped))
    }
}
