//! The scale of the measurements, and the paths.

use std::path::{Path, PathBuf};

/// The folder of the workspace.
pub(crate) const WORKSPACE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// How much is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scale {
    Quick,
    Full,
}

impl Scale {
    /// One value for each scale.
    pub(crate) fn of<T>(self, quick: T, full: T) -> T {
        if self == Scale::Quick { quick } else { full }
    }
}

/// The scale of the measurements, and the paths.
#[derive(Debug)]
pub(crate) struct Setting {
    pub(crate) scale: Scale,
    /// This program: retrofits are measured in their own processes.
    pub(crate) program: PathBuf,
}

impl Setting {
    /// Cargo's target folder.
    pub(crate) fn target(&self) -> &Path {
        self.program.parent().and_then(Path::parent).unwrap_or(Path::new(WORKSPACE))
    }
}
