//! Where the functions' binaries are: built for Lambda, or built now.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};
use keyfold_local::runtime_api::BINARIES;

use crate::Setting;

/// The functions, and the packages that they are in.
pub(super) const FUNCTIONS: [(&str, &str); 4] = [
    ("bare", "keyfold-bare"),
    ("query-api", "keyfold-query-api"),
    ("audit-writer", "keyfold-audit-writer"),
    ("replicator", "keyfold-replicator"),
];

/// The binaries, and a sentence on how they were built.
pub(super) fn find(setting: &Setting) -> anyhow::Result<(BTreeMap<&'static str, PathBuf>, String)> {
    let folder = std::env::var_os(BINARIES).filter(|folder| !folder.is_empty());
    let folder = folder.map_or_else(|| setting.target.join("lambda"), PathBuf::from);
    if let Some(found) = for_lambda(&folder) {
        return Ok((
            found,
            "The binaries are those of `cargo lambda build --release`, as they are deployed.".to_owned(),
        ));
    }
    build(setting)?;
    let binary = |(name, _): (&'static str, &str)| (name, setting.target.join("release").join(name));
    let how = "The binaries are those of `cargo build --release`; those of `cargo lambda build --release`, which are deployed, are smaller, and are used if they are in `target/lambda`.";
    Ok((FUNCTIONS.into_iter().map(binary).collect(), how.to_owned()))
}

/// `NAME/bootstrap` for each function, if all of them are there.
fn for_lambda(folder: &Path) -> Option<BTreeMap<&'static str, PathBuf>> {
    let binary = |(name, _): (&'static str, &str)| {
        let path = folder.join(name).join("bootstrap");
        path.is_file().then_some((name, path))
    };
    FUNCTIONS.into_iter().map(binary).collect()
}

/// Together with this package, so that what both depend on is not built twice.
fn build(setting: &Setting) -> anyhow::Result<()> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["build", "--quiet", "--release", "-p", env!("CARGO_PKG_NAME")]);
    command.args(FUNCTIONS.iter().flat_map(|(_, package)| ["-p", package]));
    command.arg("--target-dir").arg(&setting.target).current_dir(&setting.workspace).stdin(Stdio::null());
    let status = command.status().context("`cargo` does not start")?;
    ensure!(status.success(), "the functions cannot be built: {status}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_with_some_of_the_functions_is_not_taken() {
        let folder = tempfile::tempdir().unwrap();
        for (at, (name, _)) in FUNCTIONS.iter().enumerate() {
            assert_eq!(for_lambda(folder.path()), None, "{at} of them");
            std::fs::create_dir(folder.path().join(name)).unwrap();
            std::fs::write(folder.path().join(name).join("bootstrap"), "").unwrap();
        }
        assert_eq!(for_lambda(folder.path()).unwrap().len(), FUNCTIONS.len());
    }
}
