//! The whole run: every case, every pattern.

mod one;

use std::path::{Path, PathBuf};

use keyfold_core::manifest;

use crate::case::{Case, CaseError};
use crate::report::{CaseReport, Report, State};

/// The options of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Options {
    /// The folder with the cases, `NAME.json`.
    pub data: PathBuf,
    /// The folder with the manifests, `NAME.toml`.
    pub manifests: PathBuf,
    /// Only these cases; all if empty.
    pub only: Vec<String>,
    /// May a scan answer patterns for which the published model does not scan?
    pub allow_scan: bool,
}

/// Why nothing ran.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The folder with the cases is not there.
    #[error("there is no folder `{}` with cases", .path.display())]
    NoData {
        /// The folder.
        path: PathBuf,
    },
    /// A folder cannot be listed.
    #[error("cannot list `{}`", .path.display())]
    Unreadable {
        /// The folder.
        path: PathBuf,
        /// The error.
        source: std::io::Error,
    },
    /// The folder contains no case, or none of the requested ones.
    #[error("`{}` holds no case{}", .path.display(), asked_for(.only))]
    NoCases {
        /// The folder.
        path: PathBuf,
        /// The requested cases.
        only: Vec<String>,
    },
}

fn asked_for(only: &[String]) -> String {
    if only.is_empty() { String::new() } else { format!(" called {}", only.join(", ")) }
}

/// Runs the cases.
pub async fn run(options: &Options) -> Result<Report, RunError> {
    let mut report = Report::default();
    for path in files(options)? {
        let case = match Case::read(&path) {
            Ok(case) => case,
            // A folder may hold other JSON.
            Err(CaseError::Malformed { .. }) if options.only.is_empty() && !has_manifest(&path, options) => {
                continue;
            }
            Err(error) => {
                let name = stem(&path);
                let what = crate::subject::chain(&error);
                report.cases.push(CaseReport { name, state: State::Unusable { what }, rows: Vec::new() });
                continue;
            }
        };
        report.cases.push(case_report(&case, options).await);
    }
    if report.cases.is_empty() {
        return Err(RunError::NoCases { path: options.data.clone(), only: options.only.clone() });
    }
    Ok(report)
}

async fn case_report(case: &Case, options: &Options) -> CaseReport {
    let name = case.name.clone();
    let path = options.manifests.join(format!("{name}.toml"));
    let Ok(text) = std::fs::read_to_string(&path) else {
        return CaseReport { name, state: State::NoManifest, rows: Vec::new() };
    };
    let parsed = manifest::parse(&path.display().to_string(), &text);
    match parsed.model.clone() {
        Some(model) => one::run(case, model, options.allow_scan).await,
        None => {
            let what = parsed.render(&text, false);
            CaseReport { name, state: State::Unusable { what }, rows: Vec::new() }
        }
    }
}

fn files(options: &Options) -> Result<Vec<PathBuf>, RunError> {
    if !options.data.is_dir() {
        return Err(RunError::NoData { path: options.data.clone() });
    }
    let unreadable = |source| RunError::Unreadable { path: options.data.clone(), source };
    let mut files = Vec::new();
    for entry in std::fs::read_dir(&options.data).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let is_wanted = options.only.is_empty() || options.only.contains(&stem(&path));
        if path.extension().is_some_and(|extension| extension == "json") && is_wanted {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn has_manifest(path: &Path, options: &Options) -> bool {
    options.manifests.join(format!("{}.toml", stem(path))).is_file()
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}
