//! How much is measured, and where things are.

use std::path::{Path, PathBuf};

use anyhow::Context;

/// How much is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// A little of everything: does it still work?
    Quick,
    /// Enough to say something.
    Full,
}

impl Scale {
    /// One of two, by the scale.
    pub fn of<T>(self, quick: T, full: T) -> T {
        match self {
            Scale::Quick => quick,
            Scale::Full => full,
        }
    }
}

/// What sections need to know.
#[derive(Debug, Clone)]
pub struct Setting {
    /// How much is measured.
    pub scale: Scale,
    /// This program: retrofits are measured in processes of their own.
    pub program: PathBuf,
    /// The folder of what is built.
    pub target: PathBuf,
    /// The workspace's folder.
    pub workspace: PathBuf,
    /// Called with what is being done, where that takes long.
    pub progress: fn(&str),
}

impl Setting {
    /// Of this process.
    pub fn of_process(scale: Scale, progress: fn(&str)) -> anyhow::Result<Setting> {
        let program = std::env::current_exe().context("this program's own path")?;
        let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("the workspace's folder")?;
        // `target/release/keyfold-bench`; a test of this crate is one folder deeper.
        let profile = program.ancestors().find(|folder| folder.join("deps").is_dir());
        let target = profile.and_then(Path::parent).map_or_else(|| workspace.join("target"), Path::to_owned);
        Ok(Setting { scale, program, target, workspace: workspace.to_owned(), progress })
    }

    /// A file of this crate's folder of peers.
    pub fn peer(&self, name: &str) -> PathBuf {
        self.workspace.join("bench/peers").join(name)
    }

    /// Where the page and its plots go: only a whole run may say something in the documentation.
    pub fn page_folder(&self) -> PathBuf {
        match self.scale {
            Scale::Full => self.workspace.join("docs"),
            Scale::Quick => self.target.join("figures"),
        }
    }
}
