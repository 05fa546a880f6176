//! Shared parts of the functions' tests: the sample events of `events/`, and a running function with its tables.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod endless;
mod hostile;
mod log;
mod policies;
mod proxy;
mod rights;
mod slices;

use std::fs;
use std::path::{Path, PathBuf};

pub use endless::{endless, peak_kb};
pub use hostile::{hostile, survives};
pub use log::Log;
pub use policies::{Policies, Principal};
pub use proxy::{Between, Proxy, Request};
pub use rights::{Needed, arn, needs};
pub use slices::{Function, SAMPLE, event};

/// The texts of the sample events with these names.
///
/// # Panics
/// Without such an event.
pub fn samples(function: &str, names: &[&str]) -> Vec<String> {
    let events = events(function);
    let text = |name: &&str| {
        let found = events.iter().find(|(known, _)| known == name);
        found.unwrap_or_else(|| panic!("no event `{name}`")).1.clone()
    };
    names.iter().map(text).collect()
}

/// The sample events of a function: the name of each file without its ending, and its text, in the order of the names.
pub fn events(function: &str) -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../events").join(function);
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let named = |path: &PathBuf| {
        (path.file_stem().unwrap().to_str().unwrap().to_owned(), fs::read_to_string(path).unwrap())
    };
    files.iter().map(named).collect()
}
