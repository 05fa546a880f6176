//! What every function does the same way: read its settings, load the manifest, write its log and its metrics, say what
//! went wrong, and know who asks.
//!
//! Functions never import each other; what they share is here. Nothing here knows an event type of AWS. What the functions
//! of a retrofit share is in [`retrofit`].

mod claims;
mod deadline;
mod environment;
mod error_type;
pub mod log;
mod manifest_file;
pub mod metrics;
mod problem;
pub mod retrofit;

pub use claims::Claims;
pub use deadline::deadline;
pub use environment::{ENDPOINT, Environment, MANIFEST, MANIFEST_FILE, SettingsError};
pub use error_type::error_type;
pub use manifest_file::{ManifestError, load};
pub use problem::{PROBLEM_CONTENT_TYPE, Problem, RETRY_AFTER_SECONDS};
