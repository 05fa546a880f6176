//! The manifest of a deployed function.

use std::path::Path;

use keyfold_core::manifest;
use keyfold_core::model::{Model, TableNamesError};
use keyfold_core::value::Hex;
use keyfold_dynamo::model_version;

use crate::Environment;

/// The table names of this deployment, `ID=NAME,...`; other tables have the manifest's names.
const TABLES: &str = "KEYFOLD_TABLES";
/// The SHA-256 of the deployment's manifest, in hexadecimal; not checked if unset.
const DIGEST: &str = "KEYFOLD_MANIFEST_DIGEST";

/// Why there is no model.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// The manifest cannot be read.
    #[error("the manifest `{path}` cannot be read: {source}")]
    Unreadable {
        /// Its path.
        path: String,
        /// The error.
        source: std::io::Error,
    },
    /// The deployment was made from another manifest, with other tables and permissions.
    #[error(
        "the manifest `{path}` has the SHA-256 {found}, and this deployment was made from {wanted}\nhint: make the template again (`keyfold template --out`, or `keyfold bundle`) and deploy it together with the manifest that the command wrote"
    )]
    Another {
        /// Its path.
        path: String,
        /// Its digest.
        found: String,
        /// The deployment's (`KEYFOLD_MANIFEST_DIGEST`).
        wanted: String,
    },
    /// The manifest has mistakes.
    #[error("the manifest has mistakes\n{report}")]
    Mistakes {
        /// All mistakes, with their positions.
        report: String,
    },
    /// The deployment's table names are invalid.
    #[error("`{TABLES}`: {0}")]
    TableNames(#[from] TableNamesError),
}

/// The text of a manifest file, which must equal the deployment's manifest.
pub fn read_manifest(path: &Path) -> Result<String, ManifestError> {
    let text = std::fs::read_to_string(path)
        .map_err(|source| ManifestError::Unreadable { path: path.display().to_string(), source })?;
    check_digest(path, &text, Environment::of_process().get(DIGEST))?;
    Ok(text)
}

fn check_digest(path: &Path, text: &str, wanted: Option<String>) -> Result<(), ManifestError> {
    let found = Hex(&model_version(text)).to_string();
    match wanted {
        Some(wanted) if wanted != found => {
            Err(ManifestError::Another { path: path.display().to_string(), found, wanted })
        }
        _ => Ok(()),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_that_the_deployment_was_not_made_from_is_refused() {
        let digest = Hex(&model_version("one")).to_string();
        let check = |text: &str, wanted: Option<&String>| {
            check_digest(Path::new("keyfold.toml"), text, wanted.cloned()).map_err(|error| error.to_string())
        };
        assert_eq!(check("one", Some(&digest)), Ok(()));
        assert_eq!(check("another", None), Ok(()));
        let message = check("another", Some(&digest)).unwrap_err();
        assert!(message.contains(&digest) && message.contains("hint:"), "{message}");
    }
}
