//! Names of a request, found in the model.

use super::error::RequestError;
use crate::attribute::OWN_ATTRIBUTE_PREFIX;
use crate::model::{Attribute, Entity, EntityId, Table};
use crate::text::closest;

/// Is the name free to be asked for? What a retrofit keeps on items says nothing of the data.
pub(super) fn check_name(name: &str) -> Result<(), RequestError> {
    match name.starts_with(OWN_ATTRIBUTE_PREFIX) {
        true => Err(RequestError::ReservedName { name: name.to_owned() }),
        false => Ok(()),
    }
}

/// The declared attribute of this name.
pub(super) fn find_attribute<'t>(table: &'t Table, name: &str) -> Result<&'t Attribute, RequestError> {
    check_name(name)?;
    table.attributes.get(name).ok_or_else(|| unknown_attribute(table, name))
}

/// There is no such attribute: which one is nearest?
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
