//! What is measured: one module each, in the order of the page.

mod coldstart;
mod compared;
mod comparison;
mod keys;
mod pace;
mod packages;
mod planning;
mod query;
mod retrofit;
mod simulation;
mod streams;

use crate::{Report, Setting};

/// A section of the page.
#[derive(Debug, Clone, Copy)]
pub struct Section {
    /// Its name for `--only`.
    pub name: &'static str,
    /// Measures it.
    pub run: fn(&Setting) -> anyhow::Result<Report>,
}

/// All of them.
pub const SECTIONS: [Section; 9] = [
    Section { name: "keys", run: keys::run },
    Section { name: "planning", run: planning::run },
    Section { name: "query", run: query::run },
    Section { name: "retrofit", run: retrofit::run },
    Section { name: "comparison", run: comparison::run },
    Section { name: "streams", run: streams::run },
    Section { name: "coldstart", run: coldstart::run },
    Section { name: "simulation", run: simulation::run },
    Section { name: "packages", run: packages::run },
];

/// A runtime whose one thread is the client's, so that its CPU is counted apart from the server's.
fn one_thread() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()
}
