//! A manifest made from the tables that are there, for commands that start without one. Nothing is sampled.

use std::path::{Path, PathBuf};

use anyhow::Context;
use keyfold_dynamo::{Client, table_description, table_names};
use keyfold_init::{Options, Source};

use crate::output::Output;
use crate::refusal::Refusal;

/// The path of the manifest if `--manifest` does not set one.
pub(crate) const MANIFEST_DEFAULT: &str = "keyfold.toml";
/// Maximum tables in a made manifest; each is described.
const TABLES_MAX: usize = 100;

/// A made manifest, in a folder that is removed at the end.
#[derive(Debug)]
pub(crate) struct MadeManifest {
    folder: PathBuf,
    tables: Vec<String>,
}

impl Drop for MadeManifest {
    fn drop(&mut self) {
        // A folder in the place for temporary files that stays is no error.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Is a manifest to be made? Only if the default one does not exist: a path that was set must be right.
pub(crate) fn is_needed(manifest: &Path) -> bool {
    manifest == Path::new(MANIFEST_DEFAULT) && !manifest.exists()
}

impl MadeManifest {
    /// Creates the folder. There is no manifest before the first [`refresh`](Self::refresh) that finds a table.
    pub(crate) fn new() -> anyhow::Result<MadeManifest> {
        let folder = std::env::temp_dir().join(format!("keyfold-{}", std::process::id()));
        std::fs::create_dir_all(&folder).with_context(|| format!("cannot create `{}`", folder.display()))?;
        Ok(MadeManifest { folder, tables: Vec::new() })
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.join(MANIFEST_DEFAULT)
    }

    /// Makes the manifest again if there are other tables than before. `own`: a table that it leaves out. False without
    /// any table.
    pub(crate) async fn refresh(&mut self, client: &Client, own: &str, out: &Output) -> anyhow::Result<bool> {
        let mut names = table_names(client).await.map_err(Refusal::with_causes)?;
        names.retain(|name| name != own);
        if names.len() > TABLES_MAX {
            out.note(format!("note: of {} tables, the first {TABLES_MAX} are shown\n", names.len()));
            names.truncate(TABLES_MAX);
        }
        if names == self.tables {
            return Ok(!names.is_empty());
        }
        let mut drafts = Vec::new();
        for name in &names {
            let text = table_description(client, name).await.map_err(Refusal::with_causes)?.table.to_string();
            match keyfold_init::read(&Source { name: format!("table {name}"), text }) {
                Ok(draft) => drafts.push((format!("table {name}"), draft)),
                Err(error) => out.note(format!("note: table `{name}` is left out: {error}\n")),
            }
        }
        self.tables = names;
        if drafts.is_empty() {
            return Ok(false);
        }
        let report = keyfold_init::init(drafts, &Options::default())?;
        std::fs::write(self.path(), report.manifest).context("cannot write the generated manifest")?;
        Ok(true)
    }
}
