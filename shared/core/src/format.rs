//! The versions of stored forms. A reader knows one version of each form and refuses all others: it would misread them,
//! and overwriting them would lose data.

use crate::value::{AttributeValue, Item};

/// The attribute of a row, or the member of a JSON text, that has the version.
pub const VERSION_NAME: &str = "v";

/// A stored form, and the version of it that this Keyfold reads and writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredFormat {
    /// The name of the stored form.
    pub name: &'static str,
    /// Its version.
    pub version: u32,
}

/// A stored form in an unknown version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} has format version {found}, and this Keyfold reads version {known} only")]
pub struct UnknownFormat {
    /// The name of the stored form.
    pub what: String,
    /// Its version; `none` without one.
    pub found: String,
    /// The known version.
    pub known: u32,
}

impl UnknownFormat {
    /// The stable error code.
    pub fn code(&self) -> &'static str {
        "unknown-format"
    }

    /// A suggestion.
    pub fn hint(&self) -> &'static str {
        "another version of Keyfold wrote it: use that version everywhere, or finish its work with that version and start again with this one"
    }
}

impl StoredFormat {
    /// The version as a row's attribute.
    pub fn attribute(self) -> AttributeValue {
        AttributeValue::N(self.version.to_string())
    }

    /// Refuses a row of another version.
    pub fn check_row(self, row: &Item) -> Result<(), UnknownFormat> {
        match row.get(VERSION_NAME) {
            Some(AttributeValue::N(found)) => self.check(Some(found)),
            _ => self.check(None),
        }
    }

    /// Refuses a JSON object of another version. A text that is no object is for its own reader to refuse.
    pub fn check_json(self, text: &[u8]) -> Result<(), UnknownFormat> {
        match serde_json::from_slice(text) {
            Ok(serde_json::Value::Object(members)) => {
                self.check(members.get(VERSION_NAME).map(ToString::to_string).as_deref())
            }
            _ => Ok(()),
        }
    }

    fn check(self, found: Option<&str>) -> Result<(), UnknownFormat> {
        let StoredFormat { name, version: known } = self;
        match found == Some(known.to_string().as_str()) {
            true => Ok(()),
            false => {
                let found = found.unwrap_or("none").to_owned();
                Err(UnknownFormat { what: name.to_owned(), found, known })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_version_is_read_and_every_other_is_refused() {
        let format = StoredFormat { name: "a row", version: 7 };
        let row = |version: Option<AttributeValue>| {
            Item::from_iter(version.map(|version| (VERSION_NAME.to_owned(), version)))
        };
        assert_eq!(format.check_row(&row(Some(format.attribute()))), Ok(()));
        assert_eq!(format.check_json(br#"{"v":7,"more":1}"#), Ok(()));
        let refused =
            |found: &str| Err(UnknownFormat { what: "a row".to_owned(), found: found.to_owned(), known: 7 });
        assert_eq!(format.check_row(&row(None)), refused("none"));
        assert_eq!(format.check_row(&row(Some(AttributeValue::N("8".to_owned())))), refused("8"));
        assert_eq!(format.check_json(br#"{"v":6}"#), refused("6"));
        assert_eq!(format.check_json(b"{}"), refused("none"));
    }
}
