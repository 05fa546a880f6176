//! The common parts of all functions: settings, the manifest, invocations, HTTP requests, the caller's claims, log,
//! metrics and error documents.
//!
//! Functions never import each other; they share this crate. The functions of a retrofit also share [`retrofit`].

mod claims;
mod environment;
pub mod http;
mod invocation;
pub mod log;
mod manifest_file;
pub mod metrics;
mod plain;
mod problem;
pub mod retrofit;

#[doc(hidden)]
pub use tracing;

pub use claims::{Claims, grants, principal};
pub use environment::{Auth, Environment, MANIFEST_FILE, SettingsError};
pub use invocation::{FunctionError, Handled, Handling, Invocation, Record, deadline, error_type, serve};
pub use manifest_file::{ManifestError, load, parse_manifest, read_manifest};
pub use plain::{plain_item, plain_value};
pub use problem::{INDEX_PENDING, PROBLEM_CONTENT_TYPE, Problem};
