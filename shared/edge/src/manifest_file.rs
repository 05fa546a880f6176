//! The manifest of a deployed function.

use std::path::Path;

use keyfold_core::manifest;
use keyfold_core::model::{Model, TableNamesError};

use crate::Environment;

/// What tables are called in this deployment, `ID=NAME,...`; others are called as the manifest says.
const TABLES: &str = "KEYFOLD_TABLES";

/// Why there is no model.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// The manifest cannot be read.
    #[error("the manifest `{path}` cannot be read: {source}")]
    Unreadable {
        /// Where it should be.
        path: String,
        /// Why not.
        source: std::io::Error,
    },
    /// The manifest has mistakes.
    #[error("the manifest has mistakes\n{report}")]
    Mistakes {
        /// Every one of them, with its place.
        report: String,
    },
    /// The names that the deployment gives to tables cannot be used.
    #[error("`{TABLES}`: {0}")]
    TableNames(#[from] TableNamesError),
}

/// The text of a manifest file.
pub fn read_manifest(path: &Path) -> Result<String, ManifestError> {
    std::fs::read_to_string(path)
        .map_err(|source| ManifestError::Unreadable { path: path.display().to_string(), source })
}

/// The model of a manifest's text, with the tables' names in this deployment. The file's name is for the messages.
pub fn parse_manifest(file_name: &str, text: &str) -> Result<Model, ManifestError> {
    let mut model = manifest::model(file_name, text).map_err(|report| ManifestError::Mistakes { report })?;
    model.name_tables(&Environment::of_process().get(TABLES).unwrap_or_default())?;
    Ok(model)
}

/// The model of a manifest file.
pub fn load(path: &Path) -> Result<Model, ManifestError> {
    parse_manifest(&path.display().to_string(), &read_manifest(path)?)
}
