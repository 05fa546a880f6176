//! Names and values of a request, as the manifest declares them.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::error::RequestError;
use crate::attribute::OWN_ATTRIBUTE_PREFIX;
use crate::json::Json;
use crate::key::{is_date, is_possible, is_timestamp};
use crate::model::{Attribute, AttributeKind, Entity, EntityId, Table};
use crate::text::closest;
use crate::value::{AttributeValue, Number, equal};

/// How many of an attribute's listed values an error shows.
const LISTED_SHOWN: usize = 20;

/// A JSON value for an attribute. `{"N": "0.1"}`, DynamoDB's own notation, is understood too.
pub fn typed_value(
    table: &Table,
    attribute: &Attribute,
    value: &Json,
) -> Result<AttributeValue, RequestError> {
    if let Some(explicit) = dynamodb_json(value) {
        let explicit = accept(table, attribute, explicit, "value of another type")?;
        return possible(attribute, explicit);
    }
    let mismatch = || RequestError::TypeMismatch {
        table: table.id.clone(),
        attribute: attribute.name.clone(),
        kind: attribute.kind.name(),
        given: value.kind().name(),
    };
    match (attribute.kind, value) {
        (AttributeKind::Binary, Json::Text(text)) => {
            STANDARD.decode(text).map(AttributeValue::B).map_err(|_| invalid(attribute))
        }
        (AttributeKind::String | AttributeKind::Timestamp(_) | AttributeKind::Date, Json::Text(text)) => {
            possible(attribute, AttributeValue::S(text.clone()))
        }
        (AttributeKind::Number, Json::Number(number)) => number_value(attribute, number),
        (AttributeKind::Boolean, Json::Bool(value)) => Ok(AttributeValue::Bool(*value)),
        _ => Err(mismatch()),
    }
}

/// A text for an attribute, from a command line, a query string or a claim.
pub fn typed_text(table: &Table, attribute: &Attribute, text: &str) -> Result<AttributeValue, RequestError> {
    match attribute.kind {
        AttributeKind::Number => number_value(attribute, text),
        AttributeKind::Boolean => match text {
            "true" => Ok(AttributeValue::Bool(true)),
            "false" => Ok(AttributeValue::Bool(false)),
            _ => Err(invalid(attribute)),
        },
        _ => typed_value(table, attribute, &Json::Text(text.to_owned())),
    }
}

/// A value, unless it is an impossible time or prefix of a time.
fn possible(attribute: &Attribute, value: AttributeValue) -> Result<AttributeValue, RequestError> {
    match (attribute.kind, &value) {
        (AttributeKind::Timestamp(_) | AttributeKind::Date, AttributeValue::S(text))
            if !is_possible(text) =>
        {
            Err(invalid(attribute))
        }
        _ => Ok(value),
    }
}

/// A value that an item can have: a listed value, if the manifest lists values; a complete time. Any other value is an
/// error, which an empty answer would hide.
pub(super) fn exact_value(
    table: &Table,
    attribute: &Attribute,
    value: AttributeValue,
) -> Result<AttributeValue, RequestError> {
    let whole = match (attribute.kind, &value) {
        (AttributeKind::Timestamp(_), AttributeValue::S(text)) => is_timestamp(text),
        (AttributeKind::Date, AttributeValue::S(text)) => is_date(text),
        _ => true,
    };
    if !whole {
        return Err(RequestError::PartOfTime {
            attribute: attribute.name.clone(),
            kind: attribute.kind.name(),
        });
    }
    match &attribute.values {
        Some(listed) if !listed.iter().any(|one| equal(one, &value)) => {
            Err(unlisted(table, attribute, &value))
        }
        _ => Ok(value),
    }
}

fn unlisted(table: &Table, attribute: &Attribute, value: &AttributeValue) -> RequestError {
    let listed = attribute.values.iter().flatten().filter_map(plain_text);
    RequestError::UnlistedValue {
        table: table.id.clone(),
        attribute: attribute.name.clone(),
        closest: plain_text(value).and_then(|given| closest(given, listed.clone())),
        listed: listed.take(LISTED_SHOWN).map(str::to_owned).collect(),
    }
}

fn plain_text(value: &AttributeValue) -> Option<&str> {
    match value {
        AttributeValue::S(text) | AttributeValue::N(text) => Some(text),
        _ => None,
    }
}

/// A member of a set or list, or a value inside of a map: typed by its JSON form alone.
pub(super) fn untyped_value(attribute: &Attribute, value: &Json) -> Result<AttributeValue, RequestError> {
    if let Some(explicit) = dynamodb_json(value) {
        return Ok(explicit);
    }
    match value {
        Json::Text(text) => Ok(AttributeValue::S(text.clone())),
        Json::Number(number) => number_value(attribute, number),
        Json::Bool(value) => Ok(AttributeValue::Bool(*value)),
        Json::Null => Ok(AttributeValue::Null(true)),
        Json::List(_) | Json::Object(_) => Err(invalid(attribute)),
    }
}

fn number_value(attribute: &Attribute, text: &str) -> Result<AttributeValue, RequestError> {
    let number: Number = text.parse().map_err(|_| invalid(attribute))?;
    Ok(AttributeValue::N(number.to_string()))
}

/// The value of `{"N": "0.1"}` and similar JSON.
fn dynamodb_json(value: &Json) -> Option<AttributeValue> {
    let members = value.as_object().filter(|members| members.len() == 1)?;
    let (letter, value) = members.first_key_value()?;
    Some(match (letter.as_str(), value) {
        ("S", Json::Text(text)) => AttributeValue::S(text.clone()),
        ("N", Json::Text(text)) => AttributeValue::N(text.parse::<Number>().ok()?.to_string()),
        ("B", Json::Text(text)) => AttributeValue::B(STANDARD.decode(text).ok()?),
        ("BOOL", Json::Bool(value)) => AttributeValue::Bool(*value),
        ("NULL", Json::Bool(value)) => AttributeValue::Null(*value),
        _ => return None,
    })
}

fn accept(
    table: &Table,
    attribute: &Attribute,
    value: AttributeValue,
    given: &'static str,
) -> Result<AttributeValue, RequestError> {
    if crate::value::type_letter(&value) == attribute.kind.type_letter() {
        return Ok(value);
    }
    Err(RequestError::TypeMismatch {
        table: table.id.clone(),
        attribute: attribute.name.clone(),
        kind: attribute.kind.name(),
        given,
    })
}

fn invalid(attribute: &Attribute) -> RequestError {
    RequestError::InvalidValue { attribute: attribute.name.clone(), kind: attribute.kind.name() }
}

/// Refuses Keyfold's own attributes: they hold no user data.
pub(super) fn check_name(name: &str) -> Result<(), RequestError> {
    match name.starts_with(OWN_ATTRIBUTE_PREFIX) {
        true => Err(RequestError::ReservedName { name: name.to_owned() }),
        false => Ok(()),
    }
}

/// The declared attribute with this name, as these entities declare it.
pub(super) fn find_attribute<'t>(
    table: &'t Table,
    entities: &[EntityId],
    name: &str,
) -> Result<&'t Attribute, RequestError> {
    check_name(name)?;
    if let Some((first, second)) = table.mixed_type(entities, name) {
        return Err(RequestError::MixedType {
            table: table.id.clone(),
            attribute: name.to_owned(),
            first: first.name.clone(),
            second: second.name.clone(),
        });
    }
    table.attribute_of(entities, name).ok_or_else(|| unknown_attribute(table, name))
}

/// Reports an unknown attribute, with the nearest name.
pub(super) fn unknown_attribute(table: &Table, name: &str) -> RequestError {
    RequestError::UnknownAttribute {
        table: table.id.clone(),
        attribute: name.to_owned(),
        closest: closest(name, table.attributes.keys().map(String::as_str)),
    }
}

/// The entity of this name.
pub(super) fn find_entity<'t>(table: &'t Table, name: &str) -> Result<(EntityId, &'t Entity), RequestError> {
    table.entity(name).ok_or_else(|| RequestError::UnknownEntity {
        table: table.id.clone(),
        entity: name.to_owned(),
        closest: closest(name, table.entities.iter().map(|entity| entity.name.as_str())),
    })
}
