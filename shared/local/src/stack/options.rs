//! The options of the stack, the functions' binaries and settings, and start-up errors.

use std::path::{Path, PathBuf};
use std::time::Duration;

use keyfold_dynamo::{ApplyError, EnsureError};
use keyfold_edge::FunctionError;

use crate::port::ListenError;
use crate::runtime_api::InvocationResult;
use crate::{AllowedHosts, EmbeddedDynamo, EmbeddedError, FunctionOptions};

/// The options of a stack.
#[derive(Debug, Clone)]
pub struct StackOptions {
    /// The manifest's path, for functions that read it themselves.
    pub manifest: PathBuf,
    /// The folder of the data; `None`: in memory.
    pub data: Option<PathBuf>,
    /// The port of DynamoDB; 0 for any free one.
    pub port: u16,
    /// The port of the HTTP API; 0 for any free one.
    pub api_port: u16,
    /// A folder with the functions' binaries; `None`: in this process.
    pub functions: Option<PathBuf>,
    /// The names that a request may use for this machine, on both ports.
    pub hosts: AllowedHosts,
    /// The interval at which expired items are deleted.
    pub sweep_every: Duration,
}

/// Why the stack does not start.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the fields are the names that the messages show")]
pub enum StackError {
    /// The embedded DynamoDB does not start.
    #[error(transparent)]
    Embedded(#[from] EmbeddedError),
    /// The data folder cannot be created.
    #[error("cannot create the folder `{}` for the data", path.display())]
    Folder { path: PathBuf, source: std::io::Error },
    /// An existing table differs from the manifest.
    #[error(transparent)]
    Differs(#[from] ApplyError),
    /// The control table or the journal differs, or a table cannot be created.
    #[error(transparent)]
    Table(#[from] EnsureError),
    /// A stream or time to live cannot be enabled.
    #[error(transparent)]
    Stream(#[from] keyfold_dynamo::DynamoError),
    /// The HTTP API's port cannot be used.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// A function's binary is missing.
    #[error("there is no `{name}` in `{}`; build it with `cargo lambda build` or `cargo build`", folder.display())]
    NoBinary { name: &'static str, folder: PathBuf },
    /// A function does not start in this process.
    #[error("the {name} cannot start: {reason}")]
    Function { name: &'static str, reason: String },
}

/// A function's binary, with the settings for the manifest and DynamoDB.
pub(super) fn function(
    name: &'static str,
    folder: &Path,
    dynamo: &EmbeddedDynamo,
    options: &StackOptions,
) -> Result<FunctionOptions, StackError> {
    let manifest = std::path::absolute(&options.manifest).unwrap_or_else(|_| options.manifest.clone());
    Ok(FunctionOptions::of(binary(folder, name)?)
        .env("KEYFOLD_MANIFEST", manifest.display().to_string())
        .env("KEYFOLD_ENDPOINT", dynamo.endpoint()))
}

/// The result of an invocation in this process, in Lambda's form.
pub(super) fn outcome(answer: Result<serde_json::Value, FunctionError>) -> InvocationResult {
    match answer {
        Ok(value) => InvocationResult::Response(value.to_string()),
        Err(FunctionError { error_type, message }) => {
            let error = serde_json::json!({ "errorType": error_type, "errorMessage": message });
            InvocationResult::Error(error.to_string())
        }
    }
}

/// The binary of a function, in the layout of `cargo lambda build` or of `cargo build`.
fn binary(folder: &Path, name: &'static str) -> Result<PathBuf, StackError> {
    [folder.join(name).join("bootstrap"), folder.join(name)]
        .into_iter()
        .find(|path| path.is_file())
        .ok_or_else(|| StackError::NoBinary { name, folder: folder.to_owned() })
}
