//! Node with ElectroDB and the AWS SDK, in a folder of its own.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::tool::{Missing, once, read, run};
use crate::{Setting, machine};

/// The files of the function.
const FILES: [&str; 6] =
    ["package.json", "package-lock.json", "function.mjs", "runtime.mjs", "keys.mjs", "packages.mjs"];

/// All of it in one file, as esbuild makes it.
const BUNDLE: &str = "bundle.cjs";

/// A Node function.
#[derive(Debug, Clone)]
pub struct Node {
    program: PathBuf,
    folder: PathBuf,
}

impl Node {
    /// Prepares it: its files, and what they depend on, in the versions of the lock file.
    pub fn prepare(setting: &Setting) -> Result<Node, Missing> {
        let program = found("node").ok_or_else(|| Missing("there is no `node`".to_owned()))?;
        let folder = setting.target.join("peers/node");
        let mut all = String::new();
        for name in FILES {
            all += &read(&setting.peer("node").join(name))?;
        }
        once(&folder, &all, || {
            for name in FILES {
                let copied = std::fs::copy(setting.peer("node").join(name), folder.join(name));
                copied.map_err(|error| Missing(format!("`{name}` cannot be copied: {error}")))?;
            }
            run(Command::new("npm")
                .args(["ci", "--silent", "--no-audit", "--no-fund"])
                .current_dir(&folder))?;
            let bundle = ["--bundle", "--minify", "--platform=node", "--format=cjs", "--log-level=error"];
            let mut esbuild = Command::new(folder.join("node_modules/.bin/esbuild"));
            run(esbuild
                .arg("runtime.mjs")
                .args(bundle)
                .arg(format!("--outfile={BUNDLE}"))
                .current_dir(&folder))
        })?;
        Ok(Node { program, folder })
    }

    /// Puts a package of ours beside what it depends on, whatever was there before.
    pub fn install(&self, name: &str, package: &Path) -> Result<(), Missing> {
        let place = self.folder.join("node_modules").join(name);
        let unwritable = |error| Missing(format!("`{}` cannot be written: {error}", place.display()));
        if place.exists() {
            std::fs::remove_dir_all(&place).map_err(unwritable)?;
        }
        std::fs::create_dir_all(&place).map_err(unwritable)?;
        run(Command::new("tar").arg("xzf").arg(package).args(["--strip-components", "1", "-C"]).arg(&place))
    }

    /// Its folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The program that runs it.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// The file that is run, and how many bytes are deployed with it: one bundle, or the files as npm brings them.
    pub fn main(&self, bundled: bool) -> (PathBuf, u64) {
        if bundled {
            let bundle = self.folder.join(BUNDLE);
            let bytes = std::fs::metadata(&bundle).map_or(0, |metadata| metadata.len());
            return (bundle, bytes);
        }
        // What bundles is not deployed.
        let tools =
            ["esbuild", "@esbuild"].map(|name| bytes_below(&self.folder.join("node_modules").join(name)));
        let bytes = bytes_below(&self.folder.join("node_modules")).saturating_sub(tools.iter().sum());
        (self.folder.join("runtime.mjs"), bytes)
    }

    /// The keys that ElectroDB makes of these pairs, as `keys.mjs` prints them.
    pub fn keys(&self, pairs: &str) -> Result<String, Missing> {
        let output =
            Command::new(&self.program).arg("keys.mjs").arg(pairs).current_dir(&self.folder).output();
        let output = output.map_err(|error| Missing(format!("`node` does not start: {error}")))?;
        if !output.status.success() {
            return Err(Missing(format!("`keys.mjs` failed: {}", String::from_utf8_lossy(&output.stderr))));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Its version and those of what it depends on.
    pub fn versions(&self) -> String {
        let program = self.program.to_string_lossy();
        let version = |package: &str| {
            let path = self.folder.join("node_modules").join(package).join("package.json");
            let text = std::fs::read_to_string(path).unwrap_or_default();
            let package: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
            package["version"].as_str().unwrap_or("-").to_owned()
        };
        format!(
            "ElectroDB {}, @aws-sdk/client-dynamodb {}, esbuild {}, Node {}",
            version("electrodb"),
            version("@aws-sdk/client-dynamodb"),
            version("esbuild"),
            machine::first_line(&program, &["--version"])
        )
    }
}

/// Where a program is.
pub fn found(name: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(name)).find(|path| path.is_file())
}

/// All files below a folder, links not followed.
fn bytes_below(folder: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(folder) else { return 0 };
    let bytes = |entry: std::fs::DirEntry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => bytes_below(&entry.path()),
        Ok(metadata) if metadata.is_file() => metadata.len(),
        _ => 0,
    };
    entries.filter_map(Result::ok).map(bytes).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_counted_at_any_depth() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("a/b")).unwrap();
        std::fs::write(folder.path().join("one"), "123").unwrap();
        std::fs::write(folder.path().join("a/b/two"), "12345").unwrap();
        assert_eq!((bytes_below(folder.path()), bytes_below(&folder.path().join("none"))), (8, 0));
    }

    #[test]
    fn a_program_is_looked_for_in_the_path() {
        assert!(found("sh").is_some_and(|path| path.is_absolute()));
        assert_eq!(found("no-such-program-anywhere"), None);
    }
}
