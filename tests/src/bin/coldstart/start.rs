//! How a function is started here: with the variables of the template, and nothing of this process.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::Context;

use super::Arguments;

/// What starts a function, as the template would have it; `runtime` is where its Runtime API is.
pub(super) fn command(binary: &Path, runtime: &str, arguments: &Arguments) -> anyhow::Result<Command> {
    let mut command = Command::new(binary);
    command
        .env_clear()
        .env("AWS_LAMBDA_RUNTIME_API", runtime)
        .env("AWS_LAMBDA_FUNCTION_NAME", "function")
        .env("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "512")
        .env("AWS_LAMBDA_FUNCTION_VERSION", "$LATEST")
        .env("AWS_REGION", "us-east-1")
        .env("AWS_ACCESS_KEY_ID", "none")
        .env("AWS_SECRET_ACCESS_KEY", "none")
        .env("AWS_EC2_METADATA_DISABLED", "true")
        .env("KEYFOLD_MANIFEST", arguments.manifest.canonicalize().context("the manifest")?)
        .env("KEYFOLD_RETROFIT", "auditV2")
        .env("KEYFOLD_CONTROL_TABLE", "keyfold-control")
        .env("KEYFOLD_AUTH", "open")
        .env("KEYFOLD_TOKEN_KEYS", format!("one:{}", "A".repeat(43)))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    if let Some(file) = &arguments.certificates {
        command.env("SSL_CERT_FILE", file);
    }
    Ok(command)
}
