//! Query strings: names and values, decoded once, each name known to somebody.

use std::collections::BTreeMap;

/// The most parameters of one query string.
pub(crate) const PARAMS_MAX: usize = 200;

/// The decoded parameters, by name, each with its values in order.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Params(BTreeMap<String, Vec<String>>);

impl Params {
    /// Reads a query string; `None` if it has more than [`PARAMS_MAX`] parameters.
    pub(crate) fn read(query: &str) -> Option<Params> {
        let mut params = BTreeMap::<String, Vec<String>>::new();
        for (at, (name, value)) in form_urlencoded::parse(query.as_bytes()).enumerate() {
            if at == PARAMS_MAX {
                return None;
            }
            params.entry(name.into_owned()).or_default().push(value.into_owned());
        }
        Some(Params(params))
    }

    /// Takes the values of a name out; none if it is not there.
    pub(crate) fn take(&mut self, name: &str) -> Vec<String> {
        self.0.remove(name).unwrap_or_default()
    }

    /// The name of a parameter that nobody has taken.
    pub(crate) fn left(&self) -> Option<&str> {
        self.0.keys().next().map(String::as_str)
    }
}
