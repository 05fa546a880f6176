//! A value in a source with its position, which every error names.

use serde_json::Value;

use crate::error::{Problem, ReadError};

/// A value with its path.
#[derive(Debug, Clone)]
pub(crate) struct At<'a> {
    pub(crate) source: &'a str,
    pub(crate) value: &'a Value,
    pub(crate) path: String,
}

impl<'a> At<'a> {
    pub(crate) fn root(source: &'a str, value: &'a Value) -> At<'a> {
        At { source, value, path: String::new() }
    }

    fn below(&self, value: &'a Value, step: &str) -> At<'a> {
        let path = match (self.path.is_empty(), step.starts_with('[')) {
            (true, _) => step.to_owned(),
            (false, true) => format!("{}{step}", self.path),
            (false, false) => format!("{}.{step}", self.path),
        };
        At { source: self.source, value, path }
    }

    /// A member; `None` if it is absent or `null`.
    pub(crate) fn get(&self, name: &str) -> Option<At<'a>> {
        let value = self.value.get(name).filter(|value| !value.is_null())?;
        Some(self.below(value, name))
    }

    /// A required member.
    pub(crate) fn need(&self, name: &str) -> Result<At<'a>, ReadError> {
        self.get(name).ok_or_else(|| self.error(Problem::Missing(name.to_owned())))
    }

    /// The elements of a list; empty for other values.
    pub(crate) fn elements(&self) -> Vec<At<'a>> {
        let Some(list) = self.value.as_array() else { return Vec::new() };
        list.iter().enumerate().map(|(at, value)| self.below(value, &format!("[{at}]"))).collect()
    }

    /// The elements of a list member; empty if it is absent.
    pub(crate) fn list(&self, name: &str) -> Vec<At<'a>> {
        self.get(name).map(|at| at.elements()).unwrap_or_default()
    }

    /// The members of an object; empty for other values.
    pub(crate) fn members(&self) -> Vec<(&'a str, At<'a>)> {
        let Some(map) = self.value.as_object() else { return Vec::new() };
        map.iter().map(|(name, value)| (name.as_str(), self.below(value, name))).collect()
    }

    /// The members of a member; empty if it is absent.
    pub(crate) fn map(&self, name: &str) -> Vec<(&'a str, At<'a>)> {
        self.get(name).map(|at| at.members()).unwrap_or_default()
    }

    /// The text itself.
    pub(crate) fn text(&self) -> Result<&'a str, ReadError> {
        match self.value.as_str() {
            Some(text) if !text.is_empty() => Ok(text),
            _ => Err(self.error(Problem::NotText)),
        }
    }

    /// A required text.
    pub(crate) fn text_of(&self, name: &str) -> Result<&'a str, ReadError> {
        self.need(name)?.text()
    }

    /// An optional text; an empty one counts as absent.
    pub(crate) fn some_text(&self, name: &str) -> Option<&'a str> {
        self.value.get(name)?.as_str().filter(|text| !text.is_empty())
    }

    /// A flag; off if it is absent.
    pub(crate) fn flag(&self, name: &str) -> bool {
        match self.value.get(name) {
            Some(Value::Bool(flag)) => *flag,
            Some(Value::String(text)) => text == "true",
            _ => false,
        }
    }

    /// A name, or a list of names.
    pub(crate) fn texts(&self) -> Result<Vec<String>, ReadError> {
        match self.value {
            Value::Array(_) => {
                self.elements().iter().map(|element| element.text().map(str::to_owned)).collect()
            }
            _ => Ok(vec![self.text()?.to_owned()]),
        }
    }

    pub(crate) fn error(&self, problem: Problem) -> ReadError {
        ReadError { source_name: self.source.to_owned(), place: self.path.clone(), problem }
    }
}
