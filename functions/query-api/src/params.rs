//! Query strings, decoded once.

use keyfold_core::query::question::Params;

/// The most parameters of one query string.
pub(crate) const PARAMS_MAX: usize = 200;

/// Reads a query string; `None` if it has more than [`PARAMS_MAX`] parameters.
pub(crate) fn read(query: &str) -> Option<Params> {
    let pairs = || form_urlencoded::parse(query.as_bytes());
    (pairs().take(PARAMS_MAX + 1).count() <= PARAMS_MAX)
        .then(|| pairs().map(|(name, value)| (name.into_owned(), value.into_owned())).collect())
}
