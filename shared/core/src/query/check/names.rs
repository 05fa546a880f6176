//! Names of a request, found in the model.

use super::error::RequestError;
use crate::model::{Attribute, Table};
use crate::text::closest;

/// The declared attribute of this name.
pub(super) fn find_attribute<'t>(table: &'t Table, name: &str) -> Result<&'t Attribute, RequestError> {
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
