//! JSON that keeps what was given: every digit of a number, and no member twice.

use std::collections::HashMap;

use keyfold_core::value::{AttributeValue, Number};
use keyfold_core::write::Members;
use keyfold_edge::Problem;
use serde::de::Deserialize;
use serde_json::value::RawValue;

use crate::limits::{NAME_BYTES_MAX, VALUES_MAX};
use crate::problem;

/// The deepest that lists and maps may be nested, the event itself not counted: what DynamoDB takes.
const DEPTH_MAX: usize = 31;

/// The members of an object; a problem if it is none, or if one is there twice.
pub(crate) fn members(text: &RawValue) -> Result<Vec<(String, &RawValue)>, Problem> {
    let members: Members<'_> = read(text.get())?;
    if members.has_one_twice() {
        return Err(Problem::malformed("an object has the same member twice"));
    }
    let Members(members) = members;
    match members.iter().find(|(name, _)| name.is_empty() || name.len() > NAME_BYTES_MAX) {
        Some(_) => Err(problem::over_limit(format!("a name is empty or longer than {NAME_BYTES_MAX} bytes"))),
        None => Ok(members),
    }
}

/// Reads JSON; what is wrong is said by its place, never by its text.
pub(crate) fn read<'t, T: Deserialize<'t>>(text: &'t str) -> Result<T, Problem> {
    serde_json::from_str(text).map_err(|error| {
        let place = format!("line {}, column {}", error.line(), error.column());
        Problem::malformed(format!("this is not the JSON of an audit event ({place})"))
    })
}

/// The value that a JSON text is, with at most so many values in it.
pub(crate) fn value(text: &RawValue, values_left: &mut usize) -> Result<AttributeValue, Problem> {
    nested(text, DEPTH_MAX, values_left)
}

fn nested(text: &RawValue, depth_left: usize, values_left: &mut usize) -> Result<AttributeValue, Problem> {
    let too_many = || problem::over_limit(format!("an audit event has more than {VALUES_MAX} values"));
    *values_left = values_left.checked_sub(1).ok_or_else(too_many)?;
    let inner = || {
        let deep = format!("values are nested deeper than {DEPTH_MAX} levels");
        depth_left.checked_sub(1).ok_or_else(|| problem::over_limit(deep))
    };
    match text.get().as_bytes().first() {
        Some(b'"') => read(text.get()).map(AttributeValue::S),
        Some(b't' | b'f') => read(text.get()).map(AttributeValue::Bool),
        Some(b'n') => Ok(AttributeValue::Null(true)),
        Some(b'[') => {
            let (left, elements) = (inner()?, read::<Vec<&RawValue>>(text.get())?);
            let elements = elements.into_iter().map(|element| nested(element, left, values_left));
            elements.collect::<Result<_, _>>().map(AttributeValue::L)
        }
        Some(b'{') => {
            let (left, mut map) = (inner()?, HashMap::new());
            for (name, member) in members(text)? {
                map.insert(name, nested(member, left, values_left)?);
            }
            Ok(AttributeValue::M(map))
        }
        _ => number(text.get()).map(AttributeValue::N),
    }
}

/// A number with every digit; DynamoDB has 38.
pub(crate) fn number(text: &str) -> Result<String, Problem> {
    let number = text.parse::<Number>();
    number
        .map(|number| number.to_string())
        .map_err(|error| Problem::new(400, "item-number", error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> Result<AttributeValue, &'static str> {
        let raw: &RawValue = serde_json::from_str(text).unwrap();
        value(raw, &mut 10).map_err(|problem| problem.code)
    }

    #[test]
    fn a_number_keeps_every_digit() {
        let digits = "12345678901234567890123456789012345.678";
        assert_eq!(code(digits), Ok(AttributeValue::N(digits.to_owned())));
        assert_eq!(code(&"1".repeat(39)), Err("item-number"));
    }

    #[test]
    fn what_is_too_deep_too_many_or_there_twice_is_refused() {
        assert!(code(&format!("{}1{}", "[".repeat(9), "]".repeat(9))).is_ok());
        assert_eq!(code(&format!("{}1{}", "[".repeat(10), "]".repeat(10))), Err("over-limit"));
        let deep = format!("{}1{}", "[".repeat(40), "]".repeat(40));
        let raw: &RawValue = serde_json::from_str(&deep).unwrap();
        assert_eq!(value(raw, &mut 1000).map_err(|problem| problem.code), Err("over-limit"));
        assert_eq!(code(r#"{"a":1,"a":2}"#), Err("malformed-request"));
        assert_eq!(code(r#"{"":1}"#), Err("over-limit"));
    }
}
