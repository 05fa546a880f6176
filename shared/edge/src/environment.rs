//! Environment variables, and the settings common to several functions. Each has its name and its default here.

use std::path::PathBuf;

use keyfold_dynamo::retrofit::CONTROL_TABLE_DEFAULT;
use keyfold_dynamo::{Endpoint, EndpointError, Roots, RootsError};

/// The manifest's path; `keyfold.toml` next to the binary if unset.
const MANIFEST: &str = "KEYFOLD_MANIFEST";
/// The endpoint of DynamoDB; `AWS_ENDPOINT_URL_DYNAMODB`, `AWS_ENDPOINT_URL`, or else AWS if unset.
const ENDPOINT: &str = "KEYFOLD_ENDPOINT";
/// The control table of retrofits.
const CONTROL_TABLE: &str = "KEYFOLD_CONTROL_TABLE";
/// `claims` (the default) or `open`.
const AUTH: &str = "KEYFOLD_AUTH";
/// The default file name of the manifest.
pub const MANIFEST_FILE: &str = "keyfold.toml";

/// The callers whose HTTP requests are answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Auth {
    /// Callers with claims.
    #[default]
    Claims,
    /// All callers may read all items, if the table has no scope.
    Open,
}

/// Why a function does not start.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the fields are the names that the messages show")]
pub enum SettingsError {
    /// A variable that has no default.
    #[error("`{name}` is not set: {hint}")]
    Missing { name: &'static str, hint: &'static str },
    /// A variable with an unusable value. The reason does not show the value.
    #[error("`{name}`: {reason}")]
    Unusable { name: &'static str, reason: String },
    /// A variable with an invalid value. The value is not shown: it could be a secret.
    #[error("`{name}` is not {wanted}")]
    Invalid { name: &'static str, wanted: String },
    /// An invalid endpoint.
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
    /// Unusable certificates.
    #[error(transparent)]
    Roots(#[from] RootsError),
}

/// The variables of a process, or of a test. An empty one counts as unset.
#[derive(Clone, Copy)]
pub struct Environment<'v>(&'v dyn Fn(&str) -> Option<String>);

impl<'v> Environment<'v> {
    /// These variables.
    pub fn new(variable: &'v dyn Fn(&str) -> Option<String>) -> Environment<'v> {
        Environment(variable)
    }

    /// A variable that is set.
    pub fn get(&self, name: &str) -> Option<String> {
        (self.0)(name).filter(|value| !value.is_empty())
    }

    /// The value named by a variable; the first one if it is unset.
    pub fn one_of<T: Copy, const N: usize>(
        &self,
        name: &'static str,
        values: [(&str, T); N],
    ) -> Result<T, SettingsError> {
        let Some(text) = self.get(name) else { return Ok(values[0].1) };
        let found = values.iter().find(|(known, _)| *known == text).map(|(_, value)| *value);
        found.ok_or_else(|| SettingsError::Invalid {
            name,
            wanted: values.map(|(known, _)| format!("`{known}`")).join(" or "),
        })
    }

    /// The callers whose HTTP requests are answered.
    pub fn auth(&self) -> Result<Auth, SettingsError> {
        self.one_of(AUTH, [("claims", Auth::Claims), ("open", Auth::Open)])
    }

    /// The name of the control table of retrofits.
    pub fn control_table(&self) -> String {
        self.get(CONTROL_TABLE).unwrap_or_else(|| CONTROL_TABLE_DEFAULT.to_owned())
    }

    /// The manifest's path.
    pub fn manifest(&self) -> PathBuf {
        let beside = || std::env::current_exe().unwrap_or_default().with_file_name(MANIFEST_FILE);
        self.get(MANIFEST).map_or_else(beside, PathBuf::from)
    }

    /// The settings of the DynamoDB client.
    pub fn dynamo(&self) -> Result<keyfold_dynamo::Settings, SettingsError> {
        let names = [ENDPOINT, "AWS_ENDPOINT_URL_DYNAMODB", "AWS_ENDPOINT_URL"];
        let url = names.into_iter().find_map(|name| self.get(name));
        let endpoint = url.map_or(Ok(Endpoint::Aws), |url| Endpoint::parse(&url))?;
        let settings = keyfold_dynamo::Settings::at(endpoint);
        Ok(keyfold_dynamo::Settings { roots: Roots::Mozilla, ..settings }.trusting(&|name| self.get(name))?)
    }
}

impl Environment<'static> {
    /// The variables of this process.
    pub fn of_process() -> Environment<'static> {
        Environment(&|name| std::env::var(name).ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_variable_counts_as_unset_and_the_first_endpoint_wins() {
        let variables = |name: &str| match name {
            ENDPOINT => Some(String::new()),
            "AWS_ENDPOINT_URL_DYNAMODB" => Some("http://127.0.0.1:8000".to_owned()),
            "AWS_ENDPOINT_URL" => Some("http://127.0.0.1:9".to_owned()),
            _ => None,
        };
        let environment = Environment::new(&variables);
        let endpoint = environment.dynamo().unwrap().endpoint;
        assert_eq!(endpoint, Endpoint::Plain("http://127.0.0.1:8000".to_owned()));
        assert_eq!(environment.manifest().file_name().unwrap(), MANIFEST_FILE);
    }

    #[test]
    fn a_function_has_its_roots_in_its_binary_and_a_control_table_by_default() {
        let environment = Environment::new(&|_| None);
        let dynamo = environment.dynamo().unwrap();
        assert_eq!((dynamo.endpoint, dynamo.roots), (Endpoint::Aws, Roots::Mozilla));
        assert_eq!(environment.control_table(), "keyfold-control");
        let named = |name: &str| (name == CONTROL_TABLE).then(|| "mine".to_owned());
        assert_eq!(Environment::new(&named).control_table(), "mine");
        let named = |name: &str| (name == "AWS_CA_BUNDLE").then(|| "/nowhere.pem".to_owned());
        assert!(matches!(Environment::new(&named).dynamo(), Err(SettingsError::Roots(_))));
    }

    #[test]
    fn only_claims_let_a_caller_in_unless_the_setting_says_otherwise() {
        let auth = |text: &str| {
            let variable = |name: &str| (name == AUTH).then(|| text.to_owned());
            Environment::new(&variable).auth().map_err(|error| error.to_string())
        };
        assert_eq!((auth("").unwrap(), auth("open").unwrap()), (Auth::Claims, Auth::Open));
        assert_eq!(auth("Open").unwrap_err(), "`KEYFOLD_AUTH` is not `claims` or `open`");
    }
}
