//! A case: a published model, its items, and its access patterns, in `NAME.json`.
//!
//! Unknown members are ignored, and missing ones have simple defaults, so that files by other authors in the same form
//! can be read.

mod condition;
mod pattern;
mod published;
mod value;

use std::path::{Path, PathBuf};

use keyfold_core::value::Item;

use crate::json::{CaseJson, Json, JsonError};

pub use condition::{Asked, Op};
pub use pattern::{Expected, Meaning, Natural, Pattern, Sorted};
pub use published::PublishedTable;
pub use value::{canonical, find};

/// A case.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// Its name: that of the file.
    pub name: String,
    /// The table as published.
    pub table: PublishedTable,
    /// The items as published, with their synthetic keys.
    pub items: Vec<Item>,
    /// The same items without these, in the same order.
    pub natural: Vec<Natural>,
    /// The access patterns.
    pub patterns: Vec<Pattern>,
}

/// Why a file is not a case.
#[derive(Debug, thiserror::Error)]
pub enum CaseError {
    /// It cannot be read.
    #[error("cannot read `{}`", .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The error.
        source: std::io::Error,
    },
    /// It is not JSON.
    #[error("`{name}` is not JSON")]
    NotJson {
        /// The case's name.
        name: String,
        /// The error.
        source: JsonError,
    },
    /// A part is missing or invalid.
    #[error("`{name}`: {what}")]
    Malformed {
        /// The case's name.
        name: String,
        /// The problem.
        what: String,
    },
}

impl Case {
    /// Reads a file.
    pub fn read(path: &Path) -> Result<Case, CaseError> {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(path)
            .map_err(|source| CaseError::Unreadable { path: path.to_owned(), source })?;
        Case::parse(&name, &text)
    }

    /// Reads a text.
    pub fn parse(name: &str, text: &str) -> Result<Case, CaseError> {
        let json =
            Json::parse(text).map_err(|source| CaseError::NotJson { name: name.to_owned(), source })?;
        let malformed = |what: String| CaseError::Malformed { name: name.to_owned(), what };
        let items = items(&json).map_err(malformed)?;
        let natural: Vec<Natural> =
            json.list("natural_items").iter().map(natural).collect::<Result<_, _>>().map_err(malformed)?;
        if natural.is_empty() {
            return Err(malformed("it has no `natural_items`".to_owned()));
        }
        let table = PublishedTable::of(&json);
        let patterns = json
            .list("access_patterns")
            .iter()
            .enumerate()
            .map(|(at, one)| Pattern::of(one, at, &items, &table).map_err(malformed))
            .collect::<Result<_, _>>()?;
        Ok(Case { name: name.to_owned(), table, items, natural, patterns })
    }
}

fn items(json: &Json) -> Result<Vec<Item>, String> {
    let item = |(at, one): (usize, &Json)| {
        let members = one.as_object().ok_or_else(|| format!("`items[{at}]` is not an object"))?;
        let value = |(name, value): (&String, &Json)| match value.dynamodb() {
            Ok(value) => Ok((name.clone(), value)),
            Err(error) => Err(format!("`items[{at}]`, attribute `{name}`: {error}")),
        };
        let attributes: std::collections::HashMap<_, _> =
            members.iter().map(value).collect::<Result<_, _>>()?;
        Ok(Item::from(attributes))
    };
    json.list("items").iter().enumerate().map(item).collect()
}

fn natural(json: &Json) -> Result<Natural, String> {
    let attributes = json.get("attrs").or_else(|| json.get("attributes")).and_then(Json::as_object);
    let attributes = attributes.ok_or_else(|| "one of `natural_items` has no `attrs`".to_owned())?;
    let attributes: std::collections::HashMap<_, _> =
        attributes.iter().map(|(name, value)| (name.clone(), value.plain())).collect();
    let entity = json.text("entity").unwrap_or_default().to_owned();
    Ok(Natural { entity, attributes: Item::from(attributes) })
}
