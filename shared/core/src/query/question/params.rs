//! The parameters that a question is asked with: names and values, each name known to somebody.

use std::collections::BTreeMap;

/// The parameters, by name, each with its values in order.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Params(BTreeMap<String, Vec<String>>);

impl FromIterator<(String, String)> for Params {
    fn from_iter<I: IntoIterator<Item = (String, String)>>(pairs: I) -> Params {
        let mut params = BTreeMap::<String, Vec<String>>::new();
        for (name, value) in pairs {
            params.entry(name).or_default().push(value);
        }
        Params(params)
    }
}

impl Params {
    /// Takes the values of a name out; none if it is not there.
    pub fn take(&mut self, name: &str) -> Vec<String> {
        self.0.remove(name).unwrap_or_default()
    }

    /// The name of a parameter that nobody has taken.
    pub fn left(&self) -> Option<&str> {
        self.0.keys().next().map(String::as_str)
    }
}
