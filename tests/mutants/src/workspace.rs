//! The copy of the workspace that the mutants are put into: core and testkit, with a target folder of their own.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::patch::SWITCH;

/// The copied parts. The tests of core read the samples and two documents.
const PARTS: [&str; 6] = ["shared/core", "shared/testkit", "examples", "docs", "keyfold.toml", "Cargo.lock"];
/// The members of the workspace's manifest, as they begin and end there.
const MEMBERS: (&str, &str) = ("members = [", "]\n");

/// The copy.
pub(crate) struct Copy {
    /// Its folder.
    pub(crate) folder: PathBuf,
}

impl Copy {
    /// Copies the changes since the last run, so that cargo builds only those.
    pub(crate) fn make(workspace: &Path, mut patched: BTreeMap<String, String>) -> anyhow::Result<Copy> {
        let folder = workspace.join("target/mutants/workspace");
        let lib = fs::read_to_string(workspace.join("shared/core/src/lib.rs"))?;
        patched
            .insert("shared/core/src/lib.rs".to_owned(), format!("{lib}\n#[doc(hidden)]\npub mod mutant;\n"));
        let mut files = Vec::new();
        for part in PARTS {
            list(&workspace.join(part), &mut files)?;
        }
        for file in &files {
            let name = file.strip_prefix(workspace)?;
            match patched.get(&name.to_string_lossy().into_owned()) {
                Some(text) => write(&folder.join(name), text.as_bytes())?,
                None => write(&folder.join(name), &fs::read(file)?)?,
            }
        }
        write(&folder.join("shared/core/src/mutant.rs"), SWITCH.as_bytes())?;
        write(&folder.join("Cargo.toml"), manifest(workspace)?.as_bytes())?;
        Ok(Copy { folder })
    }
}

/// The workspace's manifest with core and testkit alone.
fn manifest(workspace: &Path) -> anyhow::Result<String> {
    let text = fs::read_to_string(workspace.join("Cargo.toml"))?;
    let begin = text.find(MEMBERS.0).context("the workspace has no members")? + MEMBERS.0.len();
    let end = begin + text[begin..].find(MEMBERS.1).context("the workspace's members do not end")?;
    let text = format!("{}\"shared/core\", \"shared/testkit\"{}", &text[..begin], &text[end..]);
    Ok(text.replace("default-members = [\"cli\"]", "default-members = [\"shared/core\"]"))
}

fn list(path: &Path, files: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    if path.is_dir() {
        for entry in fs::read_dir(path)? {
            list(&entry?.path(), files)?;
        }
    } else {
        files.push(path.to_owned());
    }
    Ok(())
}

/// Writes a file that has another content.
fn write(path: &Path, content: &[u8]) -> anyhow::Result<()> {
    if fs::read(path).is_ok_and(|known| known == content) {
        return Ok(());
    }
    fs::create_dir_all(path.parent().context("a file without a folder")?)?;
    fs::write(path, content).with_context(|| format!("cannot write `{}`", path.display()))
}
