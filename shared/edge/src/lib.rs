//! What every function does the same way: read its settings, load the manifest, take invocations, read an HTTP request, know
//! the caller's claims, write its log and its metrics, and say what went wrong.
//!
//! Functions never import each other; what they share is here, once. What the functions of a retrofit share is in
//! [`retrofit`].

mod claims;
mod environment;
pub mod http;
mod invocation;
pub mod log;
mod manifest_file;
pub mod metrics;
mod problem;
pub mod retrofit;

#[doc(hidden)]
pub use tracing;

pub use claims::{Claims, grants, principal};
pub use environment::{Auth, Environment, MANIFEST_FILE, SettingsError};
pub use invocation::{FunctionError, Handled, Handling, Invocation, Record, deadline, error_type, serve};
pub use manifest_file::{ManifestError, load, parse_manifest, read_manifest};
pub use problem::{PROBLEM_CONTENT_TYPE, Problem};
