//! How a function is started here: as in AWS, with the certificates of the arguments.

use std::path::Path;
use std::process::Command;

use anyhow::Context;
use keyfold_bench::start::as_in_aws;

use super::Arguments;

/// What starts a function; `runtime` is where its Runtime API is.
pub(super) fn command(binary: &Path, runtime: &str, arguments: &Arguments) -> anyhow::Result<Command> {
    let manifest = arguments.manifest.canonicalize().context("the manifest")?;
    let mut command = as_in_aws(binary, &manifest, runtime);
    if let Some(file) = &arguments.certificates {
        command.env("SSL_CERT_FILE", file);
    }
    Ok(command)
}
