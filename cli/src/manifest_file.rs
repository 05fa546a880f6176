//! The manifest, from its file to the model.

use std::path::Path;

use anyhow::Context;
use keyfold_core::manifest::{self, Parsed, Severity};
use keyfold_core::model::{Model, Table};
use keyfold_core::review::review;

use crate::output::{Output, counted};

/// A manifest that was read, with all its diagnostics.
pub(crate) struct ManifestFile {
    pub(crate) name: String,
    pub(crate) text: String,
    pub(crate) parsed: Parsed,
}

impl ManifestFile {
    /// Reads and checks a manifest. The planner's findings about its questions are added to the diagnostics.
    pub(crate) fn read(path: &Path) -> anyhow::Result<ManifestFile> {
        let name = path.display().to_string();
        let text = manifest_text(path)?;
        let mut parsed = manifest::parse(&name, &text);
        review(&mut parsed, &text);
        Ok(ManifestFile { name, text, parsed })
    }

    pub(crate) fn count(&self, severity: Severity) -> usize {
        self.parsed.diagnostics.iter().filter(|diagnostic| diagnostic.severity == severity).count()
    }

    pub(crate) fn render(&self, out: &Output) -> String {
        manifest::render(&self.name, &self.text, &self.parsed.diagnostics, out.colour())
    }
}

/// The text of a manifest.
pub(crate) fn manifest_text(path: &Path) -> anyhow::Result<String> {
    std::fs::read_to_string(path).with_context(|| {
        format!("cannot read the manifest `{}` (set another path with --manifest)", path.display())
    })
}

/// The table names of one deployment, `ID=NAME,...`, as in the functions of a stack.
const TABLES: &str = "KEYFOLD_TABLES";

/// The model of a manifest without errors, with the tables' names in the deployment that `KEYFOLD_TABLES` describes.
pub(crate) fn model(path: &Path, out: &Output) -> anyhow::Result<Model> {
    let mut model = declared(path, out)?;
    model.name_tables(&std::env::var(TABLES).unwrap_or_default()).context(TABLES)?;
    Ok(model)
}

/// The model of a manifest without errors, with the names that it has itself; otherwise its diagnostics are the error.
pub(crate) fn declared(path: &Path, out: &Output) -> anyhow::Result<Model> {
    let file = ManifestFile::read(path)?;
    let errors = file.count(Severity::Error);
    match file.parsed.model {
        Some(model) => Ok(model),
        None => {
            out.styled_note(manifest::render(&file.name, &file.text, &file.parsed.diagnostics, out.colour()));
            anyhow::bail!("the manifest `{}` has {}", file.name, counted(errors, "error"))
        }
    }
}

/// A table of the model, by its name.
pub(crate) fn table<'m>(model: &'m Model, name: &str) -> anyhow::Result<&'m Table> {
    model.table(name).with_context(|| {
        let names: Vec<&str> = model.tables.iter().map(|table| table.id.as_str()).collect();
        format!("the manifest has no table `{name}`; its tables are: {}", names.join(", "))
    })
}

/// Replaces a manifest: the whole file is written under another name, then renamed.
pub(crate) fn replace(path: &Path, text: &str) -> anyhow::Result<()> {
    let beside = path.with_extension("toml.new");
    std::fs::write(&beside, text).with_context(|| format!("cannot write `{}`", beside.display()))?;
    std::fs::rename(&beside, path).with_context(|| format!("cannot write `{}`", path.display()))?;
    Ok(())
}
