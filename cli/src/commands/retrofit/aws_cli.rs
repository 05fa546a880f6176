//! Calls of the AWS CLI, which deployments need anyway: SDK crates for these few calls would double the build.

use std::process::Command;

use anyhow::{anyhow, bail};

/// The answer to this command. `refused` says what failed if AWS refuses; `hint` is empty, or a line of its own.
pub(super) fn aws(words: &[&str], refused: &str, hint: &str) -> anyhow::Result<String> {
    let answer = Command::new("aws").args(words).output();
    let answer = answer.map_err(|error| anyhow!("cannot run the AWS CLI ({error}){hint}"))?;
    if !answer.status.success() {
        bail!("{refused}: {}{hint}", String::from_utf8_lossy(&answer.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&answer.stdout).into_owned())
}
