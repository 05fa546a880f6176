//! The differences between a table in DynamoDB and the model.

use std::fmt;

use aws_sdk_dynamodb::types::{StreamViewType, TableDescription};
use keyfold_core::model::Table;

use super::schema::TableOptions;
use super::schema::{IndexSchema, KeyNames, Schema};

/// All differences between a table in DynamoDB and the model; empty if there are none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TableDiff {
    /// The table's differences first, then those of its indexes by name.
    pub differences: Vec<Difference>,
}

/// One difference between a table in DynamoDB and the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Difference {
    /// The table, or an index, has another key.
    Keys {
        /// The index; `None` for the table itself.
        index: Option<String>,
        /// The key in the model.
        wanted: KeyNames,
        /// The key in DynamoDB.
        found: KeyNames,
    },
    /// A key attribute has another type.
    KeyType {
        /// The attribute.
        attribute: String,
        /// The type in the model: `S`, `N` or `B`.
        wanted: String,
        /// The type in DynamoDB.
        found: String,
    },
    /// The table has no such index.
    NoIndex {
        /// The index.
        index: String,
    },
    /// The index is local and should be global, or vice versa.
    IndexKind {
        /// The index.
        index: String,
    },
    /// The index holds other attributes.
    Projection {
        /// The index.
        index: String,
        /// The projection in the model.
        wanted: String,
        /// The projection in DynamoDB.
        found: String,
    },
    /// An index that the model does not have. Queries still work; each write pays for it.
    UnknownIndex {
        /// The index.
        index: String,
    },
    /// There is no stream with both images.
    NoStream,
}

/// The hint for a different index.
pub(super) const OTHER_INDEX: &str = "DynamoDB cannot change an index: give the manifest's index another name, or correct the manifest; nothing was changed";
/// The hint for a missing local index.
pub(super) const NO_LOCAL_INDEX: &str = "make it a global index (give it a `partition`), or retrofit into a new table that has it; nothing was changed";

impl Difference {
    /// A suggestion.
    pub(super) fn hint(&self) -> &'static str {
        match self {
            Difference::Keys { index: None, .. } => {
                "DynamoDB cannot change a table's key: correct the manifest, or retrofit into a new table; nothing was changed"
            }
            Difference::KeyType { .. } => {
                "DynamoDB cannot change a key attribute's type: correct the manifest, or retrofit into a new table; nothing was changed"
            }
            Difference::NoIndex { .. } => NO_LOCAL_INDEX,
            Difference::UnknownIndex { .. } => {
                "declare it in the manifest, or delete it yourself if nothing asks it: each write pays for it"
            }
            Difference::NoStream => "switch it on",
            _ => OTHER_INDEX,
        }
    }
}

impl TableDiff {
    /// The differences of a description from the model.
    pub(crate) fn of(table: &Table, options: TableOptions, found: &TableDescription) -> TableDiff {
        let wanted = Schema::of_model(table);
        let mut differences = schema_differences(&wanted, &Schema::of_description(found));
        if options.stream && !has_both_images(found) {
            differences.push(Difference::NoStream);
        }
        TableDiff { differences }
    }

    /// Are there no differences?
    pub fn is_empty(&self) -> bool {
        self.differences.is_empty()
    }

    /// Is a required stream with both images missing?
    pub fn lacks_stream(&self) -> bool {
        self.differences.contains(&Difference::NoStream)
    }

    /// Can the model be used with this table? Differences that only cost money are ignored.
    pub fn is_compatible(&self) -> bool {
        self.differences.iter().all(|difference| matches!(difference, Difference::UnknownIndex { .. }))
    }
}

/// The view type of a stream without both images.
pub(super) fn other_view(found: &TableDescription) -> Option<String> {
    let stream = found.stream_specification().filter(|stream| stream.stream_enabled())?;
    let view = stream.stream_view_type().filter(|view| **view != StreamViewType::NewAndOldImages)?;
    Some(view.as_str().to_owned())
}

fn has_both_images(table: &TableDescription) -> bool {
    let stream = table.stream_specification();
    stream.is_some_and(|stream| {
        stream.stream_enabled() && stream.stream_view_type() == Some(&StreamViewType::NewAndOldImages)
    })
}

fn schema_differences(wanted: &Schema, found: &Schema) -> Vec<Difference> {
    let types = wanted.types.iter().filter_map(|(attribute, type_)| {
        // An attribute without a type in DynamoDB is in no key there, so its key differs already.
        let other = found.types.get(attribute).filter(|other| *other != type_)?;
        Some(Difference::KeyType {
            attribute: attribute.clone(),
            wanted: type_.to_string(),
            found: other.to_string(),
        })
    });
    let indexes = wanted.indexes.iter().flat_map(|(name, index)| match found.indexes.get(name) {
        Some(other) => index_differences(name, index, other),
        None => vec![Difference::NoIndex { index: name.clone() }],
    });
    let unknown = found.indexes.keys().filter(|name| !wanted.indexes.contains_key(*name));
    other_keys(None, &wanted.keys, &found.keys)
        .into_iter()
        .chain(types)
        .chain(indexes)
        .chain(unknown.map(|index| Difference::UnknownIndex { index: index.clone() }))
        .collect()
}

fn index_differences(name: &str, wanted: &IndexSchema, found: &IndexSchema) -> Vec<Difference> {
    let kind = (wanted.kind != found.kind).then(|| Difference::IndexKind { index: name.to_owned() });
    let projection = (wanted.projected != found.projected).then(|| Difference::Projection {
        index: name.to_owned(),
        wanted: wanted.projected.to_string(),
        found: found.projected.to_string(),
    });
    kind.into_iter().chain(other_keys(Some(name), &wanted.keys, &found.keys)).chain(projection).collect()
}

fn other_keys(index: Option<&str>, wanted: &KeyNames, found: &KeyNames) -> Option<Difference> {
    (wanted != found).then(|| Difference::Keys {
        index: index.map(str::to_owned),
        wanted: wanted.clone(),
        found: found.clone(),
    })
}

/// The differences, separated by semicolons.
impl fmt::Display for TableDiff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, difference) in self.differences.iter().enumerate() {
            write!(f, "{}{difference}", if at == 0 { "" } else { "; " })?;
        }
        Ok(())
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Difference::Keys { index: None, wanted, found } => {
                write!(f, "its key is {found} instead of {wanted}")
            }
            Difference::Keys { index: Some(index), wanted, found } => {
                write!(f, "the key of index `{index}` is {found} instead of {wanted}")
            }
            Difference::KeyType { attribute, wanted, found } => {
                write!(f, "key attribute `{attribute}` is of type `{found}` instead of `{wanted}`")
            }
            Difference::NoIndex { index } => write!(f, "index `{index}` is missing"),
            Difference::IndexKind { index } => {
                write!(f, "index `{index}` is of the other kind (local or global)")
            }
            Difference::Projection { index, wanted, found } => {
                write!(f, "index `{index}` holds {found} instead of {wanted}")
            }
            Difference::UnknownIndex { index } => write!(f, "index `{index}` is not in the manifest"),
            Difference::NoStream => f.write_str("it has no stream with both images"),
        }
    }
}

#[cfg(test)]
mod tests;
