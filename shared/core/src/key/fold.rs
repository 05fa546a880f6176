//! Folding: writes an item's attributes into one key.

use super::codec::Codec;
use super::error::{FoldError, FoldProblem};
use super::field::Field;
use super::template::{Element, Template};
use crate::value::{AttributeValue, Item};

/// Maximum number of attributes in one template.
pub(super) const FIELDS_MAX: usize = 32;

/// The values that an item has for the fields of a template.
struct FieldValues<'i> {
    values: [Option<&'i AttributeValue>; FIELDS_MAX],
    /// The number of optional tails that are written.
    depth: usize,
    /// The estimated length of the key.
    bytes: usize,
}

impl Template {
    /// The key of an item; `None` if the item lacks a part and so is not in the index.
    pub fn fold(&self, item: &Item) -> Result<Option<String>, FoldError> {
        let Some(found) = self.find(item)? else { return Ok(None) };
        let mut key = String::with_capacity(found.bytes);
        self.write(&found, &mut key)?;
        let (bytes, bytes_max) = (key.len(), self.role.bytes_max());
        match bytes {
            0 => Err(self.error(None, FoldProblem::EmptyKey)),
            _ if bytes > bytes_max => Err(self.error(None, FoldProblem::TooLong { bytes, bytes_max })),
            _ => Ok(Some(key)),
        }
    }

    fn find<'i>(&self, item: &'i Item) -> Result<Option<FieldValues<'i>>, FoldError> {
        let mut found = FieldValues { values: [None; FIELDS_MAX], depth: usize::MAX, bytes: 0 };
        let mut number = 0;
        for element in &self.elements {
            match element {
                Element::Literal { text, level } if *level <= found.depth => found.bytes += text.len(),
                Element::Literal { .. } => {}
                Element::Field { field, level } => {
                    let value = item.get(&field.attribute);
                    match value {
                        None if *level == 0 => return Ok(None),
                        None => self.leave_out(&mut found, number, *level)?,
                        Some(_) if *level > found.depth => {
                            return Err(self.error(Some(field), FoldProblem::OptionalGap));
                        }
                        Some(value) => found.bytes += field.bytes(value),
                    }
                    found.values[number] = value;
                    number += 1;
                }
            }
        }
        Ok(Some(found))
    }

    /// Ends the key before an optional tail that lacks an attribute. An item with other attributes of that tail is
    /// refused.
    fn leave_out(&self, found: &mut FieldValues<'_>, number: usize, level: usize) -> Result<(), FoldError> {
        for (before, (field, other)) in self.fields().take(number).enumerate() {
            if other == level && found.values[before].is_some() {
                return Err(self.error(Some(field), FoldProblem::OptionalGap));
            }
        }
        found.depth = found.depth.min(level - 1);
        Ok(())
    }

    fn write(&self, found: &FieldValues<'_>, key: &mut String) -> Result<(), FoldError> {
        let mut values = found.values.iter();
        let mut level_before = 0;
        for element in &self.elements {
            let level = element.level();
            match element {
                _ if level > found.depth => break,
                Element::Literal { text, .. } => key.push_str(text),
                Element::Field { field, .. } => {
                    let Some(value) = values.next().copied().flatten() else { break };
                    let start = key.len();
                    field.write(value, key).map_err(|problem| self.error(Some(field), problem))?;
                    // An attribute at the start of a tail that adds no text would look like an absent tail.
                    if level > level_before && key.len() == start {
                        return Err(self.error(Some(field), FoldProblem::EmptyOptional));
                    }
                }
            }
            level_before = level;
        }
        Ok(())
    }

    fn error(&self, field: Option<&Field>, problem: FoldProblem) -> FoldError {
        FoldError {
            template: self.text.clone(),
            attribute: field.map(|field| field.attribute.clone()),
            problem,
        }
    }
}

impl Field {
    /// The estimated length of a value's text; exact if nothing is escaped.
    fn bytes(&self, value: &AttributeValue) -> usize {
        match (&self.codec, value) {
            (Codec::Integer { width }, _) => *width as usize,
            (Codec::Number, _) => 43,
            (Codec::Timestamp(precision) | Codec::LowerTimestamp(precision), _) => precision.length(),
            (Codec::Shard(_) | Codec::Modulo(_), _) => 4,
            (Codec::Hex, AttributeValue::B(bytes)) => bytes.len() * 2,
            (_, AttributeValue::S(text) | AttributeValue::N(text)) => text.len(),
            (_, AttributeValue::B(bytes)) => bytes.len(),
            _ => 5,
        }
    }
}
