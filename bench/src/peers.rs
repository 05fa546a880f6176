//! Programs in Node and Python to compare with, installed below `target/peers`. A program that cannot be installed is missing from the
//! tables, with the reason; it never fails the run.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};

use crate::setting::WORKSPACE;

/// A Python that has boto3.
pub(crate) fn python(target: &Path) -> anyhow::Result<PathBuf> {
    let folder = target.join("peers/python");
    let program = folder.join("bin/python");
    if !program.is_file() {
        run(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
    }
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"];
    run(Command::new(&program).args(pip).arg(file("requirements.txt")))?;
    Ok(program)
}

/// A folder with the script `packages.mjs` and all that it needs: ElectroDB, the AWS SDK, and Keyfold's package.
pub(crate) fn node(target: &Path, package: &Path) -> anyhow::Result<PathBuf> {
    ensure!(package.is_file(), "there is no `{}`: run `.ci/bindings` first", package.display());
    let folder = target.join("peers/node");
    std::fs::create_dir_all(&folder)?;
    for name in ["package.json", "package-lock.json", "packages.mjs"] {
        std::fs::copy(file(name), folder.join(name)).with_context(|| format!("cannot copy `{name}`"))?;
    }
    let install = ["install", "--silent", "--no-audit", "--no-fund"];
    run(Command::new("npm").args(install).current_dir(&folder))?;
    // `npm install PACKAGE` does not replace a cached build of the same version.
    let installed = folder.join("node_modules/keyfold");
    if installed.exists() {
        std::fs::remove_dir_all(&installed)?;
    }
    std::fs::create_dir(&installed)?;
    run(Command::new("tar")
        .args(["xz", "--strip-components", "1", "-f"])
        .arg(package)
        .current_dir(&installed))?;
    Ok(folder)
}

/// A file of the folder of peers.
pub(crate) fn file(name: &str) -> PathBuf {
    Path::new(WORKSPACE).join("bench/peers").join(name)
}

/// The output of a command.
pub(crate) fn run(command: &mut Command) -> anyhow::Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| format!("`{name}` does not start"))?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "`{name}` failed ({}): {}", output.status, errors.trim());
    Ok(String::from_utf8(output.stdout)?)
}
