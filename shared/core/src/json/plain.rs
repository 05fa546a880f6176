//! Values in plain JSON, whose types are those that JSON has.

use super::error::{JsonError, JsonKind, JsonReason};
use super::reader::{Bounds, Reader};
use crate::value::{AttributeValue, Number};

/// The letters of DynamoDB's notation.
const LETTERS: [&str; 10] = ["S", "N", "B", "BOOL", "NULL", "M", "L", "SS", "NS", "BS"];

/// The value that a text of plain JSON is, within bounds.
pub fn read_plain(text: &str, bounds: Bounds) -> Result<AttributeValue, JsonError> {
    let mut reader = Reader::within(text, bounds);
    let value = reader.plain()?;
    reader.end()?;
    Ok(value)
}

/// Is each attribute of this object in DynamoDB's notation? An object without attributes is in none.
pub fn is_typed(text: &str) -> Result<bool, JsonError> {
    let (mut reader, mut any, mut all) = (Reader::new(text), false, true);
    reader.object(|reader, _| {
        any = true;
        all &= reader.is_typed()?;
        Ok(())
    })?;
    reader.end()?;
    Ok(any && all)
}

impl Reader<'_> {
    /// A value in plain JSON. A number has every digit, in DynamoDB's form.
    pub fn plain(&mut self) -> Result<AttributeValue, JsonError> {
        self.count_value()?;
        Ok(match self.kind()? {
            JsonKind::Null => {
                self.null()?;
                AttributeValue::Null(true)
            }
            JsonKind::Boolean => AttributeValue::Bool(self.boolean()?),
            JsonKind::Number => {
                let number = self.number()?.parse::<Number>();
                let number = number.map_err(|error| self.error(JsonReason::Number(error)))?;
                AttributeValue::N(number.to_string())
            }
            JsonKind::Text => AttributeValue::S(self.string()?.into_owned()),
            JsonKind::List => AttributeValue::L(self.list_of(Reader::plain)?),
            JsonKind::Object => AttributeValue::M(self.map_of(Reader::plain)?),
        })
    }

    /// Walks over a value. Is it `{"S": ...}` or its like?
    fn is_typed(&mut self) -> Result<bool, JsonError> {
        if self.kind()? != JsonKind::Object {
            self.skip()?;
            return Ok(false);
        }
        let (mut members, mut known) = (0, false);
        self.object(|reader, name| {
            members += 1;
            known = LETTERS.contains(&&*name);
            reader.skip()
        })?;
        Ok(members == 1 && known)
    }
}
