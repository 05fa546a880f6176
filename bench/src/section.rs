//! The sections, in the order of the page.

mod coldstart;
mod keys;
mod packages;
mod planning;
mod query;
mod retrofit;
mod streams;

use crate::report::Report;
use crate::setting::Setting;
pub(crate) use retrofit::Work;

/// A section of the page.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Section {
    /// Its name for `--only`.
    pub(crate) name: &'static str,
    /// Measures it.
    pub(crate) run: fn(&Setting) -> anyhow::Result<Report>,
}

/// All sections.
pub(crate) const SECTIONS: [Section; 7] = [
    Section { name: "keys", run: keys::run },
    Section { name: "planning", run: planning::run },
    Section { name: "query", run: query::run },
    Section { name: "retrofit", run: retrofit::run },
    Section { name: "streams", run: streams::run },
    Section { name: "coldstart", run: coldstart::run },
    Section { name: "packages", run: packages::run },
];
